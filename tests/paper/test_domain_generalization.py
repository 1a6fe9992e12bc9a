"""The recipes and sweeps of domain generalization hold the settings that their sources state."""

import functools

import pytest

from medldr.config import load_config, packaged_names
from medldr.config.method import method_id
from medldr.reporting.published.numbers import published
from medldr.sweeps.plan.expand import as_record, expand
from medldr.sweeps.plan.file import load_sweep

DOMAINS = {
    "pacs": ("art_painting", "cartoon", "photo", "sketch"),
    "vlcs": ("Caltech101", "LabelMe", "SUN09", "VOC2007"),
    "office_home": ("Art", "Clipart", "Product", "Real World"),
    "terra_incognita": ("location_100", "location_38", "location_43", "location_46"),
    "domain_net": ("clipart", "infograph", "painting", "quickdraw", "real", "sketch"),
}
PAPERS_ROWS = {
    *("mmd", "dann", "sagnet", "coral", "mldg", "fishr", "miro"),
    *("erm", "mixup", "cutmix", "manifold_mixup", "mixstyle", "batchformer"),
    *("latentdr_sa", "latentdr_pool"),
}
CONTROLS = {"erm_half_lr", "latentdr_sa_full_lr", "latentdr_full_lr"}


@functools.cache
def planned(name):
    return expand(load_sweep(name), "out")


def layout(name):
    return as_record(load_sweep(name), planned(name)).layout


def plain(plan):
    return plan.config.model_dump(mode="json")


def recipe(tmp_path, name, *overrides):
    path = tmp_path / "run.yaml"
    path.write_text(f"extends: [recipe/{name}, data/pacs, algorithm/erm]\n")
    return load_config(path, list(overrides))


@pytest.mark.parametrize(
    ("name", "protocol", "steps", "every", "augmented"),
    [
        ("domainbed", "domainbed-2020", 5001, 300, True),
        ("domainbed_domain_net", "domainbed-2020", 5001, 1000, True),
        ("swad", "swad", 5001, 100, False),
        ("swad_vlcs", "swad", 5001, 50, False),
        ("swad_domain_net", "swad", 15001, 500, False),
    ],
)
def test_protocols_are_complete(tmp_path, name, protocol, steps, every, augmented):
    config = recipe(tmp_path, name, "data.held_out=photo", "seed=2")
    training, model, transform, data = (
        config.training,
        config.model,
        config.transform,
        config.data,
    )
    assert config.protocol == protocol
    assert (training.steps, training.epochs, training.evaluate_every) == (steps, None, every)
    assert training.evaluate_offset == 1  # the first evaluation is after the first update
    assert (training.optimizer, training.lr, training.weight_decay) == ("adam", 5e-5, 0)
    assert training.betas == (0.9, 0.999)
    assert (training.schedule, training.warmup, training.clip_norm) == ("constant", 0, None)
    assert (training.batch_per_domain, training.sampler) == (32, "domains")
    assert training.select[0] == "val_domain_accuracy"  # training-domain validation
    assert (model.name, model.stem, model.width) == ("resnet50", "imagenet", 1)
    assert model.pretrained == "ResNet50_Weights.IMAGENET1K_V1"
    assert model.batch_norm == "frozen"
    assert (transform.name, transform.size) == ("natural", 224)
    assert data.size is None  # crops from each picture at its own size
    assert transform.augment_validation is augmented
    assert (data.split_rule, data.val_fraction) == ("domainbed", 0.2)
    assert data.with_seed(config.seed).split_seed == 2  # the trial


def test_evaluations_of_pacs_are_as_many_as_published(tmp_path):
    for name, count in (("domainbed", 18), ("swad", 51)):
        training = recipe(tmp_path, name, "data.held_out=photo").training
        steps = [
            step
            for step in range(1, training.steps + 1)
            if (step - training.evaluate_offset) % training.evaluate_every == 0
            or step == training.steps
        ]
        assert len(steps) == count
        assert (steps[0], steps[-1]) == (1, 5001)


