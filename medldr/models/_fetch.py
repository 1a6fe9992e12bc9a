"""`medldr data fetch weights:<id>`: published weights, brought into the data folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from medldr.console import Console
from medldr.data.reading.roots import data_roots
from medldr.errors import InputError
from medldr.models._published import CONFIG, HUB, find, of_hub, present


def fetch_weights(name: str, words: Sequence[str]) -> None:
    """Download published weights, verify them, and report where they are.

    Args:
        name: Their id, as for `model.pretrained`.
        words: At most one: the data folder, or ``root=`` and the data folder.

    Raises:
        InputError: If the id is unknown, the file cannot be had, or more than a folder is given.
    """
    folders = [word.removeprefix("data.").removeprefix("root=") for word in words]
    if len(folders) > 1 or any("=" in folder for folder in folders):
        raise InputError(
            f"weights take only the data folder as an argument, not {' '.join(words)!r}: "
            f"medldr data fetch weights:{name} [DIR]"
        )
    published = find(name)
    root = Path(folders[0]) if folders else None
    places = data_roots(root)[:1]
    if name.startswith(HUB):  # which network they are of
        present(of_hub(name, CONFIG), places, download=True)
    path, sha256 = present(published, places, download=True)
    held = "verified" if published.digest else "not verified, as no checksum is published"
    Console().print(
        f"{published.id}: {path}, sha256 {sha256}, {held}", soft_wrap=True, highlight=False
    )
