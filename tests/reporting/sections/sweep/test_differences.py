"""Paired differences hold the numbers of the comparison, and say where a seed is too few for p."""

from medldr.reporting.pages.sweep import sweep_page
from medldr.reporting.sections.rows import show_p
from medldr.reporting.sections.sweep.details import UNTESTED, difference_table
from medldr.reporting.writers.cells import printed


def test_differences_are_to_the_reference_with_interval_and_both_p(whole):
    columns = whole.results.columns
    table = difference_table(whole.results.study, columns, "auc", "test")
    assert table.columns == ["Method", "Derma_1", "OCT"]
    assert [row.heading for row in table.rows] == [
        "Mixup (oracle)", "LatentDR (SA)", "LatentDR (Pool)", "ERM, half the rate",
    ]  # fmt: skip
    assert table.rows[-1].apart
    assert printed(table.rows[-1].cells[1]).text == "–"
    for row in table.rows:
        for column, cell in zip(columns, row.cells, strict=True):
            numbers = column.estimate("test", "auc", row.heading)
            if numbers is None:
                continue
            paired = column.difference("test", "auc", row.heading)
            value, low, high = paired.estimate.mean, paired.estimate.low, paired.estimate.high
            shown = printed(cell)
            assert shown.value == value
            assert shown.text == f"{value:+.3f}".replace("-", "−")
            assert shown.detail == f"{low:+.3f} to {high:+.3f}".replace("-", "−")
            assert (paired.p is None) == (numbers.n == 1 or "oracle" in row.heading)
            assert (paired.p_holm is None) == (paired.p is None or row.apart)
            known = {"p": paired.p, "Holm": paired.p_holm}
            texts = [f"{name} {show_p(p)}" for name, p in known.items() if p is not None]
            assert shown.extra == ", ".join(texts)


def test_a_single_seed_has_an_interval_but_no_p(sweep):
    layout = {"contrasts": (("mixup", "erm"),)}
    rows = {"erm": 1.0, "mixup": 1.5}
    page = sweep_page(sweep(rows, ("octmnist",), (0,), n=30, layout=layout))
    tables = page.document.section("differences").tables
    assert len(tables) == 2
    for table in tables:  # to the reference, and the pair
        (row,) = table.rows
        for cell in map(printed, row.cells):
            assert cell.value is not None
            assert " to " in cell.detail
            assert cell.extra == ""
        assert table.notes == [UNTESTED]
    found = page.results.columns[0].difference("test", "accuracy", "Mixup")
    assert (found.p, found.seeds, found.finding) == (None, 1, "not compared")
