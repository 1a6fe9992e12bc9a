"""A record that was edited is named by `verify` and refused by `report`, `compare` and `train`."""

import csv
import json
import math
import re
import shutil

import numpy as np
import pytest

import medldr as package
from medldr import run as program
from medldr.data.hashes import hash_split_ids
from medldr.errors import InputError
from medldr.evaluation.verification import verify_run
from medldr.folders import provenance
from medldr.folders.checksums import checksum_of_content, checksums_of
from medldr.folders.files import RunFolder, checksum
from medldr.folders.lifecycle import Interrupted
from medldr.folders.run_record import add_to_run_record, read_run_record
from medldr.reporting import ReportWarning

RUN = "retinamnist_erm"


@pytest.fixture(scope="module")
def settings(small):
    return [*small, "training.epochs=2", "training.select=[val_auc,last]"]


@pytest.fixture(scope="module")
def trained(settings, tmp_path_factory):
    """Two finished runs, which no test changes."""
    out = tmp_path_factory.mktemp("verified")
    for seed in (0, 1):
        package.train(RUN, [*settings, f"seed={seed}"], out=out)
    return sorted(path.parent for path in out.glob("*/run.json"))


@pytest.fixture
def runs(trained, tmp_path):
    """A copy of them elsewhere, to be changed."""
    parent = tmp_path / "elsewhere"
    return [RunFolder(shutil.copytree(path, parent / path.name)) for path in trained]


