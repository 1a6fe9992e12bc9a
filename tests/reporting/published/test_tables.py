"""Every file of published numbers keeps the schema, whoever adds to it."""

import csv
import importlib.resources
import itertools
import re
from collections import Counter
from dataclasses import fields

import pytest

from medldr import plugins
from medldr.config import packaged_configs, packaged_names
from medldr.datasets._domain_folders.benchmarks import SETS
from medldr.datasets._medmnist.catalogue import flags
from medldr.reporting.published.numbers import (
    MEAN,
    METRICS,
    OTHER_METHODS,
    OTHER_MODELS,
    SELECTIONS,
    Published,
    published,
    same_domain,
)

FOLDER = importlib.resources.files("medldr.reporting.published") / "tables"
FILES = sorted(file.name for file in FOLDER.iterdir() if file.name.endswith(".csv"))
VALUES = ("value", "sd", "se", "note")


def rows(name):
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    reader = csv.DictReader(itertools.dropwhile(lambda line: line.startswith("#"), lines))
    found = list(reader)
    assert reader.fieldnames == [field.name for field in fields(Published)]
    return found


def every():
    return [row for name in FILES for row in rows(name)]


def known_methods():
    parts = {path.stem for path in (packaged_configs() / "algorithm").glob("*.yaml")}
    return {*plugins.names("algorithms"), *parts, *OTHER_METHODS}


@pytest.mark.parametrize("name", FILES)
def test_a_file_says_where_its_numbers_are_from_and_each_row_is_whole(name):
    text = (FOLDER / name).read_text(encoding="utf-8")
    head = list(itertools.takewhile(lambda line: line.startswith("# "), text.splitlines()))
    assert head
    assert text.count("\n#") == len(head) - 1
    for row in rows(name):
        assert None not in row, row  # more cells than columns
        assert None not in row.values(), row
        for key in ("protocol", "source", "note"):
            assert row[key].strip(), row


@pytest.mark.parametrize("name", FILES)
def test_names_are_those_of_plugins_or_of_others(name):
    sets = {*flags(), *plugins.names("datasets"), *SETS, *packaged_names("data")}
    for row in rows(name):
        assert row["dataset"] in sets, row
        assert row["model"] in {*plugins.names("models"), *OTHER_MODELS}, row
        layers = row["method"].removesuffix("+swad").split("+")  # a method on another, or on a loss
        assert set(layers) <= known_methods(), row
        assert row["metric"] in METRICS, row
        assert row["augmentation"] in ("", "none", "targeted", "generic"), row


@pytest.mark.parametrize("name", FILES)
def test_numbers_are_fractions_with_the_digits_that_were_printed(name):
    for row in rows(name):
        assert re.fullmatch(r"0\.\d{3,4}", row["value"]), row
        assert 0 < float(row["value"]) < 1, row
        assert all(re.fullmatch(r"(0\.\d{3})?", row[key]) for key in ("sd", "se")), row
        assert not (row["sd"] and row["se"]), row


@pytest.mark.parametrize("name", FILES)
def test_held_out_domains_have_a_selection_and_fixed_splits_have_none(name):
    for row in rows(name):
        if row["dataset"] not in SETS:
            assert row["domain"] == row["selection"] == row["search"] == "", row
            continue
        domains = (MEAN, *SETS[row["dataset"]].domains)
        assert any(same_domain(row["domain"], domain) for domain in domains), row
        assert row["selection"] in SELECTIONS, row
        assert (row["augmentation"], row["metric"]) == ("", "accuracy"), row


def test_no_number_is_there_twice_and_a_source_is_in_one_file():
    keys = Counter(tuple(row[key] for key in row if key not in VALUES) for row in every())
    assert max(keys.values()) == 1
    files = {(row["source"], name) for name in FILES for row in rows(name)}
    assert max(Counter(source for source, _ in files).values()) == 1


def test_every_row_is_found_by_its_data_set():
    counts = Counter(row["dataset"] for row in every())
    assert {name: len(published(name)) for name in counts} == counts


def test_medmnist_is_there_with_all_its_sets_under_its_own_protocols_and_those_of_papers():
    found = [row for row in every() if row["dataset"] in flags()]
    assert {row["dataset"] for row in found} == set(flags())
    protocols = {source: set() for source in {row["source"] for row in found}}
    for row in found:
        protocols[row["source"]].add(row["protocol"])
    assert protocols == {
        "MedMNIST benchmark": {
            *("medmnist-v2-28", "medmnist-v2-224", "medmnist-v2-28-25d", "medmnist-v2-28-3d")
        },
        "LatentDR paper": {"medmnist-224up"},
        "BSDA paper": {"bsda"},
    }
    assert {row["augmentation"] for row in found} == {""}
    held = [row for row in every() if row["dataset"] in SETS]
    assert {row["model"] for row in held} == {"resnet50"}
