"""The shipped configurations hold the numbers of the paper and of the protocols it follows."""

import pytest

from medldr.config import load_config, load_part, packaged_configs, packaged_names
from medldr.config.yaml import read_yaml

PAPERS_FOUR = ("dermamnist", "organsmnist", "octmnist", "fracturemnist3d")
SETS = (*PAPERS_FOUR, "retinamnist", "breastmnist", "adrenalmnist3d", "vesselmnist3d")
ALGORITHMS = ("erm", "latentdr_sa", "latentdr_pool")
RUNS = [f"{name}_{algorithm}" for name in SETS for algorithm in ALGORITHMS]
RUNS_224 = [f"{name}_224up_{algorithm}" for name in PAPERS_FOUR for algorithm in ALGORITHMS]
EIGHTEEN = (
    *("pathmnist", "chestmnist", "dermamnist", "octmnist", "pneumoniamnist", "retinamnist"),
    *("breastmnist", "bloodmnist", "tissuemnist", "organamnist", "organcmnist", "organsmnist"),
    *("organmnist3d", "nodulemnist3d", "adrenalmnist3d", "fracturemnist3d", "vesselmnist3d"),
    "synapsemnist3d",
)


@pytest.mark.parametrize("name", [*RUNS, *RUNS_224])
def test_training_is_the_papers(name):
    # Paper: SGD, lr 0.001, momentum 0.9, 100 epochs, batch 128 (a commented line).
    # MedMNIST: MultiStep at 50 and 75, x 0.1; the epoch of the best validation AUC; no decay.
    training = load_config(name).training
    assert training.optimizer == "sgd"
    assert training.lr == 0.001
    assert training.momentum == 0.9
    assert training.nesterov is False
    assert training.weight_decay == 0
    assert training.epochs == 100
    assert training.steps is None
    assert training.batch_size == 128
    assert training.drop_last is True
    assert training.schedule == "multistep"
    assert training.milestones == (50, 75)
    assert training.gamma == 0.1
    assert training.warmup == 0
    assert training.select == ("val_auc",)
    assert training.clip_norm is training.class_weights is training.averaging is None
    assert training.sampler is training.init_from is training.early_stopping is None


@pytest.mark.parametrize("name", [*RUNS, *RUNS_224])
def test_every_run_reads_the_official_28_pixel_file(name):
    config = load_config(name)
    assert config.data.name == "medmnist"
    assert config.data.flag == name.split("_")[0]
    assert config.data.size == 28
    assert config.data.md5 == "official"
    assert config.data.train_fraction == 1
    assert config.data.root is None
    assert config.data.download is False


@pytest.mark.parametrize("name", RUNS)
def test_protocol_medmnist_28_is_the_small_network_on_28_pixels(name):
    config = load_config(name)
    three_d = config.data.flag.endswith("3d")
    assert config.protocol == "medmnist-28"
    assert (config.model.name, config.model.stem) == ("resnet18", "small")
    assert (config.model.width, config.model.head) == (1, "linear")
    assert config.model.weights is None
    assert config.transform.name == ("medmnist3d" if three_d else "medmnist")
    assert config.transform.channels is None
    assert config.transform.train == config.transform.eval == ()
    assert config.model.init == "torch"
    if three_d:
        assert config.model.conv == "acs"
    else:
        assert config.transform.size is None


@pytest.mark.parametrize("name", RUNS_224)
def test_protocol_medmnist_224up_is_the_row_the_paper_compares_with(name):
    config = load_config(name)
    assert config.protocol == "medmnist-224up"
    assert config.model.name == "resnet18"
    assert config.model.weights is None
    if config.data.flag == "fracturemnist3d":
        assert (config.model.stem, config.model.conv) == ("small", "3d")
        assert config.model.init == "torch"
        assert config.transform.name == "medmnist3d"
        assert config.transform.channels is None
    else:
        assert (config.model.stem, config.model.init) == ("imagenet", "kaiming")
        assert (config.transform.size, config.transform.channels) == (224, 3)


