"""A hospital's folder from real nodules: NIfTI of several spacings, DICOM series, and a table."""

import csv

import nibabel
import numpy as np
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, MRImageStorage, generate_uid
from scipy import ndimage

MM = 1.25
THICKNESS = {"thin_1.0": 1.0, "ge_1.25": 1.25, "mid_2.0": 2.0, "ge_2.5": 2.5, "thick_3.0": 3.0}


def write_scans(source, folder, count):
    """Write some nodules with a table `labels.csv`; those of GE scanners as DICOM series.

    Args:
        source: The archive of nodules.
        folder: Where to write.
        count: How many of each domain, at most.
    """
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    rows = []
    with np.load(source) as archive:
        names = archive["domain_names"].tolist()
        columns = [
            np.concatenate([archive[f"{split}_{name}"] for split in ("train", "val", "test")])
            for name in ("images", "labels", "domains", "patients", "extent_mm")
        ]
    for number, name in enumerate(names):
        chosen = random.permutation(np.flatnonzero(columns[2] == number))[:count]
        for row in sorted(chosen.tolist()):
            image, label, _, patient, extent = (column[row] for column in columns)
            thick = THICKNESS[name]
            slices = ndimage.zoom(image.astype(np.float64), (1, 1, MM / thick), order=1)
            volume = np.uint8(np.clip(np.round(slices), 0, 255))
            path = f"{name}/{row:04}" + ("" if name.startswith("ge") else ".nii.gz")
            (folder / name).mkdir(exist_ok=True)
            if name.startswith("ge"):
                _series(folder / path, volume, thick, random)
            else:
                affine = np.diag([MM, MM, thick, 1.0])
                nibabel.save(nibabel.Nifti1Image(volume, affine), folder / path)
            kind = "suspicious" if int(np.ravel(label)[0]) else "benign"
            rows.append([path, kind, name, f"P{int(patient):05}", f"{float(extent):.1f}"])
    with (folder / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["scan", "diagnosis", "scanner", "patient", "extent"], *rows])
    return len(rows)


def _series(folder, volume, thick, random):
    """Slices whose names say nothing of their order."""
    folder.mkdir()
    series, study = generate_uid(), generate_uid()
    names = random.permutation(volume.shape[2])
    for place, name in enumerate(names.tolist()):
        # The patient's left and back come first in DICOM's axes.
        pixels = np.ascontiguousarray(volume[::-1, ::-1, place].T)
        dataset = FileDataset(None, {}, file_meta=FileMetaDataset(), preamble=bytes(128))
        dataset.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
        dataset.SOPClassUID, dataset.SOPInstanceUID = MRImageStorage, generate_uid()
        dataset.file_meta.MediaStorageSOPClassUID = MRImageStorage
        dataset.file_meta.MediaStorageSOPInstanceUID = dataset.SOPInstanceUID
        dataset.StudyInstanceUID, dataset.SeriesInstanceUID = study, series
        dataset.PatientName, dataset.PatientID, dataset.Modality = "NO^BODY", "ANY", "MR"
        dataset.Rows, dataset.Columns = pixels.shape
        dataset.SamplesPerPixel, dataset.PhotometricInterpretation = 1, "MONOCHROME2"
        dataset.BitsAllocated = dataset.BitsStored = 8
        dataset.HighBit, dataset.PixelRepresentation = 7, 0
        dataset.PixelSpacing, dataset.SliceThickness = [MM, MM], thick
        dataset.ImageOrientationPatient = [1, 0, 0, 0, 1, 0]
        extent = [-(side - 1) * MM for side in volume.shape[:2]]
        dataset.ImagePositionPatient = [*extent, place * thick]
        dataset.PixelData = pixels.tobytes() + b"\0" * (pixels.size % 2)
        dataset["PixelData"].VR = "OB"
        dataset.save_as(folder / f"IM{name:03}", enforce_file_format=True)
