"""Tables and trees of empty files: no test here opens a scan."""

import pytest

from medldr.datasets._table.rows import Rows


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


@pytest.fixture
def table(tmp_path):
    """Write a table next to the folder of files."""

    def write(text, name="files/t.csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def rows():
    """Rows of a table, a label each, at lines 2, 3, ..."""

    def make(texts=(), multi=None, **more):
        labels = multi or {"label": list(texts)}
        count = len(next(iter(labels.values())))
        return Rows(
            where="data.file: t.csv",
            paths=[f"{n}.png" for n in range(count)],
            labels=labels,
            multi_label=multi is not None,
            positions=[f"line {n + 2}" for n in range(count)],
            **more,
        )

    return make
