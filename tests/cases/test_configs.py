"""Group f of the cases: keys that are ignored elsewhere, numbers and words that change type."""

import json
import re

import pytest

from medldr.config import load_config


@pytest.fixture
def extended(tmp_path):
    """Write a file that extends a packaged run."""

    def write(text):
        path = tmp_path / "case.yaml"
        path.write_text(f"extends: run/retinamnist_erm\n{text}")
        return path

    return write


def test_every_unknown_key_is_named_with_the_one_that_was_meant(extended, medldr, out):
    path = extended("train:\n  epochs: 1\n  learning_rte: 0.01\n  batch-size: 4\nlr: 0.5\n")
    ended = medldr("train", path, "--out", out)
    assert ended.code == 2
    lines = ended.err.splitlines()
    for key, meant, number in (
        ("train.learning_rte", "training.lr", 4),
        ("train.batch-size", "training.batch_size", 5),
        ("lr", "training.lr", 6),
    ):
        (line,) = (line for line in lines if line.strip().startswith(f"{key} = "))
        assert f"{path}:{number}" in line
        assert f"Did you mean {meant}?" in line
    assert not out.exists()


def test_a_misplaced_key_on_the_command_line_is_named(medldr, out):
    ended = medldr("train", "retinamnist_erm", "model.lr=0.1", "trainin.epochs=3", "--out", out)
    assert ended.code == 2
    assert "model.lr = 0.1 (command line)" in ended.err
    assert "Did you mean training.lr?" in ended.err
    assert "Did you mean training.epochs?" in ended.err


def test_exponents_are_numbers_and_words_are_none(extended, medldr, out):
    path = extended("training:\n  lr: 1e-3\n  weight_decay: 5E-4\n  eps: 1.0e-8\n")
    training = load_config(path).training
    assert (training.lr, training.weight_decay, training.eps) == (0.001, 0.0005, 1e-8)
    assert load_config(path, ["training.lr=2e-3"]).training.lr == 0.002
    for word in ("abc", "'1e-3x'", "true", "[0.1]", ".nan", "-1e-3", "0"):
        ended = medldr("train", path, f"training.lr={word}", "--out", out)
        assert ended.code == 2, word
        assert "training.lr = " in ended.err
        assert re.search("should be (a number|a finite number|greater than 0)", ended.err)


def test_ids_with_leading_zeros_stay_text(write, rows, medldr, out, tmp_path):
    path = tmp_path / "ids.yaml"
    path.write_text("extends: ./case.yaml\ndata:\n  exclude: [0123, 0456, 0089, 12]\n")
    write(rows(train="01010101", val="01", test="01"))
    assert load_config(path).data.exclude == ("0123", "0456", "0089", "12")
    ended = medldr("train", path, "--out", out)
    assert ended.code == 2
    assert "no item or group '0123'" in ended.err  # never 83
    assert "item00" in ended.err


def test_excluded_groups_are_named_by_their_zeros(medldr, tmp_path, write, out):
    groups = ["0123", "0456", "0089", "12"]
    write([f"train - {g} {label}" for g in groups for label in "01"] + ["val - v 0", "val - v 1"])
    path = tmp_path / "ids.yaml"
    path.write_text("extends: ./case.yaml\ndata:\n  exclude: [0123, 12]\n")
    ended = medldr("train", path, "training.epochs=1", "--out", out)
    assert ended.code == 0, ended.err
    (folder,) = out.iterdir()
    kept = json.loads((folder / "splits.json").read_text())["splits"]["train"]
    assert kept == ["item02", "item03", "item04", "item05"]


@pytest.mark.usefixtures("drawn")
def test_yes_and_no_stay_words_to_the_end(medldr, tmp_path, write, rows, out):
    given = [
        row for domain in ("on", "off", "mid") for row in rows(domain, train="0011", test="01")
    ] + rows("mid", val="0011")
    write(given, data={"task": "binary"}, machine={"report": True})
    path = tmp_path / "words.yaml"
    path.write_text(
        "extends: ./case.yaml\n"
        "data:\n  class_names: [no, yes]\n  held_out: [on, off]\n"
        "evaluation:\n  positive_class: yes\n"
    )
    ended = medldr("train", path, "--out", out)
    assert ended.code == 0, ended.err
    (folder,) = out.iterdir()
    scored = json.loads((folder / "evaluation.json").read_text())
    assert scored["class_names"] == ["no", "yes"]
    assert scored["positive_class"] == "yes"
    assert set(scored["splits"]["test"]["domains"]) == {"on", "off"}
    header = (folder / "predictions.csv").read_text().splitlines()[0]
    assert header.endswith("prob_no,prob_yes,logodds_no,logodds_yes")
    page = (folder / "report.html").read_text()
    for word in (">no<", ">yes<", "from off, on, unseen"):
        assert word in page
    again = load_config(folder / "config.yaml")
    assert again.data.class_names == ("no", "yes")
    assert again.data.held_out == ("off", "on")


