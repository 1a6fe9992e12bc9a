"""Small DICOM files: pictures, series and enhanced files, made of ramps and noise."""

import itertools

import numpy as np
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.uid import (
    CTImageStorage,
    EnhancedCTImageStorage,
    ExplicitVRLittleEndian,
    SecondaryCaptureImageStorage,
)

ROOT = "1.2.826.0.1.3680043.8.498.55."
NAME, IDENTITY = "NOBODY^ANY", "PATIENT-4711"
"""Must never be told."""

_numbers = itertools.count(1)


def dicom(pixels, *, bits=None, frames=False, colour=False, syntax=ExplicitVRLittleEndian, **tags):
    """A file that holds `pixels`, ``([frames], rows, columns, [3])``.

    Elements in `tags` are set last; None takes one out.
    """
    dataset = FileDataset(
        None,
        {},
        preamble=bytes(128),
        file_meta=FileMetaDataset(),
        is_implicit_VR=syntax.is_implicit_VR,
        is_little_endian=syntax.is_little_endian,
    )
    dataset.file_meta.TransferSyntaxUID = syntax
    dataset.SOPClassUID = SecondaryCaptureImageStorage if colour else CTImageStorage
    dataset.SOPInstanceUID = f"{ROOT}9.{next(_numbers)}"
    dataset.StudyInstanceUID, dataset.SeriesInstanceUID = f"{ROOT}1", f"{ROOT}2"
    dataset.PatientName, dataset.PatientID, dataset.Modality = NAME, IDENTITY, "CT"
    if not colour:
        dataset.RescaleIntercept, dataset.RescaleSlope = 0, 1
    rows, columns = pixels.shape[1:3] if frames else pixels.shape[:2]
    dataset.Rows, dataset.Columns = rows, columns
    dataset.SamplesPerPixel = 3 if colour else 1
    dataset.PhotometricInterpretation = "RGB" if colour else "MONOCHROME2"
    if colour:
        dataset.PlanarConfiguration = 0
    if frames:
        dataset.NumberOfFrames = len(pixels)
    allocated = 8 * pixels.dtype.itemsize
    dataset.BitsAllocated, dataset.BitsStored = allocated, bits or allocated
    dataset.HighBit = dataset.BitsStored - 1
    dataset.PixelRepresentation = int(pixels.dtype.kind == "i")
    raw = pixels.tobytes()
    dataset.PixelData = raw + b"\0" * (len(raw) % 2)
    dataset["PixelData"].VR = "OB" if allocated == 8 else "OW"
    for name, value in tags.items():
        if value is None:
            dataset.pop(name, None)
        else:
            setattr(dataset, name, value)
    return dataset


def save(dataset, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    dataset.file_meta.MediaStorageSOPClassUID = dataset.SOPClassUID
    dataset.file_meta.MediaStorageSOPInstanceUID = dataset.SOPInstanceUID
    dataset.save_as(path, enforce_file_format=True)
    return path


def geometry(affine, index=0):
    """Elements for slice `index` of a volume whose indices are (column, row, slice)."""
    lps = np.diag([-1.0, -1.0, 1.0, 1.0]) @ affine
    column, row, _ = np.linalg.norm(lps[:3, :3], axis=0)
    return {
        "ImagePositionPatient": _decimals(lps[:3, 3] + index * lps[:3, 2]),
        "ImageOrientationPatient": _decimals([*lps[:3, 0] / column, *lps[:3, 1] / row]),
        "PixelSpacing": _decimals([row, column]),
    }


def series(folder, volume, affine, *, names=None, each=None, **tags):
    """A file for each slice of `volume`, ``(X, Y, Z)``, named by `names`; `each` makes tags."""
    for index in range(volume.shape[2]):
        own = each(index) if each else {}
        dataset = dicom(
            np.ascontiguousarray(volume[:, :, index].T),
            **{**geometry(affine, index), "InstanceNumber": 99 - index, **tags, **own},
        )
        save(dataset, folder / (names[index] if names else f"{index:03d}.dcm"))
    return folder


def enhanced(path, volume, affine, order=None, rescale=None):
    """One file with a frame for each slice, in any order, described by functional groups."""
    order = list(order if order is not None else range(volume.shape[2]))
    dataset = dicom(np.ascontiguousarray(volume.transpose(2, 1, 0)[order]), frames=True)
    dataset.SOPClassUID = EnhancedCTImageStorage
    first = geometry(affine)
    shared = Dataset()
    shared.PlaneOrientationSequence = [
        _item(ImageOrientationPatient=first.pop("ImageOrientationPatient"))
    ]
    shared.PixelMeasuresSequence = [_item(PixelSpacing=first["PixelSpacing"], SliceThickness="9")]
    dataset.SharedFunctionalGroupsSequence = [shared]
    dataset.PerFrameFunctionalGroupsSequence = []
    for index in order:
        frame = Dataset()
        place = geometry(affine, index)["ImagePositionPatient"]
        frame.PlanePositionSequence = [_item(ImagePositionPatient=place)]
        if rescale:
            slope, intercept = rescale(index)
            frame.PixelValueTransformationSequence = [
                _item(RescaleSlope=slope, RescaleIntercept=intercept)
            ]
        dataset.PerFrameFunctionalGroupsSequence.append(frame)
    return save(dataset, path)


def _item(**tags):
    item = Dataset()
    for name, value in tags.items():
        setattr(item, name, value)
    return item


def _decimals(numbers):
    """Numbers with the 16 characters that the standard allows."""
    return [f"{number:.10f}"[:16] for number in numbers]
