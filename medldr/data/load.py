"""The table of a ``data`` section: from its pack or from the data set's own files, checked.

`medldr data pack` makes packs; every run of the same data set then reads from its pack. The data
set's own files take precedence where they are at hand: a pack that no longer agrees with them is
refused. Where they are absent, the pack alone is used.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from medldr import plugins
from medldr.data.checks.table_checks import validate_table
from medldr.data.config import DatasetConfig
from medldr.data.image_table import BadFile, ImageTable
from medldr.data.store import Pack, find_pack
from medldr.data.store.pack import differences, stale
from medldr.errors import InputError


def load_table(config: DatasetConfig) -> ImageTable:
    """The table of a ``data`` section, checked, with the class names it asks for.

    Its images are those of a pack where there is one; see `medldr.data.store`.

    Raises:
        InputError: If the dataset cannot be read or breaks its contract, or if its pack is damaged
            or does not agree with it.
    """
    table, _ = load_table_and_pack(config)
    return table


def load_table_and_pack(config: DatasetConfig) -> tuple[ImageTable, Pack | None]:
    """The same, and the pack that its images are read from; None where there is none."""
    table, pack = _read_table(config)
    names = config.class_names
    if names is None:
        return table, pack
    if len(names) != len(table.class_names) or len(set(names)) != len(names) or not all(names):
        raise InputError(
            f"data.class_names: {table.name} needs {len(table.class_names)} different names, to "
            f"replace {', '.join(table.class_names)}; given: {', '.join(names)}"
        )
    return replace(table, class_names=names), pack


def _read_table(section: DatasetConfig) -> tuple[ImageTable, Pack | None]:
    """The table of a `data` section, with the pixels of its pack where there is one.

    Returns:
        The table, and the pack that it reads from.

    Raises:
        InputError: If the data set cannot be read, or its pack cannot or does not agree with it.
    """
    module: Any = plugins.load("datasets", section.name)
    pack = find_pack(section)
    if pack is None:
        table: ImageTable = module.load(section)
        validate_table(table)
        return table, None
    here = section.model_copy(update={"download": False})  # a pack needs no download
    if absence(module, here) is not None:
        table = pack.table()
        note = (
            f"{table.name} is read from its pack alone: its original files cannot be read here, so "
            "the pack was not compared with them"
        )
        table = replace(table, notes=(*table.notes, note))
        if table.bad_files and getattr(section, "on_bad_file", "skip") == "error":
            raise InputError(
                f"the pack {pack.folder} lacks {len(table.bad_files)} files that could not be "
                f"used, such as {table.bad_files[0].path} ({table.bad_files[0].reason}). Set "
                "data.on_bad_file=skip to leave them out too, or repair the files and pack again"
            )
        validate_table(table)
        return table, pack
    # Names, sizes and times of files are compared; they were whole when packed.
    again = getattr(module, "load_again", None)
    bad_files = tuple(BadFile(*entry) for entry in pack.facts.bad_files)
    table = module.load(here) if again is None else again(here, bad_files)
    validate_table(table)
    changed = differences(pack, table)
    if changed:
        raise stale(pack, changed)
    return replace(table, images=pack.images), pack


def absence(module: Any, section: DatasetConfig) -> str | None:
    """Why a data set's own files are not here, in a sentence; None where they are."""
    require = getattr(module, "require", None)
    if require is None:
        return None
    try:
        require(section)
    except InputError as error:
        return str(error).split(". ")[0].splitlines()[0]
    return None


def whole_at_input_size(table: ImageTable, transform: Any) -> ImageTable:
    """The table, whose whole pictures have the size of the network's input; others as they are.

    Args:
        table: With pictures at their own size, or not.
        transform: The section; its preset must make one size of pictures of any.

    Raises:
        InputError: If the preset works at the size of stored images alone, or gives no size.
    """
    images: Any = table.images  # `PictureFiles`, which is not imported where nobody reads pictures
    if not getattr(images, "own_size", False):
        return table
    for key, section in (("transform", transform), ("transform.views", transform.views)):
        if section is not None:
            _require_any_size(table.name, key, section)
    return replace(table, images=images.whole_at((transform.size, transform.size)))


def require_one_size(table: ImageTable) -> None:
    """Refuse pictures at their own sizes where one array must hold them all.

    Raises:
        InputError: If they are.
    """
    if getattr(table.images, "own_size", False):
        raise InputError(
            f"data.size: null keeps each picture of {table.name} at its own size, and a pack holds "
            "one size. Set data.size to pack them, such as data.size=256, which changes the "
            "training crops; runs with data.size: null read the files and need no pack"
        )


def _require_any_size(name: str, key: str, section: Any) -> None:
    if not getattr(plugins.load("transforms", section.name), "ANY_SIZE", False):
        known = plugins.names("transforms")
        fitting = [one for one in known if plugins.facts("transforms", one).get("ANY_SIZE")]
        raise InputError(
            f"data.size: null keeps each picture of {name} at its own size, but {key}: "
            f"{section.name} works on stored images of one size. Set data.size, or choose one of "
            f"{', '.join(fitting)}"
        )
    if getattr(section, "size", None) is None:
        raise InputError(
            f"data.size: null keeps each picture of {name} at its own size, so {key}.size must say "
            f"what the network sees, such as {key}.size=224. Set it, or set data.size"
        )
