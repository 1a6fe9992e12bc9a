"""Tables of labels that other software read wrong or broke on, as tables of one's own.

Each is understood, or refused before training in one message that names line, value and cure.
"""

import json
import unicodedata

import numpy as np
import pytest
from own_scans import built, notes_of, picture, refused, run_file, table
from PIL import Image

from medldr.errors import InputError
from medldr.folders.files import RunFolder
from medldr.prediction.items import find_items


@pytest.fixture
def pictures(tmp_path):
    """Write pictures ``p0.png`` and so on beside the table, each another; their names."""

    def write(count, each=None):
        return [picture(tmp_path / f"p{n}.png", n, each(n) if each else 0) for n in range(count)]

    return write


@pytest.fixture
def trained(medldr, tmp_path, out):
    """Train on a table by the command: how it ended, and the run folder (None without one)."""

    def run(file, *words, **data):
        ended = medldr("train", run_file(tmp_path, file, **data), *words, "--out", out)
        folders = sorted(out.iterdir(), key=lambda p: p.stat().st_mtime) if out.exists() else []
        return ended, RunFolder(folders[-1]) if folders else None

    return run


# How the text is written


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_what_spreadsheets_write_is_one_table(tmp_path, pictures, encoding, separator, ends):
    pictures(2)
    rows = [("image", "label"), ("p0.png", "0"), ("p1.png", "1")]
    quoted = [separator.join(f'"{cell}"' for cell in row) for row in rows]
    (tmp_path / "t.csv").write_bytes((ends.join(quoted) + ends).encode(encoding))
    found = built(tmp_path / "t.csv", path="image").table
    assert found.ids.tolist() == ["p0.png", "p1.png"]
    assert found.labels.tolist() == [0, 1]
    assert found.class_names == ("0", "1")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty. Its first line should name its columns"),
        ("\n\n", "is empty"),
        ("path,label\n", "has no rows"),
        ("path label\np0.png a\n", "Only one column was found, 'path label'"),
        ("image,label\np0.png,a\n", "Files are named in 'image': set data.path"),
        ("path,Label\np0.png,a\n", "Did you mean 'Label'?"),
        ("path,label,label\np0.png,a,b\n", "the column 'label' appears twice"),
        ("path,label\np0.png,a,b\n", "line 2: 3 values, but the header has 2 columns"),
        ("path,label\np0.png,a\np1.png,a\n", "has a single class, 'a'"),
        ("path,label\n,a\np1.png,b\n", "the column 'path' (data.path) is empty in 1 of 2 rows"),
    ],
)
def test_what_is_no_table_is_one_message(tmp_path, pictures, text, said):
    pictures(2)
    (tmp_path / "t.csv").write_text(text)
    assert said in refused(tmp_path / "t.csv")


# Labels


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["1", "2", "3"], ("1", "2", "3")),
        (["0.0", "1.0", "2.0"], ("0", "1", "2")),
        (["0", "2", "5"], ("0", "2", "5")),
        (["True", "False", "True"], ("False", "True")),
        (["no", "yes", "no"], ("no", "yes")),
        (["01", "1", "1e3"], ("01", "1", "1e3")),
    ],
)
def test_labels_become_numbers_from_0_and_keep_their_names(tmp_path, pictures, labels, names):
    rows = [(name, labels[n % 3]) for n, name in enumerate(pictures(6))]
    found = built(table(tmp_path, rows))
    assert found.spec.class_names == names
    assert set(found.table.labels.tolist()) == set(range(len(names)))


def test_a_fraction_among_labels_names_its_line(tmp_path, pictures):
    file = table(tmp_path, list(zip(pictures(2), ("0", "0.5"), strict=True)))
    assert "line 3 (p1.png) has '0.5' in the column 'label'" in refused(file)
    assert built(file, classes=["0", "0.5"]).spec.class_names == ("0", "0.5")


UNSURE = [(1, 0), ("", 1), (-1, 0), (0, ""), (1, 1), (0, 0), (1, 1), (0, 0)]


