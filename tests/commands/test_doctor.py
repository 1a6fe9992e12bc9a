"""`medldr doctor` shows what a run would use here, and fails where something is missing."""

from medldr.folders import provenance


def test_a_sound_machine_passes(medldr):
    ended = medldr("doctor")
    assert ended.code == 0
    for word in ("torch", "precision: auto", "packaged runs"):
        assert word in ended.out


def test_an_absent_package_is_named_and_fails(medldr, monkeypatch):
    monkeypatch.setattr(provenance, "versions", lambda: {"torch": None})
    ended = medldr("doctor")
    assert ended.code == 2
    assert "not installed" in ended.out