# Neighbours -----------------------------------------------------------------------------------

FILES = {
    "tabs": ("training:\n\tlr: 3\n", ":2", "YAML syntax"),
    "a key twice": ("seed: 1\nseed: 2\n", ":2", "'seed' appears twice"),
    "a list": ("- a\n- b\n", "not a list"),
    "a word": ("hello\n", "not 'hello'"),
    "nothing": ("", "data: this section is missing", "medldr list parts"),
    "UTF-16": ("seed: 1\n".encode("utf-16"), "is not UTF-8 text"),
    "two documents": ("seed: 1\n---\nseed: 2\n", "another document"),
    "an object": ("label: !!python/object/apply:os.system [ls]\n", ":1", "is not allowed"),
    "an unknown anchor": ("seed: *x\n", ":1", "undefined alias"),
    "not closed": ("data: {name: x\n", "YAML syntax"),
    "a circle": ("extends: ./file.yaml\n", "in a circle"),
    "an absent part": ("extends: recipe/medmnst\n", "Did you mean 'recipe/medmnist'?"),
    "an absent file": ("extends: ./absent.yaml\n", "there is no file", "absent.yaml"),
    "extends no name": ("extends: 3\n", "extends = 3", "a list of names"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_configuration_is_one_message(name, medldr, tmp_path, out):
    text, *said = FILES[name]
    path = tmp_path / "file.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    ended = medldr("train", path, "--out", out)
    assert ended.code == 2
    assert ended.err.startswith("error: ")
    for word in (str(path), *said):
        assert word in ended.err
    assert not out.exists()


@pytest.mark.parametrize("form", ["bom", "crlf", "anchors"])
def test_forms_that_editors_leave_behind_are_read(form, write, tmp_path):
    text = write().read_text()
    path = tmp_path / "form.yaml"
    if form == "anchors":
        text = text.replace("training:", "training: &same")
    content = text.replace("\n", "\r\n") if form == "crlf" else text
    path.write_bytes((b"\xef\xbb\xbf" if form == "bom" else b"") + content.encode())
    assert load_config(path).training == load_config(write()).training


OVERRIDES = {
    "training.lr": "should be KEY=VALUE",
    "=3": "should be KEY=VALUE",
    "training..lr=3": "should be KEY=VALUE",
    "training=3": "training = 3 (command line)",
    "training.lr.x=3": "training.lr (command line): should be a number",
    "data=[1]": "a mapping with a key 'name'",
    "label=a/b": "label = 'a/b'",
    "label=..": "label = '..'",
    f"label={'x' * 300}": "at most 200 characters",
    "seed=-1": "seed = -1",
    f"seed={10**30}": "less than or equal to 4294967295",
    "training.epochs=1.5": "should be a whole number",
    "training.betas=[1, 1]": "should be less than 1",
    "training.select=[]": "at least 1 item",
    "evaluation.splits=[]": "at least 1 item",
    "evaluation.splits=[tset]": "evaluation.splits",
    "config_version=2": "another version of medldr",
}


@pytest.mark.parametrize("override", OVERRIDES, ids=lambda text: text[:24])
def test_an_override_that_means_nothing_is_one_message(override, train, out):
    ended = train(override)
    assert ended.code == 2
    assert ended.err.startswith("error: ")
    assert OVERRIDES[override] in ended.err
    assert not out.exists()


def test_keys_that_contradict_each_other_are_named(train, out):
    for words, said in (
        (["training.nesterov=true"], "training.momentum is 0"),
        (["training={epochs: 2, steps: 5}"], "training.epochs=null"),
    ):
        ended = train(*words, "training.momentum=0", "training.optimizer=sgd")
        assert ended.code == 2
        assert said in ended.err
    assert not out.exists()
