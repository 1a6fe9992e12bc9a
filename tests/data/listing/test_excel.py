"""Workbooks: cells as Excel shows them, and one message with all that it shows otherwise."""

import datetime
import re
import zipfile

import openpyxl
import pytest

from medldr.data.listing.tables import read_sheet
from medldr.errors import InputError

HEAD = ["path", "label", "id", "age", "seen", "done"]


def workbook(path, rows, more=None):
    """A workbook, whose first sheet `more` changes before it is saved."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    if more is not None:
        more(book, book.active)
    book.save(path)
    return path


def test_cells_are_text_as_they_are_shown(tmp_path):
    day = datetime.datetime(2024, 5, 3)
    rows = [
        [None] * 6,
        [" path ", *HEAD[1:]],
        ["a.png", "NA", 7, 0.1 + 0.2, day, True],
        [None] * 6,
        ["b.png ", "007", 12, 40.0, None, False],
    ]

    def formats(_, sheet):
        for row in (3, 5):
            sheet.cell(row, 3).number_format = "000"
        sheet.cell(2, 9).number_format = "0.00"

    sheet = read_sheet(workbook(tmp_path / "t.xlsx", rows, formats))
    assert sheet.names == tuple(HEAD)
    assert sheet.rows == [
        ("a.png", "NA", "007", "0.3", "2024-05-03", "true"),
        ("b.png", "007", "012", "40", "", "false"),
    ]
    assert (sheet.at(0), sheet.at(1)) == ("row 3", "row 5")


def test_the_first_sheet_that_is_shown_or_the_one_that_is_named(tmp_path):
    def more(book, sheet):
        sheet.sheet_state = "hidden"
        for title in ("Befunde", "Alt"):
            book.create_sheet(title).append(["path", title])
            book[title].append(["a.png", "x"])

    file = workbook(tmp_path / "t.xlsx", [["hidden"], [1]], more)
    sheet = read_sheet(file)
    assert sheet.names == ("path", "Befunde")
    assert "of 3 sheets of t.xlsx the first is read" in sheet.notes[0]
    for named in (read_sheet(file, sheet="Alt"), read_sheet(tmp_path / "t.xlsx#Alt")):
        assert (named.names, named.notes, named.path) == (("path", "Alt"), (), file)
    with pytest.raises(InputError, match=r"'Alt' is named, and 'Befunde' by data\.sheet"):
        read_sheet(tmp_path / "t.xlsx#Alt", sheet="Befunde")
    with pytest.raises(InputError, match=r"no sheet 'Befund'. Did you mean 'Befunde'\?"):
        read_sheet(file, sheet="Befund")
    (tmp_path / "t.csv").write_text("path\na.png\n")
    with pytest.raises(InputError, match=r"t\.csv is no workbook"):
        read_sheet(tmp_path / "t.csv", sheet="Alt")


def test_all_faults_are_in_one_message_of_at_most_eight(tmp_path):
    rows = [["path", "label"], *([f"{n}.png", "=A1"] for n in range(6)), [None, "b"], ["c", "#N/A"]]

    def merge(_, sheet):
        sheet.merge_cells("D1:E2")

    file = workbook(tmp_path / "t.xlsx", rows, merge)
    with pytest.raises(InputError) as caught:
        read_sheet(file, "data.file", filled=["path"])
    text = str(caught.value)
    for said in (
        "9 faults",
        "D1:E2 are merged",
        "B2 is a formula",
        "B9 is the error #N/A",
        " and 1",
    ):
        assert said in text
    assert "A8 is empty" not in text
    rows[1:5] = []
    with pytest.raises(InputError, match=r"5 faults: .*B3 is a formula .*A4 is empty"):
        read_sheet(workbook(tmp_path / "t.xlsx", rows, merge), filled=["path"])


def test_rows_that_a_filter_hides_are_read_and_counted(tmp_path):
    def hide(_, sheet):
        sheet.auto_filter.ref = "A1:B4"
        for row in (3, 4):
            sheet.row_dimensions[row].hidden = True

    rows = [["path", "label"], ["a", "x"], ["b", "y"], ["c", "y"]]
    sheet = read_sheet(workbook(tmp_path / "t.xlsx", rows, hide))
    assert len(sheet) == 3
    assert [note.partition(" are hidden")[0] for note in sheet.notes] == ["2 of 3 rows of t.xlsx"]
    assert read_sheet(workbook(tmp_path / "all.xlsx", rows)).notes == ()


def test_formulas_have_the_values_that_excel_saved(tmp_path):
    file = workbook(tmp_path / "t.xlsx", [["path", "age"], ["a.png", "=20*2"]])
    calculated = tmp_path / "calculated.xlsx"
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(calculated, "w") as new:
        for name in old.namelist():
            new.writestr(name, re.sub(rb"<v ?/>|<v></v>", b"<v>40.5</v>", old.read(name)))
    assert read_sheet(calculated).rows == [("a.png", "40.5")]


@pytest.mark.parametrize("content", [b"PK\x03\x04rest", b"\xd0\xcf\x11\xe0" + bytes(600), b"a,b\n"])
def test_what_is_no_workbook_is_refused_with_the_cure(tmp_path, content):
    (tmp_path / "t.xlsx").write_bytes(content)
    with pytest.raises(InputError, match=r"not a readable Excel workbook.*Save it anew as \.xlsx"):
        read_sheet(tmp_path / "t.xlsx")
