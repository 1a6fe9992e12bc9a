"""Trees of empty files: no test here opens a scan."""

import pytest


@pytest.fixture
def touch(tmp_path):
    """Write empty files and return their folder."""

    def write(*paths, root="files"):
        for path in paths:
            file = tmp_path / root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        (tmp_path / root).mkdir(exist_ok=True)
        return tmp_path / root

    return write
