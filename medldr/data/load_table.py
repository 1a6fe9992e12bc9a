"""The table of a ``data`` section: from a pack or from the dataset itself, with its class names."""

from __future__ import annotations

from dataclasses import replace

from medldr.data.config import DatasetConfig
from medldr.data.image_table import ImageTable
from medldr.data.packs.pack import Pack, read_table
from medldr.errors import InputError


def load_table(config: DatasetConfig) -> ImageTable:
    """The table of a ``data`` section, checked, with the class names it asks for.

    Its images are those of a pack where there is one; see `medldr.data.packs.pack`.

    Raises:
        InputError: If the dataset cannot be read or breaks its contract, or if its pack is damaged
            or does not agree with it.
    """
    table, _ = load_table_and_pack(config)
    return table


def load_table_and_pack(config: DatasetConfig) -> tuple[ImageTable, Pack | None]:
    """The same, and the pack that its images are read from; None where there is none."""
    table, pack = read_table(config)
    names = config.class_names
    if names is None:
        return table, pack
    if len(names) != len(table.class_names) or len(set(names)) != len(names) or not all(names):
        raise InputError(
            f"data.class_names: {table.name} needs {len(table.class_names)} different names, to "
            f"replace {', '.join(table.class_names)}; given: {', '.join(names)}"
        )
    return replace(table, class_names=names), pack