@pytest.mark.parametrize("flag", EIGHTEEN)
def test_every_medmnist_set_has_its_part(flag):
    part = load_part("data", flag)
    assert part["data"] == {"name": "medmnist", "flag": flag}
    # MedMNIST documents the random brightness for the two sets of shape masks only.
    shape = part.get("transform", {}).get("shape_transform")
    is_shape_mask = flag in ("adrenalmnist3d", "vesselmnist3d")
    assert shape == (is_shape_mask if flag.endswith("3d") else None)


@pytest.mark.parametrize("name", [n for n in [*RUNS, *RUNS_224] if "latentdr" in n])
def test_latentdr_has_the_papers_settings(name):
    algorithm = load_config(name).algorithm
    assert algorithm.name == "latentdr"
    assert algorithm.lr_scale == 0.5
    assert algorithm.degrade == ("pool" if name.endswith("pool") else "attention")
    assert algorithm.restore == "attention"
    assert algorithm.terms == ("degraded", "restored")
    assert algorithm.dropout == 0.5
    assert algorithm.norm == "post"
    assert algorithm.heads == 1
    assert algorithm.keep == 0.5
    assert algorithm.include_query is True
    assert algorithm.share_classifier is True
    assert algorithm.share_operators is False
    assert algorithm.weights == (1, 1, 1)
    assert algorithm.set_scope == "global"
    # Unset widths are the paper's: dim/4 and dim/4, or dim/32 and dim/8 with pooling.
    assert algorithm.head_dim is algorithm.ff_dim is algorithm.base is algorithm.loss is None


@pytest.mark.parametrize("name", [n for n in [*RUNS, *RUNS_224] if n.endswith("_erm")])
def test_erm_trains_at_the_recipes_rate(name):
    algorithm = load_config(name).algorithm
    assert (algorithm.name, algorithm.lr_scale, algorithm.loss) == ("erm", 1, None)


def changed(part, base):
    """Keys of an algorithm part whose value is not the base part's."""
    one, other = (
        load_part("algorithm", part)["algorithm"],
        load_part("algorithm", base)["algorithm"],
    )
    return {key: value for key, value in one.items() if other.get(key) != value}


def test_the_controls_for_the_learning_rate_change_nothing_else():
    assert changed("erm_half_lr", "erm") == {"lr_scale": 0.5}
    assert changed("latentdr_full_lr", "latentdr_pool") == {"lr_scale": 1.0}
    assert changed("latentdr_sa_full_lr", "latentdr_sa") == {"lr_scale": 1.0}


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("latentdr_d_only", {"restore": "none", "terms": ["degraded"]}),
        ("latentdr_r_only", {"degrade": "none", "terms": ["restored"]}),
        ("latentdr_gaussian", {"degrade": "gaussian", "sigma": 1.0}),
        (
            "latentdr_gaussian_d_only",
            {"degrade": "gaussian", "sigma": 1.0, "restore": "none", "terms": ["degraded"]},
        ),
        (
            "latentdr_gaussian_r_only",
            {"degrade": "gaussian", "sigma": 1.0, "terms": ["restored"]},
        ),
        ("latentdr_own_classifier", {"share_classifier": False}),
    ],
)
def test_the_ablations_are_the_papers(part, change):
    assert changed(part, "latentdr_pool") == change
    config = load_config("retinamnist_erm", [f"algorithm={part}"])
    assert config.algorithm.name == "latentdr"


@pytest.mark.parametrize("name", [*RUNS, *RUNS_224])
def test_the_published_number_stands_in_the_file(name):
    text = (packaged_configs() / "run" / f"{name}.yaml").read_text()
    others = {  # MedMNIST v2's table, ACC of ResNet-18 (28) and ResNet-18 + ACS, with Adam
        "dermamnist": "73.5",
        "organsmnist": "78.2",
        "octmnist": "74.3",
        "fracturemnist3d": "49.7",
        "retinamnist": "52.4",
        "breastmnist": "86.3",
        "adrenalmnist3d": "75.4",
        "vesselmnist3d": "92.8",
    }
    row = {  # the paper's table: ERM with a dagger, ERM, SA, Pool
        "dermamnist": ("75.4", "75.8", "78.1", "78.4"),
        "organsmnist": ("77.8", "79.8", "83.3", "82.9"),
        "octmnist": ("76.3", "76.4", "79.1", "79.4"),
        "fracturemnist3d": ("50.8", "49.6", "52.1", "55.0"),
    }
    flag, _, rest = name.partition("_")
    if rest.startswith("224up_"):
        expected = {row[flag][0], row[flag][1 + ALGORITHMS.index(rest.removeprefix("224up_"))]}
    else:
        expected = {others[flag], "Published under another protocol, medmnist-v2-"}
    assert all(said in text for said in expected)


