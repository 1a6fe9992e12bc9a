"""Plug-ins are found by file name, and a wrong name is answered with the nearest right one."""

import pytest

from medldr import plugins
from medldr.errors import InputError, MissingExtraError


def test_a_typo_is_answered_with_the_nearest_name():
    with pytest.raises(InputError, match="Did you mean 'latentdr'"):
        plugins.load("algorithms", "latentrd")


def test_an_outside_plug_in_is_imported_by_its_dotted_name(tmp_path, monkeypatch):
    (tmp_path / "mylab").mkdir()
    (tmp_path / "mylab" / "foo.py").write_text("ALGORITHM = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert plugins.load("algorithms", "mylab.foo").ALGORITHM == 1


def test_an_absent_outside_plug_in_says_how_to_bring_it():
    with pytest.raises(InputError, match="PYTHONPATH"):
        plugins.load("algorithms", "nolab.foo")


def test_a_missing_package_names_its_extra():
    assert "pip install 'medldr[dicom]'" in str(MissingExtraError("pydicom", "dicom", "DICOM"))
