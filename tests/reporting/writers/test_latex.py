"""LaTeX: tables hold the numbers, any name can be printed, the document compiles as it is."""

import shutil
import subprocess

import pytest

from medldr.evaluation.intervals.estimate import Estimate
from medldr.reporting.document import Document, Verdict
from medldr.reporting.read.run import rate_of
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.writers.latex import (
    fitting,
    latex_document,
    latex_table,
    latex_tables,
)

AWKWARD = '\\x{}$&#%_^~<>|"[*] -1 – — − ± × … “a” ’ ≤ † µ α ω é ą ß ł ő İ 骨 ½ ﬁ \u200b a\tb'
needs_latex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here")


def compile_(folder, name):
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", name],
        cwd=folder, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    log = (folder / name).with_suffix(".log").read_text(errors="replace")
    assert "LaTeX Error" not in log
    assert "Missing character" not in log
    return log


@needs_latex
def test_the_report_compiles_as_it_is_and_nothing_runs_over_the_page(whole, tmp_path):
    (tmp_path / "report.tex").write_text(latex_document(whole.document), encoding="utf-8")
    (tmp_path / "table.tex").write_text(latex_tables(whole.document), encoding="utf-8")
    log = compile_(tmp_path, "report.tex")
    assert "Overfull" not in log


@needs_latex
def test_the_tables_need_booktabs_alone_and_print_any_name(tmp_path):
    table = Table(AWKWARD, ["Method", AWKWARD])
    cell = Cell(AWKWARD, detail=AWKWARD, extra="[1]", mark=table.sign(AWKWARD), style="best")
    rows = [Row(AWKWARD, [cell]), Row("[x]", [cell]), Row("* y", [Cell("2")], apart=True)]
    table.rows = rows
    text = latex_table(table, "tab:x")
    (tmp_path / "t.tex").write_text(
        "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n"
        f"{text}\n\\ref{{tab:x}}\\end{{document}}\n",
        encoding="utf-8",
    )
    compile_(tmp_path, "t.tex")


def test_the_other_half_of_a_pair_stands_where_the_number_of_runs_is_usual():
    cells = [Cell(Estimate(0.5, sd=0.1, n=n), extra=f"specificity {n}") for n in (3, 3, 2)]
    table = Table("t", ["Method", "a"], [Row(str(k), [cell]) for k, cell in enumerate(cells)])
    lines = latex_table(table, "tab:x").splitlines()
    small = [line for line in lines if "scriptsize" in line]
    texts = ["specificity 3", "specificity 3", "n 2; specificity 2"]
    assert small == [rf" & {{\scriptsize {text}}} \\" for text in texts]


def test_the_grid_has_marks_rules_and_every_number(whole, grids_of):
    text = latex_tables(whole.document)
    first = text.split(r"\end{table}")[0]
    assert r"Method & Derma\_1 & OCT & Average \\" in first
    assert r"\toprule" in first
    assert first.count(r"\midrule") == 2  # below the heading, and above the control
    assert first.index(r"\bottomrule") > first.index("ERM, half the rate")
    study, grid = whole.results.study, grids_of(whole)["test", "accuracy"]
    for row, cells in grid.cells.items():
        half = rate_of(study.files(row)) != rate_of(study.files("ERM"))
        sign = r"\textsuperscript{a}" if half else ""  # one text for all rows at half the rate
        line = next(x for x in first.splitlines() if x.startswith(f"{row}{sign} &"))
        for cell, shown in zip(cells, line.removesuffix(r" \\").split(" & ")[1:], strict=False):
            if cell is None:
                assert shown == "not run"
                continue
            number = f"{100 * cell.mean:.1f}"
            marked = {"best": rf"\textbf{{{number}}}", "second": rf"\underline{{{number}}}"}
            spread = "" if cell.sd is None else rf" $\pm$ {100 * cell.sd:.1f}"
            assert shown == marked.get("".join(cell.marks), number) + spread
    assert r"\textsuperscript{a} Trained differently from the reference (its value" in first
    assert r"n 2 of 3}" in first
    assert r", n 3}" not in first  # that is the usual number, which the note gives
    assert r"Mean $\pm$ SD over seeds ($n = 3$ unless noted)" in first
    cell = Cell(Estimate(1.0, 2.0, n=3))
    derma = latex_table(Table("t", ["a", "b"], [Row("x", [cell])]), "l")
    assert "($n = 3$)" in derma
    assert r"\scriptsize n 3" not in derma
    assert "Mixup (oracle)" in first
    assert "ORACLE SELECTION" in text.splitlines()[2]
    assert "DOE_JANE" not in text + latex_document(whole.document)


