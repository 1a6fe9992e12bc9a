"""A run that recalibrates: every file follows from the new probabilities, for each rule."""

import json
import shutil

import numpy as np
import pytest

import medldr as package
from medldr.evaluation import by_split, read_predictions
from medldr.evaluation.recalibration import temperature, tempered
from medldr.evaluation.verification import verify_run
from medldr.folders.files import RunFolder
from medldr.folders.run_record import read_run_record
from medldr.reporting.read.run import read_run
from medldr.reporting.sections.run.tables import recalibration

FORCED = ("evaluation.temperature_forced=true",)
RULES = ("val_loss", "last", "swad")
SETTINGS = (
    f"training.select=[{','.join(RULES)}]",
    "training.averaging={name: swad, bn_batches: 6}",
    "training.epochs=3",
    "training.lr=0.01",
)


@pytest.fixture(scope="module")
def pair(small, tmp_path_factory):
    """The same run without and with recalibration."""
    out = tmp_path_factory.mktemp("recalibrated")
    words = "retinamnist_erm", [*small, *SETTINGS]
    plain = package.train(*words, out=out)
    scaled = package.train(
        words[0], [*words[1], "evaluation.recalibrate=temperature", *FORCED], out=out
    )
    return RunFolder(plain.folder), RunFolder(scaled.folder)


def predictions(folder, rule):
    path = folder.predictions if rule == RULES[0] else folder.predictions_of(rule)
    return by_split(read_predictions(path, "ordinal"))


def test_each_rule_has_its_own_temperature_and_its_predictions_follow(pair):
    plain, scaled = pair
    recorded = read_run_record(scaled).recalibration
    assert list(recorded) != []
    assert read_run_record(plain).recalibration == {}
    for rule in RULES:
        old, new = predictions(plain, rule), predictions(scaled, rule)
        val = old["val"]
        wanted = temperature(val.label, val.prob, "ordinal", val.log_odds)
        assert recorded[rule].temperature == wanted
        assert (recorded[rule].split, recorded[rule].n) == ("val", len(old["val"]))
        for split in old:
            expected = tempered(old[split], wanted)
            np.testing.assert_array_equal(new[split].prob, expected.prob)
            np.testing.assert_array_equal(new[split].log_odds, expected.log_odds)
    assert len({recorded[rule].temperature for rule in RULES}) > 1


def test_the_evaluation_scores_what_was_written(pair):
    plain, scaled = pair
    for rule in RULES:
        first = rule == RULES[0]
        old, new = (
            json.loads((f.evaluation if first else f.evaluation_of(rule)).read_text()) for f in pair
        )
        for split, table in predictions(scaled, rule).items():
            prob = table.prob[np.arange(len(table)), table.label]
            found = new["splits"][split]["metrics"]
            assert found["nll"]["value"] == pytest.approx(-np.log(prob).mean(), abs=1e-12)
            assert found["accuracy"] == old["splits"][split]["metrics"]["accuracy"]
            before = new["recalibration"]["before"][split]
            original = old["splits"][split]["metrics"]["nll"]["value"]
            assert before["nll"] == pytest.approx(original, abs=1e-12)
        assert any("recalibrated with temperature" in note for note in new["notes"])
        assert old["recalibration"] is None
    assert plain.path.name != scaled.path.name


def test_evaluating_again_finds_the_same(pair, tmp_path):
    copy = RunFolder(shutil.copytree(pair[1].path, tmp_path / pair[1].path.name))
    files = [copy.predictions, copy.evaluation, copy.evaluation_of("last")]
    before = [path.read_bytes() for path in files]
    recorded = read_run_record(copy).recalibration
    for path in files:
        path.unlink()
    package.evaluate(copy.path)
    assert [path.read_bytes() for path in files] == before
    assert read_run_record(copy).recalibration == recorded


def test_it_is_verified_with_what_the_record_says(pair):
    for files in pair:
        found = verify_run(files)
        assert (found.differs, found.remarks) == ((), ())
        assert found.numbers > 100


def test_the_page_shows_before_and_after(pair):
    plain, scaled = pair
    assert recalibration(read_run(plain).evaluation) is None
    section = recalibration(read_run(scaled).evaluation)
    scored = json.loads(scaled.evaluation.read_text())
    made = scored["recalibration"]
    (table,) = section.tables
    names = [f"{split}, {when}" for split in ("Test", "Validation") for when in ("before", "after")]
    assert [row.heading for row in table.rows] == names
    assert table.columns[1:] == ["ECE", "Brier score", "NLL"]
    values = [[cell.estimate.mean for cell in row.cells] for row in table.rows]
    for place, split in enumerate(("test", "val")):
        for column, key in enumerate(("ece", "brier", "nll")):
            assert values[2 * place][column] == made["before"][split][key]
            after = scored["splits"][split]["metrics"][key]["value"]
            assert values[2 * place + 1][column] == after
    said = " ".join(block.text for block in section.blocks if hasattr(block, "text"))
    assert f"Temperature {made['temperature']:.3g}" in said
    assert "optimistic" in said
    assert "Recalibration" in scaled.report.read_text()
    assert "Recalibration" not in plain.report.read_text()


def test_a_comparison_marks_the_row_that_was_recalibrated(pair):
    methods = package.compare([folder.path for folder in pair])["methods"]
    assert [len(method["footnotes"]) for method in methods] == [0, 1]
