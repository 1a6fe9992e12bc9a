"""The Camelyon17 recipes and sweeps hold what WILDS, Fish and the LatentDR paper state."""

import functools

import pytest

from medldr.config import load_config, packaged_names
from medldr.config.method import augmentation_id, method_id
from medldr.config.sections import dataset_name
from medldr.models import build_model
from medldr.reporting.published.numbers import PAPER, Ours, Relation, published, relation
from medldr.sweeps.plan.expand import as_record, expand
from medldr.sweeps.plan.file import load_sweep
from medldr.types import DataSpec

RUNS = ("erm", "coral", "latentdr_sa", "latentdr_pool")
METHODS = ("fish", "mixup", *RUNS)  # Fish needs a warm start, so it is in sweeps only, as Mixup is
CONTROLS = ("warm_start", "erm_half_lr", "latentdr_sa_full_lr", "latentdr_full_lr")
TABLES = ("camelyon17_table", "camelyon17_table_wilds")


@functools.cache
def planned(name):
    return expand(load_sweep(name), "out")


def layout(name):
    return as_record(load_sweep(name), planned(name)).layout


@pytest.mark.parametrize("method", RUNS)
def test_the_wilds_protocol_is_as_wilds_trains(method):
    config = load_config(f"camelyon17_{method}")
    training = config.training
    assert config.protocol == "camelyon17-wilds"
    assert (training.lr, training.weight_decay, training.epochs) == (0.001, 0.01, 10)
    assert config.transform.size == 96
    assert_shared(config)


@pytest.mark.parametrize("method", RUNS)
def test_the_papers_protocol_is_that_of_fish(method):
    config = load_config(f"camelyon17_224_{method}")
    training = config.training
    assert config.protocol == "camelyon17-fish"
    assert (training.lr, training.weight_decay, training.epochs) == (0.0001, 0.0, 20)
    assert config.transform.size == 224
    assert_shared(config)


def assert_shared(config):
    training = config.training
    assert (training.optimizer, training.momentum, training.batch_size) == ("sgd", 0.9, 32)
    assert training.schedule == "constant"
    assert training.select == ("val_accuracy", "id_val_accuracy")
    assert (config.model.name, config.model.weights) == ("densenet121", None)
    assert not config.transform.targeted
    assert config.data.split_scheme == "official"
    assert config.evaluation.per_group


def test_augmentation_and_seed_leave_the_protocol_and_resolution_does_not():
    kept = load_config("camelyon17_224_erm", ["transform.targeted=true", "seed=7"])
    changed = load_config("camelyon17_224_erm", ["transform.size=96"])
    assert kept.protocol == "camelyon17-fish"
    assert changed.protocol == "camelyon17-fish+modified"


def test_fish_and_coral_have_their_authors_settings():
    fish = load_config("camelyon17_224_erm", ["algorithm=fish"]).algorithm
    coral = load_config("camelyon17_coral").algorithm
    assert (fish.name, fish.meta_lr, fish.meta_steps, fish.divide) == ("fish", 0.01, None, True)
    assert fish.keep_optimizer
    assert (coral.name, coral.weight, coral.domains_per_batch) == ("coral", 0.1, 2)


@pytest.mark.parametrize("size", [96, 224])
def test_the_network_has_the_published_number_of_parameters(size):
    spec = DataSpec("binary", ("normal", "tumor"), (1, 1), 3, (size, size))
    model = build_model(load_config("camelyon17_erm").model, spec, seed=0)
    assert sum(p.numel() for p in model.parameters()) == 6_955_906
    assert model.dim == 1024


@pytest.mark.parametrize("name", TABLES)
def test_the_table_has_the_papers_rows_and_columns_ten_times(name):
    plan = planned(name)
    assert {p.member.row for p in plan} == {*METHODS, *CONTROLS}
    assert {p.member.column for p in plan} == {"no_aug", "targeted"}
    assert {p.config.seed for p in plan} == set(range(10))
    assert len(plan) == 10 * 2 * 10
    assert layout(name).reference == "erm"
    assert layout(name).controls == CONTROLS
    assert {p.config.transform.targeted for p in plan if p.member.column == "targeted"} == {True}


