"""Tables and trees of empty files: no test here opens a scan."""

from pathlib import Path

import pytest

from medldr.data.listing.item_frame import Rows
from medldr.data.listing.places import Places
from medldr.datasets.table import Config, list_items


@pytest.fixture
def listed(tmp_path):
    """List the items of a table beside some empty files, or of a tree of them without one."""

    def run(files, text=None, **keys):
        for path in files:
            file = tmp_path / "files" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        if text is None:
            return list_items(Config(**{"root": tmp_path / "files", **keys}))
        (tmp_path / "files" / "t.csv").write_text(text, encoding="utf-8")
        return list_items(Config(file=tmp_path / "files" / "t.csv", **keys))

    return run


@pytest.fixture
def rows():
    """Rows of a table, a label each, at lines 2, 3, ..."""

    def make(texts=(), multi=None):
        labels = multi or {"label": list(texts)}
        count = len(next(iter(labels.values())))
        return Rows(
            where="data.file: t.csv",
            root=Path(),
            texts=[f"{n}.png" for n in range(count)],
            places=Places([], [], {}),
            labels=labels,
            multi_label=multi is not None,
            positions=[f"line {n + 2}" for n in range(count)],
        )

    return make