def content(folder):
    return {
        path.relative_to(folder): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def edit_json(path, *place, value):
    whole = json.loads(path.read_text())
    at = whole
    for key in place[:-1]:
        at = at[key]
    assert at[place[-1]] != value
    at[place[-1]] = value
    path.write_text(json.dumps(whole))


def accuracy_said(files):
    edit_json(
        files.evaluation, "splits", "test", "metrics", "accuracy", "value", value=0.913
    )  # fmt: skip


def ci_said(files):
    edit_json(files.evaluation, "splits", "test", "metrics", "accuracy", "low", value=0.871)


def predictions_said(files):
    lines = files.predictions.read_text().splitlines()
    cells = lines[-1].split(",")
    first = next(n for n, name in enumerate(lines[0].split(",")) if name.startswith("prob_"))
    # Still probabilities with their log-odds, so that only the scores can tell.
    others = (len(cells) - first) // 2 - 1
    prob = [0.9, *[0.1 / others] * others]
    cells[first:] = map(repr, [*prob, *(math.log(p / (1 - p)) for p in prob)])
    files.predictions.write_text("\n".join([*lines[:-1], ",".join(cells)]) + "\n")


def log_said(files):
    text = files.metrics.read_text()
    files.metrics.write_text(re.sub(r'("val/accuracy": )[\d.]+', r"\g<1>0.9876", text))


def record_said(files):
    edit_json(files.run, "selection", "value", value=0.9876)


def weights_said(files):
    data = bytearray(files.model.read_bytes())
    data[-1] ^= 1
    files.model.write_bytes(data)


def further_said(files):
    edit_json(
        files.evaluation_of("last"), "splits", "test", "metrics", "auc", "value", value=0.987
    )  # fmt: skip


def test_runs_are_as_they_were_left_even_elsewhere(runs, medldr):
    before = content(runs[0].path.parent)
    ended = medldr("verify", runs[0].path.parent)
    assert ended.code == 0, ended.out
    for files in runs:
        assert re.search(rf"{files.path.name}\s+\d+\s+[\d,]+\s+none", ended.out)
    assert content(runs[0].path.parent) == before
    assert medldr("verify", runs[0].path).code == 0
    assert max(map(len, ended.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (accuracy_said, ["evaluation.json was changed",
                         "test/accuracy: evaluation.json says 0.913, predictions.csv gives"]),
        (ci_said, ["evaluation.json was changed", "test/accuracy/low: evaluation.json says 0.871"]),
        (predictions_said, ["predictions.csv was changed", "test/brier: evaluation.json says"]),
        (log_said, ["metrics.jsonl was changed"]),
        (record_said, ["run.json was changed"]),
        (weights_said, ["model.safetensors was changed"]),
        (further_said, ["selected/last/evaluation.json was changed",
                        "selected/last: test/auc: evaluation.json says 0.987"]),
    ],
)  # fmt: skip
def test_verify_names_the_file_and_the_key(runs, medldr, edit, named):
    edit(runs[0])
    ended = medldr("verify", runs[0].path)
    assert ended.code == 2
    for words in named:
        assert f"\n  {words}" in ended.out


def test_a_run_beside_one_that_was_changed_is_believed(runs, medldr):
    log_said(runs[0])
    ended = medldr("verify", runs[0].path.parent)
    assert (ended.code, "\n  metrics.jsonl was changed" in ended.out) == (2, True)
    assert re.search(rf"{runs[1].path.name}\s+\d+\s+[\d,]+\s+none", ended.out)
    assert f"{runs[1].path.name} is not" not in ended.out


@pytest.mark.parametrize(
    ("edit", "named", "cure"),
    [
        (accuracy_said, "test/accuracy: evaluation.json says 0.913, predictions.csv gives 0.",
         "medldr evaluate"),
        (ci_said, "evaluation.json was changed", "medldr evaluate"),
        (predictions_said, "predictions.csv was changed", "medldr evaluate"),
        (further_said, "selected/last/evaluation.json was changed", "medldr evaluate"),
        (log_said, "metrics.jsonl was changed", "--restart"),
        (record_said, "run.json was changed", "--restart"),
    ],
)  # fmt: skip
def test_a_report_and_a_comparison_refuse_it(runs, medldr, tmp_path, edit, named, cure):
    files = runs[1]
    page = files.report.read_bytes()
    edit(files)
    out = tmp_path / "compare.html"
    for words in (("report", files.path), ("compare", *(r.path for r in runs), "--out", out)):
        ended = medldr(*words)
        assert ended.code == 2
        assert ended.err.startswith(f"error: {files.path} is not as its run left it: ")
        assert named in ended.err
        assert cure in ended.err
        assert f"medldr verify {files.path}" in ended.err
    assert files.report.read_bytes() == page
    assert not out.exists()


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("preprocessing.json", "predict"),
        ("unlike.safetensors", "predict"),
        ("splits.json", "report"),
    ],
)
def test_what_a_command_reads_is_refused_until_it_is_made_again(
    runs, medldr, data_root, tmp_path, name, command
):
    files, path = runs[0], runs[0].path / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    image = f"{data_root}/retinamnist.npz#test_images[0]"
    more = (image, "--out", tmp_path / "p.csv") if command == "predict" else ()
    ended = medldr(command, files.path, *more)
    assert (ended.code, f"{path} was changed" in ended.err) == (2, True), ended.err
    assert "medldr evaluate" in ended.err
    assert medldr("evaluate", files.path).code == 0
    ended = medldr(command, files.path, *more)
    assert ended.code == 0, ended.err
    assert medldr("verify", files.path).code == 0


@pytest.mark.parametrize("command", ["report", "evaluate", "predict", "analyze", "export"])
def test_a_setting_of_training_that_was_edited_is_named(runs, medldr, tmp_path, command):
    files = runs[0]
    files.config.write_text(files.config.read_text().replace("epochs: 2", "epochs: 5"))
    more = {"predict": ["x.png"], "export": ["--format", "torch"]}.get(command, [])
    out = [] if command in ("report", "evaluate") else ["--out", tmp_path / "o"]
    ended = medldr(command, files.path, *more, *out)
    assert ended.code == 2
    assert "training.epochs is not what the run was trained with" in ended.err


