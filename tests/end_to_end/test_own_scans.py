"""From a folder of scans to a report, each step one command: what a hospital's researcher types."""

import csv
import re
import sys
from pathlib import Path

import pytest

from medldr.config import load_config
from medldr.data import build_data

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)

from lung_scans import write_scans  # noqa: E402

pytestmark = pytest.mark.usefixtures("drawn")

REAL_DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def real():
    """A file or folder of the real data; the test is skipped, saying so, where it is absent."""

    def find(name):
        if not (REAL_DATA / name).exists():
            pytest.skip(f"real data is absent: {REAL_DATA / name}")
        return REAL_DATA / name

    return find


@pytest.mark.slow
@pytest.mark.auto_precision
def test_volumes_of_several_spacings_and_kinds_become_a_study(real, medldr, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert write_scans(real("lidcshape3d.npz"), tmp_path / "lungs", 14) == 70
    ended = medldr("new", "lungs", "--yes")
    assert ended.code == 0, ended.err
    assert "spacing: [1.25, 1.25, 1.25]" in Path("study.yaml").read_text("utf-8")

    ended = medldr("data", "check", "study.yaml")
    assert ended.code == 0, ended.err
    page = Path("study_check.html").read_text("utf-8")
    assert "uint8 (nifti)" in page
    assert "8-bit MONOCHROME2 (dicom)" in page
    for size, spacing in (("32 x 32 x 13", "1.25 x 1.25 x 3"), ("32 x 32 x 40", "1.25 x 1.25 x 1")):
        assert size in page
        assert spacing in page

    small = (
        *("model.width=0.0625", "training.epochs=1", "evaluation.draws=100"),
        *("machine.threads=1", "machine.report=false"),
    )
    held_out = 'axes.data.held_out=["ge_2.5"]'
    ended = medldr("sweep", "study.yaml", *small, "seeds=0", held_out, "--jobs", "2")
    assert ended.code == 0, ended.err
    report = Path("runs/study/report.html").read_text("utf-8")
    with Path("lungs/labels.csv").open() as file:
        rows = list(csv.DictReader(file))
    for text in (page, report):
        assert not [row for row in rows if row["patient"] in text]
        assert not [row for row in rows if row["scan"].rpartition("/")[2] in _words(text)]


def _words(page):
    """Words of a page outside of pictures and drawings."""
    return set(re.split(r"[^\w.]+", re.sub(r"<svg.*?</svg>|base64,[^\"]+", "", page, flags=re.S)))


def test_a_tree_of_pictures_becomes_a_study_that_can_be_built(real, medldr, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = real("amf64")
    for domain in ("tcga", "tupac_centre_b", "tupac_centre_c"):
        for name in ("atypical", "normal"):
            folder = tmp_path / "cells" / domain / name
            folder.mkdir(parents=True)
            for picture in sorted((source / domain / name).iterdir())[:40]:
                (folder / picture.name).write_bytes(picture.read_bytes())
    ended = medldr("new", "cells", "--yes")
    assert ended.code == 0, ended.err
    ended = medldr("data", "check", "study.yaml", "--no-page")
    assert ended.code == 0, ended.err
    assert "with tcga held out" in ended.out
    ended = medldr("sweep", "study.yaml", "--dry-run")
    assert ended.code == 0, ended.err


def test_real_scans_of_mr_open_with_their_sizes_and_spacings_on_the_page(
    real, medldr, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    root = real("scans")
    volumes = sorted(path.name for path in (root / "nifti").iterdir() if path.name[0] != ".")
    series = sorted(path.name for path in (root / "dicom").iterdir() if path.is_dir())
    assert (len(volumes), len(series)) == (24, 3)
    rows = [(f"nifti/{name}", "nifti") for name in volumes]
    rows += [(f"dicom/{name}", "dicom") for name in series]
    with Path("heads.csv").open("w", newline="") as file:
        lines = [[path, "ab"[n % 2], kind] for n, (path, kind) in enumerate(rows)]
        csv.writer(file).writerows([["path", "label", "kind"], *lines])
    Path("heads.yaml").write_text(
        "extends: [recipe/own_3d, data/table, algorithm/erm]\n"
        "data: {file: heads.csv, domain: kind, size: 32, window: percentile}\n"
    )
    ended = medldr("data", "check", "heads.yaml", f"data.root={root}")
    assert ended.code == 0, ended.err
    page = Path("heads_check.html").read_text("utf-8")
    text = " ".join(re.sub("<[^>]+>", " ", page).split())
    assert "24 float32 (nifti) 18, uint8 (nifti) 6 32–38 x 46–59 x 28–43 1 x 1 x 1" in text
    assert "35–280 x 48–320 x 22–35 0.6875–1 x 0.6875–1 x 1–6.5 0 to 5,076" in text
    assert not [name for name in (*volumes, *series) if name in page]
    config = load_config("heads.yaml", [f"data.root={root}"])
    data = build_data(config)
    assert data.table.images.shape == (27, 1, 32, 32, 32)
    assert len(data.table.facts) == 27
