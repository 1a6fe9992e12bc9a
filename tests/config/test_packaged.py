"""The packaged configurations are found in a wheel and in a checkout by one function."""

import pytest

from medldr.config import packaged, packaged_configs, packaged_names


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package folder elsewhere, as an installer would lay it out."""
    module = tmp_path / "site" / "medldr" / "config" / "packaged.py"
    module.parent.mkdir(parents=True)
    monkeypatch.setattr(packaged, "__file__", str(module))
    return tmp_path / "site"


def test_a_checkout_has_them_beside_the_package(installed):
    (installed / "configs" / "run").mkdir(parents=True)
    assert packaged_configs() == installed / "configs"


def test_a_wheel_has_them_inside(installed):
    (installed / "configs").mkdir()
    (installed / "medldr" / "_configs" / "run").mkdir(parents=True)
    (installed / "medldr" / "_configs" / "run" / "a_erm.yaml").touch()
    assert packaged_configs() == installed / "medldr" / "_configs"
    assert packaged_names("run") == ["a_erm"]
    assert packaged_names() == ["run/a_erm"]


def test_a_broken_installation_is_our_fault(installed):
    with pytest.raises(FileNotFoundError, match="_configs"):
        packaged_configs()
