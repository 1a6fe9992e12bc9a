"""Own pictures of two classes in three hospitals: a binary run, its page, mistakes, older runs."""

import json

import pytest

import medldr as package
from medldr.errors import InputError

pytestmark = pytest.mark.auto_precision

TREE = {hospital: {"atypical": 12, "normal": 16} for hospital in ("north", "south", "west")}


@pytest.fixture(scope="module")
def start(tmp_path_factory, write_domain_tree):
    """Changes that make a short run on a tree with one hospital held out."""
    root = write_domain_tree(tmp_path_factory.mktemp("tree"), TREE)
    return [
        "data=domain_folders",
        f"data.root={root}",
        "data.size=16",
        "data.held_out=west",
        "transform=none",
        "model.width=0.125",
        "training.epochs=1",
        "training.batch_size=16",
        "training.select=[last]",
        "evaluation.draws=100",
    ]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "own.yaml"
    path.write_text("label: own\nmodel: resnet18\nalgorithm: erm\nmachine: {device: cpu}\n")
    return path


def test_own_pictures_of_two_classes_make_a_binary_run(base, start, tmp_path, medldr):
    ended = medldr("train", base, *start, "--out", tmp_path)
    assert ended.code == 0, ended.err
    assert "CHECK THE POSITIVE CLASS: it is normal (the second of atypical, normal)" in ended.err
    assert "no patient ids (data.group_pattern)" in ended.err
    assert "Sens." in ended.out
    (folder,) = tmp_path.iterdir()
    scored = json.loads((folder / "evaluation.json").read_text())
    assert (scored["task"], scored["positive_class"]) == ("binary", "normal")
    assert {"sensitivity", "specificity"} <= scored["splits"]["test"]["metrics"].keys()
    for said in ("no patient ids", "CHECK THE POSITIVE CLASS"):
        assert len([note for note in scored["notes"] if said in note]) == 1
    page = (folder / "report.html").read_text()
    assert "Positive class" in page
    assert "CHECK THE POSITIVE CLASS" in page


def test_the_page_speaks_of_the_class_that_is_named(base, start, tmp_path):
    result = package.train(base, [*start, "evaluation.positive_class=atypical"], out=tmp_path)
    scored = json.loads((result.folder / "evaluation.json").read_text())
    assert scored["positive_class"] == "atypical"
    metrics = scored["splits"]["test"]["metrics"]
    recall = scored["splits"]["test"]["classes"]["atypical"]["recall"]["value"]
    assert metrics["sensitivity"]["value"] == recall
    page = (result.folder / "report.html").read_text()
    assert "positive class: atypical (evaluation.positive_class)" in page
    assert "CHECK" not in page


def test_a_misspelt_positive_class_is_refused_before_training(base, start, tmp_path, medldr):
    changes = [*start, "evaluation.positive_class=atypcal"]
    ended = medldr("train", base, *changes, "--out", tmp_path)
    assert ended.code == 2
    assert "evaluation.positive_class: there is no class 'atypcal'. Did you mean 'atypical'?" in (
        " ".join(ended.err.split())
    )
    assert not list(tmp_path.glob("*/metrics.jsonl"))


def test_an_older_run_is_read_and_can_be_scored_again(base, start, tmp_path, monkeypatch):
    with monkeypatch.context() as before:
        before.setattr("medldr.data.spec.task_of", lambda table: "multi-class")
        before.setattr("medldr.data.build.positive_class_notes", lambda table, chosen: ())
        older = package.train(base, start, out=tmp_path)
    newer = package.train(base, [*start, "seed=1"], out=tmp_path)
    again = package.train(base, start, out=tmp_path)
    assert not again.fresh
    assert (older.folder / "report.html").is_file()
    with pytest.raises(InputError, match="they differ in task"):
        package.compare([older.folder, newer.folder])
    before, now = (
        scored["splits"]["test"]["metrics"]
        for scored in (
            json.loads((older.folder / "evaluation.json").read_text()),
            package.evaluate(older.folder),
        )
    )
    assert "sensitivity" not in before
    assert now["sensitivity"]["value"] is not None
    assert now["accuracy"] == before["accuracy"]
    record = json.loads((older.folder / "run.json").read_text())
    assert record["spec"]["task"] == "binary"
    package.compare([older.folder, newer.folder])