def test_no_published_run_is_modified_and_augmented_ones_say_so():
    assert {load_config(name).protocol for name in packaged_names("run") if "augment" in name} == {
        "medmnist-28+modified"
    }


@pytest.mark.parametrize(
    "recipe", ["medmnist_training", "medmnist", "medmnist3d", "medmnist_224up", "medmnist3d_224up"]
)
def test_what_the_paper_leaves_open_is_named_in_the_recipe(recipe):
    text = (packaged_configs() / "recipe" / f"{recipe}.yaml").read_text()
    assert "Left open by the paper, and what we chose:" in " ".join(text.split("\n# "))


def test_the_training_recipe_pins_all_that_it_states():
    values = read_yaml(packaged_configs() / "recipe" / "medmnist_training.yaml").values
    stated = {
        f"{section}.{key}"
        for section in ("data", "transform", "training")
        for key in values[section]
    }
    assert set(values["pins"]) == stated


def test_mixing_methods_have_the_settings_that_the_paper_compares_with():
    # Plain Mixup and CutMix of the SWAD code that the paper's protocol follows: alpha 0.2; beta 1
    # at every step. Manifold Mixup: input and the first two stages, our alpha.
    mixup, cutmix, manifold = (
        load_config("dermamnist_224up_erm", [f"algorithm={name}"]).algorithm
        for name in ("mixup", "cutmix", "manifold_mixup")
    )
    assert (mixup.name, mixup.alpha) == ("mixup", 0.2)
    assert (cutmix.name, cutmix.beta, cutmix.prob) == ("cutmix", 1.0, 1.0)
    assert (manifold.name, manifold.alpha) == ("manifold_mixup", 0.2)
    assert manifold.stages == ("input", "stage1", "stage2")


def test_mixstyle_has_the_settings_of_its_authors():
    for part, partners in (("mixstyle", "random"), ("mixstyle_cross_domain", "cross_domain")):
        algorithm = load_config("phantom_fracture_erm", [f"algorithm={part}"]).algorithm
        assert (algorithm.name, algorithm.partners) == ("mixstyle", partners)
        assert (algorithm.p, algorithm.alpha, algorithm.eps) == (0.5, 0.1, 1e-6)
        assert algorithm.stages == ("stage1", "stage2", "stage3")


def test_batchformer_has_the_papers_settings():
    # "defaulted to select dim for both dimensions and a dropout rate of 50%".
    algorithm = load_config("dermamnist_224up_erm", ["algorithm=batchformer"]).algorithm
    assert algorithm.name == "batchformer"
    assert algorithm.ff_dim is None  # the latents' own width
    assert algorithm.dropout == 0.5
    assert algorithm.heads is None  # 4 at 512 latents
    assert algorithm.weights == (1, 1)


@pytest.mark.parametrize(
    "name",
    ["mixup", "cutmix", "manifold_mixup", "mixstyle", "mixstyle_cross_domain", "batchformer"],
)
def test_methods_that_are_compared_with_train_at_the_recipes_rate(name):
    assert load_config("dermamnist_224up_erm", [f"algorithm={name}"]).algorithm.lr_scale == 1


@pytest.mark.parametrize(
    ("part", "norm"), [("latentdr_residual", "residual"), ("latentdr_pre_norm", "pre")]
)
def test_the_readings_of_the_attention_layer(part, norm):
    assert changed(part, "latentdr_pool") == {"norm": norm}


def test_the_long_tail_form_is_sa_with_eq_msa_2():
    assert changed("latentdr_sa_residual", "latentdr_sa") == {"norm": "residual"}
