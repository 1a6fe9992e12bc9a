"""The grid as a table: rows in order, reasons as footnotes, and the rule that chose the weights."""

from types import SimpleNamespace

from medldr.evaluation.comparison.comparison import Comparison, Method
from medldr.evaluation.intervals.estimate import Estimate
from medldr.folders.run_record import Selection
from medldr.folders.sweep_record import Layout, Member
from medldr.reporting.read.study import Entry, Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.grid import Grid
from medldr.reporting.sections.sweep.grid import grid_table, rules_text
from medldr.reporting.writers.cells import printed


def test_controls_stand_last_and_apart_and_an_oracle_says_so(whole, grids_of):
    table = grid_table(whole.results.study, grids_of(whole)["test", "accuracy"])
    assert [row.heading for row in table.rows] == [
        "ERM", "Mixup (oracle)", "LatentDR (SA)", "LatentDR (Pool)", "ERM, half the rate",
        "Always “nondisplaced” (most frequent)",
    ]  # fmt: skip
    assert [row.apart for row in table.rows] == [False] * 4 + [True] * 2
    tags = [("reference",), ("oracle",), (), (), ("control",), ()]
    assert [row.tags for row in table.rows] == tags
    assert table.columns == ["Method", "Derma_1", "OCT", "Average"]
    assert printed(table.rows[1].cells[1]).extra.endswith("n 2 of 3")
    missing = printed(table.rows[4].cells[1])
    assert (missing.text, missing.style) == ("not run", "missing")
    # Rows that lack a run have no average.
    assert [printed(table.rows[n].cells[2]).text for n in (1, 4)] == ["–", "–"]


def test_undefined_numbers_and_footnotes_keep_their_reasons():
    entries = tuple(Entry(Member("x-s0", "x", 0, "x", name), "not run") for name in "abc")
    study = Study("s", Layout("S", reference="x"), entries, {}, {})
    noted = Comparison("multi-class", "x", (Method("x", footnotes=("precision differs",)),), {})
    columns = [
        Column("a", None, {"x": 2}, {}), Column("b", noted, {"x": 2}, {}), Column("c", None, {}, {})
    ]  # fmt: skip
    cells = [
        Estimate(n=2, planned=2, reason="only one class in the labels"),
        Estimate(0.5, 0.1, low=0.4, high=0.6, n=2, planned=2),
        None,
    ]
    table = grid_table(study, Grid("accuracy", "test", columns, {"x": cells}, {}))
    undefined, footnoted, absent = table.rows[0].cells
    shown = printed(undefined)
    assert (shown.text, shown.reason) == ("n/a", "only one class in the labels")
    assert dict(table.footnotes)[undefined.mark] == "only one class in the labels"
    assert dict(table.footnotes)[table.rows[0].mark] == "precision differs"
    assert footnoted.mark == ""  # what is said of all numbers of a row stands at its heading
    shown = printed(footnoted)
    assert (shown.text, shown.detail, shown.extra) == ("50.0", "40.0 to 60.0", "SD 10.0, n 2")
    assert (printed(absent).text, printed(absent).style) == ("–", "")


def study_of(**rules):
    """A study of one column; a rule is its name and the split that it read, None no result."""

    member = SimpleNamespace(column="x")

    def entries(row, column=None):
        rule = rules[row]
        if rule is None:
            return [SimpleNamespace(files=None, member=member)]
        selection = Selection(**dict(zip(("rule", "split"), rule, strict=True)))
        evaluated = SimpleNamespace(selection=selection)
        return [SimpleNamespace(files=SimpleNamespace(evaluation=evaluated), member=member)]

    return SimpleNamespace(rows=list(rules), of=entries), [SimpleNamespace(name="x")]


def test_one_rule_is_one_sentence_whatever_has_no_result():
    rule = ("val_accuracy", "val")
    found = rules_text(*study_of(erm=rule, mixup=None, fish=rule))
    assert found == ["Weights of each run: the best validation accuracy."]
    assert rules_text(*study_of(erm=None)) == []


def test_a_rule_that_fell_back_to_the_seen_domains_says_so():
    assert rules_text(*study_of(erm=("val_auc", "id_val"))) == [
        "Weights of each run: the best seen-domain validation AUC."
    ]
