"""Runs are read with their latents, kept or made again, under headings that tell them apart."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from medldr.analysis.runs import Sources, images_of, read_runs, unique_headings
from medldr.config import load_config
from medldr.errors import InputError
from medldr.folders.files import RunFolder, load_tensors, save_tensors


def test_latents_made_again_are_those_that_were_kept(latentdr, tmp_path):
    (kept,) = read_runs([latentdr])
    other = tmp_path / Path(latentdr).name
    shutil.copytree(latentdr, other)
    RunFolder(other).latents.unlink()
    (made,) = read_runs([other])
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
        read_runs([other])


def test_images_are_those_of_the_rows_unless_pictures_are_off(latentdr):
    (run,) = read_runs([latentdr])
    image, note = images_of(run, Sources())
    assert note == ""
    assert image(3).shape == (1, 12, 12, 12)
    off = run.config.machine.model_copy(update={"thumbnails": False})
    hidden = replace(run, config=run.config.model_copy(update={"machine": off}))
    assert images_of(hidden, Sources()) == (
        None,
        "pictures are left out, because machine.thumbnails is false",
    )


def test_kept_latents_need_no_images(latentdr, tmp_path, monkeypatch):
    """Data that cannot be read costs the pictures alone, and its path is not in the note."""

    def gone(*_):
        raise InputError("/secret/patient.nii is missing")

    monkeypatch.setattr("medldr.analysis.runs.unchanged_data", gone)
    (run,) = read_runs([latentdr])
    image, note = images_of(run, Sources())
    assert image is None
    assert note == "pictures are left out, because the images cannot be read"


def headings(*changes):
    runs = [(load_config("phantom_fracture_erm", list(change)), Path(f"run{i}"))
            for i, change in enumerate(changes)]  # fmt: skip
    return unique_headings(runs)


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
    runs = [(load_config("phantom_fracture_erm", ["algorithm.lr_scale=0.5"]), Path("a")),
            (load_config("phantom_fracture_erm"), Path("b"))]  # fmt: skip
    assert unique_headings(runs, ["ERM, half the rate", ""]) == ["ERM, half the rate", "ERM"]


def test_the_same_run_twice_is_refused(erm):
    with pytest.raises(InputError, match="given twice: ERM"):
        read_runs([erm, erm])
