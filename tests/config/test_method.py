"""Titles and published ids come from the plug-ins and their packaged parts."""

import subprocess
import sys

import pytest

from medldr import plugins
from medldr.config import load_part
from medldr.config.method import (
    augmentation_id,
    id_title,
    method_id,
    method_title,
    model_title,
    row_titles,
)
from medldr.config.yaml import plain

PLAIN_LOSSES = ("cross_entropy", "binary_cross_entropy")
FORMS = [
    (name, form["id"])
    for name in plugins.names("algorithms")
    for form in plugins.facts("algorithms", name).get("FORMS", ())
]


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_a_published_form_is_a_packaged_part_that_goes_by_its_id(name, form):
    part = plain(load_part("algorithm", form))
    assert part["algorithm"]["name"] == name
    assert method_id(part) == form


def test_a_method_of_another_package_goes_by_its_own_name():
    config = {"algorithm": {"name": "mylab.methods.foo"}, "model": "mylab.nets.bar"}
    assert method_id(config) == method_title(config) == "mylab.methods.foo"
    assert model_title("mylab.nets.bar") == "mylab.nets.bar"
    assert augmentation_id({"transform": "mylab.pixels"}) == ""


def test_a_method_on_a_base_names_both():
    algorithm = {"name": "latentdr", "degrade": "attention", "base": {"name": "groupdro"}}
    assert method_title({"algorithm": algorithm}) == "LatentDR (SA) on GroupDRO"
    assert method_id({"algorithm": algorithm}) == "latentdr_sa+groupdro"
    algorithm["base"]["loss"] = "balanced_softmax"
    assert method_title({"algorithm": algorithm}) == "LatentDR (SA) on GroupDRO on Balanced Softmax"
    assert method_id({"algorithm": algorithm}) == "latentdr_sa+groupdro+balanced_softmax"


LATENTDR = {"name": "latentdr", "degrade": "attention"}
DEFERRED = {"class_weights": {"kind": "effective_number", "start": 160}}


@pytest.mark.parametrize(
    ("algorithm", "training", "title", "found"),
    [
        ({"name": "erm", "loss": {"name": "ldam"}}, {}, "LDAM", "ldam"),
        ({"name": "erm", "loss": {"name": "ldam"}}, DEFERRED, "LDAM-DRW", "ldam_drw"),
        ({"name": "erm"}, DEFERRED, "ERM-DRW", "erm_drw"),
        ({"name": "erm"}, {"class_weights": "balanced"}, "ERM", "erm"),
        ({"name": "erm", "loss": "cross_entropy"}, {}, "ERM", "erm"),
        ({"name": "erm", "loss": "binary_cross_entropy"}, {}, "ERM", "erm"),
        ({"name": "bcl", "loss": {"name": "logit_adjusted"}}, {}, "BCL", "bcl"),
        (
            {"name": "latentdr", "norm": "post", "degrade": "attention", "base": {"name": "bcl"}},
            {},
            "LatentDR (SA) on BCL",
            "latentdr_sa+bcl",
        ),
        ({"name": "erm", "loss": {"name": "mylab.loss"}}, {}, "mylab.loss", "mylab.loss"),
        (
            {**LATENTDR, "loss": {"name": "balanced_softmax"}},
            {},
            "LatentDR (SA) on Balanced Softmax",
            "latentdr_sa+balanced_softmax",
        ),
        (
            {**LATENTDR, "base": {"name": "erm", "loss": {"name": "balanced_softmax"}}},
            {"averaging": {"name": "swad", "compat": True}},
            "LatentDR (SA) on Balanced Softmax + SWAD",
            "latentdr_sa+balanced_softmax+swad",
        ),
        (
            {"name": "batchformer", "loss": {"name": "ldam"}},
            DEFERRED,
            "BatchFormer on LDAM-DRW",
            "batchformer+ldam_drw",
        ),
    ],
)
def test_a_loss_of_its_own_names_the_method(algorithm, training, title, found):
    config = {"algorithm": algorithm, "training": training}
    assert method_title(config) == title
    assert method_id(config) == found
    assert found == "erm_drw" or "mylab" in found or id_title(found) == title


