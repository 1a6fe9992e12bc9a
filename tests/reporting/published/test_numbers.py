"""Published numbers are those that were printed, each once, each with its protocol."""

import csv
import importlib.resources
from collections import Counter

import pytest

from medldr.reporting.published.numbers import published, same_protocol

PAPER_SETS = ("dermamnist", "organsmnist", "octmnist", "fracturemnist3d")


@pytest.mark.parametrize(
    ("protocol", "accuracies"),
    [("medmnist-28", (73.5, 78.2, 74.3, 49.7)), ("medmnist-224up", (75.4, 77.8, 76.3, 50.8))],
)
def test_the_benchmark_rows_of_both_protocols(protocol, accuracies):
    for name, accuracy in zip(PAPER_SETS, accuracies, strict=True):
        found = published(name, metric="accuracy", model="resnet18", protocol=protocol)
        values = [p.value for p in found if p.source == "MedMNIST benchmark"]
        assert values == [pytest.approx(accuracy / 100)]


@pytest.mark.parametrize(
    ("method", "accuracies", "mean"),
    [
        ("erm", (75.8, 79.8, 76.4, 49.6), 70.4),
        ("mixup", (70.0, 80.8, 78.9, 48.3), 69.5),
        ("manifold_mixup", (76.4, 80.1, 76.3, 49.6), 70.6),
        ("batchformer", (76.8, 82.7, 77.8, 51.7), 72.3),
        ("latentdr_sa", (78.1, 83.3, 79.1, 52.1), 73.2),
        ("latentdr_pool", (78.4, 82.9, 79.4, 55.0), 73.9),
    ],
)
def test_the_papers_rows_and_their_printed_means(method, accuracies, mean):
    values = []
    for name in PAPER_SETS:
        found = published(name, metric="accuracy", method=method)
        values += [100 * p.value for p in found if p.source == "LatentDR paper"]
    assert values == pytest.approx(accuracies)
    assert sum(values) / 4 == pytest.approx(mean, abs=0.051)


def test_every_entry_is_there_once_and_is_a_fraction():
    file = importlib.resources.files("medldr.reporting") / "published.csv"
    rows = list(csv.DictReader(file.read_text().splitlines()))
    keys = Counter(tuple(r[key] for key in r if key not in ("value", "note")) for r in rows)
    assert max(keys.values()) == 1
    assert all(0 < float(r["value"]) <= 1 for r in rows)
    medmnist = [r for r in rows if r["dataset"] != "camelyon17"]
    assert {r["protocol"] for r in medmnist} == {"medmnist-28", "medmnist-224up"}
    assert {r["augmentation"] for r in medmnist} == {""}
    assert len({r["dataset"] for r in medmnist}) == 18


WILDS, FISH, UNSTATED = "camelyon17-wilds", "camelyon17-fish", "unstated"
FIVE_EPOCHS = "camelyon17-wilds-v1"


@pytest.mark.parametrize(
    ("source", "method", "augmentation", "protocol", "accuracy"),
    [
        ("WILDS benchmark", "erm", "none", FIVE_EPOCHS, 70.3),
        ("WILDS benchmark", "coral", "none", FIVE_EPOCHS, 59.5),
        ("WILDS 2.0 paper", "erm", "none", UNSTATED, 70.8),
        ("WILDS 2.0 paper", "erm", "generic", UNSTATED, 82.0),
        ("Fish paper", "fish", "none", FISH, 74.7),
        ("LatentDR paper", "erm", "none", FISH, 72.3),
        ("LatentDR paper", "erm", "targeted", FISH, 84.3),
        ("LatentDR paper", "latentdr_sa", "none", FISH, 76.4),
        ("LatentDR paper", "latentdr_sa", "targeted", FISH, 91.0),
        ("LatentDR paper", "latentdr_pool", "none", FISH, 81.3),
        ("LatentDR paper", "latentdr_pool", "targeted", FISH, 89.9),
        ("LatentDR paper", "fish", "targeted", FISH, 76.9),
        ("LatentDR paper", "mixup", "none", UNSTATED, 63.5),
    ],
)
def test_each_number_of_camelyon17_is_of_one_source_protocol_and_augmentation(
    source, method, augmentation, protocol, accuracy
):
    every = published("camelyon17")
    assert len(every) == 13
    assert {p.model for p in every} == {"densenet121"}
    found = published("camelyon17", method=method, augmentation=augmentation, protocol=protocol)
    (entry,) = [p for p in found if p.source == source]
    assert entry.value == pytest.approx(accuracy / 100)
    assert entry.metric == "accuracy"


def test_what_the_paper_prints_with_a_dagger_is_told_where_it_stands():
    daggers = [p for p in published("camelyon17") if "†" in p.note]
    assert {(p.method, p.value) for p in daggers} == {
        ("coral", 0.595),
        ("erm", 0.708),
        ("erm", 0.82),
        ("fish", 0.747),
        ("mixup", 0.635),
    }
    (generic,) = published("camelyon17", augmentation="generic")
    assert "RandAugment and Cutout" in generic.note
    assert "secondary copy" in generic.note


def test_another_augmentation_is_never_the_same_protocol():
    (targeted,) = published("camelyon17", method="latentdr_sa", augmentation="targeted")
    assert targeted.matches(FISH, "targeted")
    assert not targeted.matches(FISH, "none")
    assert not targeted.matches(WILDS, "targeted")
    assert not targeted.matches(f"{FISH}+modified", "targeted")
    assert not targeted.matches(FISH, "targeted+modified")


def test_ten_epochs_of_wilds_are_the_same_protocol_as_nothing_that_was_published():
    numbers = published("camelyon17")
    assert not any(entry.matches(WILDS, entry.augmentation) for entry in numbers)
    (five,) = published("camelyon17", method="coral")
    assert "5 epochs" in five.note
    for entry in published("camelyon17", protocol=UNSTATED):
        assert not entry.matches(FISH, entry.augmentation)
        assert "not s" in entry.note  # not said, not stated


def test_an_unknown_set_has_no_published_numbers():
    assert published("our_own_scans") == ()


def test_only_equal_ids_are_the_same_protocol():
    assert same_protocol("medmnist-28", "medmnist-28")
    assert not same_protocol("medmnist-28+modified", "medmnist-28")
    assert not same_protocol("", "")
