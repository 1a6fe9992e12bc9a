"""Plug-ins are found by file name, and a wrong name is answered with the nearest right one."""

from inspect import signature

import pytest

import medldr
from medldr import plugins
from medldr.cli import app
from medldr.errors import InputError, MissingExtraError


def test_a_typo_is_answered_with_the_nearest_name():
    with pytest.raises(InputError, match="Did you mean 'latentdr'"):
        plugins.load("algorithms", "latentrd")


def test_an_outside_plug_in_is_imported_by_its_dotted_name(tmp_path, monkeypatch):
    (tmp_path / "mylab").mkdir()
    (tmp_path / "mylab" / "foo.py").write_text("ALGORITHM = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert plugins.load("algorithms", "mylab.foo").ALGORITHM == 1


@pytest.mark.parametrize("given", [None, "", "my,mylab.bar,oslab", "mylab.fo"])
def test_a_package_that_is_not_allowed_is_not_imported(tmp_path, monkeypatch, given):
    (tmp_path / "mylab").mkdir()
    (tmp_path / "mylab" / "foo.py").write_text("raise SystemExit")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("MEDLDR_PLUGINS")
    if given is not None:
        monkeypatch.setenv("MEDLDR_PLUGINS", given)
    with pytest.raises(InputError, match=r"`--plugins mylab`, plugins=\['mylab'\]"):
        plugins.load("algorithms", "mylab.foo")


def test_a_package_is_allowed_for_a_call_alone(monkeypatch):
    monkeypatch.setenv("MEDLDR_PLUGINS", "one, two")

    @plugins.takes_plugins
    def called(word, *, plugins=()):
        return word, allowed()

    allowed = plugins.allowed
    assert called("a", plugins=["two", "mylab.sub"]) == ("a", ["one", "two", "mylab.sub"])
    assert called("b", plugins="mylab") == ("b", ["one", "two", "mylab"])
    assert called("c")[1] == allowed() == ["one", "two"]


def test_whatever_reads_a_run_or_a_configuration_can_be_told_of_plug_ins():
    need_none = {"InputError", "LatentDR", "RunResult", "__version__"}
    need_none |= {"list_algorithms", "list_datasets", "list_models"}
    public = {name: getattr(medldr, name) for name in set(medldr.__all__) - need_none}
    assert [n for n, one in public.items() if "plugins" not in signature(one).parameters] == []
    commands = {command.name: command.callback for command in app.registered_commands}
    without = {n for n, one in commands.items() if "plugins" not in signature(one).parameters}
    assert without == {"quickstart", "list", "doctor", "schema", "new"}


def test_an_absent_outside_plug_in_says_how_to_bring_it():
    with plugins.allowing("nolab"), pytest.raises(InputError, match="PYTHONPATH"):
        plugins.load("algorithms", "nolab.foo")


def test_a_missing_package_names_its_extra():
    assert "pip install 'medldr[dicom]'" in str(MissingExtraError("pydicom", "dicom", "DICOM"))
