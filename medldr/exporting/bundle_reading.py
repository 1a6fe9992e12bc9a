"""How a bundle reads a file: the rules of `preprocessing.json` as transforms of MONAI.

Volumes in NIfTI files and pictures of 8 bits can be read with MONAI's transforms as medldr reads
them; a bundle for anything else is refused, never made with something similar.

Source:
    Only MONAI, torch, NumPy and Pillow are used, the libraries that medldr itself reads and resizes
    with, so that numbers agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from medldr.data.files.intensity import WINDOWS
from medldr.data.files.rules import OWN_PICTURE, PICTURE, SCAN, Rules
from medldr.data.files.scan import NIFTI
from medldr.data.listing.kinds import PICTURES
from medldr.errors import InputError
from medldr.folders.preprocessing_record import CURE, Preprocessing

VOLUMES: Final = tuple(ending for ending in NIFTI if ending.startswith(".nii"))

_DEEP: Final = "Only pictures of 8 bits are read as medldr reads them: save others with 8 bits."
_KEYS: Final = {"keys": "image"}
_FINITE: Final = (
    "$lambda image: image if torch.isfinite(image).all() else "
    "torch.where(torch.isfinite(image), image, image[torch.isfinite(image)].min())"
)
_SPACED: Final = (
    "$lambda image: monai.transforms.Resize([max(1, round(n * float(mm) / to)) for n, mm, to in "
    "zip(image.shape[1:], image.pixdim, {spacing})], mode='trilinear', anti_aliasing=True)(image)"
)
_TURNED: Final = (
    "$lambda image: monai.transforms.Orientation(axcodes='RAS', labels=(('L', 'R'), ('P', 'A'), "
    "('I', 'S')))(image) if int(image.meta['sform_code']) > 0 or int(image.meta['qform_code']) > 0 "
    "else image"
)
_GREY: Final = (
    "$lambda image: image if len(image) == 1 else "
    "0.299 * image[:1] + 0.587 * image[1:2] + 0.114 * image[2:]"
)


@dataclass(frozen=True)
class Steps:
    """From a file to a stored image.

    Attributes:
        endings: Of the names of files that are read.
        transforms: MONAI's, as a bundle's configuration names them.
        limits: What medldr does and these do not, a sentence each.
    """

    endings: tuple[str, ...]
    transforms: list[dict[str, Any]]
    limits: tuple[str, ...]


def reading_steps(record: Preprocessing) -> Steps:
    """The steps for what a record says of its files.

    Raises:
        InputError: If the record does not say how files were read, or MONAI cannot read them so.
    """
    values = dict(record.reading)
    kind = values.pop("kind", None)
    if kind in (OWN_PICTURE, PICTURE):
        return _benchmark_pictures(record, values if kind == OWN_PICTURE else None)
    try:
        rules = Rules.from_dict(values) if kind == SCAN else None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(["reading", *map(str, first["loc"])])
        raise InputError(f"preprocessing.json: {key}: {first['msg']}. {CURE}") from error
    if rules is not None and rules.combined is not None:
        raise InputError(
            f"each item is {len(rules.combined.names)} images "
            f"({', '.join(rules.combined.names)}), and a bundle reads one file per item. Export "
            "with --format=onnx or torch, whose input holds them one after another"
        )
    if rules is None or not _readable(rules):
        raise InputError(
            f"preprocessing.json: reading: {record.reading} cannot be done by MONAI's transforms, "
            "which read 8-bit pictures and whole NIfTI volumes. Export with --format=onnx or torch"
        )
    return _pictures(rules) if rules.eight_bit else _volumes(rules, record)


def _readable(rules: Rules) -> bool:
    """Whether a bundle can do all of these rules."""
    volumes = rules.dims == 3 and rules.window != "file"
    return rules.crop is None and (rules.eight_bit or volumes)


def _step(name: str, **arguments: Any) -> dict[str, Any]:
    return {"_target_": name, **_KEYS, **arguments}


def _benchmark_pictures(record: Preprocessing, own: Mapping[str, Any] | None) -> Steps:
    height, width = record.stored.spatial_size
    turned = own is not None and own["exif"]
    read = _load_picture("RGB", turned, f".resize({(width, height)}, Image.Resampling.BILINEAR)")
    clear = () if own is None else (_transparent(own["ground"]),)
    return Steps(PICTURES, [*read, _floats()], (*clear, _DEEP))


def _pictures(rules: Rules) -> Steps:
    """Pictures of 8 bits, by Pillow as in medldr."""
    mode = "RGB" if rules.channels == 3 else "RGB').convert('L"
    size = rules.size
    stretched = size is not None and not rules.pad
    resize = f".resize({size[::-1]}, Image.Resampling.BILINEAR)" if size and stretched else ""
    steps = _load_picture(mode, rules.exif, resize)
    if size and rules.pad:
        steps.append(_step("ResizeWithPadOrCropd", spatial_size=list(size)))
    return Steps(PICTURES, [*steps, _floats()], (_transparent(rules.ground), _DEEP))


def _volumes(rules: Rules, record: Preprocessing) -> Steps:
    """Volumes of NIfTI files."""
    steps = [
        # The stored type is kept: it tells how many bits are in use.
        _step("LoadImaged", reader="NibabelReader", dtype=None),
        _step("EnsureChannelFirstd"),
        _step("Lambdad", func=_TURNED),
        *_unit(rules),
        _channels(rules),
    ]
    if rules.spacing is not None:
        steps.append(_step("Lambdad", func=_SPACED.format(spacing=rules.spacing)))
    if rules.size is not None and rules.pad:
        steps.append(_step("ResizeWithPadOrCropd", spatial_size=list(rules.size)))
    elif rules.size is not None:
        size, mode = list(rules.size), "trilinear"
        steps.append(_step("Resized", spatial_size=size, mode=mode, anti_aliasing=True))
    if record.stored.dtype == "uint8":
        steps.append(_step("Lambdad", func="$lambda image: torch.round(image * 255)"))
    limits = [
        "NIfTI files alone are read; convert DICOM series, and compare some answers.",
        "A header that contradicts itself, and values above the bits in use, are taken as they "
        "are; medldr refuses such files.",
    ]
    if rules.window == "auto" and "CT" in record.training.modalities:
        limits.append(
            "Training scans were CT in DICOM, of which -1000 to 1000 HU became 0 to 1; a NIfTI "
            "file is scaled by its percentiles: train with data.window=ct to have one rule."
        )
    if rules.spacing is not None:
        limits.append("Lengths of NIfTI files are read as mm, whatever unit the header names.")
    return Steps(VOLUMES, [*steps, _floats()], tuple(limits))


def _load_picture(mode: str, turned: bool, then: str) -> list[dict[str, Any]]:
    opened = "ImageOps.exif_transpose(picture)" if turned else "picture"
    converter = f"$lambda picture: {opened}.convert('{mode}'){then}"
    # Rows first, as medldr has them.
    reader = {"_target_": "PILReader", "converter": converter, "reverse_indexing": False}
    return [_step("LoadImaged", reader=reader), _step("EnsureChannelFirstd")]


def _unit(rules: Rules) -> list[dict[str, Any]]:
    """Finite, and on a scale from 0 to 1."""
    first = _step("Lambdad", func=_FINITE)
    window = WINDOWS.get(rules.window) if isinstance(rules.window, str) else rules.window
    if window is not None:
        ends = {"a_min": window[0], "a_max": window[1], "b_min": 0.0, "b_max": 1.0, "clip": True}
        return [first, _step("ScaleIntensityRanged", **ends)]
    low, high = rules.percentiles
    keys = f"lower={low}, upper={high}, b_min=0.0, b_max=1.0, clip=True"
    # Where both percentiles are one number, the lowest and the greatest value take their place.
    scaled = (
        f"(monai.transforms.ScaleIntensityRangePercentiles({keys}) if numpy.ptp(numpy.percentile("
        f"image.numpy(), [{low}, {high}])) > 0 else monai.transforms.ScaleIntensity(0.0, 1.0))("
        "image.float())"
    )
    if rules.window == "auto":  # by the bits that a file has, where it declares them
        if rules.bit_depth is not None:
            sixteen = "image.dtype == torch.int32 and int(image.meta['datatype']) == 512"
            top = 2.0**rules.bit_depth - 1
            scaled = f"(image / {top}).clamp(0, 1) if {sixteen} else {scaled}"
        scaled = f"image / 255.0 if image.dtype == torch.uint8 else {scaled}"
    return [first, _step("Lambdad", func=f"$lambda image: {scaled}")]


def _channels(rules: Rules) -> dict[str, Any]:
    if rules.channels == 1:
        return _step("Lambdad", func=_GREY)
    return _step("Lambdad", func=f"$lambda image: image.expand({rules.channels}, -1, -1, -1)")


def _floats() -> dict[str, Any]:
    return _step("EnsureTyped", dtype="$torch.float32")


def _transparent(ground: str) -> str:
    return (
        f"Transparent pixels are not blended on {ground}, as medldr blends them: give pictures "
        "without transparency."
    )
