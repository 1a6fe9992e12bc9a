"""What leaks, in words: a direction only where the interval has one, and nothing of older runs."""

import json

import pytest

from medldr.evaluation.representation.leaks import ALONE, AT_RANDOM, DIFFERENCE, PROBE
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.folders.files import RunFolder
from medldr.reporting.document import Paragraph
from medldr.reporting.pages.run import run_page
from medldr.reporting.pages.sweep import sweep_page
from medldr.reporting.read.run import read_run
from medldr.reporting.sections.run.leaks import leaks
from medldr.reporting.sections.sweep.csv_lines import csv_lines

UNCLEAR = "no clear difference"


def told(low=0.1, high=0.3, index=(0.6, 0.5, 0.7), groups=40, split="id_val"):
    """The part of an evaluation: 55% against 35%, 0.6 against 0.75 at random."""
    value, *ends = index
    numbers = {
        PROBE.name: {"value": 0.55, "low": 0.5, "high": 0.6},
        ALONE: {"value": 0.35, "low": 0.3, "high": 0.4},
        DIFFERENCE: {"value": 0.2, "low": low, "high": high},
        "robustness_index": {"value": value, "low": ends[0], "high": ends[1]},
        AT_RANDOM: {"value": 0.75},
    }
    return {"split": split, "domains": 3, "fitted": 900, "n": 300, "n_groups": groups,
            "metrics": numbers}  # fmt: skip


def scored(**given):
    return EvaluationRecord(task="binary", splits={"test": {"n": 5}}, leaks=told(**given))


def said(**given):
    section = leaks(scored(**given))
    return section.title, " ".join(block.text for block in section.of(Paragraph))


def test_numbers_are_those_of_the_record():
    title, text = said()
    for number in ("900", "300 images of 40 groups", "3 domains", "55.0%", "50.0 to 60.0", "35.0%",
                   "+20.0 percentage points, 95% CI +10.0 to +30.0", "0.600", "0.750",
                   "−0.150, 95% CI −0.250 to −0.050"):  # fmt: skip
        assert number in text, number
    assert UNCLEAR not in title + text
    assert "they share the domain" in text


def test_only_an_interval_without_zero_has_a_direction():
    title, text = said(low=-0.05)
    assert UNCLEAR in title
    assert f"{UNCLEAR} (+20.0" in text
    assert f"{UNCLEAR} (−0.150" in said(index=(0.6, 0.4, 0.8))[1]
    assert "they share the class" in said(index=(0.9, 0.85, 0.95))[1]
    assert "less" in said(low=-0.3, high=-0.1)[0]


def test_of_few_patients_nothing_is_concluded():
    title, text = said(groups=4)
    assert "too few groups (4)" in title
    assert text.count("too few groups (4) to tell") == 2


def test_it_is_said_where_the_network_was_trained_on_these_patients():
    both = [said(split=split)[1] for split in ("train", "id_val")]
    assert ["network was trained" in text for text in both] == [True, False]


def test_labels_without_neighbours_have_the_probe_alone():
    given = told()
    del given["metrics"]["robustness_index"], given["metrics"][AT_RANDOM]
    section = leaks(EvaluationRecord(task="multi-label", splits={}, leaks=given))
    assert "neighbours" not in " ".join(block.text for block in section.of(Paragraph)[:1])


def test_pages_of_older_runs_say_nothing(run_folder):
    files = run_folder(domains=("a", "b"))
    assert leaks(EvaluationRecord(task="binary", splits={})) is None
    assert "leaks" not in [s.anchor for s in run_page(read_run(files)).sections]


def test_the_numbers_are_in_the_frame():
    row = scored().scores.row("id_val", PROBE.name)
    assert (row.value, row.low, row.high, row.n) == (0.55, 0.5, 0.6, 300)
    assert scored().scores.value("id_val", AT_RANDOM) == 0.75


@pytest.fixture
def measured(sweep):
    """A sweep of two methods in one column whose runs were measured, but for one."""
    folder = sweep({"erm": 0.8, "mixup": 1.2}, ("octmnist",), (0, 1), n=20)
    for name, value in {"erm-*-s0": 0.5, "erm-*-s1": 0.7, "mixup-*-s0": 0.4}.items():
        (path,) = folder.path.glob(f"octmnist_{name}")
        files, given = RunFolder(path), told()
        given["metrics"][PROBE.name]["value"] = value
        content = json.loads(files.evaluation.read_text()) | {"leaks": given}
        files.evaluation.write_text(json.dumps(content))
    return sweep_page(folder)


def test_a_sweep_has_means_over_seeds_beside_the_class_alone(measured):
    (table,) = measured.document.section("leaks").tables
    means = {row.heading: row.cells[0].estimate for row in table.rows if row.cells[0].estimate}
    assert (means["ERM"].mean, means["ERM"].n) == (pytest.approx(0.6), 2)
    assert means["ERM"].sd == pytest.approx(0.1414214, abs=1e-6)
    assert (means["Mixup"].mean, means["Mixup"].n, means["Mixup"].planned) == (0.4, 1, 2)
    assert means["Class alone"].mean == pytest.approx(0.35)
    indices = {row.heading: row.cells[1].estimate for row in table.rows if row.cells[1].estimate}
    assert indices["ERM"].mean == pytest.approx(0.6)
    assert indices["Neighbours at random"].mean == pytest.approx(0.75)
    lines = [line for line in csv_lines(measured.results) if line["kind"] == "latents"]
    found = {(line["row"], line["metric"]): (line["mean"], line["runs"]) for line in lines}
    assert found["erm", PROBE.name] == (pytest.approx(0.6), 2)
    assert found["mixup", DIFFERENCE] == (0.2, 1)


def test_older_sweeps_have_no_such_section(whole):
    assert "leaks" not in [section.anchor for section in whole.document.sections]