@pytest.mark.parametrize("name", sorted(set(plugins.names("losses")) - set(PLAIN_LOSSES)))
def test_a_loss_for_imbalanced_classes_is_a_packaged_part_that_goes_by_its_name(name):
    part = plain(load_part("algorithm", name))
    assert part["algorithm"]["name"] == "erm"
    assert method_id(part) == name
    assert method_title(part) == row_titles()[name]


@pytest.mark.parametrize("name", plugins.names("losses"))
def test_a_loss_states_the_published_value_of_each_of_its_keys(name):
    config = plugins.load("losses", name).Config()
    stated = plugins.facts("losses", name).get("PUBLISHED", {})
    assert stated == config.model_dump(exclude={"name"})
    plain = {"algorithm": {"name": "erm", "loss": config.model_dump()}}
    assert method_id(plain) == ("erm" if name in PLAIN_LOSSES else name)


@pytest.mark.parametrize(
    ("algorithm", "title", "found"),
    [
        (
            {"name": "erm", "loss": {"name": "logit_adjusted", "tau": 2.0}},
            "Logit adjustment (tau 2)",
            "logit_adjusted_tau_2",
        ),
        (
            {"name": "bcl", "loss": {"name": "logit_adjusted", "tau": 0.5}},
            "BCL on Logit adjustment (tau 0.5)",
            "bcl+logit_adjusted_tau_0.5",
        ),
        (
            {"name": "erm", "loss": {"name": "cb_focal", "beta": 0.999, "gamma": 1}},
            "Class-balanced focal loss (beta 0.999, gamma 1)",
            "cb_focal_beta_0.999_gamma_1",
        ),
        (
            {"name": "coral", "loss": {"name": "cross_entropy", "label_smoothing": 0.1}},
            "CORAL on Cross-entropy (label_smoothing 0.1)",
            "coral+cross_entropy_label_smoothing_0.1",
        ),
        (
            {
                "name": "latentdr",
                "degrade": "attention",
                "base": {"name": "erm", "loss": {"name": "ldam", "max_margin": 0.3}},
            },
            "LatentDR (SA) on LDAM (max_margin 0.3)",
            "latentdr_sa+ldam_max_margin_0.3",
        ),
    ],
)
def test_a_loss_with_other_than_its_published_keys_is_another_method(algorithm, title, found):
    assert method_title({"algorithm": algorithm}) == title
    assert method_id({"algorithm": algorithm}) == found


@pytest.mark.parametrize(
    ("length", "found"),
    [
        ({}, "ldam_drw"),
        ({"epochs": 200}, "ldam_drw"),
        ({"epochs": 161}, "ldam_drw"),
        ({"epochs": 160}, "ldam"),
        ({"epochs": None, "steps": 160}, "ldam"),
        ({"epochs": None, "steps": 1000}, "ldam_drw"),
    ],
)
def test_weights_that_would_come_in_after_the_end_defer_nothing(length, found):
    algorithm = {"name": "erm", "loss": {"name": "ldam"}}
    config = {"algorithm": algorithm, "training": {**DEFERRED, **length}}
    assert method_id(config) == found
    assert method_title(config) == ("LDAM-DRW" if found == "ldam_drw" else "LDAM")


def test_variants_that_a_sweep_compares_have_titles_of_their_own():
    titles = row_titles()
    assert titles["erm_half_lr"] == "ERM, half the rate"
    assert titles["latentdr_pool"] == "LatentDR (Pool)"
    assert titles["mmd_median"] == "MMD, median bandwidths"
    shared = [title for title in titles.values() if list(titles.values()).count(title) > 1]
    assert shared == []


