"""What a command ends with fits a small terminal: the verdict first, whatever the sweep."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from medldr.folders.sweep_record import SweepFolder
from medldr.metrics import metric_facts
from medldr.reporting.document import Banner, Bullets, Document, Paragraph, Section, Verdict
from medldr.reporting.pages.sweep import sweep_page, terminal_page
from medldr.reporting.table import CHANCE, Cell, Estimate, Row, Table
from medldr.reporting.writers.terminal import LINES, WIDTH, print_document

FROZEN = Path(__file__).parents[2] / "frozen"
SWEEPS = sorted(path.parent.parent.name for path in FROZEN.glob("*/folder/sweep.json"))


def printed(document, lines=LINES - 1):
    out = Console(width=WIDTH, file=io.StringIO(), highlight=False)
    print_document(document, out, lines=lines)
    return out.file.getvalue().splitlines()


def table(rows, columns, long=0):
    """Methods by hospitals: the reference, methods, an oracle, a control, guessing, the average."""
    numbers = [Cell(Estimate(0.5, sd=0.1), metric_facts("accuracy")) for _ in range(columns)]
    name = "method" + long * " of a long name"
    kinds = [{"style": "reference"}, *[{}] * (rows - 4), {"tags": ("oracle",)},
             {"tags": ("control",), "apart": True}, {"style": CHANCE, "apart": True}]  # fmt: skip
    made = [Row(f"{name} {n:02d}", numbers, mark="a", **kind) for n, kind in enumerate(kinds)]
    places = [f"hospital {n}" + long * ", scanner 3" for n in range(1, columns)]
    return Table(
        "Accuracy", ["Method", *places, "Average"], made, [("a", "A footnote.")], ["A note."]
    )


def page(shown, named="", sentences=0, words=8):
    more = [f"Sentence {n} {' word' * words}." for n in range(sentences)]
    verdict = Verdict("not clear", f"No clear difference: {named}.{' Word' * words}.", more=more)
    banners = [Banner("warning", more[n]) for n in range(min(3, sentences))]
    texts = [Paragraph("A paragraph."), Bullets(more, "warnings")]
    return Document("", "", "", banners, [Section("s", "", "", [shown, *texts])], verdict)


@pytest.mark.parametrize(
    ("size", "long", "said"),
    [((4, 1), 0, (9, 90)), ((9, 3), 3, (2, 30)), ((9, 60), 0, (9, 8)), ((40, 25), 3, (20, 90))],
)
def test_any_document_fits_below_its_verdict(size, long, said):
    shown = table(*size, long)
    named = "; ".join(row.heading for row in shown.rows[1:-3])
    for about in ("", named):
        lines = printed(page(shown, about, *said))
        assert len(lines) <= LINES - 1
        assert max(map(len, lines)) <= WIDTH
        assert lines[0].startswith("Not clear. No clear difference:")


def test_what_the_verdict_names_stays_and_controls_and_oracles_go_first():
    shown = table(30, 3)
    text = "\n".join(printed(page(shown, "method 20 and method 25")))
    kept = [n for n in range(30) if f"\nmethod {n:02d} " in text]
    assert {0, 20, 25, 29} < set(kept)  # with the reference and guessing
    assert not {27, 28}.intersection(kept)
    assert f"and {30 - len(kept)} more rows on the page" in text
    others = [n for n in kept if n not in (0, 20, 25, 29)]
    assert others == list(range(1, len(others) + 1))
    assert "footnote" not in text
    assert "method 00 a" not in text


def test_the_average_stays_and_the_columns_left_out_are_counted():
    lines = printed(page(table(5, 30)))
    assert lines[2].startswith("Accuracy (")
    heads = lines[3].split("hospital ")
    assert heads[-1].endswith("Average")
    assert lines[2] == f"Accuracy ({30 - len(heads)} more columns on the page)"
    short = printed(page(table(5, 3)))
    assert not any("more column" in line for line in short)
    assert "A note." in short  # where there is room


def test_at_most_three_sentences_stand_beside_the_verdict():
    document = page(table(4, 1), sentences=5)
    lines = printed(document)
    assert [line[:10] for line in lines[1:4]] == ["Sentence 0", "Sentence 1", "Sentence 2"]
    left = [block for block in document.sections[0].blocks[2].items if block not in lines]
    beside = lines[4 : 4 + len(document.banners)]
    assert beside == [banner.text for banner in document.banners]
    assert lines[-1] == f"and {2 + len(left)} more sentences on the page"


def test_the_longest_table_is_cut_to_the_lines_there_are():
    rows = [Row(f"item {n}", [Cell(n)]) for n in range(5000)]
    section = Section("s", "", "", [Table("Decisions", ["Item", "n"], rows, intervals=False)])
    verdict = Verdict("look first", "One thing.")
    lines = printed(Document("a run", "", sections=[section], verdict=verdict), lines=12)
    assert len(lines) == 12
    assert lines[:2] == ["Look first. One thing.", "a run"]
    assert lines[-2].split() == ["item", "5", "5"]
    assert lines[-1] == "and 4,994 more rows on the page"


@pytest.mark.slow  # reads all runs of a sweep
@pytest.mark.parametrize("name", SWEEPS)
def test_every_frozen_sweep_fits_with_its_verdict_first(name):
    found = sweep_page(SweepFolder(FROZEN / name / "folder"))
    for styled in (False, True):
        lines = printed(terminal_page(found, f"runs/{name}", styled=styled))
        assert len(lines) <= LINES - 1
        assert max(map(len, lines)) <= WIDTH
        assert lines[0].startswith(found.document.verdict.headline)
        (grid,) = found.document.section("result").tables
        assert ("Average" in grid.columns) == ("Average" in "".join(lines))
