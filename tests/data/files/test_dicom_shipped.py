"""The files that pydicom ships, odd ones among them, and what must not reach a terminal."""

import logging
import threading
import warnings
from pathlib import Path

import dicom_files as files
import numpy as np
import pydicom
import pytest

from medldr.data.files.dicom import read_dicom_file
from medldr.data.files.scan import ScanError

RAMP = np.arange(16, dtype=np.uint16).reshape(4, 4)
SPACED = {"PixelSpacing": ["0.5", "0.25"]}
SHIPPED = sorted(
    path
    for path in (Path(pydicom.__file__).parent / "data" / "test_files").rglob("*")
    if path.is_file() and path.suffix not in (".json", ".py", ".pyc")
)
"""Those in the package; pydicom itself would list, and fetch, others."""


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_files_that_pydicom_ships(path, capfd):
    """Each is read, with the values that pydicom decodes, or refused; nothing is printed."""
    shown = logging.StreamHandler()  # as in a program that shows log lines
    logging.root.addHandler(shown)
    scan, told = None, ""
    try:
        scan = read_dicom_file(path)
    except ScanError as error:
        told = str(error)
    finally:
        logging.root.removeHandler(shown)
    assert capfd.readouterr() == ("", "")
    assert path.name not in told
    if scan is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dataset = pydicom.dcmread(path, force=True)
        pixels = dataset.pixel_array
        photometric = dataset.PhotometricInterpretation
        if photometric == "MONOCHROME1":
            pixels = 2**dataset.BitsStored - 1 - pixels.astype(int)
        elif photometric == "PALETTE COLOR":
            pixels = pydicom.pixels.apply_color_lut(pixels, dataset)
        pixels = pydicom.pixels.apply_modality_lut(pixels, dataset)
        pixels = pixels * float(dataset.get("DoseGridScaling", 1))
    colour = scan.values.shape[0] == 3
    if scan.values.ndim == 3:
        expected = np.moveaxis(pixels, -1, 0) if colour else pixels[None]
    else:
        expected = pixels.transpose(3, 2, 1, 0) if colour else pixels.transpose(2, 1, 0)[None]
    if scan.affine is not None:  # the doses: their patients lie on their backs, head first
        expected = expected[:, ::-1, ::-1]
    if any("turned upright" in said for said in scan.warnings):
        ways = [way[:, ::a, ::b] for way in (expected, expected.swapaxes(1, 2)) for a in (1, -1)
                for b in (1, -1)]  # fmt: skip
        same = [way for way in ways if way.shape == scan.values.shape]
        assert sum(np.allclose(scan.values, way, rtol=1e-6) for way in same) == 1
        return
    np.testing.assert_allclose(scan.values, expected, rtol=1e-6)


def test_most_files_that_pydicom_ships_are_read():
    read = 0
    for path in SHIPPED:
        try:
            read_dicom_file(path)
        except ScanError:
            continue
        read += 1
    assert read > 50


def test_many_threads_leave_the_rules_of_warnings_as_they_were(tmp_path):
    """What pydicom warns of is kept from everybody while files are read, and only then."""
    padded = files.dicom(RAMP, PixelData=RAMP.tobytes() + bytes(4), **SPACED)
    path = files.save(padded, tmp_path / "a.dcm")
    with pytest.warns(UserWarning, match="padding"):
        pydicom.dcmread(path).pixel_array  # noqa: B018
    before = list(warnings.filters)
    failed = []

    def work():
        try:
            for _ in range(20):
                read_dicom_file(path)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert list(warnings.filters) == before
