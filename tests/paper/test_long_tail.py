"""The long-tail table: protocols, rows, published numbers, and what small sweeps share with it."""

import functools
import math

import pytest

from medldr.config import load_config
from medldr.config.method import id_title, method_id
from medldr.reporting.published.numbers import published
from medldr.sweeps.plan.expand import expand
from medldr.sweeps.plan.file import load_sweep

PAPER = {  # many, medium, few, all, as printed
    "bcl": (69.1, 52.4, 30.5, 51.7),
    "batchformer+bcl": (69.5, 51.7, 27.9, 50.8),
    "latentdr_sa_residual+bcl": (68.9, 53.9, 30.5, 52.1),
    "balanced_softmax": (67.9, 50.7, 32.2, 51.1),
    "batchformer+balanced_softmax": (68.4, 49.3, 34.3, 51.7),
    "latentdr_sa_residual+balanced_softmax": (69.8, 51.3, 34.2, 52.7),
}
METRICS = ("many_shot_accuracy", "medium_shot_accuracy", "few_shot_accuracy", "accuracy")
CLASSES = (35, 35, 30)
TRAINING_IMAGES = 10_847


@functools.cache
def planned(name):
    return expand(load_sweep(name), "out")


def configs(name):
    """The configuration of each row, of its first seed."""
    return {each.member.label: each.config for each in planned(name) if each.member.seed == 0}


def ids(name):
    return {label: method_id(c.model_dump(mode="json")) for label, c in configs(name).items()}


def test_its_24_numbers_are_published_beside_it():
    known = {(entry.method, entry.metric): entry.value for entry in published("cifar100_lt")}
    expected = {
        (method, metric): value / 100
        for method, row in PAPER.items()
        for metric, value in zip(METRICS, row, strict=True)
    }
    assert known == pytest.approx(expected, abs=1e-9)
    assert len(known) == 24


@pytest.mark.parametrize("method", [m for m in PAPER if m != "batchformer+balanced_softmax"])
def test_three_numbers_of_a_row_make_the_fourth(method):
    """The one that is quoted from another paper does not agree, which its note says."""
    *parts, whole = PAPER[method]
    mean = sum(n * value for n, value in zip(CLASSES, parts, strict=True)) / sum(CLASSES)
    assert mean == pytest.approx(whole, abs=0.1)


def test_every_published_row_is_a_row_of_ours():
    rows = ids("cifar100lt_table")
    assert set(PAPER) <= set(rows.values())
    controls = {"erm", *(label for label in rows if label.endswith(("half_lr", "full_lr")))}
    assert len(rows) - len(controls) == len(PAPER)
    assert load_sweep("cifar100lt_table").table.controls == tuple(
        label for label in rows if label in controls
    )


def test_protocols_are_told_apart_and_what_is_not_known_has_none():
    by_method = {entry.method: entry.protocol for entry in published("cifar100_lt")}
    for label, config in configs("cifar100lt_table").items():
        assert config.protocol == ("bcl" if label.startswith("bcl") else "balms"), label
        known = by_method.get(ids("cifar100lt_table")[label])
        assert known in (None, "unstated", config.protocol), label
    assert by_method["bcl"] == "unstated"
    assert by_method["latentdr_sa_residual+balanced_softmax"] == "balms"


@pytest.mark.parametrize(
    ("recipe", "changes"),
    [
        ("balms", ["data.md5=any", "evaluation.oracle=false", "data.imbalance.factor=50"]),
        ("bcl", ["data.md5=any", "evaluation.oracle=false", "data.imbalance.kind=step"]),
        ("cifar_lt_small", ["data.md5=official", "data.imbalance.largest=null", "model.width=1"]),
        ("medmnist_lt, data/retinamnist_lt", ["data.imbalance.factor=10", "data.imbalance=null"]),
        ("medmnist_lt, data/bloodmnist_lt", ["data.imbalance.largest=500", "data.md5=any"]),
    ],
)
def test_what_tells_one_protocol_from_another_is_pinned(tmp_path, recipe, changes):
    file = tmp_path / "run.yaml"
    file.write_text(f"extends: [recipe/{recipe}, algorithm/erm]\n")
    plain = load_config(file).protocol
    assert not plain.endswith("+modified")
    for change in changes:
        assert load_config(file, [change]).protocol == f"{plain}+modified", change


def test_a_set_made_rare_is_not_medmnists_own_benchmark(tmp_path):
    file = tmp_path / "run.yaml"
    for recipe in ("medmnist_v2", "medmnist_v2_224", "medmnist"):
        file.write_text(f"extends: [recipe/{recipe}, data/retinamnist_lt, algorithm/erm]\n")
        assert load_config(file).protocol.endswith("+modified"), recipe


def test_the_retrained_classifier_of_crt_has_plain_cross_entropy(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("extends: [recipe/balms, recipe/crt, algorithm/balanced_softmax]\n")
    (stage,) = load_config(file).training.stages
    assert (stage.algorithm.name, stage.algorithm.loss.name) == ("erm", "cross_entropy")
    assert (stage.sampler, stage.epochs) == ("weighted", 10)


def test_balanced_softmax_trains_as_long_as_its_iterations_say():
    training = configs("cifar100lt_table")["balanced_softmax"].training
    batches = math.ceil(TRAINING_IMAGES / 512)  # its loader counts the partial batch,
    assert training.batch_size == 512
    assert training.epochs == math.ceil(13_000 / batches) == 591
    assert training.warmup == math.ceil(800 / batches) == 37
    assert training.drop_last  # and its loop leaves it out


def test_latentdr_is_the_papers_form():
    for label in ("balanced_softmax_latentdr", "bcl_latentdr"):
        algorithm = configs("cifar100lt_table")[label].algorithm
        assert (algorithm.degrade, algorithm.norm, algorithm.lr_scale) == (
            "attention",
            "residual",
            0.5,
        )


@pytest.mark.parametrize("name", ["cifar100lt_table", "cifar10lt_small", "retina_lt", "blood_lt"])
def test_rows_on_one_protocol_differ_in_the_method_alone(name):
    by_protocol = {}
    for config in configs(name).values():
        values = config.model_dump(mode="json", exclude={"algorithm", "label"})
        by_protocol.setdefault(config.protocol, []).append(values)
        assert not config.protocol.endswith("+modified")
        assert config.evaluation.shots == (100, 20)
    for values in by_protocol.values():
        assert all(each == values[0] for each in values)


def test_the_small_sweep_has_three_methods_each_alone_and_with_two_additions():
    rows = ids("cifar10lt_small")
    below = ("", "+balanced_softmax", "+bcl")
    alone = ("erm", "balanced_softmax", "bcl")
    expected = [*alone, *(f"batchformer{b}" for b in below)]
    expected += [f"latentdr_sa_residual{b}" for b in below]
    assert sorted(rows.values()) == sorted(expected)
    assert len(planned("cifar10lt_small")) == 27
    for config in configs("cifar10lt_small").values():
        assert config.training.select == ("last",)  # there is no validation set


def test_rows_of_medical_sets_have_controls():
    for name in ("retina_lt", "blood_lt"):
        table = load_sweep(name).table
        assert set(table.controls) <= set(ids(name))
        assert ["balanced_softmax_latentdr", "balanced_softmax_half_lr"] in map(
            list, table.contrasts
        )


def test_titles_name_both_methods():
    assert id_title("latentdr_sa_residual+bcl").endswith(" on BCL")
