"""What a sweep's folder says of it is read back as it was written, or refused with a cure."""

import contextlib
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


def test_no_flipped_bit_is_read(folder):
    write_sweep(folder, SWEEP)
    data = folder.sweep.read_bytes()
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        folder.sweep.write_bytes(damaged)
        with contextlib.suppress(InputError):  # else it means the same, as in an unknown key
            assert read_sweep(folder) == SWEEP


def test_a_row_that_no_axis_makes_is_that_of_an_entry():
    member = SWEEP.members[0]
    assert (member.row_values, member.column_values) == ({"run": "a"}, {"data": "set"})


def test_unknown_keys_do_no_harm(folder):
    write_sweep(folder, SWEEP)
    content = json.loads(folder.sweep.read_text())
    del content["checksums"]
    content["layout"]["colour"] = content["members"][0]["node"] = content["host"] = "x"
    folder.sweep.write_text(json.dumps(content))
    assert read_sweep(folder) == SWEEP


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            lambda content: {**content, "schema": 3},
            "has schema 3, but this version of medldr reads 2",
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
def test_a_damaged_one_is_refused_with_file_key_and_cure(folder, spoil, said):
    write_sweep(folder, SWEEP)
    content = json.loads(folder.sweep.read_text())
    folder.sweep.write_text(json.dumps(spoil(content)))
    with pytest.raises(InputError, match=rf"sweep\.json.*{said}.*Start the sweep again"):
        read_sweep(folder)


def test_one_that_is_cut_short_is_refused_with_the_cure(folder):
    folder.sweep.write_text('{"schema": 2, "nam')
    with pytest.raises(InputError, match="Start the sweep again"):
        read_sweep(folder)
