"""Pictures that training sees at their own sizes, and the size at which all else sees them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from medldr import plugins
from medldr.data.image_table import ImageTable
from medldr.errors import InputError


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
            _check(table.name, key, section)
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


def _check(name: str, key: str, section: Any) -> None:
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
