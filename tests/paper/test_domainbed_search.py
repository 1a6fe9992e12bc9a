"""DomainBed's random search: its distributions, method by method, as its code gives them."""

import re

import numpy as np
import pytest

from medldr.config import packaged_configs, packaged_names
from medldr.sweeps.plan.expand import expand
from medldr.sweeps.plan.file import load_sweep

# Powers as DomainBed writes them; "int" is what int() makes of such a power.
COMMON = {
    "training.lr": ("10^U", -5, -3.5),
    "training.batch_per_domain": ("int 2^U", 3, 5.5),
    "training.weight_decay": ("10^U", -6, -2),
    "model.dropout": [0.0, 0.1, 0.5],
}
ADVERSARIAL = {
    "algorithm.weight": ("10^U", -2, 2),
    "algorithm.lr_d": ("10^U", -5, -3.5),
    "algorithm.weight_decay_d": ("10^U", -6, -2),
    "algorithm.d_steps": ("int 2^U", 0, 3),
    "algorithm.grad_penalty": ("10^U", -2, 1),
    "algorithm.betas": [[0.0, 0.9], [0.5, 0.9]],
    "algorithm.width": ("int 2^U", 6, 10),
    "algorithm.depth": [3, 4, 5],
    "algorithm.dropout": [0.0, 0.1, 0.5],
}
PENALTY = {"algorithm.weight": ("10^U", -1, 5), "algorithm.anneal_steps": ("int 10^U", 0, 4)}
OWN = {
    "erm": {},
    "latentdr_sa": {},
    "mixup": {},
    "dann": ADVERSARIAL,
    "cdann": ADVERSARIAL,
    "coral": {"algorithm.weight": ("10^U", -1, 1)},
    "mmd": {"algorithm.weight": ("10^U", -1, 1)},
    "irm": PENALTY,
    "vrex": PENALTY,
    "fishr": {
        "algorithm.weight": ("10^U", 1, 4),
        "algorithm.anneal_steps": ("int U", 0, 5000),
        "algorithm.ema": ("U", 0.90, 0.99),
    },
    "sagnet": {"algorithm.weight": ("10^U", -2, 1)},
    "groupdro": {"algorithm.eta": ("10^U", -3, -1)},
    "mldg": {"algorithm.beta": ("10^U", -1, 1)},
    "fish_domainbed": {"algorithm.meta_lr": [0.05, 0.1, 0.5]},
}
GRID = (np.arange(1000) + 0.5) / 1000
SEARCHES = packaged_names("search")


def quantiles(said):
    """Of what DomainBed draws from: powers of a grid of numbers, cut to whole ones."""
    kind, low, high = said
    grid = low + (high - low) * GRID
    base = re.search(r"\d+", kind)
    values = float(base[0]) ** grid if base else grid
    return np.floor(values) if kind.startswith("int") else values


@pytest.fixture(scope="module")
def methods():
    """The variables of each method under its protocol, from an expanded sweep."""
    found = {}
    content = {
        "common": {"extends": ["recipe/domainbed", "data/pacs"], "data": {"held_out": "photo"}},
        "search": {"extends": "search/domainbed", "draws": 2},
        "axes": {"algorithm": list(OWN)},
    }
    sweep = load_sweep(content)
    for planned in expand(sweep, "out"):
        config = planned.config
        if planned.member.label.endswith("_d01"):
            variables = sweep.search.variables({"algorithm": {"name": config.algorithm.name}})
            found[planned.member.row_values["algorithm"]] = (variables, planned)
    return found


@pytest.mark.parametrize("name", OWN)
def test_every_key_of_a_method_is_drawn_from_domainbed_s_distribution(methods, name):
    variables, planned = methods[name]
    expected = {**COMMON, **OWN[name]}
    assert variables.keys() == expected.keys() == planned.member.drawn.keys()
    assert planned.config.protocol == "domainbed-2020"
    for key, said in expected.items():
        distribution = variables[key].distribution
        if isinstance(said, list):
            assert (distribution.kind, list(distribution.values)) == ("choice", said), key
            continue
        ours = np.array([distribution.at(u) for u in GRID])
        whole = said[0].startswith("int")
        np.testing.assert_allclose(ours, quantiles(said), rtol=1e-5, atol=1.01 if whole else 0)
        if whole:  # a bound that is rounded may move a value of a thousand by one
            assert np.mean(ours != quantiles(said)) < 0.01, key
            assert all(isinstance(distribution.at(u), int) for u in (0, 0.5))


def test_on_domain_net_at_most_31_images_of_a_domain_are_drawn():
    content = {
        "common": {"extends": ["recipe/domainbed_domain_net", "data/domain_net"],
                   "data": {"held_out": "real"}, "algorithm": "erm"},
        "search": {"extends": "search/domainbed_domain_net", "draws": 60},
    }  # fmt: skip
    sweep = load_sweep(content)
    assert list(sweep.search.space) == list(load_sweep({**content, "search": {
        "extends": "search/domainbed"}}).search.space)  # fmt: skip
    (images,) = sweep.search.space["training.batch_per_domain"]
    assert images.distribution.extremes() == (8, 31)
    drawn = [p.config.training.batch_per_domain for p in expand(sweep, "out")[1:]]
    assert 8 <= min(drawn) < 12
    assert 26 < max(drawn) <= 31


def test_the_packaged_search_has_twenty_draws_the_defaults_first_and_trials_of_their_own():
    sweep = load_sweep("search_domainbed_pacs")
    search = sweep.search
    assert (search.draws, search.defaults_first, search.per_seed) == (20, True, True)
    assert len(sweep.seeds) == 3
    planned = expand(load_sweep("search_domainbed_pacs", ["search.draws=2"]), "out")
    assert len(planned) == 3 * 4 * 3 * 2
    drawn = {(p.member.label, p.member.seed): p.member.drawn for p in planned}
    assert drawn["erm_photo_d00", 0] == {
        "training.lr": 5e-5, "training.batch_per_domain": 32, "training.weight_decay": 0.0,
        "model.dropout": 0.0,
    }  # fmt: skip
    assert drawn["erm_photo_d00", 0] == drawn["latentdr_sa_sketch_d00", 2]
    assert drawn["erm_photo_d01", 0] == drawn["latentdr_pool_sketch_d01", 0]
    assert drawn["erm_photo_d01", 0] != drawn["erm_photo_d01", 1]
    assert {p.config.protocol for p in planned} == {"domainbed-2020"}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_space_begins_with_what_it_is_and_names_its_source(name):
    lines = (packaged_configs() / "search" / f"{name}.yaml").read_text().splitlines()
    assert re.fullmatch(r"# [A-Z].{10,96}\.", lines[0]), lines[0]
    assert any("Source:" in line for line in lines)
    assert max(map(len, lines)) <= 100