def test_what_only_describes_is_renewed_by_evaluate(runs, medldr):
    files = runs[0]
    text = files.config.read_text()
    files.config.write_text(re.sub("primary: .*", "primary: auc", text))
    assert "config.yaml was changed" in medldr("verify", files.path).out
    assert medldr("report", files.path).code == 0
    assert medldr("evaluate", files.path).code == 0
    assert medldr("verify", files.path).code == 0


def test_a_table_leaves_it_out_and_says_why(runs, medldr):
    accuracy_said(runs[1])
    ended = medldr("report", runs[1].path.parent)
    assert ended.code == 3
    assert "test/accuracy: evaluation.json says 0.913" in " ".join(ended.out.split())
    page = (runs[1].path.parent / "report.md").read_text()
    assert "unreadable" in page
    assert "says 0.913, predictions.csv gives" in page
    assert "91.3" not in page


def test_training_again_does_not_print_it(runs, settings, medldr):
    words = ("train", RUN, *settings, "seed=0", "--out", runs[0].path.parent)
    assert medldr(*words).code == 0
    accuracy_said(runs[0])
    ended = medldr(*words)
    assert (ended.code, "says 0.913" in ended.err, "91.3" in ended.out) == (2, True, False)


def test_evaluating_again_cures_it(runs, medldr):
    for edit in (accuracy_said, predictions_said, further_said):
        edit(runs[0])
    assert medldr("evaluate", runs[0].path).code == 0
    assert medldr("verify", runs[0].path).code == 0
    assert medldr("report", runs[0].path).code == 0


def test_evaluating_again_does_not_cover_up_what_it_does_not_make(runs, medldr):
    log_said(runs[0])
    with pytest.warns(ReportWarning, match=r"metrics\.jsonl was changed"):
        medldr("evaluate", runs[0].path)
    ended = medldr("verify", runs[0].path)
    assert (ended.code, "metrics.jsonl was changed" in ended.out) == (2, True)


@pytest.mark.parametrize("edit", [record_said, weights_said])
def test_other_weights_or_another_record_are_not_scored(runs, medldr, edit):
    edit(runs[0])
    before = content(runs[0].path)
    ended = medldr("evaluate", runs[0].path)
    assert (ended.code, "was changed" in ended.err) == (2, True)
    assert content(runs[0].path) == before
    with pytest.raises(InputError, match="was changed"):
        package.load_model(runs[0].path)


def test_a_consistent_forgery_of_the_checksums_does_not_help(runs, medldr):
    """The evaluation must still follow from the predictions."""
    accuracy_said(runs[0])
    record = json.loads(runs[0].run.read_text())
    record["checksums"]["evaluation.json"] = checksum(runs[0].evaluation)
    record["checksums"]["run.json"] = checksum_of_content(record)
    runs[0].run.write_text(json.dumps(record))
    assert medldr("report", runs[0].path).code == 2
    ended = medldr("verify", runs[0].path)
    assert (ended.code, "says 0.913" in ended.out) == (2, True)


def rewrite(path, edit):
    """Change a JSON file by a function of its content."""
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))


def drop(files, split, keep=lambda row: False):
    """Remove rows of a split from `predictions.csv`."""
    head, *lines = files.predictions.read_text().splitlines()
    names = head.split(",")
    rows = [dict(zip(names, line.split(","), strict=True)) for line in lines]
    kept = [
        line for line, row in zip(lines, rows, strict=True) if row["split"] != split or keep(row)
    ]
    assert len(kept) < len(lines)
    files.predictions.write_text("\n".join([head, *kept]) + "\n")


def correct(row):
    prob = {name: float(value) for name, value in row.items() if name.startswith("prob_")}
    return max(prob, key=prob.get) == list(prob)[int(float(row["label"]))]


def wrong_rows_deleted(files):
    drop(files, "test", correct)


def wrong_rows_deleted_from_the_splits_too(files):
    drop(files, "test", correct)
    with files.predictions.open(newline="") as file:
        ids = [row["id"] for row in csv.DictReader(file) if row["split"] == "test"]
    rewrite(files.splits, lambda content: content["splits"].update(test=ids))


