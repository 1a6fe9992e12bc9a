"""Rows that are left out go by their ids, by which a manifest of splits knows them."""

from medldr.datasets._table.columns import Columns
from medldr.datasets._table.describe import describe


def test_a_row_without_a_file_is_left_out_under_its_id(tmp_path):
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(b"x")
    table = tmp_path / "t.csv"
    table.write_text("path,label,name\na.png,x,one\nb.png,y,two\nc.png,y,three\n")
    by_id = describe(table, None, Columns(id="name"), on_bad_file="skip")
    assert [file.path for file in by_id.skipped] == ["three"]
    by_path = describe(table, None, Columns(), on_bad_file="skip")
    assert [file.path for file in by_path.skipped] == ["c.png"]
