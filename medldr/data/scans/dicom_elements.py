"""The elements of a DICOM file that a reader looks at, made sense of before it does.

pydicom makes sense of an element when it is asked for, and raises what it likes if it cannot.
"""

from __future__ import annotations

from typing import Any, Final

from pydicom.datadict import keyword_for_tag

from medldr.data.scans.scan import ScanError

PICTURES: Final = ("PixelData", "FloatPixelData", "DoubleFloatPixelData")
"""Where pixels are."""

_TOLD: Final = frozenset(
    [
        "SOPClassUID",
        "SOPInstanceUID",
        "SeriesInstanceUID",
        "SeriesDescription",
        "Modality",
        "InstanceNumber",
        "WindowCenter",
        "WindowWidth",
        "VOILUTFunction",
    ]
)
"""What is only told about a picture. A broken one counts as missing."""

_MEANT: Final = frozenset(
    [
        "Rows",
        "Columns",
        "SamplesPerPixel",
        "PhotometricInterpretation",
        "PlanarConfiguration",
        "NumberOfFrames",
        "BitsAllocated",
        "BitsStored",
        "HighBit",
        "PixelRepresentation",
        "RescaleSlope",
        "RescaleIntercept",
        "ModalityLUTSequence",
        "LUTDescriptor",
        "LUTData",
        "DoseGridScaling",
        "GridFrameOffsetVector",
        "RedPaletteColorLookupTableDescriptor",
        "RedPaletteColorLookupTableData",
        "GreenPaletteColorLookupTableData",
        "BluePaletteColorLookupTableData",
        "SharedFunctionalGroupsSequence",
        "PerFrameFunctionalGroupsSequence",
        "PlanePositionSequence",
        "PlaneOrientationSequence",
        "PixelMeasuresSequence",
        "PixelValueTransformationSequence",
        "FrameVOILUTSequence",
        "ImagePositionPatient",
        "ImageOrientationPatient",
        "PixelSpacing",
        "ImagerPixelSpacing",
        "NominalScannedPixelSpacing",
        "SpacingBetweenSlices",
        "SliceThickness",
    ]
)
"""What decides values and places. A broken one is not passed over."""


def make_sense(dataset: Any) -> None:
    """Convert the elements that readers use, those of sequences in it too.

    Raises:
        ScanError: If one that decides what the picture is cannot be understood.
    """
    for tag in list(dataset.keys()):
        name = keyword_for_tag(tag)
        if name in _TOLD:
            try:
                dataset[tag]
            except Exception:  # anything, see above
                del dataset[tag]
        elif name in _MEANT:
            try:
                element = dataset[tag]
                inner = list(element.value or []) if element.VR == "SQ" else []
            except Exception as error:
                raise ScanError(f"its element {name} cannot be understood") from error
            for item in inner:
                make_sense(item)