def trained_on_test_rows(files):
    def move(content):
        splits = content["splits"]
        splits["train"].append(splits["test"][0])
        content["split_hash"] = hash_split_ids(splits)

    rewrite(files.splits, move)
    made = json.loads(files.splits.read_text())["split_hash"]
    rewrite(files.run, lambda content: content.update(split_hash=made))


def other_split_hash(files):
    rewrite(files.splits, lambda content: content.update(split_hash="0" * 64))


def groups_cross(files):
    lines = files.predictions.read_text().splitlines()
    place = lines[0].split(",").index("group")
    for number in (1, -1):
        cells = lines[number].split(",")
        cells[place] = "anna"
        lines[number] = ",".join(cells)
    files.predictions.write_text("\n".join(lines) + "\n")


def a_patient_of_training_is_tested(files):
    def add(content):
        splits = content["splits"]
        groups = {split: ["anna", *[""] * (len(splits[split]) - 1)] for split in ("train", "test")}
        content["groups"] = groups

    rewrite(files.splits, add)


def other_hash(files):
    rewrite(files.run, lambda content: content.update(hash="0a1b2c3d"))


def other_seed(files):
    rewrite(files.run, lambda content: content.update(seed=7))


def other_label(files):
    rewrite(files.run, lambda content: content.update(label="best_method"))


def other_setting(files):
    files.config.write_text(files.config.read_text().replace("epochs: 2", "epochs: 5"))


def choice(files, **facts):
    """What the reported rule chose, in every record."""

    def edit(content):
        content["selection"] |= facts
        content.get("selections", {}).get("val_auc", {}).update(facts)

    for path in (files.run, files.evaluation):
        rewrite(path, edit)


def other_step(files):
    chosen = read_run_record(files).selection
    choice(files, epoch=3 - chosen.epoch, step=(3 - chosen.epoch) * 3)


def other_value(files):
    choice(files, value=0.999)


def other_value_in_the_log_too(files):
    choice(files, value=0.999)
    rows = [json.loads(line) for line in files.metrics.read_text().splitlines()]
    rows[read_run_record(files).selection.epoch - 1]["val/auc"] = 0.999
    files.metrics.write_text("".join(json.dumps(row) + "\n" for row in rows))


def other_choice_scored(files):
    rewrite(files.evaluation, lambda content: content["selection"].update(rule="last"))


def rows_of_another_rule_deleted(files):
    path = files.predictions_of("last")
    text = path.read_text().splitlines()
    path.write_text("\n".join(text[:-1]) + "\n")


def split_not_scored(files):
    drop(files, "val")
    rewrite(files.evaluation, lambda content: content["splits"].pop("val"))


def split_not_reported(files):
    rewrite(files.evaluation, lambda content: content["splits"].pop("val"))


def logged_once_more(files):
    rows = [json.loads(line) for line in files.metrics.read_text().splitlines()]
    rows.append({**rows[-1], "epoch": 3, "step": 9, "val/auc": 0.0})
    files.metrics.write_text("".join(json.dumps(row) + "\n" for row in rows))


def other_answers_named(files):
    rewrite(files.preprocessing, lambda content: content["class_names"].reverse())


def record_of(**facts):
    """A forgery of some facts of `run.json`."""

    def forge(files):
        rewrite(files.run, lambda content: content.update(facts))

    return forge


def other_parts(files):
    rewrite(files.run, lambda content: content["data"]["parts"]["training"].update(items="0"))


def end_of_an_interval(files):
    ci_said(files)
    rewrite(files.run, lambda content: content["scored_with"].update(git="0a1b2c3d"))


