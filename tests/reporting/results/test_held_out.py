"""Tables of left-out domains hold each run's own numbers, and say which runs they lack."""

import csv
import io
import statistics
from collections import Counter
from dataclasses import replace

import pytest

from medldr.folders.sweep_record import read_sweep
from medldr.reporting.pages.sweep import sweep_content
from medldr.reporting.read.sweep import read_study
from medldr.reporting.results.held_out import left_out
from medldr.reporting.results.spread import seed_means, spread
from medldr.reporting.sections.held_out import left_out_table, protocol_notes, sets_table
from medldr.reporting.sections.held_out_published import left_out_published, sets_published
from medldr.reporting.writers.csv import tidy_csv
from medldr.reporting.writers.latex import latex_tables
from medldr.reporting.writers.markdown import markdown_page
from medldr.reporting.writers.sweep_terminal import sweep_tables

EACH = [("art_painting",), ("cartoon",), ("photo",), ("sketch",)]
LEVEL = {"art_painting": 0.8, "cartoon": 0.75, "photo": 0.95, "sketch": 0.7}
GAIN = {"erm": 0.0, "latentdr_pool": 0.01}


def reach(row):
    """Accuracy on target_in: a level per domain, seeds 0.02 apart, pool 0.01 above."""
    return lambda domains, seed: LEVEL[domains[0]] + 0.02 * (seed - 1) + GAIN[row]


ROWS = {row: reach(row) for row in GAIN}


def only(folder):
    (found,) = left_out(read_study(folder))
    return found


def test_a_mean_is_over_domains_within_a_seed_and_its_spread_over_seeds():
    found = spread([0.80, 0.82, 0.84])
    assert 100 * found.mean == pytest.approx(82.0)
    assert 100 * found.se == pytest.approx(0.943, abs=5e-4)
    assert 100 * found.sd == pytest.approx(2.0)
    means = seed_means({"a": {0: 0.7, 1: 0.72, 2: 0.74}, "b": {2: 0.94, 0: 0.9, 1: 0.92}})
    assert list(means.values()) == pytest.approx([0.80, 0.82, 0.84])
    assert (spread([0.5]).sd, spread([0.5]).se) == (None, None)
    with pytest.raises(ValueError, match="no number"):
        spread([])


def test_both_targets_by_domain_with_mean_seen_and_what_is_lost(held_sweep):
    found = only(held_sweep(ROWS, EACH))
    assert found.domains == list(LEVEL)
    assert found.rows == ["ERM", "LatentDR (Pool)"]
    for target, lower in (("target_in", 0.0), ("target_all", 0.02)):
        table = left_out_table(found, target)
        assert table.columns == ["Method", *LEVEL, "Mean", "Seen", "Seen − unseen"]
        for row, gain in zip(table.rows, GAIN.values(), strict=True):
            *cells, mean, seen, lost = row.cells
            for cell, level in zip(cells, LEVEL.values(), strict=True):
                values = [level + 0.02 * (seed - 1) + gain - lower for seed in range(3)]
                assert cell.value == pytest.approx(statistics.mean(values))
                assert cell.spread == f"{100 * statistics.stdev(values):.1f}"
                assert cell.count == "n 3"
            assert mean.value == pytest.approx(0.8 + gain - lower)
            assert (mean.detail, mean.extra) == ("SE 0.9", "SD 2.0, n 3")
            assert seen.value == pytest.approx(0.9)
            assert lost.value == pytest.approx(0.1 - gain + lower)
            assert [cell.detail for cell in cells] == ["", "", "", "lowest"]
            assert row.mark == ""
        assert table.notes == table.footnotes == []
    assert "80 % of the held-out domain" in left_out_table(found, "target_in").caption


@pytest.mark.parametrize("plans", [True, False])
def test_a_row_that_lacks_runs_names_them_and_has_no_mean(held_sweep, plans):
    def gone(domains, seed):
        lost = (domains, seed) in [(("photo",), 1), (("sketch",), 2)]
        return None if lost else LEVEL[domains[0]]

    table = left_out_table(only(held_sweep({"erm": gone}, EACH, plans=plans)), "target_in")
    (row,) = table.rows
    (footnote,) = table.footnotes
    assert footnote == (
        row.mark, "No mean, because runs have no result: photo, seed 1 (not run); "
        "sketch, seed 2 (not run).",
    )  # fmt: skip
    assert [cell.text for cell in row.cells] == ["80.0", "75.0", "95.0", "70.0", "–", "–", "–"]
    assert row.cells[2].count == "n 2 of 3"


