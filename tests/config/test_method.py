"""Titles and published ids come from the plug-ins and their packaged parts."""

import subprocess
import sys

import pytest

from medldr import plugins
from medldr.config import load_part
from medldr.config.method import (
    augmentation_id,
    method_id,
    method_title,
    model_title,
    row_titles,
)
from medldr.config.yaml import plain

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
    assert method_id({"algorithm": algorithm}) == "latentdr"


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
