"""What is an item: files, folders, series, tables, parts; and what is wrong with some of them."""

import numpy as np
import pytest
from PIL import Image

import medldr
from medldr.data.files.scan import Source
from medldr.errors import InputError
from medldr.prediction.items import find_items
from medldr.prediction.predict import load_runs
from medldr.prediction.unusual import unusual_file

VOLUME = np.random.default_rng(5).integers(0, 400, (12, 12, 12)).astype(np.int16)


def names(found, root):
    return [item.name.replace(f"{root}/", "") for item in found]


def test_a_folder_of_slices_is_a_series_for_volumes_and_single_pictures_else(
    tmp_path, write_series
):
    write_series(tmp_path / "scan", VOLUME, spacing=2.0)
    assert names(find_items([tmp_path], 3), tmp_path) == ["scan"]
    assert len(find_items([tmp_path], 2)) == 12


def test_a_localizer_is_left_out_and_two_series_are_two_items(lab, tmp_path, write_series):
    folder = tmp_path / "scan"
    write_series(folder, VOLUME, spacing=2.0)
    write_series(
        folder, VOLUME[:, :, :1], spacing=2.0, names=["scout.dcm"], SeriesInstanceUID="1.2.3"
    )
    assert names(find_items([folder], 3), tmp_path) == ["scan"]
    found = medldr.predict(lab.volumes[0], folder)
    assert len(found) == 1
    assert any("left out" in said for said in found.warnings[0])
    second = [f"b{number}.dcm" for number in range(12)]
    write_series(folder, VOLUME, spacing=2.0, names=second, SeriesInstanceUID="1.2.4")
    both = find_items([folder], 3)
    assert len(both) == 2
    assert all("#" in item.name for item in both)
    assert len(medldr.predict(lab.volumes[0], folder)) == 2


@pytest.mark.parametrize(("change", "said"), [("missing", "missing"), ("doubled", "")])
def test_slices_that_are_missing_or_doubled_are_named(lab, tmp_path, write_series, change, said):
    folder = tmp_path / "scan"
    write_series(folder, VOLUME, spacing=2.0)
    if change == "missing":
        (folder / "005.dcm").unlink()
    else:
        write_series(
            folder, VOLUME[:, :, :1] + 7, spacing=2.0, names=["again.dcm"],
            each=lambda index: {"InstanceNumber": 500},
        )  # fmt: skip
    found = medldr.predict(lab.volumes[0], folder)
    told = [one.reason for one in found.unreadable] + [text for w in found.warnings for text in w]
    assert told
    assert said in " ".join(told)


def test_another_modality_is_told_where_training_said_one(lab, tmp_path, write_series):
    write_series(tmp_path / "mr", VOLUME, spacing=2.0, Modality="MR")
    (run,) = load_runs(lab.volumes[0])
    facts = run.reader.read(Source(tmp_path / "mr")).facts
    training = run.record.training  # of NIfTI files, which say no modality
    assert "modality" not in unusual_file(facts, training)
    said = unusual_file(facts, training.model_copy(update={"modalities": ("CT",)}))
    assert said["modality"] == "its modality is MR; training images were CT"
    assert "modality" not in unusual_file(
        facts, training.model_copy(update={"modalities": ("CT", "MR")})
    )


def test_folders_below_hidden_files_and_leaflets(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in ("a/1.png", "a/b/2.png", "a/.hidden.png"):
        Image.fromarray(np.zeros((4, 4), np.uint8)).save(tmp_path / name)
    (tmp_path / "a" / "README").write_text("about")
    (tmp_path / "a" / "notes.txt").write_text("about")
    for axes in (2, 3):
        assert names(find_items([tmp_path], axes), tmp_path) == ["a/1.png", "a/b/2.png"]


def test_one_name_of_two_files_becomes_two_names(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        Image.fromarray(np.zeros((4, 4), np.uint8)).save(tmp_path / folder / "1.png")
        (tmp_path / folder / "t.csv").write_text("path\n1.png\n1.png\n")
    found = find_items([tmp_path / "a" / "t.csv", tmp_path / "b" / "t.csv"], 2)
    assert names(found, tmp_path) == ["a/1.png", "a/1.png", "b/1.png", "b/1.png"]
    assert names(find_items([tmp_path / "a" / "t.csv"], 2), tmp_path) == ["1.png", "1.png"]


def test_a_missing_file_is_named_with_the_nearest_name(tmp_path):
    Image.fromarray(np.zeros((4, 4), np.uint8)).save(tmp_path / "scan_12.png")
    (item,) = find_items([tmp_path / "scan_13.png"], 2)
    assert item.source is None
    assert "Did you mean 'scan_12.png'" in item.reason


def test_tables_and_parts(tmp_path):
    np.savez(tmp_path / "many.npz", images=np.zeros((3, 4, 4), np.uint8))
    (tmp_path / "t.csv").write_text("image,label\nmany.npz#images[2],a\nnone.png,b\n")
    one, two = find_items([tmp_path / "t.csv"], 2)
    assert one.source.part == "images[2]"
    assert two.reason
    (tmp_path / "t.csv").write_text("image,photo\nnone.png,many.npz#images[1]\n")
    (named,) = find_items([tmp_path / "t.csv"], 2, usual="photo")  # as in training
    assert named.source.part == "images[1]"
    (named,) = find_items([tmp_path / "t.csv"], 2, usual="gone")
    assert named.reason
    (tmp_path / "t.csv").write_text("image,label\n,a\n")
    with pytest.raises(InputError, match="line 2: names no file"):
        find_items([tmp_path / "t.csv"], 2)
    with pytest.raises(InputError, match="no column 'imag'"):
        find_items([tmp_path / "t.csv"], 2, "imag")


def test_links_in_a_circle_and_folders_that_cannot_be_listed(tmp_path):
    Image.fromarray(np.zeros((4, 4), np.uint8)).save(tmp_path / "1.png")
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    assert names(find_items([tmp_path], 2), tmp_path) == ["1.png"]
    (item,) = find_items(["x" * 300], 2)
    assert item.reason == "there is no such file"


def test_a_sheet_of_a_workbook_is_a_table_and_its_notes_are_told(tmp_path, workbook):
    np.save(tmp_path / "a.npy", VOLUME)
    sheets = {"Legend": [["what"], ["x"]], "Scans": [["path"], ["a.npy"]]}
    file, notes = workbook(tmp_path / "new.xlsx", sheets), []
    assert names(find_items([f"{file}#Scans"], 3, notes=notes), tmp_path) == ["a.npy"]
    assert not notes
    with pytest.raises(InputError, match="path_column"):
        find_items([file], 3, notes=notes)
    assert "of 2 sheets" in notes[0]
    with pytest.raises(InputError, match=r"Columns: what\. of 2 sheets .* the first is read"):
        find_items([file], 3, "path")