def test_missing_and_uncertain_labels_take_no_part_and_are_counted(tmp_path, pictures, trained):
    rows = [(name, *UNSURE[n % 8], n % 2) for n, name in enumerate(pictures(16))]
    file = table(tmp_path, rows, "path,edema,effusion,sex")
    keys = {"label": ["edema", "effusion"], "val_fraction": 0.25, "test_fraction": 0.25}
    found = built(file, **keys)
    np.testing.assert_array_equal(
        found.table.labels[:4], np.float32([[1, 0], [np.nan, 1], [np.nan, 0], [0, np.nan]])
    )
    said = " ".join(found.notes)
    assert "label edema: 12 known, 2 missing, 2 uncertain, counted as missing" in said
    assert "label effusion: 14 known, 2 missing" in said
    for rule, value in (("positive", 1), ("negative", 0)):
        assert built(file, uncertain=rule, **keys).table.labels[2, 0] == value
    ended, folder = trained(file, **keys)
    assert ended.code == 0, ended.err
    losses = [json.loads(line)["train/loss"] for line in folder.metrics.read_text().splitlines()]
    assert np.isfinite(losses).all()


def test_a_row_without_a_label_stops_or_is_left_out(tmp_path, pictures, trained):
    rows = [(name, "ab"[n % 2] if n != 1 else "") for n, name in enumerate(pictures(12))]
    file = table(tmp_path, rows)
    ended, folder = trained(file)
    assert ended.code == 2
    assert "1 row has no label: line 3 (p1.png)" in ended.err
    assert "data.on_missing_label=skip" in ended.err
    assert not folder.metrics.exists()
    ended, folder = trained(file, on_missing_label="skip")
    assert ended.code == 3, ended.err
    assert "p1.png,it has no label" in folder.bad_files.read_text()
    assert "left out of 12 rows: 1 without a label" in notes_of(file, on_missing_label="skip")
    assert built(file, on_missing_label="skip").spec.class_names == ("a", "b")


# Patients, splits, classes


def test_a_patient_in_two_splits_is_refused_however_the_name_is_spelled(tmp_path, pictures):
    splits = ["train", "val", "train", "test", "val", "test", "test"]
    people = ["P23", "P23", "P7", "p23 ", "P8", "P9", "P10"]
    rows = [(name, n % 2, people[n], splits[n]) for n, name in enumerate(pictures(7))]
    file = table(tmp_path, rows, "path,label,patient,split")
    keys = {"group": "patient", "split": "split"}
    said = refused(file, **keys)
    assert "'P23' is in train and val and test" in said
    apart = notes_of(file, exclude=["P23"], **keys)
    assert "1 group is written in several ways (capital letters, blanks)" in apart
    assert "byte" not in apart
    (tmp_path / "p6.png").write_bytes((tmp_path / "p2.png").read_bytes())
    assert "p2.png = p6.png" in notes_of(file, exclude=["P23"], **keys)


def test_a_patient_in_two_hospitals_is_refused_with_ways_out(tmp_path):
    for hospital in "ab":
        for n in range(6):
            name = f"P{n + (6 if hospital == 'b' and n != 3 else 0)}_{n}.png"
            picture(
                tmp_path / hospital / ("benign", "malignant")[n % 2] / name, n + 10 * ord(hospital)
            )
    keys = {
        "root": str(tmp_path), "folders": ["domain", "label"], "held_out": ["b"],
        "group_pattern": r"/(P\d+)_", "test_fraction": 0.4,
    }  # fmt: skip
    said = refused(None, **keys)
    assert "'P3' is in" in said
    assert "data.held_out_rows=test" in said
    for way in ({"exclude": ["P3"]}, {"held_out_rows": "test"}, {"group_scope": "domain"}):
        found = built(None, **{**keys, **way})
        assert not set(found.table.groups[found.rows["train"]]) & set(
            found.table.groups[found.rows["test"]]
        )


def test_a_class_of_one_row_keeps_its_place_and_is_told(tmp_path, pictures):
    rows = [(name, "rare" if n == 9 else "common") for n, name in enumerate(pictures(10))]
    file = table(tmp_path, rows)
    found = built(file)
    assert found.spec.class_names == ("common", "rare")
    said = " ".join(found.notes)
    assert "class 'rare' has 1 row, too few for every split: none in val, test" in said


@pytest.mark.parametrize(
    ("rows", "keys", "said"),
    [
        ("north", {"held_out": ["north"]}, "every domain of"),
        ("north", {"domain": None, "held_out": ["north"]}, "has no domains"),
        ("", {}, "the column 'hospital' (data.domain) is empty in 1 of 12 rows"),
    ],
)
def test_domains_that_cannot_be_held_out(tmp_path, pictures, rows, keys, said):
    names = pictures(12)
    cells = [(name, n % 2, rows if n == 0 else "north") for n, name in enumerate(names)]
    file = table(tmp_path, cells, "path,label,hospital")
    assert said in refused(file, **{"domain": "hospital", **keys})


# Paths


