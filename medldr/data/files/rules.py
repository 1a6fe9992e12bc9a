"""From the keys of a data set and the facts of all its files to rules that hold for each.

Source:
    Our choice: whatever is decided by looking at files is decided once, for the whole set, so that
    no file is treated unlike another: a picture of 12 bits in a dark corner of the set is not
    brightened because it happens to hold small values. Prediction on new files uses the same rules,
    from the run's record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, TypeVar

import numpy as np

from medldr.data.files.combined import on_one_grid
from medldr.data.files.config import Combined, ScanConfig
from medldr.data.files.config import Rules as Rules
from medldr.data.files.facts import Facts, warning_notes
from medldr.data.files.geometry import is_picture
from medldr.data.files.intensity import depth_of, rule_name
from medldr.data.files.scan import times
from medldr.data.image_table import ImageTable
from medldr.errors import InputError

N = TypeVar("N", int, float)

SCAN: Final = "scan"
OWN_PICTURE: Final = "own picture"
PICTURE: Final = "picture"
"""Ways in which items become stored images, as a run's record names them."""

LATENTS: Final = "latents"
"""What an encoder made of images, which are not at hand."""

PACK: Final = "pack"
"""Images from a pack without its original files: how they were read is not known."""


def resolve(config: ScanConfig, facts: Mapping[str, Facts], name: str) -> tuple[Rules, list[str]]:
    """The rules of a data set, and what readers of a result should know of them.

    Args:
        config: Its keys.
        facts: Of each usable item, by id; at least one.
        name: The data set's, for messages.

    Raises:
        InputError: If pictures and volumes, or sizes, are mixed and no key says what to do.
    """
    items = list(facts.values())
    notes: list[str] = []
    dims = dims_of(config, facts, name)
    channels = _channels(config, facts, name)
    bit_depth = _bit_depth(config, items, notes)
    spacing = _per_axis(config.spacing, dims, "spacing", name)
    size = _per_axis(config.size, dims, "size", name)
    pad = config.fit == "pad" or (config.fit == "auto" and spacing is not None)
    eight_bit = (
        dims == 2
        and config.window == "auto"
        and config.spacing is None
        and channels in (1, 3)
        and all(one.eight_bit and len(one.spatial) == 2 for one in items)
    )
    rules = Rules(
        dims=dims,
        channels=channels,
        size=size,
        spacing=spacing,
        pad=pad,
        window="auto" if isinstance(config.window, dict) else config.window,
        percentiles=config.percentiles,
        bit_depth=bit_depth,
        frame=config.frame,
        ground=config.ground,
        exif=config.exif,
        crop=config.crop,
        eight_bit=eight_bit,
    )
    if size is None:
        _require_one_size(config, dims, facts, name)
    _one_scale(rules, items, notes)
    _unusual(rules, items, notes)
    if rules.window == "file":
        _recommended(items, notes)
    return rules, [*notes, *warning_notes(items)]


def combination(config: ScanConfig, names: Sequence[str], dims: int) -> Combined:
    """How several images of each item become one; how many bits each has is not yet known.

    Args:
        config: Keys of the data set.
        names: Of the images.
        dims: 2 for pictures, 3 for volumes.

    Raises:
        InputError: If a key has no meaning for them.
    """
    combine = config.combine or ("channels" if dims == 3 else "views")
    if combine == "views" and config.crop is not None:
        raise InputError(
            "data.crop: a mask or point has its place in one image, and the views of an item have "
            "no common one. Unset it, or combine images on one grid with data.combine=channels"
        )
    window = config.window
    windows = [window.get(n, "auto") if isinstance(window, dict) else window for n in names]
    unset = (None,) * len(names)
    return Combined(tuple(names), combine, config.align, config.on_missing, tuple(windows), unset)


