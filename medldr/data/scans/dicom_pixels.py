"""Stored pixels of a DICOM file: decoded, every bit accounted for, colours as RGB.

Source:
    PS3.5, sections 8.1 and 8.2, and PS3.3, C.7.6.3. Our choices: a compressed picture must reach
    the end of its stream, because decoders of JPEG and JPEG-LS fill up what is missing; RGBA and
    CMYK, which the standard has retired, are refused.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydicom.encaps import generate_frames
from pydicom.pixels.decoders.base import get_decoder
from pydicom.pixels.processing import apply_color_lut, convert_color_space
from pydicom.pixels.utils import as_pixel_options
from pydicom.uid import (
    HTJ2K,
    HTJ2KLossless,
    HTJ2KLosslessRPCL,
    JPEG2000TransferSyntaxes,
    JPEGLSTransferSyntaxes,
    JPEGTransferSyntaxes,
    RLELossless,
)

from medldr.data.scans.dicom_open import holds_pixels
from medldr.data.scans.scan import ScanError

_STREAMS: Final = (
    *JPEGTransferSyntaxes,
    *JPEGLSTransferSyntaxes,
    *JPEG2000TransferSyntaxes,
    HTJ2K,
    HTJ2KLossless,
    HTJ2KLosslessRPCL,
)
_END: Final = b"\xff\xd9"
"""The last two bytes of a stream of each of these."""

_PREFIX: Final = "Unable to decode as exceptions were raised by all available plugins: "
"""What pydicom puts before the reasons of its decoders."""

_GREY: Final = ("MONOCHROME1", "MONOCHROME2")


class Pixels(NamedTuple):
    """Decoded pixels.

    Attributes:
        stored: ``(frames, rows, columns, channels)`` in the machine's byte order.
        bits: Of each number; None for real numbers.
        inverted: Whether the lowest number is shown white.
        mode: ``12-bit MONOCHROME2``, ``RGB``.
        warnings: What the file says otherwise than its pixels do.
    """

    stored: NDArray[Any]
    bits: int | None
    inverted: bool
    mode: str
    warnings: tuple[str, ...] = ()

    @property
    def ends(self) -> int:
        """Sum of the lowest and the highest number of that many bits, with a sign or without."""
        return -1 if self.bits is None or self.stored.dtype.kind == "i" else 2**self.bits - 1


def decode(dataset: Any) -> Pixels:
    """Decode all frames.

    Args:
        dataset: A whole data set with a transfer syntax.

    Raises:
        ScanError: If it holds no picture, if no package here decodes it, or if it is broken.
    """
    if not holds_pixels(dataset):
        raise ScanError(_no_picture(dataset))
    decoder = _decoder(dataset)
    try:
        options = as_pixel_options(dataset)
        _check_streams(dataset, options["number_of_frames"])
        numbers, found = decoder.as_array(
            dataset, raw=True, **_choices(dataset), validate=True, allow_excess_frames=False
        )
    except (MemoryError, ScanError):
        raise
    except Exception as error:  # a package for each compression, each with exceptions of its own
        raise ScanError(f"its pixels cannot be decoded ({_first_line(error)})") from error
    frames, rows, columns = options["number_of_frames"], found["rows"], found["columns"]
    channels = int(found["samples_per_pixel"])
    numbers = numbers.reshape(frames, rows, columns, channels)
    photometric = str(found["photometric_interpretation"])
    if numbers.dtype.kind == "f":
        return _real(dataset, numbers, photometric)
    if not dataset.file_meta.TransferSyntaxUID.is_encapsulated or _is_rle(dataset):
        numbers = _own_bits(numbers, dataset)
    if channels == 1:
        return _one_channel(dataset, numbers, photometric)
    return _colour(dataset, numbers, photometric)


def _choices(dataset: Any) -> dict[str, Any]:
    # Bits around the numbers are left to `_own_bits`, which knows wherever the highest one is.
    if _is_rle(dataset):
        # pydicom's own decoder is slower than pylibjpeg's, which breaks off on damaged files.
        return {"correct_unused_bits": False, "decoding_plugin": "pydicom"}
    if dataset.file_meta.TransferSyntaxUID.is_encapsulated:
        return {}
    return {"correct_unused_bits": False}


def _is_rle(dataset: Any) -> bool:
    return bool(dataset.file_meta.TransferSyntaxUID == RLELossless)


def _decoder(dataset: Any) -> Any:
    syntax = dataset.file_meta.TransferSyntaxUID
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
    known = f" ({kind})" if kind and not kind[0].isdigit() else ""
    if "Rows" in dataset:
        return f"its pixels are missing{known}: the file is truncated, or was written without them"
    return f"it holds no picture{known}"


def _check_streams(dataset: Any, frames: int) -> None:
    if dataset.file_meta.TransferSyntaxUID not in _STREAMS:
        return
    streams = list(generate_frames(dataset.PixelData, number_of_frames=frames))
    if len(streams) < frames:
        raise ScanError(f"it is truncated: {len(streams)} of its {frames} frames are there")
    for number, stream in enumerate(streams[:frames], start=1):
        # An odd number of bytes is filled up to an even one, by some writers with FF.
        if not stream.rstrip(b"\x00\xff").endswith(_END):
            where = "its compressed picture" if frames == 1 else f"frame {number} of {frames}"
            raise ScanError(f"{where} is truncated: its stream has no end")


def _own_bits(numbers: NDArray[Any], dataset: Any) -> NDArray[Any]:
    """Numbers without the bits around them, which old files use for overlays."""
    allocated, stored = int(dataset.BitsAllocated), int(dataset.BitsStored)
    high = dataset.get("HighBit")
    high = stored - 1 if high is None else int(high)
    if allocated == 1 or stored == allocated or not stored - 1 <= high < allocated:
        return numbers
    numbers = np.left_shift(numbers, allocated - 1 - high)
    shifted: NDArray[Any] = np.right_shift(numbers, allocated - stored)  # keeps the sign
    return shifted


def _real(dataset: Any, numbers: NDArray[Any], photometric: str) -> Pixels:
    if photometric != "MONOCHROME2":
        raise ScanError(f"its pixels are real numbers and {photometric}, which has no meaning")
    return Pixels(numbers, None, False, f"{numbers.dtype} {photometric}")


def _one_channel(dataset: Any, numbers: NDArray[Any], photometric: str) -> Pixels:
    bits = int(dataset.BitsStored)
    if photometric in _GREY:
        sign = "signed " if numbers.dtype.kind == "i" else ""
        mode = f"{bits}-bit {sign}{photometric}"
        return Pixels(numbers, bits, photometric == "MONOCHROME1", mode)
    if photometric != "PALETTE COLOR":
        raise ScanError(f"its colours are {photometric} in a single channel, which is not known")
    colours = _palette(dataset, numbers[..., 0])[..., :3]
    return Pixels(colours, 8 * colours.dtype.itemsize, False, "PALETTE COLOR")


def _colour(dataset: Any, numbers: NDArray[Any], photometric: str) -> Pixels:
    if numbers.shape[-1] != 3:
        raise ScanError(f"its {numbers.shape[-1]} channels ({photometric}) are not RGB")
    said: tuple[str, ...] = ()
    named = str(dataset.get("PhotometricInterpretation", ""))
    if named.startswith("YBR") != photometric.startswith("YBR") and photometric != "RGB":
        said = (f"its header says {named}, its compressed picture {photometric}, which was taken",)
    bits = int(dataset.BitsStored)
    if photometric in ("YBR_FULL", "YBR_FULL_422"):
        if numbers.dtype != np.uint8:
            raise ScanError(f"its colours are {photometric} of more than 8 bits, which is not read")
        numbers = convert_color_space(numbers, "YBR_FULL", "RGB")
    elif photometric != "RGB":
        raise ScanError(f"its colours are {photometric}, which is not read. Convert it to RGB")
    if numbers.dtype.kind == "i":
        raise ScanError("its colours are signed numbers, which has no meaning")
    mode = "RGB" if bits == 8 else f"{bits}-bit RGB"
    return Pixels(numbers, bits, False, mode, said)


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


def _first_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    text = text.removeprefix(_PREFIX)
    return text if len(text) <= 200 else text[:197] + "..."