def test_names_and_separators_of_every_system_are_found(tmp_path):
    names = [
        "Müller_å.png",
        unicodedata.normalize("NFD", "Köln.png"),
        "with space.png",
        "病例1.png",
    ]
    for n, name in enumerate(names):
        picture(tmp_path / "images" / name, n)
    written = [f"images/{unicodedata.normalize('NFC', name)}" for name in names]
    written[2] = "images\\with space.png"
    found = built(table(tmp_path, written)).table
    assert len(found) == 4
    assert found.ids.tolist()[2] == "images/with space.png"
    assert len(built(table(tmp_path, [f"{tmp_path}/{name}" for name in written])).table) == 4


@pytest.mark.parametrize("front", ["C:\\study\\", "/home/other/study/", "https://host/study/"])
def test_paths_of_another_machine_say_what_to_take_away(tmp_path, front):
    rows = [f"images/{picture(tmp_path / 'images' / f'{n}.png', n)}" for n in range(4)]
    written = [front + (row.replace("/", "\\") if "\\" in front else row) for row in rows]
    said = refused(table(tmp_path, written))
    assert "4 rows have no file" in said
    assert f"take '{front}' away from the beginning of each" in said
    assert str(tmp_path) in said


def test_all_kinds_of_faults_are_in_one_message(tmp_path, pictures):
    names = pictures(3)
    rows = [(names[0], 0), (names[1], 1), ("gone.png", 1), (names[0], 1)]
    said = refused(table(tmp_path, rows))
    assert "line 4 (gone.png): there is no such file" in said
    assert "line 2 (p0.png) has label '0', line 5 (p0.png) '1'" in said
    assert "1 file has no row: p2.png" in said


def test_rows_without_a_file_may_be_left_out(tmp_path, pictures, trained):
    file = table(tmp_path, ["gone.png", *pictures(11)])
    ended, folder = trained(file, on_bad_file="skip")
    assert ended.code == 3, ended.err
    assert "gone.png,there is no such file" in folder.bad_files.read_text()


RUINED = ("1,23457E+17", "#N/A", "02. Jan")


@pytest.mark.parametrize("key", ["id", "group"])
def test_ids_that_a_spreadsheet_ruined_are_refused_with_their_lines(tmp_path, pictures, key):
    ids = [*RUINED, "p3", "p4", "p5"]
    lines = [f'{p},{"ab"[n % 2]},"{ids[n]}"' for n, p in enumerate(pictures(6))]
    file = tmp_path / "scans.csv"
    file.write_text("\n".join(["path,label,who", *lines, ""]))
    said = refused(file, **{key: "who"})
    assert "has 3 ids that a spreadsheet has changed" in said
    for line, ruined in enumerate(RUINED, 2):
        assert f"line {line} {ruined!r}" in said
    assert "Format the column as text" in said
    assert built(file).table.ids[0] == "p0.png"  # a further column may hold what it likes
    if key == "group":
        with pytest.raises(InputError, match=r"group: .*3 ids .*line 2 '1,23457E\+17'"):
            find_items([file], 2, group="who")


