"""Tables of left-out domains hold each run's own numbers, and say which runs they lack."""

import statistics
from collections import Counter
from dataclasses import replace

import pytest

from medldr.evaluation.intervals.estimate import spread
from medldr.folders.sweep_record import read_sweep, write_sweep
from medldr.reporting.document import Paragraph
from medldr.reporting.pages.sweep import sweep_page
from medldr.reporting.read.sweep import read_study
from medldr.reporting.results.frame import COLUMNS, score_frame
from medldr.reporting.results.held_out import held_out_sets, mean_over_domains
from medldr.reporting.sections.held_out import held_out_table, sets_table
from medldr.reporting.sections.sweep.csv_lines import csv_lines
from medldr.reporting.writers.cells import printed
from medldr.reporting.writers.latex import latex_tables
from medldr.reporting.writers.markdown import markdown_page

EACH = [("art_painting",), ("cartoon",), ("photo",), ("sketch",)]
LEVEL = {"art_painting": 0.8, "cartoon": 0.75, "photo": 0.95, "sketch": 0.7}
GAIN = {"erm": 0.0, "latentdr_pool": 0.01}


def reach(row):
    """Accuracy on target_in: a level per domain, seeds 0.02 apart, pool 0.01 above."""
    return lambda domains, seed: LEVEL[domains[0]] + 0.02 * (seed - 1) + GAIN[row]


ROWS = {row: reach(row) for row in GAIN}


def only(folder):
    (found,) = held_out_sets(read_study(folder))
    return found


def test_a_mean_is_over_domains_within_a_seed_and_its_spread_over_seeds():
    found = spread([0.80, 0.82, 0.84])
    assert 100 * found.mean == pytest.approx(82.0)
    assert 100 * found.se == pytest.approx(0.943, abs=5e-4)
    assert 100 * found.sd == pytest.approx(2.0)
    assert (spread([0.5]).sd, spread([0.5]).se) == (None, None)
    with pytest.raises(ValueError, match="at least one number"):
        spread([])


def test_both_targets_by_domain_with_their_mean(held_sweep):
    found = only(held_sweep(ROWS, EACH))
    assert found.domains == list(LEVEL)
    assert found.rows == ["ERM", "LatentDR (Pool)"]
    for target, lower in (("target_in", 0.0), ("target_all", 0.02)):
        table = held_out_table(found, target)
        assert table.columns == ["Method", *LEVEL, "Mean"]
        for row, gain in zip(table.rows, GAIN.values(), strict=False):
            *cells, mean = row.cells
            for cell, level in zip(cells, LEVEL.values(), strict=True):
                values = [level + 0.02 * (seed - 1) + gain - lower for seed in range(3)]
                assert cell.estimate.mean == pytest.approx(statistics.mean(values))
                assert cell.estimate.sd == pytest.approx(statistics.stdev(values))
                assert cell.estimate.count == "n 3"
            assert mean.estimate.mean == pytest.approx(0.8 + gain - lower)
            low, high = mean.estimate.low, mean.estimate.high
            if target == "target_in":  # these predictions do not say which items are in it
                assert (printed(mean).detail, printed(mean).extra) == ("SE 0.9", "SD 2.0, n 3")
            else:
                assert low < mean.estimate.mean - 1.96 * 0.0094  # SE alone ignores the test images
                assert printed(mean).detail == f"{100 * low:.1f} to {100 * high:.1f}"
                assert printed(mean).extra == "SD 2.0, SE 0.9, n 3"
            assert [printed(cell).detail for cell in cells] == [""] * 4
            assert row.mark == ""
        assert table.footnotes == []
        levels = [row for row in table.rows if row.style == "chance"]
        if target == "target_in":  # the predictions do not say which items are in it
            assert table.notes == levels == []
            continue
        each = "24 images of 12 groups (patients, slides)"
        assert table.notes == [f"Evaluated on {'; '.join(f'{d} {each}' for d in LEVEL)}."]
        (last,) = levels
        *_, mean = last.cells
        assert mean.estimate.mean == pytest.approx(
            statistics.mean(cell.estimate.mean for cell in last.cells[:4])
        )
    assert "80% of the held-out domain" in held_out_table(found, "target_in").caption


