"""Ours beside published numbers of each held-out domain, of each set, and over the sets."""

from dataclasses import replace

import pytest

from medldr.reporting.read.sweep import read_study
from medldr.reporting.results.held_out import held_out_sets
from medldr.reporting.sections.published import held_out_published
from medldr.reporting.writers.cells import printed

EACH = [("art_painting",), ("cartoon",), ("photo",), ("sketch",)]
LEVEL = {"art_painting": 0.8, "cartoon": 0.75, "photo": 0.95, "sketch": 0.7}
GAIN = {"erm": 0.0, "latentdr_pool": 0.01}
HEADINGS = [
    "ERM: ours", "ERM: DomainBed", "ERM: LatentDR paper", "ERM: SWAD paper",
    "ERM: DomainBed, leave-one-domain-out", "ERM: DomainBed, oracle",
    "LatentDR (Pool): ours", "LatentDR (Pool): LatentDR paper",
]  # fmt: skip


def reach(row):
    """Accuracy on target_in: a level per domain, seeds 0.02 apart, pool 0.01 above."""
    return lambda domains, seed: LEVEL[domains[0]] + 0.02 * (seed - 1) + GAIN[row]


ROWS = {row: reach(row) for row in GAIN}


def only(folder):
    (found,) = held_out_sets(read_study(folder))
    return found


def rows_of(table):
    return {row.heading: row.cells for row in table.rows}


def texts(cells):
    return [printed(cell).text for cell in cells]


@pytest.fixture
def one(held_sweep):
    """PACS with all its domains held out."""
    return only(held_sweep(ROWS, EACH, seeds=(0, 1)))


def test_several_data_sets_stand_beside_the_published_means_with_their_averages(one):
    table, *each = held_out_published([one, replace(one, dataset="vlcs")])
    assert len(each) == 2
    assert table.columns == ["Method", "Protocol", "pacs", "vlcs", "Average"]
    rows = rows_of(table)
    assert list(rows) == HEADINGS
    assert texts(rows["ERM: ours"]) == ["swad", "79.0", "79.0", "79.0"]
    first, *means, average = rows["LatentDR (Pool): LatentDR paper"]
    assert (first.content, first.extra, first.style) == ("swad", "same protocol", "same")
    assert texts(means) == ["86.3", "78.0"]
    assert [cell.extra for cell in means] == ["SD 0.9", "SD 0.5"]
    assert average.content.mean == pytest.approx((0.863 + 0.780) / 2)
    first, *means = rows["ERM: SWAD paper"]
    assert (first.extra, first.style) == ("same except for their search", "")
    said = "SWAD paper searched (rate, dropout and decay); ours is a single setting."
    assert said in [dict(table.footnotes)[sign] for sign in first.mark.split(",")]
    assert any("mean of the printed means" in note for note in table.notes)


def test_only_methods_chosen_among_several_settings_count_as_searched(held_sweep):
    algorithms = {f"erm, lr-{rate}": {"name": "erm"} for rate in ("low", "high")}
    folder = held_sweep(
        {name: reach("erm") for name in algorithms}, EACH[:2], seeds=(0,), algorithms=algorithms,
        curve=lambda *_: [{"step": 100, "epoch": 1, "val/domain_accuracy": 0.5}],
        layout={"rows": "algorithm", "search": ("lr",)}, axes=("algorithm", "lr"),
    )  # fmt: skip
    (table,) = held_out_published([only(folder)])
    rows = rows_of(table)
    assert rows["ERM: SWAD paper"][0].extra == "same protocol"
    assert rows["ERM: LatentDR paper"][0].extra == "same except for our search"


@pytest.mark.parametrize("compat", [True, False])
def test_only_weights_averaged_as_published_are_beside_published_ones(held_sweep, compat):
    averaging = {"name": "swad", "compat": compat}
    folder = held_sweep(ROWS, EACH[:2], seeds=(0,), config={"training": {"averaging": averaging}})
    tables = held_out_published([only(folder)])
    if not compat:
        assert tables == []
        return
    (table,) = tables
    assert [row.heading for row in table.rows] == ["ERM + SWAD: ours", "ERM + SWAD: SWAD paper"]
    assert texts(table.rows[1].cells)[-1] == "88.1"


@pytest.mark.parametrize(
    ("protocol", "said"),
    [("swad", "same protocol"), ("swad+modified", "modified by us"),
     ("phantom", "different protocol")],
)  # fmt: skip
def test_published_numbers_stand_below_ours_by_domain_and_mean(held_sweep, protocol, said):
    folder = held_sweep(
        ROWS, EACH, seeds=(0,), config={"protocol": protocol}, run={"protocol": protocol}
    )
    (table,) = held_out_published([only(folder)])
    rows = rows_of(table)
    assert list(rows) == HEADINGS
    first, *numbers = rows["LatentDR (Pool): LatentDR paper"]
    assert (first.content, first.extra) == ("swad", said)
    assert texts(numbers) == ["86.3", "82.6", "97.1", "79.2", "86.3"]
    assert [cell.extra for cell in numbers] == ["SD 1.1", "SD 1.4", "SD 0.4", "SD 1.7", "SD 0.9"]
    assert rows["ERM: DomainBed"][0].extra == "different protocol"
    assert rows["ERM: DomainBed"][-1].extra == "SE 0.2"
    notes = dict(table.footnotes)
    assert "1.5, not 2.8" in notes[rows["ERM: LatentDR paper"][-1].mark]
    assert [cell.content.mean for cell in rows["ERM: ours"][1:]] == pytest.approx(
        [0.78, 0.73, 0.93, 0.68, 0.78]
    )


def test_a_control_has_no_row(one):
    (table,) = held_out_published([replace(one, controls=["ERM"])])
    assert [row.heading for row in table.rows] == HEADINGS[-2:]
