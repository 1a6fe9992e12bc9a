"""Reporting writes today what it wrote when its outputs were frozen."""

import importlib.util
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("frozen", Path(__file__).with_name("frozen.py"))
frozen = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(frozen)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(frozen.PAGES))
def test_outputs_are_those_that_were_frozen(name, tmp_path):
    lines = frozen.differences(name, frozen.made(name, tmp_path))
    assert not lines, "".join(lines[:200])
