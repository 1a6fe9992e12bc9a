"""The sweeps behind the paper's figures hold their methods, sizes and settings."""

import functools

import pytest

from medldr.config import load_config
from medldr.sweeps.plan.expand import as_record, expand
from medldr.sweeps.plan.file import load_sweep

METHODS = ("erm", "mixup", "batchformer", "latentdr_sa")
"""Of the paper's figures of latents (alignment and uniformity; t-SNE of the unseen domain)."""
OURS = ("latentdr_pool", "erm_half_lr")
ABLATION = {
    "latentdr_pool": ("pool", "attention", ("degraded", "restored")),
    "latentdr_d_only": ("pool", "none", ("degraded",)),
    "latentdr_r_only": ("none", "attention", ("restored",)),
    "latentdr_gaussian": ("gaussian", "attention", ("degraded", "restored")),
    "latentdr_gaussian_d_only": ("gaussian", "none", ("degraded",)),
    "latentdr_gaussian_r_only": ("gaussian", "attention", ("restored",)),
}


@functools.cache
def configs(name):
    return {(p.member.row, p.config.seed): p.config for p in expand(load_sweep(name), "out")}


def of_first_seed(name):
    return {row: config for (row, seed), config in configs(name).items() if seed == 0}


@pytest.mark.parametrize("name", ["figures_phantom", "figures_pacs"])
def test_latents_are_kept_of_the_papers_methods_with_the_control_and_an_early_model(name):
    kept = [row for row, config in of_first_seed(name).items() if config.evaluation.latents]
    early = kept[-1]
    assert tuple(kept) == (*METHODS, *OURS, early)
    layout = as_record(load_sweep(name), expand(load_sweep(name), "out")).layout
    assert layout.reference == "erm"
    assert {"erm_half_lr", early} <= set(layout.controls)
    assert ("latentdr_sa", "erm_half_lr") in layout.contrasts


@pytest.mark.parametrize("name", ["figures_phantom", "figures_pacs"])
def test_the_early_model_differs_in_its_length_and_is_scored_as_it_ends(name):
    runs = of_first_seed(name)
    (early,) = (c for row, c in runs.items() if c.training.select == ("last",))
    assert early.algorithm == runs["latentdr_sa"].algorithm
    assert early.data == runs["latentdr_sa"].data
    assert early.training.steps < runs["latentdr_sa"].training.steps / 4
    assert early.training.schedule == "constant"


def test_pacs_has_the_papers_settings():
    runs = configs("figures_pacs")
    assert {seed for _, seed in runs} == {0, 1, 2, 3, 4}
    for (row, seed), config in runs.items():
        assert config.data.held_out == ("art_painting",)
        early = row == "latentdr_sa_300_steps"
        assert config.training.steps == (300 if early else 5001)
        assert config.protocol == ("swad+modified" if early else "swad")
        if row in METHODS:  # nothing but the kept latents tells it from a run of the main table
            keys = [f"algorithm={row}", "data.held_out=art_painting", f"seed={seed}"]
            plain = load_config("pacs_erm", keys)
            for section in ("data", "transform", "model", "algorithm", "training"):
                assert getattr(config, section) == getattr(plain, section), (row, section)


def test_the_phantom_has_the_papers_ablation():
    found = {
        row: (config.algorithm.degrade, config.algorithm.restore, config.algorithm.terms)
        for row, config in of_first_seed("figures_phantom").items()
        if row in ABLATION
    }
    assert found == ABLATION


def test_the_phantom_has_four_sizes_that_differ_in_nothing_else():
    runs = of_first_seed("figures_phantom")
    sizes = [row for row in runs if row.startswith("latentdr_sa") and "early" not in row]
    assert sorted(runs[row].training.batch_size for row in sizes) == [3 * b for b in (4, 8, 16, 32)]
    left_out = {"label": True, "evaluation": True, "training": {"batch_size"}}
    rest = [runs[row].model_dump(mode="json", exclude=left_out) for row in sizes]
    assert all(one == rest[0] for one in rest)


def test_every_step_on_the_phantom_has_equally_many_images_of_each_scanner():
    for config in configs("figures_phantom").values():
        assert config.training.sampler == "domains"
        assert config.training.batch_size % 3 == 0
        assert config.protocol == "phantom+modified"