FORGERIES = [
    (wrong_rows_deleted, "of test in splits.json alone"),
    (wrong_rows_deleted_from_the_splits_too, "splits.json: split_hash is not that of run.json"),
    (trained_on_test_rows, "splits.json: 1 item is (test/0) in more than one split"),
    (other_split_hash, "splits.json: split_hash is not that of run.json"),
    (groups_cross, "predictions.csv: 1 groups of val are in test, too"),
    (
        a_patient_of_training_is_tested,
        "splits.json: 1 groups of train are in test, too",
        "groups of test are not those of predictions.csv",
        "groups of the training splits are not those of run.json",
    ),
    (other_hash, "config.yaml: hash is now"),
    (other_seed, "config.yaml: seed is now 0, that of the run 7"),
    (other_label, "config.yaml: label is now"),
    (other_setting, "config.yaml: training.epochs is not what the run was trained with"),
    (other_step, "run.json: val_auc chose epoch"),
    (other_value, "run.json: val_auc chose value 0.999, but metrics.jsonl gives"),
    (other_value_in_the_log_too, "run.json: val_auc chose by 0.999, but predictions.csv gives"),
    (other_choice_scored, "evaluation.json: selection is not that of run.json"),
    (rows_of_another_rule_deleted, "selected/last: 1 item is"),
    (split_not_scored, "16 items are"),
    (split_not_reported, "evaluation.json scores test, but predictions.csv holds val, test"),
    (end_of_an_interval, "test/accuracy/low: evaluation.json says 0.871"),
    (logged_once_more, "run.json: steps does not follow"),
    (other_answers_named, "preprocessing.json: class_names is"),
    (record_of(epochs=50), "run.json: epochs does not follow"),
    (record_of(lr=0.5), "config.yaml: the learning rate is"),
    (record_of(protocol="medmnist-28"), "config.yaml: protocol is"),
    (record_of(test_data_hash="0" * 64), "run.json: test_data_hash does not follow"),
    (other_parts, "run.json: data.parts.training.items does not follow"),
]
"""Each with every checksum made again, as somebody would who knows of them."""


@pytest.mark.parametrize(
    ("forge", "named"),
    [(forge, named) for forge, *named in FORGERIES],
    ids=lambda it: getattr(it, "__name__", ""),
)
def test_a_forgery_with_right_checksums_breaks_the_chain(runs, forge, named):
    forge(runs[0])
    add_to_run_record(runs[0], checksums=checksums_of(runs[0]))
    said = verify_run(runs[0]).differs
    assert all(any(name in each for each in said) for name in named), said
    assert not any("checksum" in each for each in said)


def test_code_that_a_configuration_names_is_not_run(runs, tmp_path, monkeypatch):
    (tmp_path / "harmful.py").write_text("raise SystemExit('it ran')")
    monkeypatch.syspath_prepend(tmp_path)
    text = runs[0].config.read_text().replace("name: erm", "name: harmful.code")
    runs[0].config.write_text(text)
    add_to_run_record(runs[0], checksums=checksums_of(runs[0]))
    verdict = verify_run(runs[0])
    assert any("other packages, which are not allowed" in remark for remark in verdict.remarks)


def test_a_run_without_its_list_of_checksums_is_not_believed(runs, medldr):
    rewrite(runs[0].run, lambda content: content.pop("checksums"))
    ended = medldr("verify", runs[0].path)
    assert (ended.code, "holds no checksums" in ended.out) == (2, True)
    assert medldr("report", runs[0].path).code == 0  # what follows from its predictions is shown


def test_a_copy_under_another_seed_is_no_second_run(runs, medldr, tmp_path):
    copy = RunFolder(shutil.copytree(runs[0].path, runs[0].path.with_name("copy-s5")))
    copy.config.write_text(copy.config.read_text().replace("seed: 0", "seed: 5"))
    add_to_run_record(copy, seed=5, checksums=checksums_of(copy))
    ended = medldr("verify", copy.path.parent)
    assert (ended.code, ended.out.count("its weights or predictions are those of")) == (2, 2)
    ended = medldr("compare", runs[0].path, copy.path, "--out", tmp_path / "c.html")
    assert (ended.code, "under different seeds" in ended.err) == (2, True)
    copy.model.write_bytes(copy.model.read_bytes()[:-1] + b"\1")  # other weights, equal answers
    add_to_run_record(copy, checksums=checksums_of(copy))
    ended = medldr("report", copy.path.parent)
    assert "its weights or predictions are those of" in " ".join(ended.out.split())
    shutil.rmtree(copy.path)
    assert medldr("verify", runs[0].path.parent).code == 0


