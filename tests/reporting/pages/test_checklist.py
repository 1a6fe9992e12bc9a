"""The checklist: filled from the run, honest about what is unknown, without numbers of items."""

import re
from dataclasses import replace

import pytest

from medldr.folders.mistakes_record import Mistake, Mistakes
from medldr.reporting import reports, write_report
from medldr.reporting.pages.checklist import PLACE, fact, known, known_facts, template
from medldr.reporting.read.run import read_run

SPEC = {"task": "binary", "class_names": ["no", "yes"], "channels": 1, "spatial_size": [28, 28]}
CONFIG = {"data": {"name": "own", "split_rule": "stratified", "held_out": ["b"]}}
PROVENANCE = {"packages": {"medldr": "9.9"}, "python": "3.11", "git": {"commit": "c" * 40},
              "hardware": {"cpu": "a cpu"}}  # fmt: skip
PARTS = ["about", "title", "introduction", "data", "ground_truth", "model", "training",
         "evaluation", "results", "discussion", "other"]  # fmt: skip


@pytest.fixture
def rows(read):
    def of(files):
        page = read(files.checklist)
        return {row[0]: row[1:] for table in page.tables for row in table[1:]}

    return of


def test_it_has_every_part_and_is_well_formed(run_folder, read):
    files = run_folder(task="binary", names=("no", "yes"), domains=("a", "b"), held_out=("b",))
    write_report(files)
    found = read(files.checklist)
    assert found.errors == []
    assert found.sections == PARTS
    assert [url for url in found.urls if not url.startswith(("#", "data:"))] == []
    assert "CLAIM (2024 update)" in found.text
    assert "TRIPOD+AI" in found.text
    assert "item numbers from the published guideline" in found.text


def test_what_is_known_is_filled_in(run_folder, rows):
    files = run_folder(
        task="binary", names=("no", "yes"), n=60, columns={"sex": ["F", "M"]}, seed=4,
        run={"data": {"name": "own", "images": {"train": 1200, "test": 60}, "groups": {"train": 7}},
             "steps": 1200, "epochs": 1, "sampler": "shuffle",
             "provenance": {"packages": {"medldr": "9.9", "torch": "2.9.9"}, "python": "3.11",
                            "git": {"commit": "c" * 40, "changed": True}}},
    )  # fmt: skip
    write_report(files)
    found = {topic: cells[0] for topic, cells in rows(files).items()}
    size = found["Size of the data set"]
    assert size.startswith("Images by split: training 1,200; test 60. Patients (groups) by split: ")
    assert "training 7." in size
    assert found["Network"].startswith("ResNet-18")
    assert found["Initial weights"] == "Random initialisation."
    assert "Trained: 1 epoch, 1,200 steps." in found["Training recipe"]
    assert found["Randomness"] == "Seed 4."
    assert found["Software"] == "medldr 9.9; torch 2.9.9. Python 3.11."
    assert "medldr 9.9; code state cccccccccccc with changes." in found["Code"]
    assert "val_auc" in found["Choice of the final weights"]
    assert "The threshold 0." in found["Decision threshold"]
    assert "set for 90% specificity on validation" in found["Decision threshold"]
    assert found["Subgroups and fairness"] == "Results by sex, on the page of the run."
    assert found["Performance by subgroup"].startswith("sex: F minus M, Accuracy: ")
    assert "100 draws of groups (patients, slides)" in found["Statistical uncertainty"]
    assert re.match(r"(AUC|Accuracy) [\d.]+%? \(95% CI .*; guessing reaches", found["Performance"])


def test_what_is_unknown_is_blank_and_left_to_the_authors(run_folder, rows):
    files = run_folder()
    write_report(files)
    found = rows(files)
    for topic in ("Reference standard", "Dates", "Funding and interests", "Use in practice",
                  "Performance by subgroup", "Ethics and consent"):  # fmt: skip
        assert found[topic][0] == "–"
        assert len(found[topic][1]) > 10


def test_an_oracle_never_claims_an_unread_test_split(run_folder, rows):
    blind, oracle = (
        run_folder("a-aaaaaaaa-s0"),
        run_folder(
            "b-aaaaaaaa-s0", selection={"rule": "oracle_auc", "split": "test", "oracle": True}
        ),
    )
    said = []
    for files in (blind, oracle):
        write_report(files)
        said.append(rows(files)["Choice of the final weights"][0])
    assert "The test split was not read before this choice." in said[0]
    assert "ORACLE SELECTION" in said[1]
    assert "not read" not in said[1]


def test_a_checklist_that_fails_does_not_cost_the_page_of_the_run(run_folder, monkeypatch):
    files = run_folder()
    monkeypatch.setattr(reports, "checklist_page", lambda read: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(files)
    assert files.report.is_file()


def test_a_run_that_failed_has_one_too(run_folder, rows):
    files = run_folder(run={"status": "failed"})
    for path in (files.evaluation, files.predictions):
        path.unlink()
    write_report(files)
    assert rows(files)["Performance"][0] == "–"
    files.run.unlink()
    write_report(files)
    assert rows(files)["Randomness"][0] == "–"


def test_every_place_of_the_template_has_a_fact_or_an_entry_of_the_card(run_folder):
    spec = SPEC | {"class_counts": [9, 9], "domains": ["a"], "train_domains": ["a"]}
    files = run_folder(
        task="binary", names=("no", "yes"), domains=("a", "b"), held_out=("b",),
        columns={"sex": ["F", "M"]}, config=CONFIG,
        run={"spec": spec, "precision": "float32", "steps": 8, "sampler": "shuffle",
             "times": {"seconds": 9.0}, "provenance": PROVENANCE,
             "data": {"name": "own", "images": {"train": 2}, "groups": {"train": 1}}},
    )  # fmt: skip
    files.bad_files.write_text("file,reason\na.nii,broken\n")
    mistakes = Mistakes(
        split="test", n=9, wrong=1,
        items=(Mistake(truth="no", predicted="yes", confidence=1, png="iVBORw0KGgoA"),),
    )  # fmt: skip
    facts = known_facts(replace(read_run(files), mistakes=mistakes), template()["sentences"])
    items = [item for part in template()["parts"] for item in part["items"]]
    places = {p for i in items for s in i.get("known", ()) for p, _ in PLACE.findall(s)}
    unknown = {p for p in places if not p.startswith("card.") and not fact(p, facts)}
    assert unknown == {"oracle", "notes", "augmentation"}  # this run has none of these
    assert {name for name in places if name.startswith("card.")} <= {
        f"card.{key}" for key in ("source", "dates", "inclusion", "exclusion", "reference_standard",
                                  "demographics", "acquisition", "preparation", "ethics",
                                  "availability", "contact")
    }  # fmt: skip


def test_a_sentence_stands_only_if_all_of_it_is_known():
    sentences = ["A {a}.", "B {b} {a}.", "Always."]
    assert known(sentences, {"a": "1.", "b": ""}) == "A 1. Always."
    assert known(sentences, {}) == ""
    assert known(["Always."], {}) == "Always."
