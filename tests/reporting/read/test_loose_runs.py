"""A folder of runs that no sweep file laid out becomes a table all the same."""

import pytest

from medldr.errors import InputError
from medldr.folders.sweep_record import SweepFolder
from medldr.reporting.read.loose_runs import is_run_folder, lay_out, row_name


def test_methods_go_down_and_data_with_their_protocol_across(run_folder, tmp_path):
    octs = {"data": {"name": "medmnist", "flag": "octmnist", "size": 28}, "protocol": "p+modified"}
    for seed in (0, 1):
        run_folder(f"S/fracturemnist3d_latentdr_pool-aaaaaaaa-s{seed}", run={"seed": seed})
    run_folder("S/fracturemnist3d_erm-bbbbbbbb-s0")
    run_folder("S/octmnist_erm-cccccccc-s0", config=octs, run={"protocol": "p+modified"})
    run_folder("S/octmnist_erm-cccccccc-s0.before-20260101-000000")
    broken = run_folder("S/zzz_erm-dddddddd-s0")
    broken.run.write_text("{")
    sweep, unreadable, _ = lay_out(SweepFolder(tmp_path / "S"))
    assert [(m.run[-13:], m.row, m.column, m.seed) for m in sweep.members] == [
        ("m-bbbbbbbb-s0", "erm", "fracturemnist3d (medmnist-28)", 0),
        ("m-cccccccc-s0", "erm", "octmnist (p+modified)", 0),
        ("l-aaaaaaaa-s0", "latentdr_pool", "fracturemnist3d (medmnist-28)", 0),
        ("l-aaaaaaaa-s1", "latentdr_pool", "fracturemnist3d (medmnist-28)", 1),
    ]
    assert unreadable == ["zzz_erm-dddddddd-s0"]
    assert sweep.layout.title == "S"


def test_held_out_domains_are_another_column(run_folder, tmp_path):
    for mark, held in (("a", ["x"]), ("b", ["y", "z"])):
        run_folder(f"S/erm-{mark * 8}-s0", config={"data": {"name": "own", "held_out": held}},
                   run={"data": {"name": "own"}, "protocol": ""})  # fmt: skip
    sweep, _, _ = lay_out(SweepFolder(tmp_path / "S"))
    assert {m.column for m in sweep.members} == {
        "own (medmnist-28, x held out)",
        "own (medmnist-28, y, z held out)",
    }


def test_a_column_says_that_only_some_of_its_runs_changed_the_protocol(run_folder, tmp_path):
    run_folder("S/fracturemnist3d_erm-bbbbbbbb-s0", run={"protocol": "medmnist-28+modified"})
    run_folder("S/fracturemnist3d_mixup-cccccccc-s0")
    sweep, _, _ = lay_out(SweepFolder(tmp_path / "S"))
    heading = "fracturemnist3d (medmnist-28, some runs +modified)"
    assert [member.column for member in sweep.members] == [heading, heading]


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_without_runs_says_what_to_give(tmp_path, there):
    folder = tmp_path if there else tmp_path / "gone"
    with pytest.raises(InputError, match="medldr sweep" if there else "does not exist"):
        lay_out(SweepFolder(folder))


def test_a_run_folder_is_told_from_a_sweep(run_folder, whole_folder):
    assert is_run_folder(run_folder().path)
    assert not is_run_folder(whole_folder.path)


@pytest.mark.parametrize(
    ("label", "dataset", "protocol", "row"),
    [
        ("dermamnist_erm", "dermamnist", "medmnist-28", "erm"),
        ("dermamnist_224up_erm_half_lr", "dermamnist", "medmnist-224up", "erm_half_lr"),
        ("mine", "dermamnist", "", "mine"),
        ("phantom_fracture", "phantom_fracture", "", ""),
    ],
)
def test_a_row_is_what_the_label_says_beyond_data_and_protocol(label, dataset, protocol, row):
    assert row_name(label, dataset, protocol) == row
