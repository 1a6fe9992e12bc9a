"""What a sweep's folder says of it is read back as it was written, or refused with a cure."""

import json

import pytest

from medldr.errors import InputError
from medldr.folders.sweep_record import Layout, Member, Sweep, SweepFolder, read_sweep, write_sweep

SWEEP = Sweep(
    "table",
    Layout(
        "A table", controls=("half",), contrasts=(("a", "half"),), titles={"a": "A"}, remark="Note"
    ),
    (Member("a-0-s0", "a", 0, "a", "set"), Member("b-0-s0", "b", 0, "b", "set", ("a-0-s0",))),
    ("training.epochs=2",),
)


def test_a_sweep_is_read_back_as_it_was_written(tmp_path):
    folder = SweepFolder(tmp_path)
    assert read_sweep(folder) is None
    write_sweep(folder, SWEEP)
    assert read_sweep(folder) == SWEEP


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: {**content, "schema": 2},
        lambda content: {k: v for k, v in content.items() if k != "members"},
        lambda content: {**content, "members": [{"run": "a"}]},
        lambda content: {**content, "layout": {"tilte": "x"}},
        lambda content: [content],
    ],
)
def test_a_damaged_one_is_refused_with_the_cure(tmp_path, spoil):
    folder = SweepFolder(tmp_path)
    write_sweep(folder, SWEEP)
    content = json.loads(folder.sweep.read_text())
    folder.sweep.write_text(json.dumps(spoil(content)))
    with pytest.raises(InputError, match=r"sweep\.json.*Start the sweep again"):
        read_sweep(folder)


def test_one_that_is_cut_short_is_refused_with_the_cure(tmp_path):
    folder = SweepFolder(tmp_path)
    folder.sweep.write_text('{"schema": 1, "nam')
    with pytest.raises(InputError, match="Start the sweep again"):
        read_sweep(folder)
