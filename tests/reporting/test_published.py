"""Published numbers are those that were printed, each once, each with its protocol."""

import csv
import importlib.resources
from collections import Counter

import pytest

from medldr.reporting import published, same_protocol

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
    keys = Counter(
        tuple(r[k] for k in ("dataset", "protocol", "model", "method", "metric", "source"))
        for r in rows
    )
    assert max(keys.values()) == 1
    assert all(0 < float(r["value"]) <= 1 for r in rows)
    assert {r["protocol"] for r in rows} == {"medmnist-28", "medmnist-224up"}
    assert len({r["dataset"] for r in rows}) == 18


def test_an_unknown_set_has_no_published_numbers():
    assert published("our_own_scans") == ()


def test_only_equal_ids_are_the_same_protocol():
    assert same_protocol("medmnist-28", "medmnist-28")
    assert not same_protocol("medmnist-28+modified", "medmnist-28")
    assert not same_protocol("", "")
