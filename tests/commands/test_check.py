"""`medldr data check`: exit codes, pages, sweeps, and what runs say of the same data."""

import csv

import numpy as np
import pytest
from PIL import Image

from medldr.config import load_config
from medldr.data import build_data

CONFIG = """\
extends: [recipe/own_2d, data/table, algorithm/erm]
data: {file: cells.csv, domain: lab, group: patient, size: 32}
transform: {size: 32}
"""
SWEEP = """\
common:
  extends: [recipe/own_2d, data/table]
  data: {file: cells.csv, domain: lab, group: patient, size: 32}
axes:
  algorithm: [erm, latentdr_pool]
  data.held_out: {east: [east], west: [west]}
seeds: [0, 1]
"""


@pytest.fixture
def cells(tmp_path, monkeypatch, request):
    """Rows of 48 pictures, two of each patient, in two laboratories, and a way to write them."""
    monkeypatch.chdir(tmp_path)
    count = getattr(request, "param", 48)
    random = np.random.default_rng(0)
    rows = []
    for number in range(count):
        pixels = random.integers(0, 256, (32, 32, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"anna_{number:02}.png")
        rows.append(
            {
                "path": f"anna_{number:02}.png",
                "label": "ab"[number % 2],
                "lab": ("east", "west")[2 * number // count],
                "patient": f"MRN{number // 2:05}",
            }
        )

    def write(rows):
        with (tmp_path / "cells.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)

    write(rows)
    (tmp_path / "study.yaml").write_text(CONFIG)
    return rows, write


@pytest.mark.parametrize("cells", [240], indirect=True)
def test_a_sound_set_has_a_page_without_names_and_exit_code_0(cells, medldr, tmp_path):
    ended = medldr("data", "check", "study.yaml")
    assert ended.code == 0, ended.err
    assert "Fit to train. 240 images were read; nothing is wrong" in ended.out
    page = (tmp_path / "study_check.html").read_text("utf-8")
    for word in (
        "Fit to train.",
        "Images of each split",
        "RGB (picture) 120",
        "32 x 32",
        "east",
        "west",
    ):
        assert word in page
    assert page.count("data:image/png") == 16
    assert "anna_" not in page
    assert "MRN" not in page


def test_a_split_too_small_to_select_or_test_on_is_looked_at_first(cells, medldr):
    ended = medldr("data", "check", "study.yaml", "--no-page")
    assert ended.code == 0, ended.err
    said = " ".join(ended.out.split())
    assert "Look first. cells: splits of fewer than 30 images" in said
    assert "percentage points: val 8, test 8." in said


def test_names_are_shown_if_asked(cells, medldr, tmp_path):
    medldr("data", "check", "study.yaml", "--show-ids", "--page", "named.html")
    assert "anna_" in (tmp_path / "named.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("copy", "words"),
    [
        ((0, 1), "contradicting labels"),
        ((0, 30), "in more than one domain, a leak"),
    ],
)
def test_equal_pictures_are_wrong_and_a_run_says_the_same(cells, medldr, tmp_path, copy, words):
    first, second = (tmp_path / f"anna_{number:02}.png" for number in copy)
    second.write_bytes(first.read_bytes())
    ended = medldr("data", "check", "study.yaml", "--no-page")
    assert ended.code == 3
    said = " ".join(ended.out.split())
    assert "No. Not fit to train: 1 thing would make numbers from these data wrong." in said
    assert "cells: 1 image is" in said
    assert words in said
    notes = build_data(load_config("study.yaml")).notes
    assert any(words in note for note in notes)


def test_a_copy_that_a_run_would_put_into_another_split_is_wrong(cells, medldr, tmp_path):
    data = build_data(load_config("study.yaml"))
    ids, labels, domains = data.table.ids, data.table.labels, data.table.domains
    train, test = data.rows["train"], data.rows["test"]
    one, other = next(
        (a, b) for a in train for b in test if (labels[a], domains[a]) == (labels[b], domains[b])
    )
    (tmp_path / ids[other]).write_bytes((tmp_path / ids[one]).read_bytes())
    ended = medldr("data", "check", "study.yaml", "--no-page")
    assert ended.code == 3
    assert "in more than one split, a leak" in " ".join(ended.out.split())


def test_a_nearly_equal_picture_is_a_note_with_its_place(cells, medldr, tmp_path):
    few = np.random.default_rng(1).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    picture = Image.fromarray(few).resize((32, 32), Image.Resampling.BICUBIC)
    picture.save(tmp_path / "anna_00.png")
    picture.save(tmp_path / "copy.jpg", quality=80)
    Image.open(tmp_path / "copy.jpg").save(tmp_path / "anna_40.png")
    (tmp_path / "copy.jpg").unlink()
    ended = medldr("data", "check", "study.yaml", "--no-page")
    assert ended.code == 0, ended.out
    said = " ".join(ended.out.split())
    assert "cells: 1 pair of images in different splits or domains is nearly the same" in said
    assert "anna_00.png ~ anna_40.png" in said


def test_a_picture_broken_inside_is_named_by_check_and_by_train(cells, medldr, tmp_path):
    path = tmp_path / "anna_40.png"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    for words in (("data", "check", "study.yaml"), ("train", "study.yaml")):
        ended = medldr(*words)
        assert ended.code == 2
        assert "anna_40.png" in ended.err
        assert "data.on_bad_file=skip" in ended.err
    ended = medldr("data", "check", "study.yaml", "data.on_bad_file=skip", "--no-page")
    assert ended.code == 3
    assert "1 file left out" in ended.out


def test_files_without_a_row_are_listed(cells, medldr, tmp_path):
    Image.new("RGB", (32, 32)).save(tmp_path / "forgotten.png")
    ended = medldr("data", "check", "study.yaml", "--no-page")
    assert "1 file not referred to by any row" in ended.out
    assert "forgotten.png" in ended.out


def test_every_division_of_a_sweep_is_checked(cells, medldr, tmp_path):
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    ended = medldr("data", "check", "sweep.yaml")
    assert ended.code == 0, ended.err
    for domain in ("east", "west"):
        assert ended.out.count(f"with {domain} held out: train") == 1
    assert "Test, with east held out" in (tmp_path / "sweep_check.html").read_text("utf-8")


def test_a_sweep_of_several_sets_is_refused(medldr, tmp_path):
    file = tmp_path / "two.yaml"
    file.write_text(
        "common: {extends: [recipe/medmnist, algorithm/erm]}\n"
        "axes: {data: [retinamnist, bloodmnist]}\n"
    )
    ended = medldr("data", "check", file, "--no-page")
    assert ended.code == 2
    assert "one by one" in ended.err


def test_a_transform_that_cannot_take_the_images_is_refused(cells, medldr):
    ended = medldr("data", "check", "study.yaml", "data.window=percentile", "--no-page")
    assert ended.code == 0, ended.err
    words = ("data.window=percentile", "transform=natural", "--no-page")
    ended = medldr("data", "check", "study.yaml", *words)
    assert ended.code == 2
    assert "transform" in ended.err


def test_patients_in_two_hospitals_are_refused_when_one_is_held_out(cells, medldr):
    rows, write = cells
    write([{**row, "patient": row["patient"].replace("MRN00012", "mrn00000")} for row in rows])
    ended = medldr("data", "check", "study.yaml", "data.held_out=west", "--no-page")
    assert ended.code == 2
    assert "data.held_out_rows=test" in ended.err


def test_every_imbalance_of_a_sweep_is_checked(cells, medldr, tmp_path):
    rows, write = cells
    write([{**row, "label": "ab"[number // 2 % 2]} for number, row in enumerate(rows)])
    (tmp_path / "sweep.yaml").write_text(
        "common:\n  extends: [recipe/own_2d, data/table, algorithm/erm]\n"
        "  data: {file: cells.csv, domain: lab, group: patient, size: 32}\n"
        "axes: {data.imbalance.factor: [2, 4]}\n"
    )
    ended = medldr("data", "check", "sweep.yaml", "--no-page")
    assert ended.code == 0, ended.err
    said = " ".join(ended.out.split())
    for factor in (2, 4):
        assert f"images a run would use, imbalance factor {factor}: train" in said
        assert f"(data.imbalance: exp, factor {factor}, seed 0)" in said