def resolve_several(
    config: ScanConfig,
    facts: Mapping[str, Sequence[Facts | None]],
    columns: Sequence[str],
    name: str,
) -> tuple[Rules, list[str]]:
    """The rules of a data set with several images per item; as `resolve`, image by image.

    Each image is scaled by what its own column's files say: a PET is not windowed as the CT beside
    it, and bits are counted column by column.

    Args:
        config: Its keys.
        facts: Of the images of each usable item, by id; None for one that is missing.
        columns: Names of the images.
        name: The data set's, for messages.

    Raises:
        InputError: As `resolve`, or if images have different numbers of channels.
    """
    known = {f"{item} ({column})": one for item, images in facts.items()
             for column, one in zip(columns, images, strict=True) if one is not None}  # fmt: skip
    dims = dims_of(config, known, name)
    how = combination(config, columns, dims)
    word = f"channels on the grid of {columns[0]}" if how.combine == "channels" else "views"
    notes = [f"the images of each item ({', '.join(columns)}) become {word} (data.combine)"]
    each = []
    for number, column in enumerate(columns):
        own = {item: one for item, images in facts.items() if (one := images[number]) is not None}
        if how.combine == "channels":
            grids = {item: next(filter(None, facts[item])) for item in own}
            moved = sum(not on_one_grid(grids[item], one) for item, one in own.items())
            if moved:
                notes.append(f"{column}: {moved:,} of {len(own):,} were resampled (data.align)")
            own = {
                item: one._replace(shape=(one.shape[0], *grids[item].spatial))
                for item, one in own.items()
            }
        changed = {"window": how.windows[number], "dims": dims}
        rules, told = resolve(config.model_copy(update=changed), own, f"{name}, {column}")
        each.append(rules)
        notes += [f"{column}: {text}" for text in told]
        if len(own) < len(facts):
            notes.append(
                f"{column}: missing in {len(facts) - len(own):,} of {len(facts):,} items, where "
                "zeros stand in its place (data.on_missing; the column `missing` divides results)"
            )
    channels = {one.channels for one in each}
    if len(channels) > 1 and channels != {1, 3}:
        listed = ", ".join(f"{c} {one.channels}" for c, one in zip(columns, each, strict=True))
        raise InputError(f"{name}: images have different numbers of channels ({listed})")
    if how.combine == "views" and config.size is None:
        _require_one_size(config, dims, known, name)
    how = replace(how, bit_depths=tuple(one.bit_depth for one in each))
    eight_bit = all(one.eight_bit for one in each)
    rules = replace(each[0], channels=max(channels), eight_bit=eight_bit, combined=how)
    return rules, notes


def dims_of(config: ScanConfig, facts: Mapping[str, Facts], name: str) -> Literal[2, 3]:
    """Whether a data set holds pictures or volumes.

    Args:
        config: Its keys.
        facts: Of each readable item, by id; at least one.
        name: The data set's, for messages.

    Raises:
        InputError: If it holds both and `data.dims` is not set.
    """
    if config.dims != "auto":
        return config.dims
    if all(is_picture(one.spatial) for one in facts.values()):
        return 2
    pictures = [item for item, one in facts.items() if len(one.spatial) == 2]
    volumes = [item for item, one in facts.items() if len(one.spatial) == 3]
    if pictures:
        raise InputError(
            f"{name} holds both pictures ({len(pictures):,}, such as {pictures[0]}) and volumes "
            f"({len(volumes):,}, such as {volumes[0]}). Set data.dims to 2, with data.frame for "
            "the volumes, or leave one kind out of the table"
        )
    return 3


def _channels(config: ScanConfig, facts: Mapping[str, Facts], name: str) -> int:
    if config.channels != "auto":
        return config.channels
    counts = Counter(one.shape[0] for one in facts.values())
    if len(counts) == 1:
        return next(iter(counts))
    if set(counts) == {1, 3}:
        return 3
    examples = {one.shape[0]: item for item, one in facts.items()}
    raise InputError(
        f"{name}: items have different numbers of channels ({examples}). Set data.channels to 1 or "
        "3, and leave out the items that have neither"
    )


def _bit_depth(
    config: ScanConfig, items: Sequence[Facts], notes: list[str]
) -> Literal[8, 12, 16] | None:
    stored = [one for one in items if one.bits == 16]
    if config.bit_depth == "window":
        return None
    if config.bit_depth != "auto":
        return config.bit_depth
    highest = max((one.high for one in stored), default=65_535.0)
    depth = depth_of(highest)
    if stored and config.window == "auto":
        notes.append(
            f"{len(stored):,} items are stored with 16 bits; their greatest value is "
            f"{highest:,.0f}, so they are scaled as {depth}-bit images: {2**depth - 1:,} becomes 1 "
            "(data.bit_depth)"
        )
    return depth


