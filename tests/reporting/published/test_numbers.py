"""Published numbers are those that were printed, each with its protocol."""

import pytest

from medldr.reporting.published.numbers import MEAN, published

PAPER_SETS = ("dermamnist", "organsmnist", "octmnist", "fracturemnist3d")


@pytest.mark.parametrize(
    ("protocol", "three_d", "accuracies"),
    [
        ("medmnist-v2-28", "medmnist-v2-28", (73.5, 78.2, 74.3, 49.7)),
        # The paper's ERM row with a dagger.
        ("medmnist-v2-224", "medmnist-v2-28-3d", (75.4, 77.8, 76.3, 50.8)),
    ],
)
def test_the_benchmark_rows_that_the_paper_could_quote(protocol, three_d, accuracies):
    for name, accuracy in zip(PAPER_SETS, accuracies, strict=True):
        under = three_d if name.endswith("3d") else protocol
        found = published(name, metric="accuracy", model="resnet18", protocol=under)
        assert [(p.value, p.source) for p in found] == [
            (pytest.approx(accuracy / 100), "MedMNIST benchmark")
        ]


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


def test_the_rows_of_bsda_are_of_its_own_training():
    printed = {
        "retinamnist": (47.4, 51.3, 52.2, 52.6, 53.3),
        "breastmnist": (81.0, 83.5, 84.6, 86.1, 86.1),
        "dermamnist": (74.9, 76.6, 76.3, 76.7, 76.4),
        "organsmnist": (79.5, 80.5, 80.6, 80.8, 82.2),
        "octmnist": (86.7, 89.5, 87.5, 88.2, 88.8),
    }
    for name, accuracies in printed.items():
        found = [p for p in published(name) if p.source == "BSDA paper"]
        assert [p.method for p in found] == ["erm", "mixup", "cutmix", "isda", "bsda"]
        assert [100 * p.value for p in found] == pytest.approx(accuracies)
        assert {p.protocol for p in found} == {"bsda"}


@pytest.mark.parametrize(
    ("dataset", "dsu", "xdomainmix"),
    [("pacs", 85.5, 86.4), ("terra_incognita", 41.5, 48.2), ("domain_net", 42.6, 44.0)],
)
def test_the_rows_of_xdomainmix_are_means_over_domains(dataset, dsu, xdomainmix):
    found = [p for p in published(dataset, domain=MEAN) if p.source == "XDomainMix paper"]
    assert {p.method: 100 * p.value for p in found} == pytest.approx(
        {"dsu": dsu, "xdomainmix": xdomainmix}
    )


FISH, UNSTATED = "camelyon17-fish", "unstated"
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
        ("XDomainMix paper", "dsu", "none", "xdomainmix", 69.6),
        ("XDomainMix paper", "xdomainmix", "none", "xdomainmix", 80.9),
    ],
)
def test_each_number_of_camelyon17_is_of_one_source_protocol_and_augmentation(
    source, method, augmentation, protocol, accuracy
):
    every = published("camelyon17")
    assert len(every) == 15
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


def test_an_unknown_set_has_no_published_numbers():
    assert published("our_own_scans") == ()


def test_numbers_of_a_fixed_test_split_and_of_held_out_domains_are_told_apart():
    assert published("pacs", domain="") == ()
    assert {entry.domain for entry in published("dermamnist")} == {""}
    for domain, number in ((MEAN, (0.863, 0.009)), ("sketch", (0.792, 0.017))):
        (entry,) = published("pacs", method="latentdr_pool", domain=domain)
        assert (entry.value, entry.sd) == number