def test_pages_are_named_as_not_checked(runs, medldr):
    assert medldr("report", runs[0].path.parent).code == 0
    for folder, names in (
        (runs[0].path, "checklist.html, report.html"),
        (runs[0].path.parent, "report.csv, report.html, report.md, report.tex, table.tex"),
    ):
        assert f"not checked: {names}\n" in medldr("verify", folder).out


def test_a_run_that_was_stopped_before_its_checksums_ends_equal(
    trained, settings, medldr, tmp_path, monkeypatch
):
    scored = program.predict_and_score

    def stopped(*words):
        scored(*words)
        raise Interrupted(15, resumable=True)

    monkeypatch.setattr(program, "predict_and_score", stopped)
    words = (RUN, [*settings, "seed=0"])
    with pytest.raises(Interrupted):
        package.train(*words, out=tmp_path)
    files = RunFolder(tmp_path / trained[0].name)
    ended = medldr("verify", files.path)
    assert (ended.code, "is interrupted" in ended.err) == (2, True)
    monkeypatch.undo()
    package.train(*words, out=tmp_path)
    assert json.loads(files.run.read_text())["times"]["starts"] == 2
    assert medldr("verify", files.path).code == 0
    for path in (files.predictions, files.evaluation, files.model):
        assert path.read_bytes() == (trained[0] / path.name).read_bytes()


def test_an_evaluation_that_was_stopped_before_its_checksums_is_cured_by_another(
    runs, medldr, monkeypatch
):
    accuracy_said(runs[0])
    predictions_said(runs[0])
    kill_before_checksums(runs[0], medldr, monkeypatch)
    assert medldr("evaluate", runs[0].path).code == 0
    assert medldr("verify", runs[0].path).code == 0


def kill_before_checksums(files, medldr, monkeypatch):
    def stop(files):
        raise Interrupted(15, resumable=True)

    monkeypatch.setattr(program, "note_scored", stop)
    assert medldr("evaluate", files.path).code == 143
    monkeypatch.undo()


def test_an_evaluation_that_was_stopped_leaves_pages_that_can_be_made(runs, medldr, monkeypatch):
    before = runs[0].predictions.read_bytes()
    add_to_run_record(runs[0], precision="bfloat16")  # so that it gives other predictions
    kill_before_checksums(runs[0], medldr, monkeypatch)
    assert runs[0].predictions.read_bytes() != before
    known = read_run_record(runs[0]).checksums
    assert not {"evaluation.json", "predictions.csv", "selected/last/evaluation.json"} & set(known)
    assert {"model.safetensors", "metrics.jsonl", "selected/last.safetensors"} <= set(known)
    assert medldr("report", runs[0].path).code == 0
    ended = medldr("verify", runs[0].path)
    assert (ended.code, "this was stopped" in ended.out) == (0, True)
    weights_said(runs[0])  # what is not scored is still known
    assert medldr("verify", runs[0].path).code == 2


def test_what_is_no_longer_written_is_no_longer_missed(runs, medldr):
    text = runs[0].config.read_text()
    runs[0].config.write_text(text.replace("thumbnails: true", "thumbnails: false"))
    runs[0].submission.mkdir()
    made = runs[0].submission / "fold_0.csv"
    made.write_text("1")
    add_to_run_record(runs[0], checksums=checksums_of(runs[0]))
    assert medldr("verify", runs[0].path).code == 0
    made.unlink()
    assert medldr("evaluate", runs[0].path).code == 0
    assert not runs[0].mistakes.exists()
    ended = medldr("verify", runs[0].path)
    assert ended.code == 0, ended.out