def _per_axis(
    numbers: N | tuple[N, ...] | None, dims: int, key: str, name: str
) -> tuple[N, ...] | None:
    if numbers is None:
        return None
    if not isinstance(numbers, tuple):
        return (numbers,) * dims
    if len(numbers) != dims:
        raise InputError(
            f"data.{key}: {name} has {dims} axes, but {len(numbers)} numbers are given: "
            f"{list(numbers)}. Give one number, or {dims}"
        )
    return numbers


def _require_one_size(config: ScanConfig, dims: int, facts: Mapping[str, Facts], name: str) -> None:
    """Refuse items of different sizes where no key says one; names two of them.

    What a crop or a spacing makes of them is only known from the pixels; it is checked there.
    """
    if config.crop is not None or config.spacing is not None:
        raise InputError(
            f"{name}: data.crop and data.spacing give images of different sizes. Set data.size"
        )
    shapes: dict[tuple[int, ...], str] = {}
    for item, one in facts.items():
        shapes.setdefault(one.seen_as(dims).spatial, item)
    if len(shapes) > 1:
        (one_shape, one_item), (other_shape, other_item) = list(shapes.items())[:2]
        example = ", ".join(["64"] * dims)
        raise InputError(
            f"{name}: items have {len(shapes):,} different sizes, such as {times(one_shape)} "
            f"({one_item}) and {times(other_shape)} ({other_item}), but a network needs one. Set "
            f"data.size=[{example}], and data.spacing to keep their scale in mm"
        )


def _one_scale(rules: Rules, items: Sequence[Facts], notes: list[str]) -> None:
    """Note by which rule values are scaled, and warn where it is not one for all."""
    names = Counter(rule_name(one, rules.window, rules.bit_depth) for one in items)
    if len(names) > 1:
        listed = ", ".join(f"{rule} {count:,}" for rule, count in names.most_common())
        notes.append(
            f"CHECK THE WINDOW: items are scaled by different rules, because they are of different "
            f"kinds ({listed}); a network may learn the rule instead of the finding. Set "
            "data.window to one rule for all"
        )
    elif not rules.eight_bit and rules.window == "auto" and names:
        notes.append(f"values are scaled by the rule {next(iter(names))!r} (data.window)")


def _recommended(items: Sequence[Facts], notes: list[str]) -> None:
    """Note what files recommend beside the window that is taken."""
    for voi, what in (("several", "several windows"), ("table", "a look-up table, too")):
        count = sum(one.voi == voi for one in items)
        if count:
            notes.append(
                f"{count:,} items recommend {what}; their first window is taken (data.window: file)"
            )


def _unusual(rules: Rules, items: Sequence[Facts], notes: list[str]) -> None:
    """Note what an axis stands for where that is not plain, and which frames are taken."""
    lying = [one.affine is not None for one in items if one.kind not in ("picture", "array")]
    unknown = lying.count(False)
    if any(lying) and unknown and any(not is_picture(one.spatial) for one in items):
        notes.append(
            f"CHECK THE ORIENTATION: {unknown:,} of {len(lying):,} scans do not say how the "
            "patient lay, so they may be mirrored or turned against the others"
        )
    several = [one for one in items if not is_picture(one.spatial)]
    films = sum(one.frames > 1 for one in several)
    if rules.dims == 3 and films:
        notes.append(
            f"the last axis of {films:,} items are frames or pages, not places in a body "
            "(data.dims=2 and data.frame choose one of them)"
        )
    if rules.dims == 2 and several:
        notes.append(
            f"of {len(several):,} items with several slices or frames the {rules.frame} one is "
            "taken (data.frame)"
        )
    if rules.channels not in (1, 3):
        notes.append(f"each item has {rules.channels} channels, as its file has them")


def reading_of(table: ImageTable) -> dict[str, Any]:
    """How items become the images of a data set, as plain values.

    Args:
        table: The data set. One that was not made of files, such as arrays in an archive, is read
            as arrays and pictures of its size are.
    """
    if table.reading is not None:
        return dict(table.reading)
    channels, *size = table.images.shape[1:]
    eight_bit = table.images.dtype == np.uint8
    rules = Rules(
        dims=2 if len(size) == 2 else 3,
        channels=channels,
        size=tuple(size),
        spacing=None,
        pad=False,
        window="auto",
        percentiles=(0.5, 99.5),
        bit_depth=8 if eight_bit else 16,
        frame="error",
        ground="white",
        exif=True,
        crop=None,
        eight_bit=eight_bit and len(size) == 2,
    )
    return {"kind": SCAN, **rules.as_dict()}
