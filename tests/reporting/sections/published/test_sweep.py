"""Published numbers stand beside ours with both protocols; equal ids alone make them comparable."""

import statistics

import pytest

from medldr.reporting.published.numbers import beside
from medldr.reporting.read.sweep import read_study
from medldr.reporting.results.comparisons import columns
from medldr.reporting.sections.published import sweep_published
from medldr.reporting.writers.cells import printed

RESNET = {"model": {"name": "resnet18", "width": 1.0}}


def make(sweep, protocol, rows=("erm", "latentdr_pool", "erm_half_lr")):
    layout = {"controls": ("erm_half_lr",), "titles": {"dermamnist": "Derma"}}
    folder = sweep(
        dict.fromkeys(rows, 1.0), ("dermamnist",), (0,), layout=layout, n=20,
        config={**RESNET, "protocol": protocol}, run={"protocol": protocol},
    )  # fmt: skip
    study = read_study(folder)
    return study, columns(study)


@pytest.mark.parametrize("protocol", ["medmnist-224up", "medmnist-224up+modified"])
def test_our_protocol_is_taken_and_called_the_same_only_if_nothing_was_changed(sweep, protocol):
    study, found = make(sweep, protocol)
    (first,) = beside(study, "Derma", "ERM", "accuracy")
    assert (first.entry.value, first.entry.source) == (0.758, "LatentDR paper")
    assert first.same is (protocol == "medmnist-224up")
    table, _ = sweep_published(study, found)
    rows = {row.heading: row.cells for row in table.rows}
    pool = "LatentDR (Pool)"
    assert list(rows) == [
        "ERM: ours",
        "ERM: LatentDR paper",
        f"{pool}: ours",
        f"{pool}: LatentDR paper",
    ]
    (_, ours), (first_cell, theirs) = rows[f"{pool}: ours"], rows[f"{pool}: LatentDR paper"]
    assert ours.content.mean == found[0].estimate("test", "accuracy", "LatentDR (Pool)").mean
    assert printed(theirs).text == "78.4"
    assert first_cell.content == "medmnist-224up"
    assert first_cell.extra == ("same protocol" if first.same else "modified by us")
    assert theirs.style == ("same" if first.same else "")


def test_ours_has_its_sd_seeds_and_images(sweep):
    folder = sweep(
        {"erm": 1.0}, ("dermamnist",), (0, 1, 2), n=20,
        config={**RESNET, "protocol": "medmnist-224up"}, run={"protocol": "medmnist-224up"},
    )  # fmt: skip
    study = read_study(folder)
    table, _ = sweep_published(study, columns(study))
    known = [e.files.evaluation.splits["test"].metrics["accuracy"].value for e in study.entries]
    ours = printed(table.rows[0].cells[1])
    assert ours.text == f"{100 * statistics.fmean(known):.1f}"
    assert ours.extra == f"SD {100 * statistics.stdev(known):.1f}, n 3"
    assert ours.detail == ""
    assert table.notes[0] == "Test: dermamnist: 20 images of 10 groups (patients, slides)."


def test_controls_and_other_networks_have_no_published_number(sweep):
    study, _ = make(sweep, "medmnist-28")
    assert beside(study, "Derma", "ERM, half the rate", "accuracy") == []
    assert beside(study, "Derma", "LatentDR (Pool)", "auc") == []
    other = study.files("ERM").config
    other["model"]["name"] = "densenet121"
    assert beside(study, "Derma", "ERM", "accuracy") == []
