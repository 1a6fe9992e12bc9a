"""medldr makes today what it made when its outputs were frozen; see README.md."""

import frozen
import pytest


def _case(name):
    return pytest.param(name, marks=() if name in frozen.QUICK else pytest.mark.slow)


@pytest.mark.parametrize("name", [*map(_case, sorted(frozen.NAMES))])
def test_outputs_are_those_that_were_frozen(name, tmp_path):
    try:
        found = frozen.made(name, tmp_path)
    except frozen.AbsentError as error:
        pytest.skip(str(error))
    lines = frozen.differences(name, found)
    assert not lines, "".join(lines[:200])
