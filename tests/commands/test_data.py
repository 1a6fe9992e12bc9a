"""What `medldr data` prints."""

from collections import Counter

import numpy as np
import pytest

# ---------------------------------------------------------------- medldr data check


@pytest.fixture
def checked(camelyon17_folder, medldr):
    """Check the small Camelyon17 folder, or another place, by the command."""

    def run(*words, folder=camelyon17_folder):
        return medldr("data", "check", "camelyon17", folder, *words)

    return run


def _patches(folder):
    return sorted(folder.rglob("*.png"))


def test_counts_stand_beside_the_published_ones(checked):
    ended = checked()
    assert ended.code == 0, ended.err
    rows = {line.split("  ")[0]: line.split() for line in ended.out.splitlines()}
    assert rows["Split"][1:3] == ["Images", "Published"]
    assert rows["Training, hospital_0"][2:4] == ["8", "53,425"]
    assert rows["Test, hospital_2"][2:4] == ["12", "85,054"]
    said = " ".join(ended.out.split())
    assert "8 of 8 parts have not the published number of images" in said
    assert "images a run would use: train 24, id_val 12, val 12, test 12" in said
    assert "60 images of 96 x 96 pixels" in said
    assert len(ended.out.splitlines()) <= 25


def test_files_that_are_not_whole_are_listed_with_exit_code_2(checked, camelyon17_folder):
    absent, broken, *_ = _patches(camelyon17_folder)
    absent.unlink()
    broken.write_bytes(broken.read_bytes()[:2000])
    (broken.parent / "more.png").touch()
    ended = checked()
    assert ended.code == 2
    cut = f"{broken.name}: the file is truncated"
    for word in ("1 file missing", absent.name, "1 file unreadable", cut):
        assert word in ended.out
    assert "camelyon17: 2 files are missing or unusable" in ended.err
    assert "data.on_bad_file=skip" in ended.err
    left_out = checked("on_bad_file=skip")
    assert left_out.code == 3
    said = left_out.out.replace("\n", "")
    assert "2 files left out" in said
    assert "58 images of 96 x 96 pixels" in said
    assert "1 file is not listed in the table" in said
    assert "more.png" in said


def test_each_patch_is_decoded_once_and_once_more_to_be_compared(checked, monkeypatch):
    from medldr.data.reading import pictures

    decoded = []
    for name in ("decode", "whole"):
        read = getattr(pictures, name)
        monkeypatch.setattr(
            pictures,
            name,
            lambda path, size, read=read, **keys: decoded.append(path) or read(path, size, **keys),
        )
    assert checked("--no-page").code == 0
    assert len(set(decoded)) == 60
    assert set(Counter(decoded).values()) == {2}


def test_equal_and_constant_patches_are_told(checked, camelyon17_folder):
    from PIL import Image

    first, *_, last = _patches(camelyon17_folder)
    Image.new("RGB", (96, 96), (9, 9, 9)).save(first)
    last.write_bytes(_patches(camelyon17_folder)[2].read_bytes())
    ended = checked("--no-page")
    assert ended.code == 3
    said = " ".join(ended.out.split())
    assert f"1 constant train image: {first.stem}" in said
    assert "1 image(s) are byte-identical to one in another split" in said


def test_any_folder_name_may_be_given_first(write_camelyon17, checked, tmp_path):
    name = "[with space: and #] ü"
    root = write_camelyon17(tmp_path / name)
    assert checked(folder=root).code == 0
    assert checked(folder=root / "camelyon17_v1.0").code == 0


def test_a_folder_that_is_not_there_is_answered_with_the_layout(checked, tmp_path):
    ended = checked(folder=tmp_path / "nowhere")
    assert ended.code == 2
    assert "patches/patient_004_node_4/patch_patient_004_node_4_x_3328_y_21792.png" in ended.err


def test_the_folder_may_be_given_for_every_dataset(medldr, tmp_path):
    random = np.random.default_rng(0)
    arrays = {}
    for part in ("train", "val", "test"):
        arrays[f"{part}_images"] = random.integers(0, 256, (8, 28, 28), dtype=np.uint8)
        arrays[f"{part}_labels"] = np.arange(8, dtype=np.uint8)[:, None] % 2
    np.savez(tmp_path / "breastmnist.npz", **arrays)
    for command in ("check", "stats"):
        ended = medldr("data", command, "breastmnist", tmp_path, "md5=any")
        assert ended.code == 0, ended.err
    absent = medldr("data", "check", "breastmnist", tmp_path / "nowhere")
    assert absent.code == 2
    assert str(tmp_path / "nowhere") in absent.err
