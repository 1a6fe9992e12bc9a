"""`medldr data pack`, typed: what it says, what it leaves, and that runs read from it."""

import numpy as np
import pytest
from PIL import Image

from medldr.checking.find_data import data_section
from medldr.config import load_config, run_hash
from medldr.data import load_table
from medldr.folders.files import read_json

RIBS = ("data.patients=16", "data.size=8")


@pytest.fixture(autouse=True)
def usual_place(monkeypatch, tmp_path):
    """Packs go to `tmp_path`/data/packed unless a folder is named."""
    monkeypatch.setenv("MEDLDR_DATA", str(tmp_path / "data"))
    return tmp_path / "data" / "packed"


def test_a_pack_goes_to_its_usual_place_once(medldr, usual_place):
    first = medldr("data", "pack", "phantom_fracture", *RIBS)
    (folder,) = usual_place.glob("phantom_fracture_8-????????")
    assert first.code == 0
    assert first.out == f"phantom_fracture_8: packed in {folder}; runs find it there\n"
    again = medldr("data", "pack", "phantom_fracture", *RIBS)
    assert again.out == f"phantom_fracture_8: already packed in {folder}; runs find it there\n"
    verified = medldr("data", "pack", "phantom_fracture", *RIBS, "--verify")
    assert verified.out.endswith(f"images in {folder} match the source\n")
    section = data_section("phantom_fracture", RIBS)
    assert np.array_equal(np.load(folder / "images.npy"), load_table(section).images)


def test_packing_that_is_stopped_says_how_it_goes_on(medldr, usual_place, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("medldr.commands.pack.make_pack", stopped)
    ended = medldr("data", "pack", "phantom_fracture", *RIBS)
    assert ended.code == 130
    assert "run the same command to resume" in ended.err
    assert "stopped" in ended.err


def test_another_folder_is_told_with_the_key_that_reads_from_it(medldr, tmp_path, usual_place):
    there = tmp_path / "fast disk"
    ended = medldr("data", "pack", "phantom_fracture", *RIBS, "--out", there)
    assert ended.out.endswith(f"packed in {there}; to read from it, set data.packed={there}\n")
    assert not usual_place.exists()
    section = data_section("phantom_fracture", [*RIBS, f"data.packed={there}"])
    assert isinstance(load_table(section).images, np.memmap)
    verified = medldr("data", "pack", "phantom_fracture", *RIBS, "--out", there, "--verify")
    assert (verified.code, "match the source" in verified.out) == (0, True)


def test_verifying_what_was_not_packed_packs_it_first(medldr, usual_place):
    ended = medldr("data", "pack", "phantom_fracture", *RIBS, "--verify")
    packed, verified = ended.out.splitlines()
    assert "packed in" in packed
    assert "match the source" in verified
    assert len(list(usual_place.glob("*/pack.json"))) == 1


def test_a_folder_of_patches_is_packed_as_pillow_shows_them(medldr, camelyon17_folder, usual_place):
    pytest.importorskip("wilds")
    ended = medldr("data", "pack", "camelyon17", camelyon17_folder, "--workers", "2")
    assert ended.code == 0, ended.err
    (folder,) = (camelyon17_folder / "packed").glob("camelyon17-????????")
    images = np.load(folder / "images.npy")
    ids = [line.split(",")[0] for line in (folder / "table.csv").read_text().splitlines()[1:]]
    files = {path.stem: path for path in camelyon17_folder.rglob("*.png")}
    assert len(images) == len(files) == len(ids)
    for item, packed in zip(ids, images, strict=True):
        with Image.open(files[item]) as picture:
            assert np.array_equal(np.asarray(picture)[..., :3].transpose(2, 0, 1), packed)
    table = load_table(data_section("camelyon17", [f"data.root={camelyon17_folder}"]))
    assert isinstance(table.images, np.memmap)
    assert table.ids.tolist() == ids


def test_what_is_left_out_is_counted_and_told_by_the_exit_code(medldr, camelyon17_folder):
    pytest.importorskip("wilds")
    sorted(camelyon17_folder.rglob("*.png"))[4].unlink()
    words = ("data", "pack", "camelyon17", camelyon17_folder, "on_bad_file=skip")
    for more in ((), ("--verify",)):
        ended = medldr(*words, *more)
        assert ended.code == 3, ended.err
        assert "1 file was left out; bad_files in pack.json lists them" in ended.err
    (camelyon17_folder / "camelyon17_v1.0").rename(camelyon17_folder / "away")
    assert medldr(*words, "--verify").code == 3


def test_a_source_and_a_pack_that_are_both_absent_are_one_error(medldr, tmp_path):
    ended = medldr("data", "pack", "retinamnist", tmp_path / "nowhere", "--verify")
    assert ended.code == 2
    assert (
        "there is no pack, and no source to make one from: retinamnist.npz is not in" in ended.err
    )


@pytest.mark.slow
def test_a_run_says_that_it_reads_from_a_pack_and_gives_the_same_numbers(
    medldr, tmp_path, usual_place
):
    (tmp_path / "run.yaml").write_text(
        "data: {name: phantom_fracture, patients: 16, size: 8, allow_missing_classes: true}\n"
        "transform: none\n"
        "model: {name: resnet18, width: 0.125}\n"
        "algorithm: erm\n"
        "training: {epochs: 1, batch_size: 8}\n"
        "machine: {device: cpu, threads: 1, report: false}\n"
    )
    plain = medldr("train", tmp_path / "run.yaml", "--out", tmp_path / "plain")
    assert plain.code == 0, plain.err
    assert "pack" not in plain.err
    medldr("data", "pack", tmp_path / "run.yaml")
    packed = medldr("train", tmp_path / "run.yaml", "--out", tmp_path / "packed")
    (folder,) = usual_place.glob("*-????????")
    assert packed.err.count(f"reading images from the pack {folder}\n") == 1
    (one,), (other,) = ((tmp_path / name).iterdir() for name in ("plain", "packed"))
    assert one.name == other.name
    assert (one / "predictions.csv").read_bytes() == (other / "predictions.csv").read_bytes()
    said = [read_json(run / "run.json") for run in (one, other)]
    assert said[0]["data_hash"] == said[1]["data_hash"]
    assert [record["data"]["pack"] for record in said] == [None, str(folder)]


def test_where_a_pack_is_does_not_change_which_run_it_is(tmp_path):
    hashes = {
        run_hash(load_config("fracturemnist3d_erm", [f"data.packed={packed}"]))
        for packed in ("auto", "off", tmp_path)
    }
    assert len(hashes) == 1
