"""Runs are read with their latents, kept or made again, under headings that tell them apart."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from medldr.analysis.plan import unique_headings
from medldr.analysis.runs import RunReader
from medldr.config import load_config
from medldr.errors import InputError
from medldr.evaluation.latents.training_batches import TOO_FEW
from medldr.folders.files import RunFolder, load_tensors, save_tensors
from medldr.folders.latents_record import read_latents
from medldr.run import unchanged_data


def test_latents_made_again_are_those_that_were_kept(latentdr, tmp_path):
    kept = RunReader().read(latentdr)
    other = tmp_path / Path(latentdr).name
    shutil.copytree(latentdr, other)
    RunFolder(other).latents.unlink()
    made = RunReader().read(other)
    assert kept.stored
    assert not made.stored
    np.testing.assert_array_equal(made.latents.row, kept.latents.row)
    for name, view in kept.latents.views.items():
        np.testing.assert_allclose(made.latents.views[name].z, view.z, atol=1e-4)


def test_latents_that_were_changed_are_refused(latentdr, tmp_path):
    other = tmp_path / "run"
    shutil.copytree(latentdr, other)
    held = load_tensors(RunFolder(other).latents)
    held["original.z"] += 1
    save_tensors(RunFolder(other).latents, held)
    with pytest.raises(InputError, match=r"is not as its run left it.*latents\.safetensors"):
        RunReader().read(other)


def test_a_note_says_where_training_images_are_too_few_to_mix(latentdr, monkeypatch):
    def few(*given):
        held = read_latents(*given)
        return held.select(np.flatnonzero(held.split == "train")[:1])

    monkeypatch.setattr("medldr.analysis.runs.read_latents", few)
    run = RunReader().read(latentdr)
    assert run.notes == (f"D and R cannot be applied again: {TOO_FEW}",)


def test_images_are_those_of_the_rows_unless_pictures_are_off(latentdr):
    reader = RunReader()
    run = reader.read(latentdr)
    images, note = reader.images(run, [3, 5])
    assert note == ""
    assert list(images) == [3, 5]
    table = unchanged_data(run.config, run.files, run.record).table
    np.testing.assert_array_equal(images[5], table.images[5])
    off = run.config.machine.model_copy(update={"thumbnails": False})
    hidden = replace(run, config=run.config.model_copy(update={"machine": off}))
    expected = (None, "pictures are left out, because machine.thumbnails is false")
    assert reader.images(hidden, [3]) == expected


def test_kept_latents_need_no_images(latentdr, monkeypatch):
    """Data that cannot be read costs the pictures alone, and its path is not in the note."""

    def gone(*_):
        raise InputError("/secret/patient.nii is missing")

    monkeypatch.setattr("medldr.analysis.runs.unchanged_data", gone)
    reader = RunReader()
    run = reader.read(latentdr)
    expected = (None, "pictures are left out, because the images cannot be read")
    assert reader.images(run, [0]) == expected


def test_data_that_runs_share_are_built_once(latentdr, monkeypatch):
    built = []

    def counted(*given):
        built.append(given)
        return unchanged_data(*given)

    monkeypatch.setattr("medldr.analysis.runs.unchanged_data", counted)
    reader = RunReader()
    for _ in range(2):
        reader.images(reader.read(latentdr), [0])
    assert len(built) == 1


def headings(*changes):
    return unique_headings([(plain(*change), Path(f"run{i}")) for i, change in enumerate(changes)])


def plain(*changes):
    return load_config("phantom_fracture_erm", list(changes)).model_dump(mode="json")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([[]], ["ERM"]),
        ([[], ["algorithm=latentdr_sa"]], ["ERM", "LatentDR (SA)"]),
        ([[], ["seed=1"]], ["ERM, seed 0", "ERM, seed 1"]),
        (
            [["data.held_out=[scanner_a]"], ["data.held_out=[scanner_b]"]],
            ["ERM, scanner_a held out", "ERM, scanner_b held out"],
        ),
        ([["label=one"], ["label=two"], ["algorithm=mixup"]], ["ERM, one", "ERM, two", "Mixup"]),
    ],
)
def test_headings_say_what_tells_runs_apart_and_no_more(changes, expected):
    assert headings(*changes) == expected


def test_a_title_that_is_given_takes_the_place_of_the_method():
    runs = [(plain("algorithm.lr_scale=0.5"), Path("a")), (plain(), Path("b"))]
    assert unique_headings(runs, ["ERM, half the rate", ""]) == ["ERM, half the rate", "ERM"]


def test_the_same_run_of_two_sweeps_is_told_apart_by_its_sweep():
    runs = [(plain(), Path(f"{sweep}/erm-0a1b2c3d-s0")) for sweep in ("one", "two")]
    assert unique_headings(runs) == ["ERM, one", "ERM, two"]
