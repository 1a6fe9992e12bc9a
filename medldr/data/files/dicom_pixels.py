"""Pictures of a DICOM file: decoded, every bit accounted for, and rescaled to values.

Source:
    PS3.5, sections 8.1 and 8.2; PS3.3, C.7.6.3 (pixels), C.11.1 (modality look-up table and
    rescaling), C.11.2 (windows), C.7.6.16.2.9 (rescaling of each frame), C.8.8.3.4 (doses).
    Our choices: a compressed picture must reach the end of its stream, because decoders of JPEG
    and JPEG-LS fill up what is missing; RGBA and CMYK, which the standard has retired, are refused;
    MONOCHROME1 is turned before the rescaling, so that it equals its MONOCHROME2 twin, and its
    padding (C.7.5.1.1.2), which would become white, is as dark as the darkest pixel; a slope of 0
    is read as none.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydicom import uid
from pydicom.encaps import generate_frames
from pydicom.multival import MultiValue
from pydicom.pixels.decoders.base import get_decoder
from pydicom.pixels.processing import apply_color_lut, apply_modality_lut, convert_color_space
from pydicom.pixels.utils import as_pixel_options

from medldr.data.files.dicom_file import functional_group, holds_pixels
from medldr.data.files.origin import Origin
from medldr.data.files.scan import (
    ScanError,
    Voi,
    finite,
    plain_numbers,
    refuse_bomb,
    scaled,
    understood,
)

_STREAMS: Final = (
    *(*uid.JPEGTransferSyntaxes, *uid.JPEGLSTransferSyntaxes, *uid.JPEG2000TransferSyntaxes),
    *(uid.HTJ2K, uid.HTJ2KLossless, uid.HTJ2KLosslessRPCL),
)
_END: Final = b"\xff\xd9"
"""The last two bytes of a stream of each of these."""

_PREFIX: Final = "Unable to decode as exceptions were raised by all available plugins: "
"""What pydicom puts before the reasons of its decoders."""

Window = tuple[float, float]


class Frames(NamedTuple):
    """The pictures of one file, or of all slices of a series.

    Attributes:
        values: ``(frames, rows, columns, channels)``, rescaled.
        bits: Of unsigned numbers that were not rescaled; else None.
        mode: ``12-bit MONOCHROME2``, ``RGB``.
        warnings: What was replaced, and what the file says otherwise than its pixels do.
        modality: CT, MR and so on; empty if the file does not say.
        window: Lowest and highest value to show; None if the file names none.
        voi: See `Scan.voi`.
        patient: See `Scan.patient`.
        origin: See `Scan.origin`.
    """

    values: NDArray[Any]
    bits: int | None
    mode: str
    warnings: tuple[str, ...] = ()
    modality: str = ""
    window: Window | None = None
    voi: Voi = ""
    patient: str = ""
    origin: Origin = Origin()


def frames_of(dataset: Any, assumed: tuple[str, ...] = ()) -> Frames:
    """All pictures of a file.

    Args:
        dataset: A whole data set with a transfer syntax.
        assumed: What was assumed in opening it; told first.

    Raises:
        ScanError: If it holds no picture, if no package here decodes it, or if it is broken.
    """
    frames = _decoded(dataset)
    inverted = frames.mode.endswith("MONOCHROME1")  # the lowest number is shown white
    if inverted:
        frames = _with_dark_padding(dataset, frames)
    numbers, warnings = plain_numbers(frames.values), [*assumed, *frames.warnings]
    modality = str(dataset.get("Modality") or "")
    frames = frames._replace(
        values=numbers,
        modality=modality,
        voi=_voi(dataset),
        warnings=tuple(warnings),
        patient=_patient(dataset),
    )
    if numbers.shape[-1] == 3:  # the standard rescales grey only
        return frames
    window = _window(dataset)
    if dataset.get("ModalityLUTSequence"):
        values, depth = _looked_up(dataset, numbers[..., 0], inverted)
        if inverted and window:
            window = _turned(window, 1.0, 0.0, 2**depth - 1)
        return frames._replace(values=values[..., None], bits=depth, window=window)
    # Sum of the lowest and the highest number of that many bits, with a sign or without.
    ends = -1 if frames.bits is None or numbers.dtype.kind == "i" else 2**frames.bits - 1
    if inverted:
        numbers = (ends - numbers.astype(np.int64)).astype(numbers.dtype)
    rescales = [_rescale(dataset, index) for index in range(len(numbers))]
    if any(slope == 0 for slope, _ in rescales):
        warnings.append(
            "its rescale slope is 0, which would make all values equal: it was not applied"
        )
        rescales = [(slope or 1.0, intercept if slope else 0.0) for slope, intercept in rescales]
    if inverted and window:
        window = _turned(window, *rescales[0], ends)
    if len(set(rescales)) == 1:
        values = scaled(numbers, *rescales[0])
    else:
        values = np.stack([scaled(f, *r) for f, r in zip(numbers, rescales, strict=True)])
    values, replaced = finite(values)
    holder = functional_group(dataset, 0, "PixelValueTransformationSequence") or dataset
    if modality == "CT" and "RescaleIntercept" not in holder:
        warnings.append("it does not say how its numbers become Hounsfield units")
    untouched = set(rescales) == {(1.0, 0.0)} and numbers.dtype.kind == "u"
    bits = frames.bits if untouched else None
    return frames._replace(values=values, bits=bits, window=window, warnings=(*warnings, *replaced))


# From the file to stored numbers


def _patient(dataset: Any) -> str:
    """Digits in place of PatientID, which is compared within an item and told to nobody.

    So few that many patients share them: whoever guesses ids cannot tell which one it is.
    """
    named = str(dataset.get("PatientID") or "").strip()
    return hashlib.sha256(f"medldr patient {named}".encode()).hexdigest()[:4] if named else ""


def _decoded(dataset: Any) -> Frames:
    if not holds_pixels(dataset):
        raise ScanError(_no_picture(dataset))
    syntax = dataset.file_meta.TransferSyntaxUID
    decoder = _decoder(syntax)
    run_lengths = syntax == uid.RLELossless
    choices: dict[str, Any] = {}
    if run_lengths:
        # pydicom's own decoder is slower than pylibjpeg's, which breaks off on damaged files.
        choices["decoding_plugin"] = "pydicom"
    own_bits = run_lengths or not syntax.is_encapsulated
    with understood(_undecodable):
        options = as_pixel_options(dataset)
        if syntax.is_encapsulated:
            sizes = ("number_of_frames", "rows", "columns", "samples_per_pixel", "bits_allocated")
            unpacked = math.prod(int(options[name]) for name in sizes) // 8
            refuse_bomb(unpacked, len(dataset.PixelData))
        if syntax in _STREAMS:
            _require_ends(dataset, options["number_of_frames"])
        if own_bits:  # `_without_overlays` knows wherever the highest bit is
            choices["correct_unused_bits"] = False
        numbers, properties = decoder.as_array(
            dataset, raw=True, **choices, validate=True, allow_excess_frames=False
        )
    photometric, channels = (
        str(properties["photometric_interpretation"]),
        properties["samples_per_pixel"],
    )
    numbers = numbers.reshape(-1, properties["rows"], properties["columns"], channels)
    if numbers.dtype.kind == "f":
        if photometric != "MONOCHROME2":
            raise ScanError(f"its pixels are real numbers and {photometric}, which has no meaning")
        return Frames(numbers, None, f"{numbers.dtype} {photometric}")
    if own_bits:
        numbers = _without_overlays(numbers, dataset)
    return (_grey if channels == 1 else _colour)(dataset, numbers, photometric)


def _undecodable(error: Exception) -> str:
    text = (" ".join(str(error).split()) or type(error).__name__).removeprefix(_PREFIX)
    return f"its pixels cannot be decoded ({text if len(text) <= 200 else text[:197] + '...'})"


def _decoder(syntax: Any) -> Any:
    try:
        decoder = get_decoder(syntax)
    except NotImplementedError as error:
        raise ScanError(
            f"no package decodes its transfer syntax {syntax} ({syntax.name}). Convert it to "
            "Explicit VR Little Endian"
        ) from error
    if not decoder.is_available:
        raise ScanError(
            f"its pixels are compressed as {syntax} ({syntax.name}), and no package that is "
            "installed decodes that. Install one with: pip install 'medldr[dicom]'"
        )
    return decoder


def _no_picture(dataset: Any) -> str:
    kind = getattr(dataset.get("SOPClassUID"), "name", "")
    named = f" ({kind})" if kind and not kind[0].isdigit() else ""
    if "Rows" in dataset:
        return f"its pixels are missing{named}: the file is truncated, or was written without them"
    return f"it holds no picture{named}"


def _require_ends(dataset: Any, frames: int) -> None:
    streams = list(generate_frames(dataset.PixelData, number_of_frames=frames))
    if len(streams) < frames:
        raise ScanError(f"it is truncated: {len(streams)} of its {frames} frames are there")
    for number, stream in enumerate(streams[:frames], start=1):
        # An odd number of bytes is filled up to an even one, by some writers with FF.
        if not stream.rstrip(b"\x00\xff").endswith(_END):
            where = "its compressed picture" if frames == 1 else f"frame {number} of {frames}"
            raise ScanError(f"{where} is truncated: its stream has no end")


def _without_overlays(numbers: NDArray[Any], dataset: Any) -> NDArray[Any]:
    """Numbers without the bits around them, which old files use for overlays."""
    allocated, stored = int(dataset.BitsAllocated), int(dataset.BitsStored)
    high = dataset.get("HighBit")
    high = stored - 1 if high is None else int(high)
    if allocated == 1 or stored == allocated or not stored - 1 <= high < allocated:
        return numbers
    numbers = np.left_shift(numbers, allocated - 1 - high)
    shifted: NDArray[Any] = np.right_shift(numbers, allocated - stored)  # keeps the sign
    return shifted


def _grey(dataset: Any, numbers: NDArray[Any], photometric: str) -> Frames:
    bits = int(dataset.BitsStored)
    if photometric in ("MONOCHROME1", "MONOCHROME2"):
        sign = "signed " if numbers.dtype.kind == "i" else ""
        mode = f"{bits}-bit {sign}{photometric}"
        return Frames(numbers, bits, mode)
    if photometric != "PALETTE COLOR":
        raise ScanError(f"its colours are {photometric} in a single channel, which is not known")
    colours = _palette(dataset, numbers[..., 0])[..., :3]
    return Frames(colours, 8 * colours.dtype.itemsize, "PALETTE COLOR")


def _colour(dataset: Any, numbers: NDArray[Any], photometric: str) -> Frames:
    if numbers.shape[-1] != 3:
        raise ScanError(f"its {numbers.shape[-1]} channels ({photometric}) are not RGB")
    warnings: tuple[str, ...] = ()
    named = str(dataset.get("PhotometricInterpretation", ""))
    if named.startswith("YBR") != photometric.startswith("YBR") and photometric != "RGB":
        warnings = (
            f"its header says {named}, its compressed picture {photometric}, which was taken",
        )
    bits = int(dataset.BitsStored)
    if photometric in ("YBR_FULL", "YBR_FULL_422"):
        if numbers.dtype != np.uint8:
            raise ScanError(f"its colours are {photometric} of more than 8 bits, which is not read")
        numbers = convert_color_space(numbers, "YBR_FULL", "RGB")
    elif photometric != "RGB":
        raise ScanError(f"its colours are {photometric}, which is not read. Convert it to RGB")
    if numbers.dtype.kind == "i":
        raise ScanError("its colours are signed numbers, which has no meaning")
    return Frames(numbers, bits, "RGB" if bits == 8 else f"{bits}-bit RGB", warnings)


def _palette(dataset: Any, index: NDArray[Any]) -> NDArray[Any]:
    """Colours for numbers of a palette, ``(..., 3)``."""
    try:
        if "RedPaletteColorLookupTableData" not in dataset:
            return np.asarray(apply_color_lut(index, dataset))
        entries, first, depth = map(int, dataset.RedPaletteColorLookupTableDescriptor)
        entries = entries or 2**16
        tables = [
            dataset[f"{c}PaletteColorLookupTableData"].value for c in ("Red", "Green", "Blue")
        ]
        order = "<" if dataset.original_encoding[1] else ">"
        wide = len(tables[0]) >= 2 * entries
        kind = f"{order}u2" if wide else "u1"
        table = np.stack([np.frombuffer(t, kind)[:entries] for t in tables], axis=-1)
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise ScanError("its palette of colours is missing or broken") from error
    if len(table) < entries:
        raise ScanError("its palette of colours is truncated")
    # Not by pydicom, which counts entries beyond 255 in 8 bits if the colours have 8 bits.
    places = np.clip(index.astype(np.int64) - first, 0, entries - 1)
    return table.astype(np.uint16 if wide and depth > 8 else np.uint8)[places]


# From stored numbers to values


def _with_dark_padding(dataset: Any, frames: Frames) -> Frames:
    """Inverted pixels whose padding is as dark, which means as high, as the darkest of the others.

    Raises:
        ScanError: If the value that marks padding is not a number.
    """
    value, stored = dataset.get("PixelPaddingValue"), frames.values
    if value is None or value == "":
        return frames
    try:
        low, high = sorted((int(value), int(dataset.get("PixelPaddingRangeLimit") or value)))
    except (ValueError, TypeError) as error:
        raise ScanError("its pixel padding value is not a number") from error
    padding = (stored >= low) & (stored <= high)
    if not padding.any() or padding.all():
        return frames
    darkest = stored[~padding].max()
    if stored[padding].min() >= darkest:
        return frames
    warnings = (*frames.warnings, "its padding would be white and was made dark")
    return frames._replace(values=np.where(padding, darkest, stored), warnings=warnings)


def _rescale(dataset: Any, index: int) -> tuple[float, float]:
    """Slope and intercept of a frame; 1 and 0 where the file has none.

    Raises:
        ScanError: If they are no finite numbers.
    """
    holder = functional_group(dataset, index, "PixelValueTransformationSequence") or dataset
    try:
        slope = _number(holder, "RescaleSlope", 1)
        intercept = _number(holder, "RescaleIntercept", 0)
        slope *= _number(dataset, "DoseGridScaling", 1)
    except (ValueError, TypeError) as error:
        raise ScanError("its rescale slope or intercept is not a number") from error
    if not np.isfinite([slope, intercept]).all():
        raise ScanError("its rescale slope or intercept is not finite")
    return slope, intercept


def _number(holder: Any, name: str, otherwise: float) -> float:
    value = holder.get(name)
    return float(otherwise if value is None or value == "" else value)


def _looked_up(dataset: Any, numbers: NDArray[Any], inverted: bool) -> tuple[NDArray[Any], int]:
    """Values by the file's own table, whose highest entry white is measured from if inverted."""
    try:
        depth = int(dataset.ModalityLUTSequence[0].LUTDescriptor[2])
        # Wide, for pydicom counts entries in the type of the pixels.
        values = np.asarray(apply_modality_lut(numbers.astype(np.int64), dataset))
    except Exception as error:
        raise ScanError("its modality look-up table is broken") from error
    if inverted:
        values = (2**depth - 1 - values.astype(np.int64)).astype(values.dtype)
    return values, depth


