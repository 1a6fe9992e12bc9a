"""What a sweep's folder says of it is read back as it was written, or refused with a cure."""

import json

import pytest

from medldr.errors import InputError
from medldr.folders.sweep_record import (
    Layout,
    Member,
    Sweep,
    SweepFolder,
    read_sweep,
    write_sweep,
)

SWEEP = Sweep(
    "table",
    Layout(
        "A table",
        rows="algorithm",
        controls=("half",),
        contrasts=(("a", "half"),),
        titles={"a": "A"},
        remark="Note",
        search=("training.lr",),
    ),
    (
        Member("a-0-s0", "a", 0, "a", "set"),
        Member(
            "b-0-s0",
            "b",
            0,
            "b, lr-1",
            "x",
            ("a-0-s0",),
            {"algorithm": "b", "training.lr": "lr-1"},
            {"data.flag": "x"},
        ),
    ),
    ("training.epochs=2",),
)

SCHEMA_1 = {
    "schema": 1,
    "name": "search",
    "layout": {
        "title": "A search",
        "rows": "algorithm, held_out",
        "columns": "data",
        "reference": None,
        "controls": [],
        "contrasts": [["erm, photo", "mixup, photo"]],
        "metrics": ["accuracy"],
        "titles": {"erm": "ERM"},
        "remark": "",
        "search": [1],
    },
    "members": [
        {
            "run": "erm_lr-0.1_photo-0-s0",
            "label": "erm_lr-0.1_photo",
            "seed": 0,
            "row": "erm, lr-0.1, photo",
            "column": "pacs",
            "after": [],
        }
    ],
    "overrides": [],
}
"""A file of the version before, as it was written."""


@pytest.fixture
def folder(tmp_path):
    return SweepFolder(tmp_path)


def test_a_sweep_is_read_back_as_it_was_written(folder):
    assert read_sweep(folder) is None
    write_sweep(folder, SWEEP)
    assert json.loads(folder.sweep.read_text())["schema"] == 2
    found = read_sweep(folder)
    assert found == SWEEP
    assert found is not None
    assert list(found.members[1].row_values) == ["algorithm", "training.lr"]
    assert hash(found.members[1]) == hash(SWEEP.members[1])


def test_a_row_that_no_axis_makes_is_that_of_an_entry():
    member = SWEEP.members[0]
    assert (member.row_values, member.column_values) == ({"run": "a"}, {"data": "set"})


def _schema_1(folder, row=None, **layout):
    content = {**SCHEMA_1, "layout": {**SCHEMA_1["layout"], **layout}}
    if row is not None:
        content["members"] = [{**SCHEMA_1["members"][0], "row": row}]
    folder.sweep.write_text(json.dumps(content))
    found = read_sweep(folder)
    assert found is not None
    return found


def test_a_file_of_schema_1_is_read(folder):
    found = _schema_1(folder)
    assert found.layout == Layout(
        "A search",
        rows="algorithm, held_out",
        contrasts=(("erm, photo", "mixup, photo"),),
        metrics=("accuracy",),
        titles={"erm": "ERM"},
        search=("setting 1",),
    )
    assert found.members == (
        Member(
            "erm_lr-0.1_photo-0-s0",
            "erm_lr-0.1_photo",
            0,
            "erm, lr-0.1, photo",
            "pacs",
            (),
            {"algorithm": "erm", "setting 1": "lr-0.1", "held_out": "photo"},
            {"data": "pacs"},
        ),
    )
    write_sweep(folder, found)
    assert read_sweep(folder) == found


def test_one_from_before_settings_were_searched_is_read(folder):
    content = {**SCHEMA_1, "layout": {k: v for k, v in SCHEMA_1["layout"].items() if k != "search"}}
    folder.sweep.write_text(json.dumps(content))
    found = read_sweep(folder)
    assert found is not None
    assert found.layout.search == ()
    # Three values under two headings: which is which is not known.
    assert found.members[0].row_values == {"run": "erm, lr-0.1, photo"}


@pytest.mark.parametrize(
    ("rows", "search", "row", "values"),
    [
        ("run", [], "erm", {"run": "erm"}),
        ("method", [], "a, b", {"method": "a, b"}),
        ("algorithm, lr", [], "erm, lr-1", {"algorithm": "erm", "lr": "lr-1"}),
        ("name, name", [], "a, b", {"name": "a", "name 2": "b"}),
        (
            "algorithm",
            [0, 2],
            "x, erm, y",
            {"setting 1": "x", "algorithm": "erm", "setting 2": "y"},
        ),
        ("a, b", [1], "x, y", {"run": "x", "setting 1": "y"}),
        ("a", [0], "x, y, z", {"setting 1": "x", "run 1": "y", "run 2": "z"}),
    ],
)
def test_a_joined_name_is_taken_apart_by_its_headings(folder, rows, search, row, values):
    member = _schema_1(folder, row, rows=rows, search=search).members[0]
    assert list(member.row_values.items()) == list(values.items())
    assert member.row == row


def test_unknown_keys_do_no_harm(folder):
    write_sweep(folder, SWEEP)
    content = json.loads(folder.sweep.read_text())
    content["layout"]["colour"] = content["members"][0]["node"] = content["host"] = "x"
    folder.sweep.write_text(json.dumps(content))
    assert read_sweep(folder) == SWEEP


@pytest.mark.parametrize("original", [SCHEMA_1, None], ids=["schema 1", "schema 2"])
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            lambda content: {**content, "schema": 3},
            "has schema 3, but this version of medldr reads 1",
        ),
        (lambda content: {k: v for k, v in content.items() if k != "schema"}, "has no schema"),
        (
            lambda content: {k: v for k, v in content.items() if k != "members"},
            "members is missing",
        ),
        (lambda content: {**content, "members": [{"run": "a"}]}, r"members\.0\."),
        (lambda content: {**content, "layout": {"tilte": "x"}}, r"layout\."),
        (lambda content: {**content, "overrides": 3}, "overrides should be"),
        (lambda content: [content], "not a value of type list"),
    ],
)
def test_a_damaged_one_is_refused_with_file_key_and_cure(folder, spoil, said, original):
    write_sweep(folder, SWEEP)
    content = original or json.loads(folder.sweep.read_text())
    folder.sweep.write_text(json.dumps(spoil(content)))
    with pytest.raises(InputError, match=rf"sweep\.json.*{said}.*Start the sweep again"):
        read_sweep(folder)


def test_positions_that_are_none_are_refused(folder):
    with pytest.raises(InputError, match=r"layout\.search\.0 should be.*Start the sweep again"):
        _schema_1(folder, search=["lr"])


def test_one_that_is_cut_short_is_refused_with_the_cure(folder):
    folder.sweep.write_text('{"schema": 1, "nam')
    with pytest.raises(InputError, match="Start the sweep again"):
        read_sweep(folder)
