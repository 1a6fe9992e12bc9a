"""Weights that are published: named by id, kept as files, verified at each load.

A file is kept in ``weights/`` of a data folder under the name its publisher gave it; a run looks in
its own (``data.root``, often the folder of one data set), then in the usual one. torchvision's
names end in the first 8 digits of the file's sha256, which is verified before each load; timm and
the Hugging Face Hub publish no checksum, so ours is only recorded. Nothing is downloaded unless
requested.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from medldr import plugins
from medldr.data.reading.download import fetch
from medldr.data.reading.roots import data_roots
from medldr.errors import InputError, did_you_mean, did_you_mean_beside, some
from medldr.folders.files import checksum
from medldr.models import _timm

TIMM = "timm/"
HUB = "hf-hub:"
CONFIG = "config.json"
_HUB_FILES = ("model.safetensors", "pytorch_model.bin")


@dataclass(frozen=True)
class Published:
    """One file of weights.

    Attributes:
        id: Its name, as its publisher writes it.
        network: The network it is of, by torchvision's or timm's name; empty of the hub, whose
            `config.json` says so.
        url: Where it can be downloaded.
        file: Its name below the folder of weights.
        digest: First digits of its sha256; empty where none was published.
    """

    id: str
    network: str
    url: str
    file: str
    digest: str = ""

    @property
    def timm(self) -> bool:
        """Whether it is of a network of timm."""
        return self.id.startswith((TIMM, HUB))

    def path(self, folder: Path) -> Path:
        """Where the file is kept in a data folder."""
        return folder / "weights" / self.file

    def there(self, folders: Sequence[Path]) -> Path | None:
        """The file in the first of some data folders that has it.

        Of the hub it may be one of torch, too.
        """
        paths = [self.path(folder) for folder in folders]
        if self.id.startswith(HUB) and self.file.endswith(_HUB_FILES[0]):
            paths = [path.with_name(name) for path in paths for name in _HUB_FILES]
        return next((path for path in paths if path.is_file()), None)


def find(wanted: str, model: str | None = None) -> Published:
    """The weights of an id, which may be written in any case.

    Args:
        wanted: ``ResNet50_Weights.IMAGENET1K_V1``, ``timm/<network>.<tag>`` or
            ``hf-hub:OWNER/NAME``, which ``@`` and a revision may follow.
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
        )
    if wanted.startswith(HUB):
        return of_hub(wanted, _HUB_FILES[0])
    import torchvision.models as zoo  # the networks of every kind, of which a run needs none

    known = {entry.id.lower(): entry for entry in _torchvision(zoo.list_models(module=zoo))}
    if wanted.lower() not in known:
        ours = _our_networks()
        asked = [model] if model in ours else ours
        names = [entry.id for entry in _torchvision(asked)]
        near = did_you_mean(wanted, [entry.id for entry in known.values()])
        near = near or did_you_mean_beside(Path(wanted).expanduser())
        raise InputError(
            f"there are no published weights {wanted!r}.{near} Known for {', '.join(asked)}: "
            f"{some(names)}; for timm's networks: timm/<network>.<tag>"
        )
    return known[wanted.lower()]


def usual(model: str) -> str:
    """The id of the weights that torchvision recommends for one of our networks.

    Raises:
        InputError: If it publishes none.
    """
    import torchvision.models as zoo

    if model not in _our_networks():
        raise InputError(
            f"true means published weights, and there are none of {model}. Name a file, or choose "
            f"one of {', '.join(_our_networks())}, timm"
        )
    return str(zoo.get_model_weights(model).DEFAULT)


def of_hub(wanted: str, file: str) -> Published:
    """A file of a network on the Hugging Face Hub.

    Raises:
        InputError: If the id is not ``hf-hub:OWNER/NAME``.
    """
    if not re.fullmatch(r"hf-hub:[\w.-]+/[\w.-]+(@[\w./-]+)?", wanted) or ".." in wanted:
        raise InputError(f"{wanted!r} should be {HUB}OWNER/NAME, as in the address of its page")
    repository, _, revision = wanted.removeprefix(HUB).partition("@")
    return Published(
        id=wanted,
        network="",
        url=_timm.hub_url(repository, file, revision or None),
        file=f"hf-hub/{wanted.removeprefix(HUB)}/{file}",
    )


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


@contextlib.contextmanager
def naming_the_key() -> Iterator[None]:
    """Begin messages about published weights with the key that names them."""
    try:
        yield
    except InputError as error:
        if type(error) is not InputError:  # an absent extra, a full disk
            raise
        raise InputError(f"model.pretrained: {error}") from error


def present(published: Published, folders: Sequence[Path], *, download: bool) -> tuple[Path, str]:
    """The verified file and its sha256, downloaded first if it is absent and that is allowed.

    Args:
        published: What to look for.
        folders: Data folders to look in, in order; it is fetched into the last.
        download: Whether it may be fetched.

    Raises:
        InputError: If it is absent and may not be downloaded, or is not the published file.
    """
    there = published.there(folders)
    path = there or published.path(folders[-1])
    if there is None:
        require(published, folders, download=download)
        hub = published.id.startswith(HUB)
        fetch(published.url, path, by_hand=f"{_cure(published, path)}." if hub else None)
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
    if not download and published.there(folders) is None:
        places = " or ".join(str(published.path(folder)) for folder in folders)
        raise InputError(
            f"{published.id} is missing: there is no {places}. "
            f"{_cure(published, published.path(folders[-1]))}, or allow the download with "
            "model.allow_download=true"
        )


def _cure(published: Published, path: Path) -> str:
    text = (
        f"Get it with `medldr data fetch weights:{published.id}`, or save {published.url} as {path}"
    )
    if not published.id.startswith(HUB):
        return text
    repository, _, revision = published.id.removeprefix(HUB).partition("@")
    at = f" --revision {revision}" if revision else ""
    return (
        f"{text}; where its owner asks you to agree to terms, `hf download {repository}{at} "
        f"--local-dir {path.parent}` brings it once you are logged in"
    )