def test_a_run_that_nobody_planned_is_missing_all_the_same(held_sweep):
    found = only(held_sweep(ROWS, EACH, seeds=(0, 1)))
    (entry,) = [e for e in found.runs["ERM", "art_painting"] if e.member.seed == 1]
    found.runs["ERM", "art_painting"].remove(entry)
    assert found.missing("ERM") == [("art_painting", 1, "not planned")]
    assert left_out_table(found, "target_in").rows[0].cells[4].text == "–"


def test_runs_judged_before_there_were_parts_have_a_dash_and_a_note(held_sweep):
    found = only(held_sweep({"erm": reach("erm")}, EACH[:2], seeds=(0,), parts=False))
    table = left_out_table(found, "target_in")
    assert [cell.text for cell in table.rows[0].cells] == ["–"] * 5
    assert "before there was a target_in" in dict(table.footnotes)[table.rows[0].mark]
    assert left_out_table(found, "target_all").rows[0].cells[2].text == "73.5"


def test_some_domains_alone_make_a_mean_that_says_so(held_sweep):
    found = only(held_sweep(ROWS, EACH[:2], seeds=(0,)))
    table = left_out_table(found, "target_in")
    assert table.columns[3] == "Mean of 2 of 4"
    assert any("No run held out photo, sketch" in note for note in table.notes)
    published = left_out_published(found)
    assert [cell.text for cell in published.rows[0].cells[1:]] == ["78.0", "73.0", "–", "–", "–"]
    assert any("2 of 4 domains" in note for note in published.notes)


def test_a_single_held_out_domain_makes_no_such_section(held_sweep):
    assert left_out(read_study(held_sweep(ROWS, EACH[:1], seeds=(0,)))) == []


@pytest.mark.parametrize("heading", ["algorithm, held_out", "held_out, algorithm"])
def test_the_held_out_domain_may_make_rows_as_well(held_sweep, heading):
    order = heading.split(", ")

    def name(method, domain):
        words = {"algorithm": method, "held_out": f"held_out-{domain}"}
        return ", ".join(words[key] for key in order)

    rows = {
        name(method, domain): lambda domains, seed, own=domain, method=method: (
            reach(method)(domains, seed) if domains == (own,) else None
        )
        for method in GAIN
        for domain in ("photo", "sketch")
    }
    algorithms = {
        name(m, d): {"name": "erm"} if m == "erm" else {"name": "latentdr", "degrade": "pool"}
        for m in GAIN
        for d in ("photo", "sketch")
    }
    folder = held_sweep(
        rows, [("photo",), ("sketch",)], seeds=(0,), plans=False, algorithms=algorithms,
        layout={"rows": heading},
    )  # fmt: skip
    found = only(folder)
    assert found.rows == ["ERM", "LatentDR (Pool)"]
    assert found.values("ERM", "photo", "target_in", "accuracy") == {0: pytest.approx(0.93)}


def test_a_folder_of_runs_without_a_sweep_file_has_the_same_tables(held_sweep):
    folder = held_sweep(ROWS, EACH[2:], seeds=(0,))
    before = left_out_table(only(folder), "target_in")
    folder.sweep.unlink()
    after = left_out_table(only(folder), "target_in")
    assert [r.heading for r in after.rows] == [r.heading for r in before.rows]
    assert [r.cells for r in after.rows] == [r.cells for r in before.rows]


def test_several_data_sets_have_a_table_of_their_means_with_an_average(held_sweep):
    one = only(held_sweep(ROWS, EACH, seeds=(0, 1)))
    other = replace(one, dataset="other", rows=["ERM"], domains=["photo"], never=["sketch"])
    table = sets_table([one, other])
    assert table.columns == ["Method", "pacs", "other", "Average"]
    first, second = table.rows
    assert [cell.value for cell in first.cells] == pytest.approx([0.79, 0.94, (0.79 + 0.94) / 2])
    assert (first.cells[0].spread, first.cells[0].detail) == ("1.4", "SE 0.7")
    assert [cell.text for cell in second.cells] == ["80.0", "–", "–"]
    assert table.notes == ["Without domains that no run held out: other (sketch)."]


def two_sets(held_sweep, **changes):
    one = only(held_sweep(ROWS, EACH, seeds=(0, 1)))
    return [one, replace(one, dataset="vlcs", **changes)]


