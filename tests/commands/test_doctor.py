"""`medldr doctor` shows what a run would use here, and fails where something is missing."""

import importlib.metadata

from medldr.commands import doctor
from medldr.folders import provenance


def test_a_sound_machine_passes(medldr):
    ended = medldr("doctor")
    assert ended.code == 0
    for word in ("torch", "precision: auto", "GB free", "cache", "packaged runs"):
        assert word in ended.out


def test_an_absent_package_is_named_and_fails(medldr, monkeypatch):
    monkeypatch.setattr(provenance, "versions", lambda: {"torch": None})
    ended = medldr("doctor")
    assert ended.code == 2
    assert "not installed" in ended.out


def test_an_extra_that_lacks_a_package_is_named_with_its_command(monkeypatch):
    needs = ["numpy>=2", "submitit>=1.5; extra == 'slurm'", 'ruff>=0.14; extra == "test"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: needs)
    monkeypatch.setattr(provenance, "installed_version", lambda name: None)
    assert doctor.missing_extras() == ["pip install 'medldr[slurm]'"]
    monkeypatch.setattr(provenance, "installed_version", lambda name: "1.0")
    assert doctor.missing_extras() == []