def test_blanks_that_are_not_seen_make_no_second_class(tmp_path, pictures):
    ways = ("benign", "benign\u00a0", "\u200bbenign", "be\u200bnign")
    rows = [(name, ways[n // 2] if n % 2 else "malignant") for n, name in enumerate(pictures(8))]
    columns = "path,la\u200bbel\u00a0"
    assert built(table(tmp_path, rows, columns)).table.class_names == ("benign", "malignant")
    for n, way in enumerate((*ways, "malignant", "malignant\u200b")):
        for hospital in ("a", "b\u00a0"):
            picture(tmp_path / "tree" / hospital / way / f"{hospital[0]}{n}.png", n)
    picture(tmp_path / "tree" / "b" / "benign" / "9.png", 9)
    for name, keys in (("table", {"folders": ["domain", "label"]}), ("domain_folders", {})):
        found = built(None, name=name, root=str(tmp_path / "tree"), **keys).table
        assert found.class_names == ("benign", "malignant")
        assert sorted(set(found.domains.tolist())) == ["a", "b"]


def test_faults_of_several_columns_are_in_one_message(tmp_path, pictures):
    names = pictures(6)
    rows = [(name, "ab"[n % 2], "HHh"[n % 3], "train" if n else "tets", "i") for n, name in
            enumerate(names)]  # fmt: skip
    rows[3] = (names[3], "A", "H", "train", "j")
    file = table(tmp_path, rows, "path,label,site,part,key")
    said = refused(file, domain="site", split="part", id="key")
    for fault in ("'a' in line 2", "two domains", "'tets' is no split", "the same id 'i'"):
        assert fault in said


def test_every_fault_of_a_table_is_in_the_same_message(tmp_path, pictures):
    names = pictures(8)
    rows = [(name, "ab"[n % 2], "", "train", "i") for n, name in enumerate(names)]
    rows[1], rows[2] = ("gone.png", "b", "x", "train", "j"), (names[2], "", "x", "train", "k")
    rows[3], rows[4] = (names[3], "c", "x", "tets", "l"), (names[4], "d", "x", "train", "m")
    file = table(tmp_path, rows, "path,label,site,part,key")
    keys = {"domain": "site", "split": "part", "id": "key", "group": "who", "columns": ["age"]}
    said = refused(file, classes=["a", "b"], **keys)
    for fault in (
        *(
            "line 3 (gone.png): there is no such file",
            "1 row has no label: line 4",
            "no column 'who'",
        ),
        *("no column 'age'", "(data.domain) is empty in 4 of 8", "line 5 (p3.png) has 'c'"),
        *("line 6 (p4.png) has 'd'", "'tets' is no split", "the same id 'i'"),
    ):
        assert fault in said
    said = refused(file, path="file", label="grade", domain="hospital")
    for column in ("file", "grade", "hospital"):
        assert f"no column {column!r}" in said
    several = table(tmp_path, [(n, "01"[k % 2], "x") for k, n in enumerate(names)], "path,a,b")
    several.write_text(several.read_text().replace("p3.png,1,x", "p3.png,7,y"))
    said = refused(several, label=["a", "b"])
    assert all(text in said for text in ("has '7' in the column 'a'", "has 'x'", "has 'y'"))


def test_ids_may_have_blanks_but_differ(tmp_path, pictures):
    rows = [(name, n % 2, f" scan {n} a") for n, name in enumerate(pictures(4))]
    found = built(table(tmp_path, rows, "path,label,name"), id="name").table
    assert found.ids.tolist() == [f"scan {n} a" for n in range(4)]
    same = table(tmp_path, [(*row[:2], "one") for row in rows], "path,label,name")
    assert "line 2 (p0.png) and line 3 (p1.png) have the same id 'one'" in refused(same, id="name")


# Archives


def test_an_archive_of_objects_is_refused_without_opening_them(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (8, 8, 8), dtype=np.uint8)
    labels = np.arange(8) % 2
    np.savez(tmp_path / "good.npz", images=pixels, labels=labels)
    found = built(tmp_path / "good.npz", label="labels")
    np.testing.assert_allclose(found.table.images[:, 0] * 255, pixels, atol=1e-4)
    np.savez(tmp_path / "bad.npz", images=pixels, labels=labels.astype(object))
    said = refused(tmp_path / "bad.npz", label="labels")
    assert "labels contains Python objects" in said
    np.savez(tmp_path / "worse.npz", images=pixels.astype(object), labels=labels)
    assert "Python objects" in refused(tmp_path / "worse.npz", label="labels")


# A run, from the table to the page


def study(folder):
    """Forty pictures of twenty patients in two hospitals, some of which notes tell of."""
    rows = []
    for n in range(40):
        name = picture(folder / f"scan-4711-{n}.png", n, 120 * (n % 2))
        rows.append((name, ("benign", "malignant")[n % 2], f"Mueller-{n // 2}", "ab"[n // 20]))
    (folder / "scan-4711-2.png").write_bytes(b"")
    (folder / "scan-4711-0.png").write_bytes((folder / "scan-4711-38.png").read_bytes())
    Image.fromarray(np.full((8, 8, 3), 9, np.uint8)).save(folder / "scan-4711-4.png")
    return table(folder, rows, "path,label,patient,hospital")


def test_a_page_names_no_file_and_no_patient(tmp_path, medldr, out):
    keys = {"domain": "hospital", "group": "patient", "held_out": ["b"], "on_bad_file": "skip"}
    config = run_file(tmp_path, study(tmp_path), exclude=["Mueller-3"], **keys)
    words = ("machine.report=true", "evaluation.positive_class=benign", "data.set=wrists")
    ended = medldr("train", config, *words, "--out", out)
    assert ended.code == 3, ended.err
    (found,) = out.iterdir()
    folder = RunFolder(found)
    for file in (folder.bad_files, folder.predictions):
        assert "4711" in file.read_text()  # for the user's own eyes
    scores = json.loads(folder.evaluation.read_text())["splits"]["test"]["metrics"]
    assert "sensitivity" in scores
    page = (found / "report.html").read_text()
    for word in ("4711", "Mueller"):
        assert word not in page