def test_reading_a_title_imports_no_plug_in():
    code = (
        "import sys; from medldr import plugins; "
        "assert plugins.facts('algorithms', 'latentdr')['TITLE'] == 'LatentDR'; "
        "assert plugins.facts('algorithms', '../latent/latentdr') == {}; "
        "loaded = [m for m in sys.modules if m.startswith('medldr.algorithms') or m == 'torch']; "
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("stages", "title", "found"),
    [
        (["tau_norm"], "ERM + tau-normalised", "erm+tau_norm"),
        ([{"name": "retrain_head", "epochs": 10}], "ERM + cRT", "erm+crt"),
        (
            [
                {"name": "retrain_head", "steps": 9, "algorithm": "balms"},
                {"name": "tau_norm", "tau": 1},
            ],
            "ERM + BALMS' second stage + tau-normalised",
            "erm+balms_stage+tau_norm",
        ),
    ],
)
def test_later_stages_are_part_of_the_method(stages, title, found):
    config = {"algorithm": "erm", "training": {"stages": stages}}
    assert method_title(config) == title
    assert method_id(config) == found
    assert id_title(found) == title


RETRAINED = {
    "crt": {},
    "head_shuffle": {"sampler": "shuffle"},
    "head_domains": {"sampler": "domains"},
    "head_weighted_further": {"restart": False},
    "head_shuffle_further": {"restart": False, "sampler": "shuffle"},
    "head_weighted_latentdr_sa": {"algorithm": LATENTDR},
    "head_weighted_ldam": {"algorithm": {"name": "erm", "loss": "ldam"}},
    "head_weighted_further_balms": {"restart": False, "algorithm": "balms"},
    "balms_stage": {"algorithm": {"name": "balms", "loss": {"name": "balanced_softmax"}}},
}


@pytest.mark.parametrize("part", RETRAINED)
def test_only_a_new_classifier_on_class_balanced_batches_is_crt(part):
    stage = {"name": "retrain_head", "epochs": 10, **RETRAINED[part]}
    for filled in (stage, {"restart": True, "sampler": "weighted", "algorithm": None, **stage}):
        config = {"algorithm": "erm", "training": {"stages": [filled]}}
        assert method_id(config) == f"erm+{part}"
        assert ("cRT" in method_title(config)) == (part == "crt")


@pytest.mark.parametrize(
    ("first", "loss"),
    [
        ({"name": "erm", "loss": {"name": "ldam"}}, "ldam"),
        ({"name": "bcl", "loss": None}, "logit_adjusted"),
        ({**LATENTDR, "base": {"name": "erm", "loss": "balanced_softmax"}}, "balanced_softmax"),
    ],
)
def test_crt_has_plain_cross_entropy_whatever_the_network_was_trained_with(first, loss):
    def found(**keys):
        stage = {"name": "retrain_head", "epochs": 10, **keys}
        return method_id({"algorithm": first, "training": {"stages": [stage]}}).rsplit("+", 1)[1]

    assert found(algorithm={"name": "erm", "loss": {"name": "cross_entropy"}}) == "crt"
    assert found() == f"head_weighted_{loss}"


def test_another_way_to_train_the_classifier_is_said_in_words():
    def title(**keys):
        stage = {"name": "retrain_head", "epochs": 10, **keys}
        return method_title({"algorithm": "erm", "training": {"stages": [stage]}})

    assert title(sampler="shuffle") == "ERM + classifier retrained (plain batches)"
    assert title(restart=False) == "ERM + classifier trained further (class-balanced batches)"
    assert title(algorithm=LATENTDR) == (
        "ERM + classifier retrained by LatentDR (SA) (class-balanced batches)"
    )
    titles = {title(**keys) for keys in RETRAINED.values()}
    assert len(titles) == len(RETRAINED)


def test_a_stage_counts_as_often_as_it_is_there():
    stages = [{"name": "retrain_head", "epochs": 1}] * 2
    assert method_id({"algorithm": "erm", "training": {"stages": stages}}) == "erm+crt+crt"


def test_the_packaged_stages_go_by_their_published_names():
    for part, found in (("crt", "crt"), ("balms_stage", "balms_stage")):
        config = {"algorithm": "erm", **plain(load_part("recipe", part))}
        assert method_id(config) == f"erm+{found}"
