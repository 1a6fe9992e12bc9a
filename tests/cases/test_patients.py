"""Several pictures of a patient: one answer each, and a patient whose labels contradict it."""

import csv
import json

import pytest
from own_scans import built, mapping, picture, run_file, table

from medldr.config import load_config
from medldr.data.inspection import inspect_table
from medldr.errors import InputError
from medldr.evaluation.evaluate_rules import check_scoring
from medldr.folders.files import RunFolder

KEYS = {"domain": "hospital", "group": "patient", "held_out": ["b"]}


def study(folder, stray=(), each=5):
    """Pictures of 24 patients in two hospitals, half ill; a stray label in the first of some."""
    rows = []
    for patient in range(24):
        for number in range(each):
            ill = patient % 2
            name = f"s{patient:02d}_{number}.png"
            picture(folder / name, 10 * patient + number, 40 * ill)
            label = ["well", "ill"][ill ^ (patient in stray and number == 0)]
            rows.append((name, label, f"p{patient:02d}", "ab"[patient // 12]))
    return table(folder, rows, "path,label,patient,hospital")


def test_two_patients_with_a_stray_label_are_named_by_a_run_and_by_the_check(tmp_path):
    file = study(tmp_path, stray=(3, 17), each=2)
    said = "2 of 24 groups (patients, slides) have images of different labels (p03, p17)"
    data = built(file, **KEYS)
    assert said in data.notes
    assert said in inspect_table(data.table, {}, {}, None).look


@pytest.mark.parametrize("stray", [(), range(24)])
def test_labels_without_contradiction_or_of_single_images_need_no_note(tmp_path, stray):
    data = built(study(tmp_path, stray, each=2), **KEYS)
    assert not any("different labels" in note for note in data.notes)


def test_their_scores_are_refused_before_training_and_those_of_images_are_not(tmp_path):
    file = study(tmp_path, stray=(3, 17), each=2)

    def check(*words, **keys):
        config = load_config(mapping(file, **{**KEYS, **keys}), list(words))
        check_scoring(config, built(file, **{**KEYS, **keys}))

    check()
    check("evaluation.aggregate=max", "evaluation.group_label=any")
    for words, keys, said in (
        (["aggregate=mean"], {}, "p17"),
        (["aggregate=mean"], {"group": None}, "data.group"),
        (["aggregate=share", "group_label=any", "splits=[test]"], {}, "evaluation.splits"),
    ):
        with pytest.raises(InputError, match=r"evaluation\.aggregate is") as error:
            check(*(f"evaluation.{word}" for word in words), **keys)
        assert said in str(error.value)


@pytest.mark.slow
def test_a_patient_gets_scores_and_an_answer_beside_those_of_images(tmp_path, medldr, out):
    file = study(tmp_path)
    words = ("machine.report=true", "evaluation.positive_class=ill", "evaluation.aggregate=mean")
    ended = medldr("train", run_file(tmp_path, file, **KEYS), *words, "--out", out)
    assert ended.code == 0, ended.err
    assert "by group" in ended.out
    (found,) = out.iterdir()
    folder = RunFolder(found)
    scored = json.loads(folder.evaluation.read_text())
    test = scored["splits"]["test"]
    assert (test["n"], test["by_group"]["n"]) == (60, 12)
    assert {"auc", "sensitivity_at_specificity", "ece"} <= test["by_group"]["metrics"].keys()
    page = folder.report.read_text()
    assert "AUC, by group" in page
    assert "with the mean of the probabilities of its images" in page
    assert medldr("verify", found).code == 0

    answers = tmp_path / "new.csv"
    ended = medldr("predict", found, file, "--group", "patient", "--out", answers)
    assert ended.code == 0, ended.err
    with (tmp_path / "new_by_group.csv").open() as opened:
        rows = {row["group"]: row for row in csv.DictReader(opened)}
    assert len(rows) == 24
    with answers.open() as opened:
        images = [row for row in csv.DictReader(opened) if row["path"].startswith("s15_")]
    mean = sum(float(row["prob_ill"]) for row in images) / 5
    threshold = scored["by_group"]["operating_point"]["threshold"]
    assert float(rows["p15"]["prob_ill"]) == pytest.approx(mean)
    assert rows["p15"]["predicted"] == ("ill" if mean > threshold else "well")
    assert rows["p15"]["images"] == "5"

    site = study(tmp_path / "site", stray=(3,))
    words = ("validate", found, site, "--out", tmp_path / "ward")
    ended = medldr(*words)
    assert ended.code == 2
    assert "p03" in ended.err  # the site's own name, before any picture is read
    ended = medldr(*words, "--keep-seen", "evaluation.group_label=any")
    assert ended.code in (0, 3), ended.err
    text = (tmp_path / "ward" / "evaluation.json").read_text()
    assert "p03" not in text  # nor in what leaves it
    assert json.loads(text)["splits"]["test"]["by_group"]["n"] == 24
    assert medldr("verify", tmp_path / "ward").code == 0