def test_pictures_of_mistakes_that_were_changed_are_refused_and_cured(runs, medldr):
    runs[0].mistakes.write_text(runs[0].mistakes.read_text() + " ")
    ended = medldr("report", runs[0].path)
    assert (ended.code, "mistakes.json was changed" in ended.err) == (2, True)
    assert "medldr evaluate" in ended.err
    assert medldr("evaluate", runs[0].path).code == 0
    assert medldr("report", runs[0].path).code == 0


def test_a_run_may_be_shared_without_weights_and_without_other_rules(runs, medldr):
    runs[0].model.unlink()
    shutil.rmtree(runs[0].path / "selected")
    ended = medldr("verify", runs[0].path)
    assert ended.code == 0, ended.out
    said = "not in the folder, so not checked: "
    assert said in ended.out
    for name in ("model.safetensors", "selected/last.safetensors", "selected/last/predictions.csv"):
        assert name in ended.out.split(said)[1]
    runs[0].metrics.unlink()
    ended = medldr("verify", runs[0].path)
    assert (ended.code, "metrics.jsonl is missing" in ended.out) == (2, True)


@pytest.mark.parametrize("status", ["interrupted", "failed"])
def test_scoring_a_run_that_has_not_finished_does_not_make_it_final(runs, medldr, status):
    add_to_run_record(runs[0], status=status, checksums=None)
    assert medldr("evaluate", runs[0].path).code == 0
    record = read_run_record(runs[0])
    assert (record.status, record.checksums) == (status, None)


def test_what_scored_a_run_is_on_record_and_follows_a_second_scoring(runs, medldr):
    now = dict(provenance.scoring())
    assert now["numpy"] == np.__version__
    assert read_run_record(runs[0]).scored_with == now
    add_to_run_record(runs[0], scored_with={"numpy": "1.0"})
    ci_said(runs[0])
    assert medldr("verify", runs[0].path).code == 2  # its checksum was changed
    assert medldr("evaluate", runs[0].path).code == 0
    assert read_run_record(runs[0]).scored_with == now
    assert medldr("verify", runs[0].path).code == 0


def test_restarted_runs_and_those_moved_aside_pass(runs, settings, medldr):
    package.train(RUN, [*settings, "seed=0"], out=runs[0].path.parent, restart=True)
    ended = medldr("verify", runs[0].path.parent)
    assert (ended.code, ended.out.count(" none")) == (0, 3)
    assert ".before-" in "".join(ended.out.split())


def test_a_folder_without_a_finished_run_is_refused(runs, medldr, tmp_path):
    (tmp_path / "empty").mkdir()
    for folder, words in (
        (tmp_path / "empty", "no finished run"), (tmp_path / "absent", "does not exist"),
    ):  # fmt: skip
        ended = medldr("verify", folder)
        assert (ended.code, words in ended.err) == (2, True)
    record = json.loads(runs[0].run.read_text())
    runs[0].run.write_text(json.dumps({**record, "status": "failed", "checksums": None}))
    ended = medldr("verify", runs[0].path)
    assert (ended.code, "is failed" in ended.err) == (2, True)


def test_a_finished_run_cannot_hide_as_an_unfinished_one(runs, medldr):
    edit_json(runs[0].run, "status", value="failed")
    ended = medldr("verify", runs[0].path)
    assert (ended.code, "run.json was changed" in ended.out) == (2, True)


def test_a_damaged_file_is_one_of_the_differences(runs, medldr):
    runs[0].evaluation.write_text("{")
    runs[1].run.write_text('{"status": 5}')
    ended = medldr("verify", runs[0].path.parent)
    assert ended.code == 2
    assert "evaluation.json is not readable JSON" in ended.out
    assert "status should be" in ended.out