def test_the_document_begins_with_its_verdict():
    verdict = Verdict("not clear", "No difference, +3 % (CI −2 to +8).", more=["One run failed."])
    body = latex_document(Document("t", "k", "2 methods", verdict=verdict)).split("maketitle\n")[1]
    assert body.startswith(
        r"\noindent \textbf{Not clear.} No difference, +3 \% (CI $-$2 to +8).\par\medskip"
        "\n\\noindent One run failed."
    )


def test_an_interval_stands_with_its_own_number():
    cell = Cell(Estimate(1.0, low=0.0, high=2.0, n=1))
    rows = [Row("x", [cell]), Row("y", [cell]), Row("z", [cell], apart=True)]
    lines = latex_table(Table("t", ["a", "b"], rows), "l").splitlines()
    first, last = lines.index(r"\midrule") + 1, lines.index(r"\bottomrule")
    small = r" & {\scriptsize 0.000 to 2.000} \\"
    assert lines[first:last] == [
        r"x & 1.000 \\", small, r"\addlinespace", r"y & 1.000 \\", small,
        r"\midrule", r"z & 1.000 \\", small,
    ]  # fmt: skip
    plain = latex_table(Table("t", ["a", "b"], [Row(name, [Cell("1")]) for name in "xy"]), "l")
    assert "addlinespace" not in plain


def test_each_table_says_what_its_numbers_rest_on(whole, grids_of):
    tables = latex_tables(whole.document).split(r"\begin{table}")[1:]
    shown = [t for t in tables if "ours and published" not in t]
    assert len(shown) == 6  # two grids, two of differences, two of pairs
    for table in shown:
        assert "Derma\\_1: 60 images of 30 groups (patients, slides)" in table
        assert "2 to 3 seeds per method" in table
        assert "100 bootstrap draws of test groups (patients, slides)" in table
        assert (r"\textbf" in table) == ("Bold: the best number" in table)


def test_small_print_below_a_number_counts_for_the_width():
    cell = Cell(Estimate(0.5), extra="specificity 85.0 (75.0 to 95.0)")
    table = Table("t", ["Method", *"abcdefgh"], [Row("x", [cell] * 8)])
    assert [len(part.columns) for part in fitting(table)] == [6, 4]
    bare = Table("t", ["Method", *"abcdefgh"], [Row("x", [Cell(Estimate(0.5))] * 8)])
    assert len(fitting(bare)) == 1


def test_a_table_too_wide_for_a_page_is_printed_in_parts_that_hold_every_cell_once():
    names = [f"terra_incognita, location_{n}" for n in range(22)]
    cells = [Cell(str(n), mark="a") for n in range(22)]
    table = Table("Accuracy", ["Method", *names], footnotes=[("a", "few groups")])
    table.rows = [Row("ERM", cells, mark="a", apart=True)]
    parts = fitting(table)
    assert len(parts) > 3
    assert [name for part in parts for name in part.columns[1:]] == names
    assert [cell.content for part in parts for cell in part.rows[0].cells] == list(
        map(str, range(22))
    )
    for part in parts:
        assert (part.columns[0], part.rows[0].heading, part.rows[0].apart) == (
            "Method",
            "ERM",
            True,
        )
        assert sum(map(len, part.columns)) < 160
        assert part.footnotes == table.footnotes
    assert fitting(Table("Accuracy", ["Method", *names[:4]])) == [
        Table("Accuracy", ["Method", *names[:4]])
    ]