@pytest.mark.parametrize("plans", [True, False])
def test_a_row_that_lacks_runs_has_no_mean_and_says_so(held_sweep, plans):
    def gone(domains, seed):
        lost = (domains, seed) in [(("photo",), 1), (("sketch",), 2)]
        return None if lost else LEVEL[domains[0]]

    table = held_out_table(only(held_sweep({"erm": gone}, EACH, plans=plans)), "target_in")
    (row,) = table.rows
    (footnote,) = table.footnotes
    said = "No mean: at least one of its runs has no result on the 80% of the held-out domain."
    assert footnote == (row.mark, said)
    assert [printed(cell).text for cell in row.cells] == ["80.0", "75.0", "95.0", "70.0", "–"]
    assert row.cells[2].estimate.count == "n 2 of 3"


def test_a_run_that_is_still_to_come_is_on_the_data_of_the_others(held_sweep):
    folder = held_sweep({"erm": lambda domains, seed: None if seed else 0.8}, EACH, seeds=(0, 1))
    for file in folder.path.rglob("*.yaml"):  # a table has no name before it is read
        text = file.read_text().replace("domain_folders", "table")
        file.write_text(text.replace('"set": "pacs"', '"file": "cohort.csv"'))
    assert only(folder).dataset == "pacs"


def test_a_run_that_nobody_planned_is_missing_all_the_same(held_sweep):
    folder = held_sweep(ROWS, EACH, seeds=(0, 1))
    sweep = read_sweep(folder)
    members = [m for m in sweep.members if (m.label, m.seed) != ("erm_held_out-art_painting", 1)]
    assert len(members) == len(sweep.members) - 1
    write_sweep(folder, replace(sweep, members=tuple(members)))
    found = only(folder)
    assert held_out_table(found, "target_in").rows[0].cells[4].empty


def test_runs_scored_before_there_were_parts_have_a_dash_and_a_note(held_sweep):
    found = only(held_sweep({"erm": reach("erm")}, EACH[:2], seeds=(0,), parts=False))
    table = held_out_table(found, "target_in")
    assert [printed(cell).text for cell in table.rows[0].cells] == ["–"] * 3
    assert (
        "has no result on the 80% of the held-out domain"
        in dict(table.footnotes)[table.rows[0].mark]
    )
    assert held_out_table(found, "target_all").rows[0].cells[2].estimate.mean == pytest.approx(
        0.735
    )


def test_some_domains_alone_make_a_mean_that_says_so(held_sweep):
    found = only(held_sweep(ROWS, EACH[:2], seeds=(0,)))
    table = held_out_table(found, "target_in")
    assert table.columns[3] == "Mean of 2 of 4"
    assert any("No run held out photo, sketch" in note for note in table.notes)


def test_several_data_sets_have_a_table_of_their_means_with_an_average(held_sweep):
    one = only(held_sweep(ROWS, EACH, seeds=(0, 1)))
    other = replace(one, dataset="vlcs", rows=["ERM"], domains=["photo"], never=["sketch"])
    table = sets_table([one, other])
    assert table.columns == ["Method", "pacs", "vlcs", "Average"]
    first, second = table.rows
    assert [cell.estimate and cell.estimate.mean for cell in first.cells] == pytest.approx(
        [0.79, 0.94, (0.79 + 0.94) / 2]
    )
    assert (printed(first.cells[0]).spread, printed(first.cells[0]).detail) == ("1.4", "SE 0.7")
    assert [printed(cell).text for cell in second.cells] == ["80.0", "–", "–"]
    assert table.notes == ["Excludes domains that no run held out: vlcs (sketch)."]
    later = {
        place: [replace(e, member=replace(e.member, seed=e.member.seed + 2)) for e in entries]
        for place, entries in one.runs.items()
    }
    scores = {place: {s + 2: v for s, v in of.items()} for place, of in one.scores.items()}
    table = sets_table([one, replace(one, dataset="vlcs", runs=later, scores=scores)])
    assert sum("taken as unrelated" in note for note in table.notes) == 1


