"""Tables of a user's own: every cell as it was written, or a message that names line and cure."""

import csv
import datetime
import io
import json
import os
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from medldr.data.listing.tables import read_sheet
from medldr.errors import InputError

ROWS = [("p1.png", "0", "Köln"), ("p2.png", "1", "å; 病例, x")]
UNSEEN = "\u200b\u200c\u200d\u2060\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
BLANK = "".join(chr(c) for c in range(sys.maxunicode) if chr(c).isspace()) + UNSEEN
QUICK = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25
)
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16")


def write(path, rows, encoding="utf-8", **dialect):
    text = io.StringIO(newline="")
    csv.writer(text, **dialect).writerows(rows)
    path.write_bytes(text.getvalue().encode(encoding))
    return path


@pytest.fixture
def file(tmp_path):
    def make(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


# ---------------------------------------------------------------- delimited text


@pytest.mark.parametrize(
    ("encoding", "separator", "ends"),
    [("utf-8", ",", "\n"), ("utf-8-sig", ";", "\r\n"), ("utf-16", "\t", "\r")],
)
def test_what_programs_write_reads_alike(tmp_path, encoding, separator, ends):
    rows = [("path", "label", "place"), *ROWS]
    path = write(
        tmp_path / "t.csv", rows, encoding, delimiter=separator, lineterminator=ends, quoting=1
    )
    sheet = read_sheet(path)
    assert sheet.names == ("path", "label", "place")
    assert sheet.rows == ROWS
    assert sheet.lines == [2, 3]
    assert sheet.notes == ()


cells = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=12)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25
)
@given(
    rows=st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=6),
    encoding=st.sampled_from(ENCODINGS),
    separator=st.sampled_from("\t;,"),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC, csv.QUOTE_MINIMAL]),
)
def test_any_text_that_is_written_is_read_back(tmp_path, rows, encoding, separator, quoting):
    rows = [("x", *row) for row in rows]
    path = write(
        tmp_path / "t.csv",
        [("key", "a", "b", "c"), *rows],
        encoding,
        delimiter=separator,
        quoting=quoting,
    )
    assert read_sheet(path).rows == [tuple(cell.strip(BLANK) for cell in row) for row in rows]


def test_words_and_digits_stay_as_they_are(file):
    values = ["007", "NA", "None", "nan", "1e3", "1.0", "TRUE", "-", "null", "2020-01-31"]
    sheet = read_sheet(file("id,v\n" + "".join(f"{n},{v}\n" for n, v in enumerate(values))))
    assert sheet.column("v") == values


def test_columns_in_braces_are_joined_and_empty_where_one_is(file):
    sheet = read_sheet(file("site,file,{x}\na,1.png,y\nb,,z\n"))
    assert sheet.column("img/{site}/{file}") == ["img/a/1.png", ""]
    assert sheet.column("{x}") == ["y", "z"]
    with pytest.raises(InputError, match=r"no column 'fil'. Did you mean 'file'"):
        sheet.require("img/{site}/{fil}", "--path")


def test_blanks_around_cells_are_left_out_and_counted(file):
    sheet = read_sheet(file("id , v\n\u00a0a, b \nc,\u200bd\ne, \n"))
    assert sheet.names == ("id", "v")
    assert sheet.rows == [("a", "b"), ("c", "d"), ("e", "")]
    assert sheet.notes == ("blanks around 4 cells of t.csv are left out (lines 2, 3, 4)",)


def test_lines_are_those_of_the_file(file):
    sheet = read_sheet(file('id,v\n\n"a\nb",1\n,\nc,2\n'))
    assert sheet.rows == [("a\nb", "1"), ("c", "2")]
    assert [sheet.at(row) for row in range(2)] == ["line 3", "line 6"]


def test_what_separates_is_what_the_header_has_most_of(file):
    assert read_sheet(file("a;b, c;d\n1;2;3\n")).names == ("a", "b, c", "d")
    assert read_sheet(file('"a;x";b\n1;2\n')).names == ("a;x", "b")
    assert read_sheet(file("only\n1\n")).names == ("only",)


def test_the_separator_that_excel_notes_is_obeyed(file):
    sheet = read_sheet(file("sep=|\na|b\n1|2\n"))
    assert (sheet.names, sheet.rows, sheet.lines) == (("a", "b"), [("1", "2")], [3])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b\n", r"names its columns \(a, b\), but has no rows"),
        ("a,b\n,\n", "has no rows"),
        ("a,a\n1,2\n", "the column 'a' appears twice"),
        (",a\n0,1\n", r"column 1 of 2 has no name .*to_csv\(\.\.\., index=False\)"),
        ("a,\n0,1\n", "column 2 of 2 has no name .*A comma at the end"),
        ("a,b\n1,2\n3\n", "line 3: 1 values, but the header has 2 columns. Write"),
        ("a;b\n1\n2;3\n4;5;6\n7\n", r"line 2: 1 .*\(3 lines in all, also 4, 5\).*a semicolon in"),
        ('a,b\n1,"2\n', "line 2: its quotes do not match"),
        ('a,b\n1,"2"3\n', "line 2: its quotes do not match"),
        ("a,b\n1,männlich\n".encode("cp1252"), r"line 2: byte 4 of the line, 0xE4 \('ä' in Win"),
        ("a,b\n1,2\n".encode("utf-16-le"), "null bytes, as UTF-16 without a byte-order mark"),
        ("a,b\n1,2\n".encode("utf-16")[:-1], "UTF-16 text breaks off"),
        (b"PK\x03\x04rest", r"an Excel workbook; .*let the name of a workbook end in \.xlsx"),
        (b"PAR1rest", "a Parquet file"),
        (b"\x1f\x8brest", "gzip"),
    ],
)
def test_what_is_no_table_is_one_message(file, content, said):
    path = file(content)
    with pytest.raises(InputError, match=f"(?s)^data.file: .*{said}") as refused:
        read_sheet(path, "data.file")
    assert str(path) in str(refused.value)


