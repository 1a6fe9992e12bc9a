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