def test_only_methods_chosen_among_several_settings_count_as_searched(held_sweep):
    algorithms = {f"erm, lr-{rate}": {"name": "erm"} for rate in ("low", "high")}
    rows = {name: reach("erm") for name in algorithms}
    folder = held_sweep(
        rows, EACH[:2], seeds=(0,), algorithms=algorithms,
        curve=lambda *_: [{"step": 100, "epoch": 1, "val/domain_accuracy": 0.5}],
        layout={"rows": "algorithm", "search": ("lr",)}, axes=("algorithm", "lr"),
    )  # fmt: skip
    found = only(folder)
    assert found.searched == ["ERM"]


def test_columns_of_several_sets_have_no_average_over_domains(held_sweep):
    folder = held_sweep(ROWS, EACH, seeds=(0,))
    for member in read_sweep(folder).members:
        if member.column in ("held_out-photo", "held_out-sketch"):
            path = folder.run(member.run).config
            path.write_text(path.read_text().replace('"pacs"', '"vlcs"'))
    document = sweep_page(folder).document
    result = document.section("result")
    assert all("Average" not in table.columns for table in result.tables)
    assert not any("average" in paragraph.text for paragraph in result.of(Paragraph))
    assert document.subtitle.startswith("2 methods, 4 held-out domains of 2 data sets, ")
    assert document.section("left_out").tables[0].columns[-1] == "Average"


def test_rows_chosen_by_an_oracle_carry_the_word(held_sweep):
    folder = held_sweep(ROWS, EACH[:2], seeds=(0,))
    for member in read_sweep(folder).members:
        if member.row == "erm":
            path = folder.run(member.run).evaluation
            path.write_text(path.read_text().replace('"oracle": false', '"oracle": true', 1))
    assert only(folder).rows == ["ERM (oracle)", "LatentDR (Pool)"]


def test_every_format_has_the_tables(held_sweep):
    page = sweep_page(held_sweep(ROWS, EACH, seeds=(0, 1)))
    assert len(page.document.section("left_out").tables) == 1  # what is published
    assert "## Leave one domain out" in markdown_page(page.document)
    latex = latex_tables(page.document)
    assert "tab:left\\_out" not in latex
    assert "\\label{tab:left_out-" in latex
    assert "pacs: Accuracy (\\%), 80\\% of the held-out domain" in latex
    lines = [line for line in csv_lines(page.results) if line["kind"] == "left_out"]
    assert Counter(r["domain"] for r in lines)["photo"] == 2 * 2 * 2
    (mean,) = [
        r for r in lines
        if (r["row"], r["split"], r["domain"], r.get("seed")) == ("ERM", "target_in", "mean", None)
    ]  # fmt: skip
    assert mean["mean"] == pytest.approx(0.79)
    assert mean["sd"] == pytest.approx(0.02 / 2**0.5)
    assert mean["se"] == pytest.approx(0.01 / 2**0.5)


def test_the_frame_has_a_line_for_each_number_of_each_run(held_sweep):
    study = read_study(held_sweep(ROWS, EACH[:2], seeds=(0, 1)))
    frame = score_frame(study)
    assert tuple(frame.columns) == COLUMNS
    assert frame is score_frame(study)
    assert not frame.duplicated(["run", "rule", "split", "part", "domain", "metric"]).any()
    lines = frame[(frame.split == "test") & (frame.part == "target_in")]
    assert len(lines) == len(study.entries) == 8
    assert set(lines.method) == {"ERM", "LatentDR (Pool)"}
    assert set(lines.held_out) == {"art_painting", "cartoon"}
    assert lines.reported.all()
    assert lines.shown.all()
    for entry in study.entries:
        (value,) = lines[lines.run == entry.member.run].value
        part = entry.files.evaluation.splits["test"].parts["target_in"]
        assert value == part.metrics["accuracy"].value


def test_of_several_runs_of_one_place_the_last_one_counts_in_the_interval_too(held_sweep):
    """As where columns of one held-out domain differ in augmentation."""
    found = only(held_sweep({"erm": reach("erm")}, EACH[:2]))
    once = mean_over_domains(found, "ERM", "target_all", "accuracy")
    found.runs["ERM", "cartoon"] *= 2
    assert mean_over_domains(found, "ERM", "target_all", "accuracy") == once