def test_an_encoding_that_is_not_read_says_how_to_save_it(file):
    with pytest.raises(InputError, match="'CSV UTF-8'"):
        read_sheet(file("a\nä\n".encode("latin-1")))


@pytest.mark.parametrize("name", ["t.XLS", "t.ods", "t.json"])
def test_other_kinds_are_told_to_be_saved_as_text(file, name):
    with pytest.raises(InputError, match=r"Save it as \.xlsx or as 'CSV UTF-8'"):
        read_sheet(file("a", name))


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv cannot be read: there is no such file"):
        read_sheet(tmp_path / "none.csv")


# ---------------------------------------------------------------- JSON lines


def test_json_lines_keep_the_digits_of_numbers(file):
    lines = [
        '{"path": "a.png", "n": 7, "x": 1.0, "y": 1e400, "t": true, "z": null}',
        "",
        '{"path": "b.png", "n": 12345678901234567890, "more": "007\u2028x", "x": NaN}\r',
    ]
    sheet = read_sheet(file("\n".join(lines), "t.jsonl"))
    assert sheet.names == ("path", "n", "x", "y", "t", "z", "more")
    assert sheet.rows == [
        ("a.png", "7", "1.0", "1e400", "true", "", ""),
        ("b.png", "12345678901234567890", "", "", "", "", "007\u2028x"),
    ]
    assert sheet.lines == [1, 3]


@given(
    rows=st.lists(
        st.fixed_dictionaries({"k": st.just("x"), "a": cells, "b": st.integers() | st.none()}),
        min_size=1,
        max_size=5,
    )
)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25
)
def test_any_json_lines_are_read_back(tmp_path, rows):
    path = tmp_path / "t.ndjson"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    sheet = read_sheet(path)
    assert sheet.column("a") == [row["a"].strip(BLANK) for row in rows]
    assert sheet.column("b") == ["" if row["b"] is None else str(row["b"]) for row in rows]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2 is not JSON"),
        ("[1]", "line 2 is not an object"),
        ("3", "line 2 is not an object"),
        ('{"a": [1]}', "line 2: the value of 'a' is itself a list or an object"),
        ('{"a": {"b": 1}}', "line 2: the value of 'a' is itself"),
        ('{"a": 1, "a": 2}', "line 2: 'a' appears twice"),
    ],
)
def test_a_line_that_is_no_flat_object_is_named(file, line, said):
    with pytest.raises(InputError, match=said):
        read_sheet(file('{"a": 1}\n' + line, "t.jsonl"))


# ---------------------------------------------------------------- Parquet


@pytest.fixture
def parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def make(columns, name="t.parquet"):
        path = tmp_path / name
        parquet.write_table(pyarrow.table(columns), path)
        return path

    return make


def test_parquet_is_text_too(parquet):
    import pyarrow as pa

    day = datetime.datetime(2020, 1, 31)
    path = parquet(
        {
            "text": ["007", "NA", None],
            "int": pa.array([1, None, 3]),
            "whole": pa.array([1.0, float("nan"), 3.0]),
            "part": pa.array([1.0, 0.5, None]),
            "single": pa.array([0.1, 2.5, None], pa.float32()),
            "kind": pa.array(["a", "b", "a"]).dictionary_encode(),
            "true": [True, None, False],
            "day": pa.array([day.date(), None, day.date()]),
            "midnight": pa.array([day, None, day]),
            "moment": pa.array([day, None, day.replace(hour=7)]),
        }
    )
    sheet = read_sheet(path)
    found = {name: sheet.column(name) for name in sheet.names}
    assert found == {
        "text": ["007", "NA", ""],
        "int": ["1", "", "3"],
        "whole": ["1", "", "3"],
        "part": ["1.0", "0.5", ""],
        "single": ["0.1", "2.5", ""],
        "kind": ["a", "b", "a"],
        "true": ["true", "", "false"],
        "day": ["2020-01-31", "", "2020-01-31"],
        "midnight": ["2020-01-31", "", "2020-01-31"],
        "moment": ["2020-01-31T00:00:00", "", "2020-01-31T07:00:00"],
    }
    assert sheet.at(2) == "row 3"


def test_a_frame_that_pandas_saved_is_read(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"path": ["a", "b"], "label": pd.Categorical(["x", "y"])})
    frame["when"] = pd.to_datetime(["2020-01-31 12:30", None])
    frame.to_parquet(tmp_path / "t.parquet")
    sheet = read_sheet(tmp_path / "t.parquet")
    assert sheet.names == ("path", "label", "when")
    assert sheet.rows == [("a", "x", "2020-01-31T12:30:00"), ("b", "y", "")]


def test_a_parquet_column_of_lists_is_left_out(parquet):
    assert read_sheet(parquet({"v": [[1], [2]], "a": ["x", "y"]})).names == ("a",)


def test_a_broken_parquet_file_is_named(file, tmp_path):
    pytest.importorskip("pyarrow")
    os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(InputError, match=r"pipe\.parquet is a pipe, not a file"):
        read_sheet(tmp_path / "pipe.parquet")
    with pytest.raises(InputError, match=r"t\.parquet is not a readable Parquet file"):
        read_sheet(file(b"PAR1 and no more", "t.parquet"))


def test_parquet_without_its_package_says_what_to_install(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(InputError, match=r"pip install 'medldr\[parquet\]'"):
        read_sheet(file(b"PAR1", "t.parquet"))
