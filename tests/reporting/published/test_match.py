"""A number of ours is the same as a published one only if nothing that matters differs."""

from dataclasses import replace

import pytest

from medldr.folders.evaluation_record import EvaluationRecord
from medldr.reporting.published.numbers import MEAN, Ours, published, relation
from medldr.reporting.read.run import RunFiles

WILDS, FISH, UNSTATED = "camelyon17-wilds", "camelyon17-fish", "unstated"
HELD = Ours("pacs", "swad", "resnet50", "erm", "", "val_domain_accuracy")


def slides(protocol, augmentation):
    return Ours("camelyon17", protocol, "densenet121", "latentdr_sa", augmentation, "val_accuracy")


def mean(dataset, method, source=None):
    (entry,) = published(
        dataset, method=method, domain=MEAN, selection="training-domain", source=source
    )
    return entry


@pytest.mark.parametrize(
    ("protocol", "augmentation", "said"),
    [
        (FISH, "targeted", "same protocol"),
        (FISH, "none", "different augmentation"),
        (FISH, "", "different augmentation"),
        (WILDS, "targeted", "different protocol"),
        ("", "targeted", "different protocol"),
        (f"{FISH}+modified", "targeted", "modified by us"),
        (FISH, "targeted+modified", "modified by us"),
    ],
)
def test_protocol_and_augmentation_must_both_be_the_same(protocol, augmentation, said):
    (targeted,) = published("camelyon17", method="latentdr_sa", augmentation="targeted")
    assert relation(slides(protocol, augmentation), targeted).value == said


def test_one_protocol_of_two_networks_is_the_same_for_ours_alone():
    ours = Ours("dermamnist", "medmnist-v2-28", "resnet18", "erm", "", "val_auc")
    found = published("dermamnist", protocol="medmnist-v2-28", metric="auc")
    assert {entry.model: relation(ours, entry).value for entry in found} == {
        "resnet18": "same protocol",
        "resnet50": "different network",
    }
    modified = replace(ours, protocol="medmnist-v2-28+modified")
    assert {relation(modified, entry).value for entry in found} == {"modified by us"}


def test_ten_epochs_of_wilds_are_the_same_protocol_as_nothing_that_was_published():
    for entry in published("camelyon17"):
        assert relation(slides(WILDS, entry.augmentation), entry).value == "different protocol"
    (five,) = published("camelyon17", method="coral")
    assert "5 epochs" in five.note
    for entry in published("camelyon17", protocol=UNSTATED):
        assert relation(slides(FISH, entry.augmentation), entry).value == "different protocol"
        assert "not s" in entry.note  # not said, not stated


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "same protocol"),
        ({"rule": "swad"}, "same protocol"),
        ({"augmentation": "generic"}, "same protocol"),
        ({"protocol": "domainbed-2020"}, "different protocol"),
        ({"protocol": "swad+modified"}, "modified by us"),
        ({"model": "resnet18"}, "different network"),
        ({"rule": "last"}, "different selection"),
        ({"rule": ""}, "different selection"),
    ],
)
def test_only_protocol_network_and_selection_together_are_the_same(change, said):
    entry = mean("pacs", "erm", "LatentDR paper")
    assert relation(replace(HELD, **change), entry).value == said


@pytest.mark.parametrize(
    ("source", "method", "protocol"),
    [
        ("DomainBed", "erm", "domainbed-2020"), ("Fishr paper", "fishr", "domainbed-2020"),
        ("SWAD paper", "erm", "swad"), ("MIRO paper", "miro", "swad"),
    ],
)  # fmt: skip
def test_a_single_setting_is_not_the_same_as_the_best_of_a_search(source, method, protocol):
    entry, ours = mean("pacs", method, source), replace(HELD, protocol=protocol)
    assert entry.search
    assert relation(ours, entry).value == "same except for their search"
    assert relation(ours, entry, searched=True).value == "same protocol"


@pytest.mark.parametrize("method", ["erm", "latentdr_sa", "latentdr_pool"])
def test_the_best_of_our_settings_is_not_the_same_as_a_published_single_one(method):
    entry = mean("pacs", method, "LatentDR paper")
    assert relation(HELD, entry, searched=True).value == "same except for our search"


def test_the_ids_of_a_run_are_read_from_its_files():
    config = {
        "data": {"name": "medmnist", "flag": "octmnist"}, "model": {"name": "resnet18"},
        "algorithm": {"name": "latentdr", "degrade": "pool"}, "protocol": "medmnist-28",
        "transform": {"name": "stain_jitter", "sigma": 0.2},
    }  # fmt: skip
    chosen = {"selection": {"rule": "val_auc"}, "task": "binary", "splits": {}}
    files = RunFiles("x", config, evaluation=EvaluationRecord.model_validate(chosen))
    assert Ours.of(files) == Ours(
        "octmnist", "medmnist-28", "resnet18", "latentdr_pool", "targeted+modified", "val_auc"
    )
    assert Ours.of(RunFiles("x", config)).rule == ""
