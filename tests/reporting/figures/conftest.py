"""Here figures are drawn."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def _drawn(drawn):
    pass