def test_augmentation_is_domainbeds(tmp_path):
    transform = recipe(tmp_path, "swad", "data.held_out=photo").transform
    assert transform.crop_scale == (0.7, 1.0)
    assert transform.crop_ratio == pytest.approx((3 / 4, 4 / 3))
    jitter = (transform.brightness, transform.contrast, transform.saturation, transform.hue)
    assert jitter == (0.3, 0.3, 0.3, 0.3)
    assert (transform.flip, transform.grey) == (0.5, 0.1)


def test_what_is_left_out_is_no_part_of_the_protocol_and_the_rest_is(tmp_path):
    assert recipe(tmp_path, "swad", "data.held_out=sketch").protocol == "swad"
    averaged = ("training.averaging={name: swad}", "training.select=[swad, last]")
    assert recipe(tmp_path, "swad", "data.held_out=sketch", *averaged).protocol == "swad"
    for change in (
        "training.steps=100",
        "training.batch_per_domain=8",
        "model.batch_norm=live",
        "transform.augment_validation=true",
        "data.split_rule=stratified",
        "data.size=224",
    ):
        assert recipe(tmp_path, "swad", "data.held_out=sketch", change).protocol == "swad+modified"


@pytest.mark.slow  # expands the largest sweep
def test_the_main_table_leaves_every_domain_out_for_every_method_five_times():
    plan = planned("domainbed_table")
    left_out = {(p.config.data.set, p.config.data.held_out) for p in plan}
    assert left_out == {(name, (domain,)) for name, ds in DOMAINS.items() for domain in ds}
    rows = {p.member.row for p in plan}
    assert rows >= PAPERS_ROWS | CONTROLS
    assert {p.config.seed for p in plan} == {0, 1, 2, 3, 4}
    assert len(plan) == len(rows) * 22 * 5
    assert {p.config.protocol for p in plan} == {"swad"}
    assert set(layout("domainbed_table").controls) == CONTROLS
    halved = {p.member.row for p in plan if p.config.algorithm.lr_scale == 0.5}
    assert halved == {"latentdr_sa", "latentdr_pool", "erm_half_lr"}
    assert {p.config.training.steps for p in plan if p.config.data.set != "domain_net"} == {5001}


def test_averaged_weights_tolerate_less_on_vlcs():
    plan = planned("domainbed_swad")
    ratios = {(p.config.data.set, p.config.training.averaging.ratio) for p in plan}
    assert ratios == {(name, 0.2 if name == "vlcs" else 0.3) for name in DOMAINS}
    assert {p.config.training.select[0] for p in plan} == {"swad"}
    for p in plan:
        averaging = p.config.training.averaging
        assert (averaging.n_converge, averaging.n_tolerance) == (3, 6)


def test_averaged_weights_beside_published_numbers_are_counted_as_the_published_code_counts():
    plan = planned("domainbed_swad")
    found = {
        (p.member.row, p.config.training.averaging.compat, p.config.protocol, method_id(plain(p)))
        for p in plan
    }
    rows = ("erm", "coral", "miro", "latentdr_sa", "latentdr_pool")
    assert found == {
        each
        for row in rows
        for each in (
            (f"{row}, swad", True, "swad", f"{row}+swad"),
            (f"{row}, swad_once", False, "swad+modified", f"{row}+swad_once"),
        )
    }
    assert {p.config.data.set for p in plan if p.config.protocol == "swad"} == set(DOMAINS)
    for row in ("erm", "coral"):
        assert {e.source for e in published("pacs", method=f"{row}+swad")} == {"SWAD paper"}
        assert published("pacs", method=f"{row}+swad_once") == ()
    alone = expand(load_sweep("domainbed_swad", ["axes.training.averaging.compat=swad"]), "out")
    assert {p.config.training.averaging.compat for p in alone} == {True}
    assert len(plan) == 2 * len(alone) == 2 * len(rows) * 22 * 3


