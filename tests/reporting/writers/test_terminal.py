"""The terminal shows every number of the grids within 80 columns, and what is missing."""

import io

import pytest
from rich.console import Console

from medldr.reporting import SweepReport, print_sweep
from medldr.reporting.pages.sweep import sweep_page, terminal_page
from medldr.reporting.writers.terminal import terminal_document


def printed(page, width=80, *, styled=True):
    out = Console(file=io.StringIO(), width=width, highlight=False)
    out.print(terminal_document(terminal_page(page, styled=styled), width))
    return out.file.getvalue()


@pytest.mark.parametrize("width", [80, 50])
def test_every_number_fits(whole, grids_of, width):
    text = printed(whole, width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    grids = grids_of(whole)
    for cells in grids["test", "accuracy"].cells.values():
        for cell in cells:
            if cell is not None and cell.sd is not None:
                assert f"{100 * cell.mean:.1f} ±{100 * cell.sd:.1f}" in text


def test_missing_runs_controls_and_the_oracle_are_told(whole):
    text = printed(whole)
    words = " ".join(text.split())
    assert "(2/3)" in text
    assert "controls" in text
    assert "ORACLE SELECTION in Mixup (oracle)" in words
    assert "failed: octmnist_mixup-" in words
    assert "InputError: scans/DOE_JANE.nii: item MRN-77test00001 of batch_size 0" in words
    assert "3 not run; octmnist_erm_half_lr-" in words
    assert "-s0 and 2 more" in words
    assert "sweep status" not in words  # without its folder there is nothing to point at


def test_one_set_has_its_measures_side_by_side(sweep):
    domains = {"domains": ("a", "b", "c"), "held_out": ("c",)}
    folder = sweep({"erm": 1.0, "mixup": 1.5}, ("phantom_fracture",), n=30, **domains)
    page = sweep_page(folder)
    text = printed(page)
    assert text.count("\nERM") == 1  # all four numbers stand in one line
    assert max(map(len, text.splitlines())) <= 80
    assert "phantom_fracture" in text
    assert "seen" in text
    result = page.document.section("result").tables
    assert [table.columns for table in result] == [
        ["Method", "Accuracy (%), test", "AUC, test", "Accuracy (%), test, seen domains",
         "AUC, test, seen domains"],
    ]  # fmt: skip
    assert len(page.document.section("differences").tables) == 1


def test_what_is_printed_names_the_page_and_shows_no_styles_to_a_file(whole, whole_folder, capsys):
    print_sweep(SweepReport(whole, whole_folder.report, ()))
    said = capsys.readouterr().out
    assert "Accuracy (%): Test" in said
    assert said.endswith(f"page: {whole_folder.report}\n")
    assert "bold" not in said  # what is captured shows no styles


@pytest.mark.parametrize("styled", [True, False])
def test_the_legend_speaks_only_of_what_is_seen(sweep, whole, styled):
    def legend(page):
        return " ".join(printed(page, styled=styled).split())

    many = legend(whole)
    assert "mean ±SD over seeds; (n/planned) where runs are missing" in many
    alone = legend(sweep_page(sweep({"erm": 1.0, "mixup": 2.0}, ("octmnist",), (0,), n=30)))
    assert "SD" not in alone
    assert "planned" not in alone
    assert ("Bold: best, or not clearly worse" in many) is styled
    assert "Bold" not in alone
