"""The checklist: filled from the run, honest about what is unknown, without numbers of items."""

import re

import pytest

from medldr.reporting import write_report
from medldr.reporting.read.run import read_run
from medldr.reporting.sections.checklist import known, template
from medldr.reporting.sections.checklist_facts import known_facts

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
    assert found["Software"] == "medldr 9.9, torch 2.9.9. Python 3.11."
    assert "medldr 9.9; code state cccccccccccc with changes." in found["Code"]
    assert "val_auc" in found["Choice of the final weights"]
    assert "For the specificity of 0.9, the threshold 0." in found["Decision threshold"]
    assert found["Subgroups and fairness"] == "Results by sex, on the page of the run."
    assert re.fullmatch(r"sex: accuracy \d+\.\d% to \d+\.\d% over 2 subgroups, lowest for [FM]\.",
                        found["Performance by subgroup"])  # fmt: skip
    assert "100 draws of groups (patients, slides)" in found["Statistical uncertainty"]
    assert re.match(r"Test: Accuracy \d+\.\d% \(95% CI", found["Performance"])


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
    files = run_folder(
        task="binary", names=("no", "yes"), domains=("a", "b"), held_out=("b",),
        columns={"sex": ["F", "M"]}, run={"precision": "float32"},
    )  # fmt: skip
    words = template()
    facts = known_facts(read_run(files), words["sentences"])
    # Facts of runs that this one is not, or that its small record lacks.
    others = {
        "augmentation",
        "held_out",
        "skipped",
        "input",
        "classes",
        "class_counts",
        "domains",
        "task_text",
        "splitting",
    }
    items = [item for part in words["parts"] for item in part["items"]]
    places = {p for i in items for s in i.get("known", ()) for p in re.findall(r"\{(\w+)\}", s)}
    assert {p for p in places if p not in facts and not p.startswith("card_")} <= others
    assert {name for name in places if name.startswith("card_")} <= {
        f"card_{key}" for key in ("source", "dates", "inclusion", "exclusion", "reference_standard",
                                  "demographics", "acquisition", "preparation", "ethics",
                                  "availability", "contact")
    }  # fmt: skip


def test_a_sentence_stands_only_if_all_of_it_is_known():
    sentences = ["A {a}.", "B {b} {a}.", "Always."]
    assert known(sentences, {"a": "1.", "b": ""}) == "A 1. Always."
    assert known(sentences, {}) == ""
    assert known(["Always."], {}) == "Always."
