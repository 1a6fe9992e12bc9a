"""Tables beside the grid hold the numbers of the comparison, and say what is missing and why."""

import pytest
from medldr.reporting.sections.comparison_tables import gap_table, show_p

from medldr.reporting.document import Cell, Row, Table, side_by_side
from medldr.reporting.pages.sweep import sweep_content
from medldr.reporting.sections import sweep_tables


def test_differences_are_to_the_reference_with_interval_and_both_p(whole):
    table = sweep_tables.difference_table(whole.study, whole.columns, "auc", "test")
    assert table.columns == ["Method", "Derma_1", "OCT"]
    assert [row.heading for row in table.rows] == [
        "Mixup (oracle)", "LatentDR (SA)", "LatentDR (Pool)", "ERM, half the rate",
    ]  # fmt: skip
    assert table.rows[-1].apart
    assert table.rows[-1].cells[1].text == "–"
    for row in table.rows:
        for column, cell in zip(whole.columns, row.cells, strict=True):
            numbers = column.row("test", "auc", row.heading)
            if numbers is None:
                continue
            paired = numbers["difference"]
            assert cell.value == paired["value"]
            assert cell.text == f"{paired['value']:+.3f}".replace("-", "−")
            span = f"{paired['low']:+.3f} to {paired['high']:+.3f}"
            assert cell.detail == span.replace("-", "−")
            both = f"p {show_p(paired['p'])}, Holm {show_p(paired['p_holm'])}"
            assert cell.extra == ("" if numbers["runs"] == 1 else both)


def test_pairs_are_one_minus_the_other(whole):
    table = sweep_tables.contrast_table(whole.study, whole.columns, "accuracy", "test")
    assert [row.heading for row in table.rows] == [
        "LatentDR (Pool) − ERM, half the rate", "LatentDR (Pool) − LatentDR (SA)",
    ]  # fmt: skip
    one, other = (
        whole.columns[0].row("test", "accuracy", row)["mean"]
        for row in ("LatentDR (Pool)", "ERM, half the rate")
    )
    assert table.rows[0].cells[0].value == pytest.approx(one - other, abs=1e-12)
    assert table.rows[0].cells[1].text == "–"
    assert table.rows[1].cells[1].value is not None


@pytest.mark.usefixtures("quick")
def test_a_single_seed_has_an_interval_but_no_p(sweep):
    layout = {"contrasts": (("mixup", "erm"),)}
    rows = {"erm": 1.0, "mixup": 1.5}
    content = sweep_content(sweep(rows, ("octmnist",), (0,), n=30, layout=layout))
    for table in content.section("differences").tables:  # to the reference, and the pair
        (row,) = table.rows
        for cell in row.cells:
            assert cell.value is not None
            assert " to " in cell.detail
            assert cell.extra == ""
        assert table.notes == [sweep_tables.SINGLE]
    found = content.columns[0]
    assert found.row("test", "accuracy", "Mixup")["difference"]["p"] is not None
    assert found.fewest_seeds("Mixup", "ERM") == 1
    assert found.fewest_seeds("nobody") == 0


def test_recall_has_classes_down_and_methods_across(whole):
    column = whole.columns[1]
    table = sweep_tables.recall_table(whole.study, column, "test")
    assert table.columns == [
        "Class", "Images", "ERM", "Mixup (oracle)", "LatentDR (SA)", "LatentDR (Pool)",
    ]  # fmt: skip
    assert sum(row.cells[0].value for row in table.rows) == 60
    for row in table.rows:
        for method, cell in zip(table.columns[2:], row.cells[1:], strict=True):
            (found,) = [
                r for r in column.result["classes"]
                if (r["split"], r["class"], r["method"]) == ("test", row.heading, method)
            ]  # fmt: skip
            assert cell.value == found["mean"]


def test_sets_are_described_by_their_runs(whole):
    table = sweep_tables.sets_table(whole.study, whole.columns)
    derma, oct_ = table.rows
    assert [cell.text for cell in derma.cells] == [
        "dermamnist", "ResNet-18, ACS convolutions, width × 0.125", "medmnist-28",
        "Test, n = 60", "10 of 10",
    ]  # fmt: skip
    assert oct_.cells[-1].text == "7 of 10"


def test_tables_side_by_side_keep_rows_footnotes_and_what_is_apart():
    first, second = Table("one", ["Method", "x"]), Table("two", ["Method", "x"])
    first.rows = [
        Row("a", [Cell("1", mark=first.sign("only in one"))]),
        Row("c", [Cell("3")], apart=True),
    ]
    second.rows = [Row("b", [Cell("5", mark=second.sign("only in two"))]), Row("a", [Cell("4")])]
    table = side_by_side("both", [("One", first), ("Two", second)])
    assert table.columns == ["Method", "One", "Two"]
    texts = {row.heading: [cell.text for cell in row.cells] for row in table.rows}
    assert texts == {"a": ["1", "4"], "b": ["–", "5"], "c": ["3", "–"]}
    assert [row.heading for row in table.rows] == ["a", "b", "c"]
    notes = dict(table.footnotes)
    assert notes[table.rows[0].cells[0].mark] == "only in one"
    assert notes[table.rows[1].cells[1].mark] == "only in two"


def test_domains_end_with_the_controls_as_the_main_tables_do(whole):
    result = next(column.result for column in whole.columns if column.result is not None)
    names = [method["method"] for method in result["methods"]]
    last = names[1]
    ordered = sweep_tables.controls_last(result, [last])
    assert [method["method"] for method in ordered["methods"]] == [
        *(name for name in names if name != last),
        last,
    ]
    assert [method["control"] for method in ordered["methods"]][-1]
    assert [method["method"] for method in result["methods"]] == names
    rows = [
        {"metric": "accuracy", "method": name, "seen": "id_val", "value": 0.1} for name in names
    ]
    table = gap_table({**ordered, "gaps": rows})
    assert table.rows[-1].heading == last
    assert (table.rows[-1].tags[-1], table.rows[-1].apart) == ("control", True)
