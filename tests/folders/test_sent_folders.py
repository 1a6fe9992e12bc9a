"""A run or a configuration that somebody sent leads nowhere else, and quotes no other file."""

import json

import pytest

from medldr.config import load_config
from medldr.data.card import read_card
from medldr.errors import InputError
from medldr.folders.files import RunFolder, write_json
from medldr.folders.run_record import read_run_record
from medldr.folders.sweep_record import SCHEMA, SweepFolder, read_sweep

SECRET = "hunter2"
OUTSIDE = "../../../x"


@pytest.mark.parametrize("rule", [OUTSIDE, "/x", "..", "a/b", "a\\b", "", ".hidden", "a\nb"])
def test_a_rule_is_named_as_a_label_is(tmp_path, rule):
    files = RunFolder(tmp_path)
    for facts in (
        {"selections": {rule: {"rule": "last"}}},
        {"selection": {"rule": rule}},
        {"recalibration": {rule: {}}},
    ):
        write_json(files.run, {"status": "done", **facts})
        with pytest.raises(InputError, match=r"run\.json: (selection|recalibration)"):
            read_run_record(files)


def test_a_run_of_a_sweep_lies_in_its_folder(tmp_path):
    folder = SweepFolder(tmp_path)
    member = {"run": "erm-0a1b2c3d-s0", "label": "erm", "seed": 0, "row": "erm", "column": "a"}
    sweep = {"schema": SCHEMA, "name": "mine", "layout": {"title": "Mine"}, "members": [member]}
    write_json(folder.sweep, sweep)
    assert read_sweep(folder).members[0].run == "erm-0a1b2c3d-s0"
    write_json(folder.sweep, {**sweep, "members": [{**member, "run": OUTSIDE}]})
    with pytest.raises(InputError, match=r"members\.0\.run"):
        read_sweep(folder)


@pytest.mark.parametrize("link", ["predictions.csv", "selected", "checkpoints/last.ckpt"])
def test_links_that_lead_out_are_not_followed(tmp_path, link):
    files = RunFolder(tmp_path / "run")
    write_json(files.run, {"status": "done"})
    files.checkpoints.mkdir()
    (files.path / "again.json").symlink_to("run.json")  # within the folder
    (tmp_path / "linked").symlink_to(files.path)  # the folder itself may be anywhere
    assert read_run_record(RunFolder(tmp_path / "linked")).status == "done"
    (files.path / link).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=f"{link} is a link that leads out"):
        read_run_record(files)


CONTENTS = {
    "text": f"{SECRET}\n",
    "lines": f"root:{SECRET}:0\n'{SECRET}\n",
    "a list": f"- {SECRET}\n",
    "a tag": f"a: !{SECRET} 1\n",
    "twice": f"{SECRET}: 1\n{SECRET}: 2\n",
    "an anchor": f"a: *{SECRET}\n",
    "deep": f"a: {{b: {{{SECRET}: c}}}}\n",
}
KEYS = {
    "an unknown key": f"password: {SECRET}\n{SECRET}: 1\n",
    "a section": f"data: {SECRET}\n",
    "unknown in a section": f"training: {{password: {SECRET}, {SECRET}: 1}}\n",
    "of another type": f"training: {{epochs: {SECRET}, optimizer: {SECRET}}}\n",
    "a plug-in": f"algorithm: {{name: {SECRET}}}\nmodel: {{name: mylab.{SECRET}}}\n",
    "what it extends": f"extends: {SECRET}\n",
    "what it pins": f"pins: {SECRET}\n",
    "no names": f"extends: {{{SECRET}: 1}}\n",
}


@pytest.mark.parametrize("content", [*CONTENTS.values(), *KEYS.values()], ids=[*CONTENTS, *KEYS])
def test_what_a_configuration_extends_is_not_quoted(tmp_path, content):
    (tmp_path / "secret.yaml").write_text(content)
    given = {"extends": ["run/retinamnist_erm", str(tmp_path / "secret.yaml")]}
    with pytest.raises(InputError, match=r"secret\.yaml") as refused:
        load_config(given)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_what_a_data_card_is_said_to_be_is_not_quoted(tmp_path, content):
    (tmp_path / "secret.yaml").write_text(content)
    with pytest.raises(InputError, match=r"secret\.yaml") as refused:
        read_card(tmp_path / "secret.yaml")
    assert SECRET not in str(refused.value)


def test_a_file_that_is_extended_still_says_which_key_was_meant(tmp_path):
    (tmp_path / "base.yaml").write_text("training:\n  epoch: 3\n  lr: fast\n")
    with pytest.raises(InputError) as refused:
        load_config({"extends": ["run/retinamnist_erm", str(tmp_path / "base.yaml")]})
    said = str(refused.value)
    assert "base.yaml:2: there is no such key. Did you mean training.epochs?" in said
    assert "training.lr" in said
    assert json.dumps("fast") not in said
