"""Weights published with torchvision and timm: named by id, kept as files, verified at each load.

A file is kept in ``weights/`` of a data folder under the name its publisher gave it; a run looks in
its own (``data.root``, often the folder of one data set), then in the usual one. torchvision's
names end in the first 8 digits of the file's sha256, which is verified before each load; timm
publishes no checksum, so ours is only recorded. Nothing is downloaded unless requested.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from medldr import plugins
from medldr.data.reading.download import fetch
from medldr.data.reading.roots import data_roots
from medldr.errors import InputError, did_you_mean, some
from medldr.folders.files import checksum
from medldr.models import _timm

TIMM = "timm/"


@dataclass(frozen=True)
class Published:
    """One file of weights.

    Attributes:
        id: Its name, as its publisher writes it.
        network: The network it is of, by torchvision's or timm's name.
        url: Where it can be downloaded.
        file: Its name below the folder of weights.
        digest: First digits of its sha256; empty where none was published.
        pixels: The normalisation it was trained with, in words; empty where unknown.
    """

    id: str
    network: str
    url: str
    file: str
    digest: str = ""
    pixels: str = ""

    @property
    def timm(self) -> bool:
        """Whether timm publishes it."""
        return self.id.startswith(TIMM)

    def path(self, folder: Path) -> Path:
        """Where the file is kept in a data folder."""
        return folder / "weights" / self.file


def find(wanted: str, model: str | None = None) -> Published:
    """The weights of an id, which may be written in any case.

    Args:
        wanted: ``ResNet50_Weights.IMAGENET1K_V1``, or ``timm/<network>.<tag>``.
        model: Name of one of our networks; its weights are listed when the id is unknown.

    Raises:
        InputError: If there are none, naming the nearest; for timm's, if timm is not installed.

    Example:
        >>> found = find("resnet50_weights.imagenet1k_v1")
        >>> found.id, found.network, found.file
        ('ResNet50_Weights.IMAGENET1K_V1', 'resnet50', 'resnet50-0676ba61.pth')
    """
    if wanted.lower().startswith(TIMM):
        theirs = _timm.find_weights(wanted[len(TIMM) :])
        return Published(
            id=TIMM + theirs.name,
            network=theirs.network,
            url=theirs.url,
            file=f"{TIMM}{theirs.name}.safetensors",
            pixels=theirs.pixels,
        )
    import torchvision.models as zoo  # the networks of every kind, of which a run needs none

    known = {entry.id.lower(): entry for entry in _torchvision(zoo.list_models(module=zoo))}
    if wanted.lower() not in known:
        ours = _our_networks()
        asked = [model] if model in ours else ours
        names = [entry.id for entry in _torchvision(asked)]
        near = did_you_mean(wanted, [entry.id for entry in known.values()])
        raise InputError(
            f"there are no published weights {wanted!r}.{near} Known for {', '.join(asked)}: "
            f"{some(names)}; for timm's networks: timm/<network>.<tag>"
        )
    return known[wanted.lower()]


def _our_networks() -> list[str]:
    import torchvision.models as zoo

    return [name for name in plugins.names("models") if name in zoo.list_models(module=zoo)]


def _torchvision(networks: Iterable[str]) -> list[Published]:
    import torchvision.models as zoo

    entries = []
    for network in networks:
        for member in zoo.get_model_weights(network):
            file = member.value.url.rpartition("/")[2]
            digest = re.search(r"-([0-9a-f]{8,})\.[^.]+$", file)
            entries.append(
                Published(
                    id=str(member),
                    network=network,
                    url=member.value.url,
                    file=file,
                    digest=digest.group(1) if digest else "",
                )
            )
    return entries


def data_folders(root: Path | None) -> list[Path]:
    """Data folders in which a run looks for weights, in order; downloads go to the last.

    Args:
        root: ``data.root``. The usual folder is searched as well, because
            `medldr data fetch` puts weights there, and they do not belong in a tree of pictures.
    """
    return list(dict.fromkeys([*data_roots(root)[:1], *data_roots(None)[:1]]))


def present(published: Published, folders: Sequence[Path], *, download: bool) -> tuple[Path, str]:
    """The verified file and its sha256, downloaded first if it is absent and that is allowed.

    Args:
        published: What to look for.
        folders: Data folders to look in, in order; it is fetched into the last.
        download: Whether it may be fetched.

    Raises:
        InputError: If it is absent and may not be downloaded, or is not the published file.
    """
    there = _there(published, folders)
    path = there or published.path(folders[-1])
    if there is None:
        require(published, folders, download=download)
        fetch(published.url, path)
    try:
        found = checksum(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    if not found.startswith(published.digest):
        kept = path
        if there is None:
            kept = path.with_name(path.name + ".rejected")
            os.replace(path, kept)
        raise InputError(
            f"{kept} is not {published.id}: its sha256 begins with "
            f"{found[: len(published.digest)]}, but should begin with {published.digest}. "
            + ("Delete it. " if there else "")
            + _cure(published, path)
        )
    return path, found


def require(published: Published, folders: Sequence[Path], *, download: bool) -> None:
    """Check that the file exists or may be downloaded; it is not read.

    Raises:
        InputError: Naming the file, where it was looked for and how to get it.
    """
    if not download and _there(published, folders) is None:
        places = " or ".join(str(published.path(folder)) for folder in folders)
        raise InputError(
            f"{published.id} is missing: there is no {places}. "
            f"{_cure(published, published.path(folders[-1]))}, or allow the download with "
            "model.allow_download=true"
        )


def _there(published: Published, folders: Sequence[Path]) -> Path | None:
    paths = map(published.path, folders)
    return next((path for path in paths if path.is_file()), None)


def _cure(published: Published, path: Path) -> str:
    return (
        f"Get it with `medldr data fetch weights:{published.id}`, or save {published.url} as {path}"
    )
