"""`medldr new`: from folders and tables of scans to a sweep file that runs."""

import csv
import io
import shutil
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from medldr.commands.new_study.asking import Asker, settings
from medldr.commands.new_study.folder_levels import guess_tree
from medldr.commands.new_study.image_keys import image_keys
from medldr.config import load_config
from medldr.config.yaml import plain, read_yaml
from medldr.data.files.facts import Facts
from medldr.errors import InputError
from medldr.sweeps.plan.expand import expand
from medldr.sweeps.plan.file import load_sweep

REAL_DATA = Path(__file__).parents[3] / "shared" / "data"
METHODS = ["erm", "latentdr_sa", "latentdr_pool", "erm_half_lr"]
ODD = ["Köln: Süd", "007", 'a "b" #1', "no"]
HEADER = ["path", "label", "site", "patient"]


def _picture(path, number, colour=False, size=(72, 80)):
    path.parent.mkdir(parents=True, exist_ok=True)
    draw = np.random.default_rng(number)
    shape = (*size, 3) if colour else size
    Image.fromarray(draw.integers(0, 255, shape, dtype=np.uint8)).save(path)


def _table(folder, header, rows, name="scans.csv"):
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return folder / name


def _rows(folder, domains, each=12, colour=False):
    """Two classes and `each` pictures of a domain, two of each patient."""
    rows = []
    for place, domain in enumerate(domains):
        for number in range(each):
            name = f"{place}/{number}.png"
            _picture(folder / name, 100 * place + number, colour)
            label = ("normal", "lesion")[number // 2 % 2]
            rows.append([name, label, domain, f"SECRET{place}_{number // 2}"])
    return rows


def _scans(folder, header=HEADER, domains=("a", "b"), edit=list, each=12, colour=False):
    """A folder of pictures with their table; each row is edited before it is written."""
    _table(folder, header, map(edit, _rows(folder, domains, each, colour)))
    return folder


def _plainly(file):
    """The text of a file on one line, without the marks of comments."""
    return " ".join(file.read_text("utf-8").replace("#", "").split())


def _data(file):
    """The section `data` of every run that the file makes, and the sweep."""
    sweep = load_sweep(file)
    return [planned.config.data for planned in expand(sweep, file.parent / "runs")], sweep


@pytest.fixture
def new(medldr, tmp_path, monkeypatch):
    """Write the file of a folder or table without a terminal."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())

    def run(place, *words, code=0):
        out = tmp_path / "study.yaml"
        ended = medldr("new", place, "--out", out, *words)
        assert ended.code == code, ended.err + ended.out
        return (out, ended) if code == 0 else ended

    return run


# ---------------------------------------------------------------- tables


def test_a_table_with_names_that_yaml_could_misread(new, tmp_path):
    header = ["Image File", "dx", "hospital", "patient_id"]
    out, ended = new(_scans(tmp_path / "scans", header, ODD))
    data, sweep = _data(out)
    assert sorted({one.held_out for one in data}) == sorted((name,) for name in ODD)
    assert {(one.path, one.label, one.domain, one.group) for one in data} == {tuple(header)}
    assert [entry.label for entry in sweep.entries] == METHODS
    assert sweep.seeds == (0, 1, 2)
    assert (sweep.table.rows, sweep.table.columns) == (("run",), ("data.held_out",))
    assert sweep.table.titles["Koln_Sud"] == "Köln: Süd"
    assert len(data) == len(METHODS) * len(ODD) * 3
    assert "48 runs: 4 methods x 4 domains x 3 seeds" in out.read_text("utf-8")
    assert "scans: 48 pictures, 2 classes, 4 domains, 24 patients" in ended.out


def test_a_study_of_latents_is_two_files_that_go_together(new, tmp_path):
    scans = _scans(tmp_path / "scans", edit=lambda row: [*row[:2], f"site {row[2]}", row[3]])
    file, _ = new(scans, "--encoder=resnet10t")
    encoder = load_config(file.with_name("study_encoder.yaml"))
    assert encoder.model.network == "resnet10t"
    assert encoder.model.pretrained.startswith("timm/resnet10t.")
    assert encoder.data.root == scans or encoder.data.file == scans / "scans.csv"
    sections, sweep = _data(file)
    assert {section.root for section in sections} == {tmp_path / "study_latents"}
    assert {section.held_out for section in sections} == {("site a",), ("site b",)}
    assert {*METHODS, "coral"} <= {entry.label for entry in sweep.entries}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--encoder=resnet10"], "--encoder: timm has no network 'resnet10'. Did you mean"),
        (["--encoder=resnet10t", "--weights=nowhere.pth"], "there is no file nowhere.pth"),
        (["--encoder=resnet10t", "--weights=weigths.pth"], "Did you mean 'weights.pth'?"),
        (["--encoder=hf-hub:timm/a", "--weights=weights.pth"], "hf-hub:timm/a brings its own"),
        (["--encoder=hf-hub:timm"], "'hf-hub:timm' should be hf-hub:OWNER/NAME"),
        (["--weights=nowhere.pth"], "name it"),
    ],
)
def test_an_encoder_that_is_none_is_told_before_a_scan_is_read(
    medldr, tmp_path, monkeypatch, words, said
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weights.pth").touch()
    result = medldr("new", tmp_path, "--yes", "--out", tmp_path / "study.yaml", *words)
    assert result.code == 2
    assert said in " ".join(result.err.split())


def test_no_patient_and_no_file_is_named_in_the_yaml(new, tmp_path):
    folder = tmp_path / "scans"
    rows = _rows(folder, ["a", "b"])
    rows[3][3] = rows[15][3] = "SECRETLY_SHARED"
    (folder / rows[5][0]).write_bytes(b"broken")
    rows[7][1] = ""
    _table(folder, HEADER, rows)
    out, ended = new(folder)
    text = out.read_text("utf-8")
    assert "SECRET" not in text
    assert ".png" not in text.replace("P12_003.png", "")
    values = plain(read_yaml(out).values)["common"]["data"]
    assert values["on_bad_file"] == values["on_missing_label"] == "skip"
    assert values["held_out_rows"] == "test"  # patients of both sites must not train
    assert "Left out: 1 scan of 24 without a label" in " ".join(ended.out.split())
    assert "0/5.png" in ended.out  # the terminal may name it
    _data(out)


def test_paths_are_relative_to_the_file_and_survive_a_move(new, tmp_path):
    out, _ = new(_scans(tmp_path / "scans") / "scans.csv")
    assert plain(read_yaml(out).values)["common"]["data"]["file"] == "scans/scans.csv"
    moved = tmp_path.parent / f"{tmp_path.name}_moved"
    tmp_path.rename(moved)
    data, _ = _data(moved / "study.yaml")
    assert data[0].file == moved / "scans" / "scans.csv"


def test_options_go_before_guesses(new, tmp_path):
    folder = _scans(
        tmp_path / "scans", [*HEADER, "second", "third"], edit=lambda row: [*row, row[1][::-1], "x"]
    )
    out, _ = new(folder, "--label", "second", "--positive", "lamron", "--kind", "scan")
    data, _ = _data(out)
    assert data[0].label == "second"
    assert plain(read_yaml(out).values)["common"]["evaluation"]["positive_class"] == "lamron"
    wrong = new(folder, "--force", "--label", "secnd", code=2)
    assert "Did you mean 'second'?" in wrong.err
    wrong = new(folder, "--force", "--positive", "lesions", code=2)
    assert "Did you mean 'lesion'?" in wrong.err


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([f"{n / 7:.3f}" for n in range(24)], "a measurement?"),
        (["tumour"] * 24, "single class"),
        (["1.5", "2"] * 12, "not a whole number"),
    ],
)
def test_what_is_no_class_is_refused_with_a_cure(new, tmp_path, labels, said):
    given = iter(labels)
    scans = _scans(tmp_path / "scans", HEADER[:2], edit=lambda row: [row[0], next(given)])
    ended = new(scans, code=2)
    assert said in ended.err
    assert not (tmp_path / "study.yaml").exists()


def test_without_a_column_called_like_a_class_nothing_is_guessed(new, tmp_path):
    folder = _scans(tmp_path / "scans", ["path", "what", "site", "patient"])
    assert "--label COLUMN. Columns with few values: what." in new(folder, code=2).err
    data, _ = _data(new(folder, "--label", "what")[0])
    assert data[0].label == "what"


def test_a_split_column_is_used_only_if_every_row_has_one(new, tmp_path):
    folder = tmp_path / "scans"
    rows = _rows(folder, ["a"], each=24)
    parts = ["train"] * 16 + ["val"] * 4 + ["test"] * 4
    rows = [[row[0], row[1], row[3], part] for row, part in zip(rows, parts, strict=True)]
    header = ["path", "label", "patient", "published_split"]
    _table(folder, header, rows)
    out, _ = new(folder)
    data, sweep = _data(out)
    assert data[0].split == "published_split"
    assert not sweep.axes
    rows[3][3] = ""
    _table(folder, header, rows)
    out, _ = new(folder, "--force")
    assert _data(out)[0][0].split is None
    assert "'published_split' is not taken for data.split: 1 of 24 rows" in _plainly(out)


def test_of_two_tables_the_one_that_names_files_is_taken(new, tmp_path):
    folder = _scans(tmp_path / "scans")
    (folder / "scans.csv").rename(folder / "z.csv")
    _table(folder, ["drug", "dose"], [["x", 10], ["y", 20]], "a.csv")
    data, _ = _data(new(folder)[0])
    assert data[0].file == folder / "z.csv"


def test_which_of_several_tables_is_not_guessed(new, tmp_path):
    folder = _scans(tmp_path / "scans")
    for number in range(8):
        shutil.copy(folder / "scans.csv", folder / f"backup{number}.csv")
    ended = new(folder, "--yes", code=2)
    assert "9 tables" in ended.err
    assert "--table NAME" in ended.err
    assert "backup7.csv" in ended.err
    assert "and 1 more" in ended.err
    assert _data(new(folder, "--table", "scans.csv")[0])[0][0].file == folder / "scans.csv"


@pytest.mark.parametrize("inside", [True, False])
def test_a_table_that_cannot_be_used_beside_folders_is_not_passed_over(new, tmp_path, inside):
    folder = tmp_path / "study"
    _rows(folder / "img", ("site a", "site b"))
    if inside:  # of another program
        (folder / "clinic.ods").write_bytes(b"PK")
    else:  # files that it names are elsewhere
        _table(folder, ["path", "label"], [[f"x{n}.png", n % 2] for n in range(6)], "clinic.csv")
    ended = new(folder, "--yes", code=2)
    assert "clinic." in ended.err
    assert "--folders" in ended.err
    assert _data(new(folder, "--folders", "label")[0])[0][0].folders == ("label",)


def test_a_table_beside_the_folder_is_found(new, tmp_path):
    folder = _scans(tmp_path / "scans")
    for place in "01":
        (folder / place).rename(folder / f"x{place}")
        (folder / "img").mkdir(exist_ok=True)
        (folder / f"x{place}").rename(folder / "img" / place)
    text = (folder / "scans.csv").read_text()
    (folder / "scans.csv").write_text(text.replace("\n0/", "\nimg/0/").replace("\n1/", "\nimg/1/"))
    ended = new(folder / "img", "--yes", code=2)
    assert f"medldr new {folder / 'scans.csv'}" in ended.err
    assert "--folders" in ended.err


@pytest.mark.parametrize(
    ("names", "asked"),
    [
        (("siemens", "philips"), True),
        (("site0", "site1"), True),
        (("scannerA", "scannerB"), True),
        (("hospital_3", "hospital_7"), True),
        (("center2", "center3"), True),
        (("h1", "h2"), True),
        (("folder 1", "folder 2", "other"), True),
        (("benign", "malignant"), False),
        (("NORMAL", "PNEUMONIA"), False),
        (("0", "1"), False),
        (("grade_1", "grade_2", "grade_3", "grade_4"), False),
        (("MSI", "MSS"), False),
        (("CIN1", "CIN2"), False),
    ],
)
def test_folders_called_like_places_or_numbered_are_not_taken_for_classes(tmp_path, names, asked):
    for name in names:
        _picture(tmp_path / name / "a.png", 1)
        _picture(tmp_path / name / "b.png", 2)
    if asked:
        with pytest.raises(InputError, match=r"classes or hospitals.*folders= label"):
            guess_tree(tmp_path, Asker(interactive=False))
    else:
        found = settings(guess_tree(tmp_path, Asker(interactive=False)))
        assert found["folders"] == ["label"]


def test_hospitals_with_a_folder_for_each_patient_are_not_taken_for_classes(tmp_path):
    for number in range(8):
        _picture(tmp_path / f"site{number % 2}" / f"p{number}" / "a.png", number)
    with pytest.raises(InputError, match="folders= label,group"):
        guess_tree(tmp_path, Asker(interactive=False))


def test_splits_that_cannot_select_or_test_make_no_study(new, tmp_path):
    header = ["path", "label", "ward", "split"]
    parts = {0: "train", 1: "val", 2: "test"}
    lines = [[f"{n}.png", "ab"[n % 2], f"w{n // 2 % 2}", parts.get(n // 8)] for n in range(24)]
    for row in lines:
        _picture(tmp_path / "scans" / row[0], 1)
    _table(tmp_path / "scans", header[:3], [row[:3] for row in lines])
    said = new(tmp_path / "scans", "--group", "ward", code=2).err
    assert "no image is left to test on (train 12, val 12)" in said
    assert "there are 2: --group names their column" in said
    lines = [[*row[:1], "a" if row[3] == "val" else row[1], *row[2:]] for row in lines]
    _table(tmp_path / "scans", header, lines)
    said = new(tmp_path / "scans", code=2).err
    assert "validation has no image of b (8 images)" in said
    assert "--split" in said
    assert not (tmp_path / "study.yaml").exists()


def test_folders_that_are_a_series_each_are_no_classes(new, tmp_path):
    source = REAL_DATA / "scans" / "dicom" / "hippocampus_a"
    for number in range(3):
        shutil.copytree(source, tmp_path / "scans" / f"series{number}")
    ended = new(tmp_path / "scans", "--yes", code=2)
    assert "3 folders that are one DICOM series" in ended.err
    assert "path and label" in ended.err


def test_several_images_of_an_item_are_named_and_gaps_are_said(new, tmp_path):
    rows = _rows(tmp_path / "scans", ("a", "b"))
    for number in range(len(rows)):
        _picture(tmp_path / "scans" / f"side_{number}.png", number)
    sides = [[*row, f"side_{number}.png" if number else ""] for number, row in enumerate(rows)]
    _table(tmp_path / "scans", [*HEADER, "side"], sides)
    out, _ = new(tmp_path / "scans", "--yes", "--path", "path,side")
    (data, *_), _ = _data(out)
    assert (data.path, data.on_missing) == (("path", "side"), "drop")
    assert "without one of their images" in _plainly(out)


def test_most_files_are_not_left_out_unasked(new, tmp_path):
    folder = _scans(tmp_path / "scans")
    for number in range(9):
        (folder / "0" / f"{number}.png").write_bytes(b"no picture")
        (folder / "1" / f"{number}.png").write_bytes(b"no picture")
    ended = new(folder, "--yes", code=2)
    assert "18 scans of 24" in ended.err
    assert ended.err.count(".png: ") == 8
    assert not (tmp_path / "study.yaml").exists()


def test_which_sheet_lists_the_scans_is_not_guessed(new, tmp_path, workbook):
    rows = _rows(tmp_path / "scans", ("a", "b"))
    sheets = {"Legend": [["site", "where"], ["a", "x"]], "Alle": [HEADER, *rows]}
    file = workbook(tmp_path / "scans" / "scans.xlsx", sheets)
    for place in (file, tmp_path / "scans"):
        ended = new(place, "--yes", code=2)
        assert "Which sheet of" in ended.err
        assert "--sheet NAME. Possible: Alle" in " ".join(ended.err.split())
    sheets = {"Alle": sheets["Alle"], "Neue": [HEADER, *rows[3:]], "Legend": sheets["Legend"]}
    assert "Alle, Neue" in new(workbook(file, sheets), "--yes", code=2).err
    for words in ((file, "--sheet", "Neue"), (f"{file}#Neue",)):
        (data, *_), _ = _data(new(*words)[0])
        assert (data.file, data.sheet) == (file, "Neue")
        (tmp_path / "study.yaml").unlink()
    del sheets["Neue"]
    (data, *_), _ = _data(new(workbook(file, sheets), "--yes")[0])
    assert data.sheet == "Alle"


def test_cases_of_a_table_find_the_numbered_files_of_nnunet_and_their_names(new, tmp_path):
    folder = tmp_path / "Dataset001"
    cases = [f"case_{number:03}" for number in range(16)]
    for number, case in enumerate(cases):
        for image in range(2):
            _picture(folder / "imagesTr" / f"{case}_{image:04}.png", 2 * number + image)
    rows = [[case, "xy"[number % 2]] for number, case in enumerate(cases)]
    _table(folder, ["id", "label"], rows, "labels.csv")
    (data, *_), _ = _data(new(folder, "--yes")[0])
    assert (data.case, data.path) == ("id", ("image_0", "image_1"))
    assert data.root == folder / "imagesTr"
    (tmp_path / "study.yaml").unlink()
    (folder / "dataset.json").write_text('{"channel_names": {"0": "T2", "1": "ADC"}}')
    (data, *_), _ = _data(new(folder / "labels.csv", "--yes")[0])
    assert data.path == ("T2", "ADC")


def test_numbers_of_nnunet_are_the_images_of_an_item(new, tmp_path):
    for number in range(16):
        place = tmp_path / "scans" / "xy"[number % 2]
        for image in range(2):
            _picture(place / f"c{number}_{image:04}.png", 2 * number + image)
    out, _ = new(tmp_path / "scans", "--yes")
    (data, *_), _ = _data(out)
    assert data.path == ("image_0", "image_1")
    assert data.folders == ("label",)


def test_which_columns_of_files_belong_to_an_item_is_not_guessed(new, tmp_path):
    rows = _rows(tmp_path / "scans", ("a", "b"))
    for row in rows:
        _picture(tmp_path / "scans" / f"adc_{row[0].replace('/', '_')}", 1)
    both = [[*row, f"adc_{row[0].replace('/', '_')}"] for row in rows]
    _table(tmp_path / "scans", ["t2w", *HEADER[1:], "adc"], both)
    ended = new(tmp_path / "scans", "--yes", code=2)
    assert "t2w, adc" in ended.err
    assert "--path" in ended.err
    data, _ = _data(new(tmp_path / "scans", "--path", "t2w,adc")[0])
    assert data[0].path == ("t2w", "adc")


def test_folders_that_recur_in_those_of_patients_are_the_images_of_an_item(new, tmp_path):
    rows = [[f"p{n}", "ab"[n % 2], "xy"[n // 2 % 2]] for n in range(24)]
    for number, (patient, site, _) in enumerate(rows):
        for kind in ("adc", "t2"):
            _picture(tmp_path / "scans" / site / patient / kind / "1.png", number)
    _table(tmp_path / "scans", ["patient", "hospital", "label"], rows)
    paths = "{hospital}/{patient}/adc,{hospital}/{patient}/t2"
    assert f"--path A,B. Possible: '{paths}'" in new(tmp_path / "scans", "--yes", code=2).err


@pytest.mark.parametrize(
    ("names", "asked"),
    [
        (("t1.png", "t2.png"), True),
        (("{}_adc.png", "{}_t2w.png"), True),
        (("1.png", "2.png"), False),
        (("photo_1.png", "photo_2.png"), False),
    ],
)
def test_kinds_of_images_in_folders_of_patients_are_not_silently_items(tmp_path, names, asked):
    for n in range(8):
        for name in names:
            _picture(tmp_path / ("benign", "malignant")[n % 2] / f"p{n}" / name.format(f"p{n}"), n)
    with pytest.raises(InputError, match="folders= label,group, if so") if asked else nullcontext():
        guess_tree(tmp_path, Asker(interactive=False))


@pytest.mark.parametrize("named", ["file", "path"])
def test_names_without_their_folder_are_found_in_that_of_another_column(new, tmp_path, named):
    # Each hospital numbers its files anew; patients, the first of whom are of one hospital.
    rows = []
    for number in range(36):
        site, name = "abc"[number // 12], f"{number % 12}.png"
        _picture(tmp_path / "scans" / "img" / site / name, number)
        rows.append([name, f"p{number}", site, "xy"[number % 2]])
    _table(tmp_path / "scans", [named, "patient", "hospital", "label"], rows)
    out, _ = new(tmp_path / "scans", "--yes")
    assert _data(out)[0][0].path == f"img/{{hospital}}/{{{named}}}"
    for row in rows:  # names differ, as folders of patients do
        place = tmp_path / "scans" / "img" / row[2]
        (place / row[0]).rename(place / f"{row[1]}.png")
        row[0] = f"{row[1]}.png"
    _table(tmp_path / "scans", [named, "patient", "hospital", "label"], rows)
    data, _ = _data(new(tmp_path / "scans", "--yes", "--force")[0])
    assert (data[0].path, data[0].on_bad_file) == (f"img/{{hospital}}/{{{named}}}", "error")


def test_no_hospital_is_a_caution_and_a_question_on_a_terminal(new, tmp_path):
    from medldr.commands.new_study.asking import Answer, Asker
    from medldr.commands.new_study.column_roles import guess_columns
    from medldr.data.listing.tables import read_sheet

    header = ["path", "label", "ward", "sex"]
    folder = _scans(tmp_path / "scans", header=[*header[:2], "ward", "patient"])
    _, ended = new(folder, "--yes")
    assert "--domain" in " ".join(ended.out.split())

    class Answers(Asker):
        def choose(self, question, options, best, **_):
            assert options == ["ward", "none"]
            return Answer("ward", "As you said.")

    _table(tmp_path, header, [[str(n), "xy"[n % 2], "ab"[n // 4], "fm"[n % 2]] for n in range(8)])
    sheet = read_sheet(tmp_path / "scans.csv")
    keys = guess_columns(sheet, ["path"], {}, Answers(interactive=True))
    assert [one.value for one in keys if one.key == "domain"] == ["ward"]


def test_masks_are_no_second_image(new, tmp_path):
    rows = _rows(tmp_path / "scans", ("a", "b"))
    for row in rows:
        _picture(tmp_path / "scans" / f"seg_{row[0].replace('/', '_')}", 1)
    masks = [[*row, f"seg_{row[0].replace('/', '_')}"] for row in rows]
    _table(tmp_path / "scans", [*HEADER, "mask"], masks)
    out, _ = new(tmp_path / "scans", "--yes")
    assert _data(out)[0][0].path == "path"
    assert "'mask'" in _plainly(out)


def test_patients_of_several_images_may_be_scored(new, tmp_path):
    single, _ = new(_scans(tmp_path / "one", edit=lambda row: [*row[:3], row[0][:-4]]), "--yes")
    none, _ = new(_scans(tmp_path / "none", ["path", "label", "site", "x"]), "--yes", "--force")
    assert "aggregate" not in single.read_text("utf-8") + none.read_text("utf-8")
    out, _ = new(_scans(tmp_path / "scans"), "--yes", "--force")
    assert "24 images are of 12 patients" in _plainly(out)
    out.write_text(out.read_text("utf-8").replace("# aggregate", "aggregate"), "utf-8")
    sweep = load_sweep(out)
    configs = [planned.config for planned in expand(sweep, out.parent / "runs")]
    assert {config.evaluation.aggregate for config in configs} == {"mean"}


def test_classes_are_printed(new, tmp_path):
    _, ended = new(_scans(tmp_path / "scans"), "--yes")
    assert "classes: lesion (12), normal (12)" in ended.out


def test_names_go_before_the_numbers_that_stand_for_them(new, tmp_path):
    header = ["path", "label", "label_name", "patient"]
    folder = _scans(
        tmp_path / "scans", header, edit=lambda row: [row[0], int(row[1] == "lesion"), *row[1::2]]
    )
    assert _data(new(folder)[0])[0][0].label == "label_name"


def test_an_archive(new, tmp_path):
    draw = np.random.default_rng(0)
    arrays = {"domain_names": np.array(["site a", "site b"])}
    for part, count in (("train", 40), ("val", 12), ("test", 12)):
        arrays[f"{part}_images"] = draw.integers(0, 255, (count, 28, 28), dtype=np.uint8)
        arrays[f"{part}_labels"] = (np.arange(count) % 3).astype(np.uint8)[:, None]
        arrays[f"{part}_domains"] = (np.arange(count) // 3 % 2).astype(np.uint8)
        arrays[f"{part}_patients"] = np.arange(count) + {"train": 0, "val": 50, "test": 70}[part]
    np.savez(tmp_path / "small.npz", **arrays)
    out, _ = new(tmp_path / "small.npz")
    data, _ = _data(out)
    assert {one.held_out for one in data} == {("site a",), ("site b",)}
    assert (data[0].label, data[0].group, data[0].size) == ("labels", "patients", 28)
    assert "stem: small" in out.read_text("utf-8")


# ---------------------------------------------------------------- trees


@pytest.mark.parametrize(
    ("paths", "levels"),
    [
        ([f"{s}/{c}/{n}" for s in "ab" for c in ("x", "y") for n in range(8)], "domain label"),
        (
            [f"{c}/{s}/{n}" for s in ("site1", "site2") for c in ("benign", "malignant")
             for n in range(8)],
            "label domain",
        ),
        (
            [f"{p}/{c}/{n}" for p in ("train", "test") for c in ("x", "y") for n in range(8)],
            "split label",
        ),
        ([f"{c}/{c}{n // 2}/{n}" for c in ("x", "y") for n in range(12)], "label group"),
        ([f"{c}/{n}" for c in ("x", "y") for n in range(12)], "label"),
        (
            [f"{s}/{c}/{s}{c}{n // 2}/{n}" for s in "ab" for c in ("x", "y") for n in range(8)],
            "domain label group",
        ),
        ([f"only/{s}/{c}/{n}" for s in "ab" for c in ("x", "y") for n in range(8)], "domain label"),
    ],
)  # fmt: skip
def test_levels_of_folders(new, tmp_path, paths, levels):
    for number, path in enumerate(paths):
        _picture(tmp_path / "scans" / f"{path}.png", number)
    out, _ = new(tmp_path / "scans", "--yes")
    data, sweep = _data(out)
    assert data[0].folders == tuple(levels.split())
    assert bool(sweep.axes) == ("domain" in levels)


def test_levels_and_tables_may_be_named(new, tmp_path):
    folder = _scans(tmp_path / "scans")
    (folder / "scans.csv").rename(folder / "z.csv")
    (folder / "a.csv").write_text((folder / "z.csv").read_text("utf-8"), "utf-8")
    assert _data(new(folder, "--table", "z.csv")[0])[0][0].file == folder / "z.csv"
    assert (
        "no column 'paht'"
        in new(folder, "--force", "--path", "paht", "--table", "z.csv", code=2).err
    )
    said = new(folder, "--force", "--folders", "lable", code=2).err
    assert "--folders 'lable' is no meaning of a level. Did you mean 'label'?" in said
    assert "leave out one" in new(folder / "z.csv", "--force", "--folders", "label", code=2).err
    assert _data(new(folder, "--force", "--folders", "label")[0])[0][0].folders == ("label",)


def test_a_folder_of_dicom_slices_is_one_scan(new, tmp_path):
    source = REAL_DATA / "scans" / "dicom" / "hippocampus_a"
    if not source.is_dir():
        pytest.skip(f"real data is absent: {source}")
    for number in range(12):
        place = f"{'ab'[number % 2]}/{('x', 'y')[number // 2 % 2]}/series{number}"
        (tmp_path / "scans" / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "scans" / place).symlink_to(source)
    out, ended = new(tmp_path / "scans")
    data, _ = _data(out)
    assert data[0].folders == ("domain", "label")
    assert "12 volumes" in ended.out
    assert "folders: [domain, label, group]" in _plainly(out)


def test_patients_in_names_of_files_are_found(new, tmp_path):
    for number in range(48):
        name = f"{'ab'[number % 2]}/{('x', 'y')[number // 2 % 2]}/P{number % 12:02d}_{number}.png"
        _picture(tmp_path / "scans" / name, number)
    out, ended = new(tmp_path / "scans")
    data, _ = _data(out)
    assert data[0].group_pattern is not None
    assert "12 patients" in ended.out
    assert "Patients are guessed" in ended.out


def test_a_class_of_one_domain_alone_keeps_it_in_training(new, tmp_path):
    for number in range(40):
        place = f"{'ab'[number % 2]}/{('x', 'y')[number // 2 % 2]}"
        _picture(tmp_path / "scans" / place / f"{number}.png", number)
    for number in range(12):
        _picture(tmp_path / "scans" / "a" / "rare" / f"{number}.png", number + 100)
    out, ended = new(tmp_path / "scans")
    data, _ = _data(out)
    assert {one.held_out for one in data} == {("b",)}
    assert "'a' is not held out: no other domain has the class 'rare'" in " ".join(
        ended.out.split()
    )


def test_nothing_that_could_be_read_is_answered_with_the_layout(new, tmp_path):
    (tmp_path / "scans").mkdir()
    assert "no table" in new(tmp_path / "scans", code=2).err
    _picture(tmp_path / "scans" / "1.png", 1)
    assert "FOLDER/<domain>/<label>/<scan>" in new(tmp_path / "scans", code=2).err
    assert "there is no" in new(tmp_path / "nowhere", code=2).err


# ---------------------------------------------------------------- images


def test_coloured_pictures_of_cells_are_mirrored_and_grey_ones_are_not(new, tmp_path):
    for name, colour in (("cells", True), ("holiday", True), ("chest", False)):
        _scans(tmp_path / name, colour=colour)
    for name, recipe in (("cells", "own_microscopy"), ("holiday", "own_2d"), ("chest", "own_2d")):
        out, _ = new(tmp_path / name, "--force")
        assert f"recipe/{recipe}," in out.read_text("utf-8")
        sweep = load_sweep(out)
        flips = {tuple(p.config.transform.flip) for p in expand(sweep, tmp_path / "runs")}
        assert flips == ({("left_right", "up_down")} if name == "cells" else {()})
    out, _ = new(tmp_path / "chest", "--force", "--kind", "microscopy")
    assert "recipe/own_microscopy" in out.read_text("utf-8")


def test_grey_in_three_channels_is_a_scan_of_one(new, tmp_path):
    folder = _scans(tmp_path / "scans")
    for file in folder.rglob("*.png"):
        Image.open(file).convert("RGB").save(file)
    data, _ = _data(new(folder)[0])
    assert data[0].channels == 1


@pytest.mark.parametrize(
    ("shape", "size"), [((300, 250), 224), ((96, 120), 96), ((100, 70), 64), ((40, 50), 40)]
)
def test_size_of_pictures_is_never_above_their_shorter_edge(shape, size):
    facts = [_facts("png", "", 0.0, 8)._replace(shape=(1, *shape), spacing=None)]
    assert {one.key: one.value for one in image_keys(facts)}["size"] == size


def _volumes(folder, spacings):
    import nibabel

    rows = []
    for number in range(40):
        spacing = spacings[number % len(spacings)]
        edge = round(48 / spacing)
        values = np.random.default_rng(number).integers(0, 900, (edge,) * 3).astype(np.int16)
        name = f"{number}.nii.gz"
        folder.mkdir(exist_ok=True)
        affine = np.diag([spacing] * 3 + [1.0])
        nibabel.save(nibabel.Nifti1Image(values, affine), folder / name)
        label = ("normal", "lesion")[number // 2 % 2]
        rows.append([name, label, "ab"[number % 2], f"p{number}"])
    return _table(folder, ["scan", "diagnosis", "scanner", "subject"], rows)


def test_volumes_of_one_extent_are_brought_to_one_spacing(new, tmp_path):
    out, _ = new(_volumes(tmp_path / "scans", [1.0, 1.2]))
    data, _ = _data(out)
    assert data[0].size == 32
    assert data[0].spacing == pytest.approx((1.5,) * 3)  # 48 mm in 32 voxels
    text = out.read_text("utf-8")
    assert "recipe/own_3d" in text
    assert "window: ct" not in text


def _facts(kind, modality, low, bits=16):
    shape, spacing = (1, 32, 32, 32), (1.0, 1.0, 1.0)
    return Facts(
        kind, "int16", shape, spacing, None, bits, False, modality, low, 900.0, None, 1, ()
    )


CT, HU_NIFTI = ("dicom", "CT", -1000.0), ("nifti", "", -1000.0, None)
NIFTI = ("nifti", "", 0.0, None)
EIGHT_NIFTI, EIGHT_MR = ("nifti", "", 0.0, 8), ("dicom", "MR", 0.0, 8)
MR, RADIOGRAPH = ("dicom", "MR", 0.0), ("dicom", "DX", 0.0)


@pytest.mark.parametrize(
    ("kinds", "window", "used"),
    [
        ([CT, CT], "ct", True),
        ([CT, HU_NIFTI], "ct", True),  # nothing but CT reaches so far down
        ([CT, NIFTI], "percentile", True),  # may be MR
        ([CT, MR], "percentile", True),
        ([MR, RADIOGRAPH], "percentile", True),
        ([EIGHT_NIFTI, EIGHT_MR], [0, 255], True),
        ([HU_NIFTI, HU_NIFTI], "ct", False),
        ([NIFTI, NIFTI], None, False),
        ([MR, MR], None, False),
        ([RADIOGRAPH, RADIOGRAPH], None, False),
    ],
)
def test_files_of_different_kinds_get_one_window(kinds, window, used):
    facts = [_facts(*kind) for kind in kinds]
    found = [one for one in image_keys(facts) if one.key == "window"]
    assert [(one.value, one.used) for one in found] == ([(window, used)] if window else [])


# ---------------------------------------------------------------- the command


def test_a_file_that_exists_is_not_replaced(new, tmp_path):
    (tmp_path / "study.yaml").write_text("mine")
    for number in range(24):
        _picture(tmp_path / "scans" / ("x", "y")[number % 2] / f"{number}.png", number)
    ended = new(tmp_path / "scans", code=2)
    assert "exists already" in ended.err
    assert "--force" in ended.err
    assert (tmp_path / "study.yaml").read_text() == "mine"
    new(tmp_path / "scans", "--force")
    assert "mine" not in (tmp_path / "study.yaml").read_text("utf-8")


def test_on_a_terminal_it_asks_and_the_file_says_who_answered(tmp_path):
    from medldr.commands.new_study.asking import Asker, Options
    from medldr.commands.new_study.study import make_study
    from medldr.commands.new_study.study_file import text

    class Answers(Asker):
        def choose(self, question, options, best):
            self.asked = [*getattr(self, "asked", []), question]
            answer = super().choose(question, options, best)
            return answer._replace(value="microscopy", why="As you said.")

    asker = Answers(interactive=False)
    study = make_study(Options(place=_scans(tmp_path / "scans", colour=True)), asker)
    assert asker.asked == ["What are these coloured pictures"]
    written = text(study, tmp_path / "study.yaml", gpu=True, cores=2)
    assert "As you said. Kind: microscopy" in written
    assert "no GPU" not in written


def test_wrong_answers_are_asked_again(monkeypatch):
    from medldr.commands.new_study import asking

    given = iter(["micrscopy", "microscopy"])
    monkeypatch.setattr(asking.typer, "prompt", lambda *_, **__: next(given))
    answer = asking.Asker(interactive=True).choose("Which", ["scan", "microscopy"], "scan")
    assert answer == ("microscopy", "As you said.")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wbc3", "lidcshape3d.npz", "amf64"])
def test_real_data(new, name):
    place = REAL_DATA / name
    if not place.exists():
        pytest.skip(f"real data is absent: {place}")
    data, _ = _data(new(place)[0])
    domains = {"wbc3": 3, "lidcshape3d.npz": 5, "amf64": 7}[name]
    assert len({one.held_out for one in data}) == domains
    assert data[0].size == {"wbc3": 96, "lidcshape3d.npz": 32, "amf64": 64}[name]


@pytest.mark.slow
@pytest.mark.auto_precision
def test_the_file_runs_as_it_is(new, medldr, tmp_path):
    out, _ = new(_scans(tmp_path / "scans", domains=["a", "Köln: Süd"], each=40))
    ended = medldr(
        "sweep", out, "--out", tmp_path / "runs", "model.width=0.125", "training.epochs=1",
        "seeds=0", "axes.data.held_out=[Koln_Sud]", "machine.device=cpu", "machine.report=false",
        "evaluation.draws=100", "machine.threads=1",
    )  # fmt: skip
    assert ended.code == 0, ended.err + ended.out
    assert len(list((tmp_path / "runs").glob("*/run.json"))) == len(METHODS)
    assert "Köln: Süd" in (tmp_path / "runs" / "report.md").read_text("utf-8")