def test_several_data_sets_stand_beside_the_published_means_with_their_averages(held_sweep):
    table = sets_published(two_sets(held_sweep))
    assert table.columns == ["Method", "Protocol", "pacs", "vlcs", "Average"]
    rows = {row.heading: row.cells for row in table.rows}
    assert list(rows) == [
        "ERM: ours", "ERM: DomainBed", "ERM: LatentDR paper", "ERM: SWAD paper",
        "ERM: DomainBed, leave-one-domain-out", "ERM: DomainBed, oracle",
        "LatentDR (Pool): ours", "LatentDR (Pool): LatentDR paper",
    ]  # fmt: skip
    assert [cell.text for cell in rows["ERM: ours"]] == ["swad", "79.0", "79.0", "79.0"]
    first, *means, average = rows["LatentDR (Pool): LatentDR paper"]
    assert (first.text, first.extra, first.style) == ("swad", "same protocol", "same")
    assert [(cell.text, cell.extra) for cell in means] == [("86.3", "SD 0.9"), ("78.0", "SD 0.5")]
    assert average.value == pytest.approx((0.863 + 0.780) / 2)
    first, *means = rows["ERM: SWAD paper"]
    assert (first.extra, first.style) == ("same but for the search", "")
    assert dict(table.footnotes)[first.mark] == (
        "SWAD paper searched (rate, dropout and decay); ours is a single setting."
    )
    assert any("mean of its printed means" in note for note in table.notes)


def test_a_set_that_lacks_domains_or_a_published_mean_leaves_the_average_out(held_sweep):
    one, other = two_sets(held_sweep, never=["SUN09"])
    rows = {row.heading: row.cells for row in sets_published([one, other]).rows}
    assert [cell.text for cell in rows["ERM: ours"]] == ["swad", "79.0", "–", "–"]
    unknown = replace(one, dataset="scanners")
    rows = {row.heading: row.cells for row in sets_published([one, unknown]).rows}
    assert [cell.text for cell in rows["ERM: ours"]] == ["swad", "79.0", "79.0", "79.0"]
    assert [cell.text for cell in rows["ERM: SWAD paper"]] == ["swad", "84.2", "–", "–"]
    assert sets_published([unknown, replace(unknown, dataset="hospitals")]) is None
    assert sets_published([one]) is None


def test_sets_to_which_ours_stands_differently_say_so(held_sweep):
    one = only(held_sweep(ROWS, EACH, seeds=(0, 1)))
    other = replace(one, dataset="vlcs", searched=["ERM"])
    rows = {row.heading: row.cells for row in sets_published([one, other]).rows}
    assert rows["ERM: SWAD paper"][0].extra.startswith("not the same for every data set")
    assert rows["ERM: DomainBed"][0].extra == "other protocol"


def test_only_methods_chosen_among_several_settings_count_as_searched(held_sweep):
    algorithms = {f"erm, lr-{rate}": {"name": "erm"} for rate in ("low", "high")}
    rows = {name: reach("erm") for name in algorithms}
    folder = held_sweep(
        rows, EACH[:2], seeds=(0,), algorithms=algorithms,
        curve=lambda *_: [{"step": 100, "epoch": 1, "val/domain_accuracy": 0.5}],
        layout={"rows": "algorithm, lr", "search": ("training.lr",)},
    )  # fmt: skip
    found = only(folder)
    assert found.searched == ["ERM"]
    rows = {row.heading: row.cells for row in left_out_published(found).rows}
    assert rows["ERM: SWAD paper"][0].extra == "same protocol"
    assert rows["ERM: LatentDR paper"][0].extra == "same but for our search"


@pytest.mark.usefixtures("quick")
def test_the_main_grid_of_one_set_says_that_test_is_the_whole_domain(held_sweep):
    content = sweep_content(held_sweep(ROWS, EACH[:2], seeds=(0,)))
    first = content.grids[0]
    assert first.caption == "Accuracy (%): Test (target_all, the whole held-out domain)"
    seen = next(grid for grid in content.grids if grid.split == "id_test")
    assert seen.caption == "Accuracy (%): Test, seen domains"
    assert all(row.average.mean is not None for row in first.rows)
    assert "mean over the columns" in content.section("result").small
    assert "target_all" in content.section("differences").texts[-1]
    assert content.subtitle.startswith("2 methods, 2 held-out domains of 1 data set, ")


@pytest.mark.usefixtures("quick")
def test_columns_of_several_sets_have_no_average_over_domains(held_sweep):
    folder = held_sweep(ROWS, EACH, seeds=(0,))
    for member in read_sweep(folder).members:
        if member.column in ("held_out-photo", "held_out-sketch"):
            path = folder.run(member.run).config
            path.write_text(path.read_text().replace("set: pacs", "set: vlcs"))
    content = sweep_content(folder)
    assert all(row.average is None for grid in content.grids for row in grid.rows)
    assert "average" not in content.section("result").small
    assert content.subtitle.startswith("2 methods, 4 held-out domains of 2 data sets, ")
    assert content.section("left_out").tables[0].columns[-1] == "Average"


