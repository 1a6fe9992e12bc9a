"""Where Camelyon17 is on this machine, what its folder must look like, and how to get it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

from medldr.console import Console
from medldr.data.listing.folders import describe_folder
from medldr.data.reading.download import fetch
from medldr.data.reading.roots import data_roots
from medldr.datasets._camelyon17.wilds import published_archive
from medldr.errors import InputError
from medldr.folders.alone import alone
from medldr.folders.files import StorageError, storage_errors

NAME: Final = "camelyon17_v1.0"
METADATA: Final = "metadata.csv"
PATCHES: Final = "patches"
ARCHIVE: Final = f"{NAME}.tar.gz"

LAYOUT: Final = f"""\
Expected layout, as in the published archive:
  FOLDER/{NAME}/RELEASE_v1.0.txt
  FOLDER/{NAME}/{METADATA}
  FOLDER/{NAME}/{PATCHES}/patient_004_node_4/patch_patient_004_node_4_x_3328_y_21792.png
with data.root=FOLDER or data.root=FOLDER/{NAME}"""


def find(root: Path | None) -> Path | None:
    """The folder with metadata.csv, or whatever is in its place; None where there is nothing.

    Args:
        root: ``data.root``: the folder itself or the one that holds it; unset: the usual places.

    Raises:
        InputError: If one of these places cannot be read.
    """
    try:
        return next(filter(None, map(_found, data_roots(root))), None)
    except PermissionError as error:
        raise InputError(f"{error.filename} cannot be read: {error.strerror}") from error


def _found(place: Path) -> Path | None:
    inner = place / NAME
    if inner.is_dir() and any(inner.iterdir()):
        return inner
    named = place.name == NAME or (place / METADATA).exists() or (place / PATCHES).exists()
    return place if named and place.is_dir() else None


def require_folder(root: Path | None, *, download: bool) -> None:
    """Check that the folder exists or may be downloaded; nothing in it is read.

    Raises:
        InputError: Naming the folder, where it was looked for and how to get it.
    """
    if download or find(root) is not None:
        return
    places = data_roots(root)
    place = places[0]
    url, size = published_archive()
    raise InputError(
        f"{NAME} is not in {', '.join(map(str, places))}. Found {describe_folder(place)}.\n"
        f"Set data.root to the folder that contains it; or save {url} ({size / 1e9:.1f} GB) as "
        f"{place / ARCHIVE} and extract it into {place / NAME}; or allow the download "
        f"with data.download=true.\n{LAYOUT}"
    )


def locate(root: Path | None, *, download: bool) -> Path:
    """The folder with metadata.csv and patches, downloaded if it is absent and that is allowed.

    Raises:
        InputError: If it is absent, cannot be downloaded, or has another layout.
    """
    require_folder(root, download=download)
    folder = find(root) or _obtain(data_roots(root)[0])
    for name, is_there in (
        (METADATA, (folder / METADATA).is_file()),
        (f"{PATCHES}/", (folder / PATCHES).is_dir()),
    ):
        if not is_there:
            raise InputError(
                f"{folder} does not have the layout of Camelyon17-WILDS: it has no {name}. Found "
                f"{describe_folder(folder)}.\n{LAYOUT}"
            )
    return folder


def _obtain(root: Path) -> Path:
    """Download the archive, unless it was put there by hand, and extract all of it or nothing."""
    folder, archive = root / NAME, root / ARCHIVE
    url, _ = published_archive()
    hand = (
        f"By hand: save {url} as {archive} and run the same command again, or put the extracted "
        f"folder at {folder}."
    )
    with alone(folder, f"fetching {NAME}"):
        if folder.is_dir() and any(folder.iterdir()):  # another process was quicker
            return folder
        placed = archive.is_file()
        fetch(url, archive, by_hand=hand)
        _extract(archive, folder)
        if not placed:
            archive.unlink()
    return folder


def _extract(archive: Path, folder: Path) -> None:
    """Unpack into a temporary folder, which is renamed once complete."""
    console = Console(stderr=True)
    with _staging(folder) as staging, console.status(f"extracting {archive}"):
        try:
            with storage_errors(staging), tarfile.open(archive) as tar:
                # Python before 3.10.12 and 3.11.4 has no filters of its own.
                own: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
                tar.extractall(staging, map(_plain, tar), **own)
        except StorageError:
            raise
        except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
            raise InputError(
                f"{archive} cannot be extracted: {error}. Nothing was kept. Move it away and "
                "download it again"
            ) from error
        content = list(staging.iterdir())
        inner = content[0] if len(content) == 1 and content[0].is_dir() else staging
        if not (inner / METADATA).is_file():
            raise InputError(
                f"{archive} is not the archive of Camelyon17-WILDS: it has no {METADATA}. Found "
                f"{describe_folder(inner)}.\n{LAYOUT}"
            )
        if folder.is_dir():
            folder.rmdir()  # it is empty
        os.replace(inner, folder)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """A file or a folder below the one that is written; anything else is refused."""
    if not (member.isfile() or member.isdir()):
        raise tarfile.TarError(f"it holds {member.name}, a link or a device, which is not followed")
    path = PurePosixPath(member.name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in member.name:
        raise tarfile.TarError(f"it holds {member.name}, which lies outside of it")
    member.mode = 0o755 if member.isdir() else 0o644
    return member


@contextlib.contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    with storage_errors(folder):
        staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)
