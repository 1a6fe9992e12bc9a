"""Sections refuse what they cannot mean."""

import textwrap
from pathlib import Path

import pytest
from pydantic import ValidationError

from medldr.config import RunConfig
from medldr.config.section import load_plugin_config
from medldr.errors import InputError
from medldr.plugins import allowing


def test_errors_inside_a_plug_in_carry_the_whole_place(whole):
    with pytest.raises(ValidationError) as caught:
        RunConfig.model_validate({**whole, "algorithm": {"name": "erm", "lr_scale": -1}})
    assert [error["loc"] for error in caught.value.errors()] == [("algorithm", "lr_scale")]


def test_an_unknown_plug_in_is_an_input_error():
    with pytest.raises(InputError, match="Did you mean 'resnet18'"):
        load_plugin_config("models", "resnet81")


def test_a_module_that_is_no_plug_in_is_an_input_error():
    with allowing("json"), pytest.raises(InputError, match=r"'json\.decoder' is not a plug-in"):
        load_plugin_config("algorithms", "json.decoder")


def test_the_contributing_example_works_by_its_dotted_name(whole, tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    example = textwrap.dedent(page.split("```python\n")[1].split("```")[0])
    (tmp_path / "printed_lab").mkdir()
    (tmp_path / "printed_lab" / "logit_noise.py").write_text(example, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    section = {"name": "printed_lab.logit_noise", "sigma": 0.2}
    run = RunConfig.model_validate({**whole, "algorithm": section})
    stored = run.model_dump(mode="json")
    assert stored["algorithm"]["name"] == "printed_lab.logit_noise"
    assert RunConfig.model_validate(stored) == run
    with pytest.raises(ValidationError, match="erm"):
        RunConfig.model_validate({**whole, "algorithm": {"name": "medldr.algorithms.erm"}})