def _window(dataset: Any) -> Window | None:
    holder = functional_group(dataset, 0, "FrameVOILUTSequence") or dataset
    try:
        center, width = (_first(holder.get(f"Window{name}")) for name in ("Center", "Width"))
    except (ValueError, TypeError):
        return None
    if center is None or width is None or not np.isfinite([center, width]).all():
        return None
    if str(holder.get("VOILUTFunction") or "LINEAR") == "LINEAR":
        # PS3.3, C.11.2.1.2.1: a width of 256 has 256 steps and so 255 between its ends.
        center, width = center - 0.5, width - 1
    return (center - width / 2, center + width / 2) if width > 0 else None


def _voi(dataset: Any) -> Voi:
    """What a file recommends beside, or in place of, one window (PS3.3, C.11.2.1)."""
    holder = functional_group(dataset, 0, "FrameVOILUTSequence") or dataset
    if str(holder.get("VOILUTFunction")) == "SIGMOID":
        return "sigmoid"
    if "VOILUTSequence" in holder:
        return "table"
    centers = holder.get("WindowCenter")
    return "several" if isinstance(centers, MultiValue) and len(centers) > 1 else ""


def _first(value: Any) -> float | None:
    if isinstance(value, (int, float)):
        return float(value)
    if not value:  # nothing, an empty text, or a list of none
        return None
    return float(value if isinstance(value, str) else value[0])


def _turned(window: Window, slope: float, intercept: float, ends: int) -> Window:
    """A window on inverted values: what was its upper end is its lower one."""
    both = slope * ends + 2 * intercept
    return both - window[1], both - window[0]
