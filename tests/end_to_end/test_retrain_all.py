"""A run trained again on all images says so everywhere, and passes verification."""

import json

import numpy as np
import pytest

import medldr as package
from medldr.data.seen import read_seen
from medldr.folders.files import RunFolder
from medldr.folders.run_record import read_run_record

SETTINGS = ("training.epochs=3", "training.stages=[retrain_all]", "training.select=[val_loss,last]")


@pytest.fixture(scope="module")
def folder(small, tmp_path_factory):
    out = tmp_path_factory.mktemp("all")
    return RunFolder(package.train("retinamnist_erm", [*small, *SETTINGS], out=out).folder)


def marked(folder):
    return json.loads(folder.evaluation.read_text())["notes"][0]


def test_every_number_is_marked_and_the_seen_images_are_trained_ones(folder):
    record = read_run_record(folder)
    (mark,) = record.marks
    assert "trained on the images of val too" in mark
    assert marked(folder) == mark
    assert mark.replace("(", "").partition(" training")[0] in folder.report.read_text()
    assert {name: len(of) for name, of in read_seen(folder, record).splits.items()} == {
        "train": 48 + 16
    }
    assert list(record.selections) == ["val_loss"]
    assert mark in package.predict(folder.path, [np.zeros((28, 28, 3), np.uint8)]).notes


def test_it_is_verified_and_evaluated_again_to_the_last_bit(folder):
    assert not [line for one in package.verify(folder.path).runs for line in one.differs]
    before = folder.predictions.read_bytes()
    package.evaluate(folder.path)
    assert folder.predictions.read_bytes() == before
    assert "trained on the images of val too" in marked(folder)
    assert not [line for one in package.verify(folder.path).runs for line in one.differs]


def test_a_changed_choice_is_found(folder):
    text = folder.run.read_text()
    content = json.loads(text)
    value = content["selection"]["value"]
    assert np.isfinite(value)
    content["selection"]["value"] = content["selections"]["val_loss"]["value"] = value + 1
    folder.run.write_text(json.dumps(content))
    found = [line for one in package.verify(folder.path).runs for line in one.differs]
    folder.run.write_text(text)
    assert any("val_loss chose value" in line for line in found)


def test_a_hospital_that_validated_is_a_seen_one_afterwards(tmp_path):
    study = {
        "extends": ["recipe/phantom_histology", "data/phantom_histology", "algorithm/dann"],
        "data": {"tiles": 4},
        "model": {"width": 0.0625},
        "training": {"stages": ["retrain_all"]},
        "evaluation": {"draws": 100},
        "machine": {"device": "cpu", "report": False},
    }
    folder = RunFolder(package.train(study, ["training.epochs=2"], out=tmp_path).folder)
    record, scored = read_run_record(folder), json.loads(folder.evaluation.read_text())
    assert record.spec.train_domains == ("hospital_0", "hospital_1", "hospital_3", "hospital_4")
    assert sum(record.spec.class_counts) == 4 * 10 * 4
    seen = {name: of["seen"] for part in ("val", "test") for name, of in domains(scored, part)}
    assert seen == {"hospital_1": True, "hospital_2": False}
    assert scored["gap"]["seen"] == "id_val"
    assert scored["gap"]["shared_groups"]
    assert scored["leaks"]["split"] == "train"


def domains(scored, part):
    return scored["splits"][part]["domains"].items()