def test_the_quoted_number_of_mixup_stands_beside_ours_as_of_another_protocol():
    plan = next(p for p in planned("camelyon17_table") if p.member.label.startswith("mixup_no_aug"))
    config = plan.config.model_dump(mode="json")
    ours = Ours(
        dataset_name(config, {}), config["protocol"], config["model"]["name"],
        method_id(config), augmentation_id(config), "",
    )  # fmt: skip
    (theirs,) = published(ours.dataset, method=ours.method, augmentation=ours.augmentation)
    assert (theirs.value, theirs.protocol, theirs.source) == (0.635, "unstated", PAPER)
    assert relation(ours, theirs) is Relation.OTHER_PROTOCOL
    assert published("camelyon17", method="mixup", augmentation="targeted") == ()


@pytest.mark.parametrize("name", TABLES)
def test_protocols_never_meet_in_one_table_and_only_the_warm_start_leaves_its_own(name):
    ids = {p.config.protocol for p in planned(name) if p.member.row != "warm_start"}
    wanted = {"camelyon17_table": "camelyon17-fish", "camelyon17_table_wilds": "camelyon17-wilds"}
    assert ids == {wanted[name]}


@pytest.mark.parametrize("name", [*TABLES, "camelyon17_phantom"])
def test_fish_starts_from_the_warm_start_of_its_own_seed_and_augmentation(name):
    by_run = {p.member.run: p for p in planned(name)}
    fish = [p for p in planned(name) if p.member.row == "fish"]
    assert fish
    for one in fish:
        (before,) = one.member.after
        start = by_run[before]
        assert start.member.row == "warm_start"
        assert start.config.algorithm.name == "erm"
        assert start.config.transform == one.config.transform
        assert start.config.seed == one.config.seed
        assert one.config.training.init_from.name == before


@pytest.mark.parametrize("name", TABLES)
def test_the_warm_start_is_the_last_of_ten_thousand_steps(name):
    (start,) = {
        (p.config.training.steps, p.config.training.epochs, p.config.training.evaluate_every)
        for p in planned(name)
        if p.member.row == "warm_start"
    }
    assert start == (10_000, None, 10_000)  # validated once, so no earlier step can be chosen


def test_the_generic_augmentation_stands_apart_from_the_targeted_one():
    rows = [p.member.row for p in planned("camelyon17_generic")]
    assert set(rows) == {"camelyon17", "camelyon17_generic", "camelyon17_targeted"}
    names = {p.member.row: p.config.transform.name for p in planned("camelyon17_generic")}
    assert names["camelyon17_generic"] == "rand_augment"
    assert {p.config.protocol for p in planned("camelyon17_generic")} == {"camelyon17-wilds"}


def test_the_phantom_has_the_papers_shape():
    plan = planned("camelyon17_phantom")
    assert {p.member.row for p in plan} == {"warm_start", *METHODS} - {"coral", "mixup"}
    assert {p.member.column for p in plan} == {"no_aug", "targeted"}
    assert {p.config.seed for p in plan} == {0, 1}
    assert {p.config.data.name for p in plan} == {"phantom_histology"}
    assert {p.config.model.name for p in plan} == {"densenet121"}
    assert set(packaged_names("run")) >= {
        f"phantom_histology_{m}" for m in ("erm", "latentdr_sa", "latentdr_pool")
    }


@pytest.mark.parametrize(
    ("method", "augmentation", "value"),
    [
        ("erm", "none", 0.723),
        ("erm", "targeted", 0.843),
        ("latentdr_sa", "none", 0.764),
        ("latentdr_sa", "targeted", 0.910),
        ("latentdr_pool", "none", 0.813),
        ("latentdr_pool", "targeted", 0.899),
        ("fish", "targeted", 0.769),
    ],
)
def test_the_papers_numbers_stand_beside_ours(method, augmentation, value):
    found = published(
        "camelyon17",
        metric="accuracy",
        method=method,
        protocol="camelyon17-fish",
        augmentation=augmentation,
    )
    assert value in [entry.value for entry in found if entry.source == "LatentDR paper"]


def test_the_published_82_is_of_the_generic_augmentation():
    found = published("camelyon17", metric="accuracy", method="erm", protocol="unstated")
    assert {entry.augmentation for entry in found if entry.value == 0.820} == {"generic"}
