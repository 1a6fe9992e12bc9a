"""A run is repeated on a copy: from its weights and from its data; other settings are found."""

import json
import re
import shutil

import pytest

import medldr as package
from medldr import repetition
from medldr.config import load_config, run_hash
from medldr.config.identity import hashed_settings
from medldr.data import build_data
from medldr.evaluation.verification import verify_run
from medldr.folders.checksums import checksums_of
from medldr.folders.files import RunFolder, load_tensors, save_tensors, write_json
from medldr.folders.run_record import add_to_run_record, read_run_record


@pytest.fixture(scope="module")
def trained(small, tmp_path_factory):
    """A finished run, which no test changes."""
    settings = [*small, "training.epochs=2", "training.select=[val_auc,last]"]
    done = package.train("retinamnist_erm", settings, tmp_path_factory.mktemp("repeated"))
    return done.folder


@pytest.fixture
def files(trained, tmp_path):
    """A copy of it, to be changed."""
    return RunFolder(shutil.copytree(trained, tmp_path / "copied"))


def reseal(files):
    add_to_run_record(files, checksums=checksums_of(files))


def configured(files, *overrides):
    """Change the configuration, and every record and checksum that tells of it."""
    config = load_config(files.config, overrides)
    files.config.write_text(package.config.dump_config(config))
    data = build_data(config)
    write_json(files.splits, data.manifest())
    add_to_run_record(
        files,
        hash=run_hash(config),
        seed=config.seed,
        lr=config.training.lr,
        settings=hashed_settings(config),
        data=data.record(),
        **data.hashes(),
    )
    reseal(files)


def other_weights(files):
    tensors = load_tensors(files.model)
    tensors["head.bias"] = tensors["head.bias"] + 1.0
    save_tensors(files.model, tensors)
    reseal(files)


def other_log(files):
    rows = [json.loads(line) for line in files.metrics.read_text().splitlines()]
    rows[1]["train/loss"] += 0.05
    files.metrics.write_text("".join(json.dumps(row) + "\n" for row in rows))
    reseal(files)


def test_a_run_is_repeated_to_the_last_bit_and_stays_as_it_is(files, medldr):
    before = {path: path.read_bytes() for path in files.path.rglob("*") if path.is_file()}
    ended = medldr("verify", files.path, "--predict", "--replay", 1)
    assert ended.code == 0, ended.out
    assert "answered again from the weights: largest difference 0" in ended.out
    assert "trained again up to evaluation 1\n" in ended.out
    assert {p: p.read_bytes() for p in files.path.rglob("*") if p.is_file()} == before


def test_more_evaluations_than_there_were_are_all_of_them(files):
    (verdict,) = package.verify(files.path, replay=9).runs
    assert verdict.differs == ()
    assert verdict.remarks[-1] == "trained again up to evaluation 2"


def other_inputs(files):
    content = json.loads(files.preprocessing.read_text())
    content["training"]["mean"] = [0.0, 9.0]
    write_json(files.preprocessing, content)
    reseal(files)


def other_counts(files):
    content = json.loads(files.run.read_text())
    content["spec"]["class_counts"][0] += 1
    write_json(files.run, content)
    reseal(files)


FORGERIES = [
    ("other inputs", other_inputs, "preprocessing.json: training/mean/1 is 9.0"),
    ("other counts of classes", other_counts, "run.json: spec is not that of the data"),
    ("other weights", other_weights, "the weights answer otherwise"),
    ("another log", other_log, "metrics.jsonl, evaluation 2: train/loss is"),
    ("another seed", lambda files: configured(files, "seed=4"), "evaluation 1: train/loss is"),
    ("another rate", lambda files: configured(files, "training.lr=0.004"), "evaluation 1: lr is"),
    (
        "another order of the data",
        lambda files: configured(files, "training.sampler=weighted"),
        "evaluation 1: train/loss is",
    ),
    (
        "other training rows",
        lambda files: configured(files, "data.train_fraction=0.6"),
        "evaluation 1: ",
    ),
]
"""Each with every record and checksum made again, so that nothing else can find it."""


@pytest.mark.parametrize(
    ("forge", "named"), [row[1:] for row in FORGERIES], ids=[f[0] for f in FORGERIES]
)
def test_what_only_repeating_finds(files, forge, named):
    forge(files)
    assert verify_run(files).differs == ()
    evaluations = 2 if forge is other_log else 1
    (verdict,) = package.verify(files.path, predict=True, replay=evaluations).runs
    assert any(named in each for each in verdict.differs), verdict.differs


@pytest.mark.parametrize(("off", "code"), [(0.0005, 0), (0.05, 2)])
def test_elsewhere_losses_may_differ_a_little_which_is_said(files, medldr, off, code):
    hardware = read_run_record(files).provenance["hardware"]
    made = {**read_run_record(files).provenance, "hardware": {**hardware, "cpu": "another"}}
    add_to_run_record(files, provenance=made)
    rows = [json.loads(line) for line in files.metrics.read_text().splitlines()]
    rows[0]["train/loss"] *= 1 + off
    rows[0]["train/accuracy"] = 0.5
    files.metrics.write_text("".join(json.dumps(row) + "\n" for row in rows))
    reseal(files)
    ended = medldr("verify", files.path, "--replay", 1)
    assert ended.code == code, ended.out
    assert re.search(r"elsewhere \(processor .*, was another\), so losses within 0.001", ended.out)


def test_a_run_without_its_weights_is_trained_again_but_does_not_answer(files):
    files.model.unlink()
    (verdict,) = package.verify(files.path, predict=True, replay=1).runs
    assert verdict.differs == ()
    assert "could not answer again" in " ".join(verdict.remarks)
    assert verdict.remarks[-1] == "trained again up to evaluation 1"


def test_a_run_whose_data_is_gone_or_has_changed_is_not_repeated(files, data_root, tmp_path):
    config = files.config.read_text().replace(str(data_root), str(tmp_path / "gone"))
    files.config.write_text(config)
    reseal(files)
    (verdict,) = repetition.verify(files.path, predict=True).runs
    (said,) = verdict.differs
    assert said.startswith("it cannot be repeated: ")
    assert "gone" in said
