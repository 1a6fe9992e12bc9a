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
LATENTDR = {"name": "latentdr", "degrade": "attention"}
DRW = {"class_weights": {"kind": "effective_number", "start": 160}}
RETRAIN = {"name": "retrain_head", "epochs": 10}


def erm(loss, **keys):
    return {"name": "erm", "loss": {"name": loss, **keys}}


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


METHODS = {
    "ldam": (erm("ldam"), {}, "LDAM"),
    "ldam_drw": (erm("ldam"), DRW, "LDAM-DRW"),
    "corn": (erm("corn"), {}, "CORN"),
    "latentdr_sa+corn": ({**LATENTDR, "loss": "corn"}, {}, "LatentDR (SA) on CORN"),
    "bcl": ({"name": "bcl", "loss": {"name": "logit_adjusted"}}, {}, "BCL"),
    "latentdr_sa+groupdro": ({**LATENTDR, "base": {"name": "groupdro"}}, {}, "LatentDR (SA) on "
    "GroupDRO"),
    "latentdr_sa+groupdro+balanced_softmax": (
        {**LATENTDR, "base": {"name": "groupdro", "loss": "balanced_softmax"}}, {},
        "LatentDR (SA) on GroupDRO on Balanced Softmax",
    ),
    "latentdr_sa+bcl": (
        {**LATENTDR, "norm": "post", "base": {"name": "bcl"}}, {}, "LatentDR (SA) on BCL",
    ),
    "latentdr_sa+balanced_softmax": (
        {**LATENTDR, "loss": {"name": "balanced_softmax"}}, {},
        "LatentDR (SA) on Balanced Softmax",
    ),
    "latentdr_sa+balanced_softmax+swad": (
        {**LATENTDR, "base": erm("balanced_softmax")},
        {"averaging": {"name": "swad", "compat": True}},
        "LatentDR (SA) on Balanced Softmax + SWAD",
    ),
    "batchformer+ldam_drw": (
        {"name": "batchformer", "loss": {"name": "ldam"}}, DRW, "BatchFormer on LDAM-DRW",
    ),
    "erm+tau_norm": ("erm", {"stages": ["tau_norm"]}, "ERM + tau-normalised"),
    "erm+retrain_all": (
        "erm",
        {"stages": [{"name": "retrain_all"}]},
        "ERM + retrained on all images",
    ),
    "erm+crt": ("erm", {"stages": [RETRAIN]}, "ERM + cRT"),
    "erm+balms_stage+tau_norm": (
        "erm",
        {"stages": [{**RETRAIN, "algorithm": "balms"}, {"name": "tau_norm", "tau": 1}]},
        "ERM + BALMS' second stage + tau-normalised",
    ),
}  # fmt: skip
UNPUBLISHED = {
    "erm_drw": ("erm", DRW, "ERM-DRW"),
    "mylab.loss": (erm("mylab.loss"), {}, "mylab.loss"),
    "logit_adjusted_tau_2": (erm("logit_adjusted", tau=2.0), {}, "Logit adjustment (tau 2)"),
    "bcl+logit_adjusted_tau_0.5": (
        {"name": "bcl", "loss": {"name": "logit_adjusted", "tau": 0.5}}, {},
        "BCL on Logit adjustment (tau 0.5)",
    ),
    "cb_focal_beta_0.999_gamma_1": (
        erm("cb_focal", beta=0.999, gamma=1), {},
        "Class-balanced focal loss (beta 0.999, gamma 1)",
    ),
    "coral+cross_entropy_label_smoothing_0.1": (
        {"name": "coral", "loss": {"name": "cross_entropy", "label_smoothing": 0.1}}, {},
        "CORAL on Cross-entropy (label_smoothing 0.1)",
    ),
    "latentdr_sa+ldam_max_margin_0.3": (
        {**LATENTDR, "base": erm("ldam", max_margin=0.3)}, {},
        "LatentDR (SA) on LDAM (max_margin 0.3)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("found", [*METHODS, *UNPUBLISHED])
def test_what_changes_the_method_is_part_of_its_id_and_title(found):
    algorithm, training, title = {**METHODS, **UNPUBLISHED}[found]
    config = {"algorithm": algorithm, "training": training}
    assert method_id(config) == found
    assert method_title(config) == title
    assert found in UNPUBLISHED or id_title(found) == title


@pytest.mark.parametrize(
    ("algorithm", "training"),
    [("erm", {"class_weights": "balanced"}), *((erm(loss), {}) for loss in PLAIN_LOSSES)],
)
def test_what_every_method_may_have_is_not(algorithm, training):
    config = {"algorithm": algorithm, "training": training}
    assert (method_id(config), method_title(config)) == ("erm", "ERM")


@pytest.mark.parametrize("name", plugins.names("losses"))
def test_a_loss_states_the_published_value_of_each_of_its_keys(name):
    config = plugins.load("losses", name).Config()
    stated = plugins.facts("losses", name).get("PUBLISHED", {})
    assert stated == config.model_dump(exclude={"name"})
    algorithm = {"algorithm": {"name": "erm", "loss": config.model_dump()}}
    assert method_id(algorithm) == ("erm" if name in PLAIN_LOSSES else name)


@pytest.mark.parametrize("name", sorted(set(plugins.names("losses")) - set(PLAIN_LOSSES)))
def test_a_loss_for_imbalanced_classes_is_a_packaged_part_that_goes_by_its_name(name):
    part = plain(load_part("algorithm", name))
    assert part["algorithm"]["name"] == "erm"
    assert method_id(part) == name
    assert method_title(part) == row_titles()[name]


@pytest.mark.parametrize(
    ("length", "found"),
    [
        ({}, "ldam_drw"),
        ({"epochs": 161}, "ldam_drw"),
        ({"epochs": 160}, "ldam"),
        ({"epochs": None, "steps": 160}, "ldam"),
        ({"epochs": None, "steps": 1000}, "ldam_drw"),
    ],
)
def test_weights_that_would_come_in_after_the_end_defer_nothing(length, found):
    config = {"algorithm": erm("ldam"), "training": {**DRW, **length}}
    assert method_id(config) == found
    assert method_title(config) == ("LDAM-DRW" if found == "ldam_drw" else "LDAM")


def test_variants_that_a_sweep_compares_have_titles_of_their_own():
    titles = row_titles()
    assert titles["erm_half_lr"] == "ERM, half the rate"
    assert titles["latentdr_pool"] == "LatentDR (Pool)"
    assert titles["mmd_median"] == "MMD, median bandwidths"
    assert len(set(titles.values())) == len(titles)


def test_reading_a_title_imports_no_plug_in():
    code = (
        "import sys; from medldr import plugins; "
        "assert 'erm' in plugins.names('algorithms'); "
        "assert plugins.facts('algorithms', 'latentdr')['TITLE'] == 'LatentDR'; "
        "assert plugins.facts('algorithms', '../latent/latentdr') == {}; "
        "loaded = [m for m in sys.modules if m.startswith('medldr.algorithms') or m == 'torch']; "
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


RETRAINED = {
    "crt": ({}, "cRT"),
    "head_shuffle": ({"sampler": "shuffle"}, "classifier retrained (plain batches)"),
    "head_shuffle_further": (
        {"restart": False, "sampler": "shuffle"}, "classifier trained further (plain batches)",
    ),
    "head_weighted_latentdr_sa": (
        {"algorithm": LATENTDR}, "classifier retrained by LatentDR (SA) (class-balanced batches)",
    ),
    "head_weighted_further_balms": (
        {"restart": False, "algorithm": "balms"},
        "classifier trained further by BALMS (meta-sampler) (class-balanced batches)",
    ),
    "balms_stage": (
        {"algorithm": {"name": "balms", "loss": {"name": "balanced_softmax"}}},
        "BALMS' second stage",
    ),
}  # fmt: skip


@pytest.mark.parametrize("part", RETRAINED)
def test_only_a_new_classifier_on_class_balanced_batches_is_crt(part):
    keys, title = RETRAINED[part]
    stage = {**RETRAIN, **keys}
    for filled in (stage, {"restart": True, "sampler": "weighted", "algorithm": None, **stage}):
        config = {"algorithm": "erm", "training": {"stages": [filled]}}
        assert method_id(config) == f"erm+{part}"
        assert method_title(config) == f"ERM + {title}"


@pytest.mark.parametrize(
    ("first", "loss"),
    [
        (erm("ldam"), "ldam"),
        ({"name": "bcl", "loss": None}, "logit_adjusted"),
        ({**LATENTDR, "base": {"name": "erm", "loss": "balanced_softmax"}}, "balanced_softmax"),
    ],
)
def test_crt_has_plain_cross_entropy_whatever_the_network_was_trained_with(first, loss):
    def found(**keys):
        config = {"algorithm": first, "training": {"stages": [{**RETRAIN, **keys}]}}
        return method_id(config).rsplit("+", 1)[1]

    assert found(algorithm=erm("cross_entropy")) == "crt"
    assert found() == f"head_weighted_{loss}"


@pytest.mark.parametrize("part", ["crt", "balms_stage"])
def test_the_packaged_stages_go_by_their_published_names(part):
    assert method_id({"algorithm": "erm", **plain(load_part("recipe", part))}) == f"erm+{part}"
