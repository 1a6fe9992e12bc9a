"""`medldr list` and `medldr data list`: names with one line each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Column, Table

from medldr.config import load_part, packaged_names
from medldr.config.catalogue import entries
from medldr.console import Console
from medldr.errors import InputError, did_you_mean
from medldr.excerpt import excerpt

KINDS = ("runs", "sweeps", "parts", "algorithms", "datasets", "losses", "models", "transforms")


def print_catalogue(kind: str) -> None:
    """Print one kind as a table.

    Raises:
        InputError: If the kind is unknown.
    """
    if kind not in KINDS:
        raise InputError(
            f"cannot list {kind!r}.{did_you_mean(kind, KINDS)} Known: {', '.join(KINDS)}"
        )
    _print(kind, ["description"], ([name, text] for name, text in entries(kind).items()))


def print_datasets() -> None:
    """Print the data parts and whether the files of each are on this machine."""
    rows = []
    for name in packaged_names("data"):
        section = load_part("data", name)["data"]
        module = f"medldr.datasets.{section['name']}"
        config = excerpt(module, "Config").model_validate(section)
        where = excerpt(module, "present")(config)
        rows.append([name, section["name"], where])
    _print("data sets", ["dataset", "files"], rows)


def _print(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    name = Column("name", style="bold", no_wrap=True)
    table = Table(name, *heads, title=title, title_justify="left", box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    Console().print(table)
