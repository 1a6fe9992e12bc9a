"""The shipped sweeps hold the rows, sets, seeds and protocols of the paper's tables."""

import functools

import pytest

from medldr.config import packaged_configs, packaged_names
from medldr.reporting.published.numbers import published
from medldr.sweeps.plan.expand import as_record, expand
from medldr.sweeps.plan.file import load_sweep

PAPERS_ROWS = ("erm", "mixup", "manifold_mixup", "batchformer", "latentdr_sa", "latentdr_pool")
CONTROLS = ("erm_half_lr", "latentdr_full_lr")
PAPERS_SETS = ("dermamnist", "organsmnist", "octmnist", "fracturemnist3d")
PHANTOM_ROWS = (
    *("erm", "mixup", "cutmix", "manifold_mixup", "mixstyle", "mixstyle_cross_domain"),
    *("batchformer", "latentdr_sa", "latentdr_pool"),
)


@functools.cache
def planned(name):
    return expand(load_sweep(name), "out")


@functools.cache
def record(name):
    return as_record(load_sweep(name), planned(name))


def rows(name):
    return list(dict.fromkeys(p.member.row for p in planned(name)))


def columns(name):
    return list(dict.fromkeys(p.member.column for p in planned(name)))


def test_these_sweeps_are_shipped():
    assert set(packaged_names("sweep")) >= {
        *("medmnist_table", "medmnist_table_28", "retina_small", "phantom_table"),
        *("ablation_terms_phantom", "ablation_batch_size_phantom"),
    }


@pytest.mark.parametrize(
    ("name", "protocol"),
    [("medmnist_table", "medmnist-224up"), ("medmnist_table_28", "medmnist-28")],
)
def test_the_table_has_the_papers_rows_and_sets_three_times(name, protocol):
    plan = planned(name)
    assert set(rows(name)) == {*PAPERS_ROWS, *CONTROLS}
    assert {p.config.data.flag for p in plan} == set(PAPERS_SETS)
    assert {p.config.protocol for p in plan} == {protocol}
    assert {p.config.seed for p in plan} == {0, 1, 2}
    assert len(plan) == 8 * 4 * 3
    assert record(name).layout.reference == "erm"
    assert record(name).layout.controls == CONTROLS


@pytest.mark.parametrize("name", ["medmnist_table", "medmnist_table_28"])
def test_members_are_the_packaged_runs_where_there_are_such(name):
    shipped = set(packaged_names("run"))
    labels = {p.config.label for p in planned(name)}
    assert len(labels & shipped) == 4 * 3  # ERM, SA and Pool on each set


@pytest.mark.parametrize("name", ["medmnist_table", "medmnist_table_28"])
def test_training_is_the_same_for_every_method_but_for_the_rate(name):
    for plan in planned(name):
        training = plan.config.training
        assert (training.optimizer, training.lr, training.momentum) == ("sgd", 0.001, 0.9)
        assert (training.epochs, training.batch_size) == (100, 128)
    halved = {p.member.row for p in planned(name) if p.config.algorithm.lr_scale == 0.5}
    assert halved == {"latentdr_sa", "latentdr_pool", "erm_half_lr"}


def test_every_row_of_the_paper_has_its_published_number():
    for flag in PAPERS_SETS:
        for row in PAPERS_ROWS:
            found = published(flag, metric="accuracy", method=row, protocol="medmnist-224up")
            assert "LatentDR paper" in {p.source for p in found}, (flag, row)


def test_the_phantom_table_has_nine_rows_on_one_held_out_scanner():
    assert tuple(rows("phantom_table")) == PHANTOM_ROWS
    assert len(columns("phantom_table")) == 1
    for plan in planned("phantom_table"):
        assert plan.config.data.held_out == ("scanner_d",)
        assert plan.config.protocol == "phantom"


def test_the_small_sweep_is_two_sets_and_four_methods():
    assert rows("retina_small") == ["erm", "batchformer", "latentdr_sa", "latentdr_pool"]
    assert columns("retina_small") == ["retinamnist", "breastmnist"]
    assert {p.config.protocol for p in planned("retina_small")} == {"medmnist-28"}


def test_the_ablation_of_terms_has_the_papers_rows():
    found = {
        p.member.row: (
            getattr(p.config.algorithm, "degrade", None),
            getattr(p.config.algorithm, "restore", None),
            getattr(p.config.algorithm, "terms", None),
        )
        for p in planned("ablation_terms_phantom")
    }
    both = ("degraded", "restored")
    assert found["latentdr_pool"] == ("pool", "attention", both)
    assert found["latentdr_d_only"] == ("pool", "none", ("degraded",))
    assert found["latentdr_r_only"] == ("none", "attention", ("restored",))
    assert found["latentdr_gaussian"] == ("gaussian", "attention", both)
    assert found["latentdr_gaussian_d_only"] == ("gaussian", "none", ("degraded",))
    assert found["latentdr_gaussian_r_only"] == ("gaussian", "attention", ("restored",))
    norms = {
        p.member.row: getattr(p.config.algorithm, "norm", None)
        for p in planned("ablation_terms_phantom")
    }
    assert norms["latentdr_pool"] == "post"  # eq. msa-1
    assert norms["latentdr_residual"] == "residual"  # eq. msa-2
    assert norms["latentdr_pre_norm"] == "pre"  # the prose
    own = [p for p in planned("ablation_terms_phantom") if "own_classifier" in p.member.row]
    assert not any(p.config.algorithm.share_classifier for p in own)
    assert len(own) == 3


def test_the_ablation_of_the_batch_has_the_papers_sizes_at_equal_steps():
    plan = planned("ablation_batch_size_phantom")
    # Paper: B = 4, 8, 16, 32, 64, 100 from each of three training domains.
    sizes = sorted({p.config.training.batch_size for p in plan})
    assert sizes == [3 * b for b in (4, 8, 16, 32, 64, 100)]
    assert columns("ablation_batch_size_phantom")[0] == "4_per_domain"
    assert {p.config.training.steps for p in plan} == {168}
    assert {p.config.training.epochs for p in plan} == {None}
    assert {p.config.training.sampler for p in plan} == {"domains"}
    assert {p.config.protocol for p in plan} == {"phantom+modified"}
    assert {"erm", "latentdr_sa"} <= set(rows("ablation_batch_size_phantom"))


@pytest.mark.parametrize("name", [n for n in packaged_names("sweep") if "phantom" in n])
def test_what_is_made_on_the_phantom_says_so(name):
    assert "demonstration" in record(name).layout.remark.lower()


@pytest.mark.parametrize("name", packaged_names("sweep"))
def test_every_sweep_file_names_its_source(name):
    assert "Source: " in (packaged_configs() / "sweep" / f"{name}.yaml").read_text()