def test_rows_whose_weights_are_averaged_by_swad_carry_it_in_their_name(held_sweep):
    folder = held_sweep(
        ROWS, EACH[:2], seeds=(0,), config={"training": {"averaging": {"name": "swad"}}}
    )
    found = only(folder)
    assert found.rows == ["ERM + SWAD", "LatentDR (Pool) + SWAD"]
    table = left_out_published(found)
    assert [row.heading for row in table.rows] == ["ERM + SWAD: ours", "ERM + SWAD: SWAD paper"]
    assert table.rows[1].cells[-1].text == "88.1"


def test_protocols_that_differ_within_a_table_are_told(held_sweep):
    found = only(held_sweep(ROWS, EACH[:2], seeds=(0,)))
    assert protocol_notes(found) == []
    for entry in found.of("ERM"):
        entry.source.run["protocol"] = "domainbed-2020"
    (note,) = protocol_notes(found)
    assert note.endswith("domainbed-2020: ERM; swad: LatentDR (Pool).")
    assert left_out_table(found, "target_all").notes[-1] == note


def test_rows_chosen_by_an_oracle_carry_the_word(held_sweep):
    folder = held_sweep(ROWS, EACH[:2], seeds=(0,))
    for member in read_sweep(folder).members:
        if member.row == "erm":
            path = folder.run(member.run).evaluation
            path.write_text(path.read_text().replace('"oracle": false', '"oracle": true', 1))
    assert only(folder).rows == ["ERM (oracle)", "LatentDR (Pool)"]


@pytest.mark.parametrize(
    ("protocol", "said"),
    [("swad", "same protocol"), ("swad+modified", "ours is modified"),
     ("phantom", "other protocol")],
)  # fmt: skip
def test_published_numbers_stand_below_ours_by_domain_and_mean(held_sweep, protocol, said):
    folder = held_sweep(
        ROWS, EACH, seeds=(0,), config={"protocol": protocol}, run={"protocol": protocol}
    )
    table = left_out_published(only(folder))
    rows = {row.heading: row.cells for row in table.rows}
    assert list(rows) == [
        "ERM: ours", "ERM: DomainBed", "ERM: LatentDR paper", "ERM: SWAD paper",
        "ERM: DomainBed, leave-one-domain-out", "ERM: DomainBed, oracle",
        "LatentDR (Pool): ours", "LatentDR (Pool): LatentDR paper",
    ]  # fmt: skip
    first, *numbers = rows["LatentDR (Pool): LatentDR paper"]
    assert (first.text, first.extra) == ("swad", said)
    assert [cell.text for cell in numbers] == ["86.3", "82.6", "97.1", "79.2", "86.3"]
    assert [cell.extra for cell in numbers] == ["SD 1.1", "SD 1.4", "SD 0.4", "SD 1.7", "SD 0.9"]
    assert rows["ERM: DomainBed"][0].extra == "other protocol"
    assert rows["ERM: DomainBed"][-1].extra == "SE 0.2"
    notes = dict(table.footnotes)
    assert "1.5, not 2.8" in notes[rows["ERM: LatentDR paper"][-1].mark]
    assert [cell.value for cell in rows["ERM: ours"][1:]] == pytest.approx(
        [0.78, 0.73, 0.93, 0.68, 0.78]
    )


def test_a_set_that_nobody_published_has_none(held_sweep):
    assert left_out_published(only(held_sweep(ROWS, EACH[:2], (0,), dataset="scanners"))) is None


@pytest.mark.usefixtures("quick")
def test_every_format_has_the_tables(held_sweep):
    content = sweep_content(held_sweep(ROWS, EACH, seeds=(0, 1)))
    assert len(content.section("left_out").tables) == 2
    assert "## Leave one domain out" in markdown_page(content)
    latex = latex_tables(content)
    assert "tab:left\\_out" not in latex
    assert "\\label{tab:left_out-" in latex
    assert "target\\_in, the 80 \\% of the held-out domain" in latex
    lines = [r for r in csv.DictReader(io.StringIO(tidy_csv(content))) if r["kind"] == "left_out"]
    assert Counter(r["domain"] for r in lines)["photo"] == 2 * 2 * 2
    (mean,) = [
        r for r in lines
        if (r["row"], r["split"], r["domain"], r["seed"]) == ("ERM", "target_in", "mean", "")
    ]  # fmt: skip
    assert float(mean["mean"]) == pytest.approx(0.79)
    assert float(mean["sd"]) == pytest.approx(0.02 / 2**0.5)
    assert float(mean["se"]) == pytest.approx(0.01 / 2**0.5)
    texts = [t for t in sweep_tables(content, 200).renderables if hasattr(t, "columns")]
    heads = [[str(c.header) for c in t.columns] for t in texts]
    assert ["method", *LEVEL, "Mean", "Seen", "Seen − unseen"] in heads
    said = [t.plain for t in sweep_tables(content, 200).renderables if hasattr(t, "plain")]
    assert any("↓ lowest of a row's domains" in text for text in said)