def test_averaging_counted_otherwise_leaves_the_published_protocol(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(
        "extends: [recipe/swad_vlcs, data/vlcs, recipe/swad_averaging_vlcs, algorithm/erm]\n"
        "data: {held_out: SUN09}\n"
    )
    averaging = load_config(path).training.averaging
    assert (averaging.ratio, averaging.compat, load_config(path).protocol) == (0.2, True, "swad")
    for change in ("compat=false", "ratio=0.3", "n_converge=4", "n_tolerance=5"):
        assert load_config(path, [f"training.averaging.{change}"]).protocol == "swad+modified"


def test_the_search_is_the_papers():
    plan = planned("search_pacs")
    dim = 2048
    grid = {(p.config.algorithm.head_dim, p.config.algorithm.ff_dim) for p in plan}
    wide = (dim, dim // 2, dim // 4, dim // 8)
    assert grid == {(h, f) for h in wide for f in wide}
    assert {p.config.algorithm.dropout for p in plan} == {0.2, 0.5, 0.7}
    assert {p.config.algorithm.name for p in plan} == {"latentdr", "batchformer"}
    assert len(plan) == 2 * 16 * 3 * 4
    pool = planned("search_pacs_pool")
    grid = {(p.config.algorithm.head_dim, p.config.algorithm.ff_dim) for p in pool}
    assert grid == {(h, f) for h in (dim // 8, dim // 16, dim // 32) for f in (dim // 4, dim // 8)}
    assert {(p.config.algorithm.degrade, p.config.algorithm.dropout) for p in pool} == {
        ("pool", 0.5)
    }
    assert {p.config.data.held_out for p in [*plan, *pool]} == {(d,) for d in DOMAINS["pacs"]}


def test_the_ablations_are_the_papers():
    rows = {p.member.row for p in planned("ablation_pacs")}
    assert rows >= {
        *("erm", "latentdr_d_only", "latentdr_r_only", "latentdr_pool"),
        *("latentdr_gaussian_d_only", "latentdr_gaussian_r_only", "latentdr_gaussian"),
        *("latentdr_own_classifier", "latentdr_residual", "latentdr_pre_norm"),
    }
    sizes = {p.config.training.batch_per_domain for p in planned("ablation_pacs_batch")}
    assert sizes == {4, 8, 16, 32, 64, 100}


@pytest.mark.parametrize(
    ("name", "domains"),
    [
        ("pacs64_small", {("photo",), ("sketch",)}),
        ("scanner_table", {(f"scanner_{letter}",) for letter in "abcd"}),
    ],
)
def test_small_sweeps_leave_out_one_domain_of_real_and_simulated_sets(name, domains):
    plan = planned(name)
    assert {p.config.data.held_out for p in plan} == domains
    rows = {p.member.row for p in plan}
    asked = {"erm", "latentdr_sa", "latentdr_pool", "coral", "fishr", "mixstyle"}
    assert rows >= asked | {"erm_half_lr"}
    steps = {p.config.training.steps for p in plan} - {None}
    for p in plan:
        if p.member.row == "fishr":
            assert p.config.algorithm.anneal_steps < min(steps, default=168)


@pytest.mark.parametrize(
    ("name", "domains"),
    [("amf64_features", 7), ("wbc3_features", 3), ("pacs_features", 4), ("camelyon17_features", 1)],
)
def test_sweeps_on_stored_latents_give_every_penalty_steps_to_act_in(name, domains):
    plan = planned(name)
    assert len({p.config.data.held_out for p in plan}) == domains
    assert len(plan) == 24 * domains * 5
    for p in plan:
        config = p.config
        assert (config.model.adapter, config.training.sampler) == (
            "mlp",
            plan[0].config.training.sampler,
        )
        assert getattr(config.algorithm, "anneal_steps", 0) < config.training.steps


def test_these_sweeps_are_shipped():
    assert set(packaged_names("sweep")) >= {
        *("domainbed_table", "domainbed_swad", "pacs64_small", "scanner_table"),
        *("search_pacs", "search_pacs_pool", "ablation_pacs", "ablation_pacs_batch"),
    }
