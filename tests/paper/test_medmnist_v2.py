"""The recipes of MedMNIST's own benchmark hold what its scripts do, and its rows are under them."""

import pytest

from medldr.config import load_config, load_part, packaged_configs, packaged_names
from medldr.config.yaml import read_yaml
from medldr.reporting.published.numbers import Ours, published, relation
from medldr.sweeps.plan.expand import as_record, expand
from medldr.sweeps.plan.file import load_sweep

TWO_D = (
    *("pathmnist", "chestmnist", "dermamnist", "octmnist", "pneumoniamnist", "retinamnist"),
    *("breastmnist", "bloodmnist", "tissuemnist", "organamnist", "organcmnist", "organsmnist"),
)
THREE_D = (
    *("organmnist3d", "nodulemnist3d", "fracturemnist3d"),
    *("adrenalmnist3d", "vesselmnist3d", "synapsemnist3d"),
)
RECIPES = {
    "medmnist_v2": ("medmnist-v2-28", "resnet50_medmnist"),
    "medmnist_v2_224": ("medmnist-v2-224", "resnet50_imagenet"),
    "medmnist3d_v2": ("medmnist-v2-28", "resnet50_medmnist"),
    "medmnist3d_v2_25d": ("medmnist-v2-28-25d", "resnet50_medmnist_25d"),
    "medmnist3d_v2_3d": ("medmnist-v2-28-3d", "resnet50_medmnist_3d"),
}
PAGE = (  # MedMNIST's page: AUC and accuracy of ResNet-18 and of ResNet-50, in the order of sets
    (
        "medmnist-v2-28",
        TWO_D,
        ".983/.907 .768/.947 .917/.735 .943/.743 .944/.854 .717/.524 "
        ".901/.863 .998/.958 .930/.676 .997/.935 .992/.900 .972/.782",
        ".990/.911 .769/.947 .913/.735 .952/.762 .948/.854 .726/.528 "
        ".857/.812 .997/.956 .931/.680 .997/.935 .992/.905 .972/.770",
    ),
    (
        "medmnist-v2-224",
        TWO_D,
        ".989/.909 .773/.947 .920/.754 .958/.763 .956/.864 .710/.493 "
        ".891/.833 .998/.963 .933/.681 .998/.951 .994/.920 .974/.778",
        ".989/.892 .773/.948 .912/.731 .958/.776 .962/.884 .716/.511 "
        ".866/.842 .997/.950 .932/.680 .998/.947 .993/.911 .975/.785",
    ),
    (
        "medmnist-v2-28-25d",
        THREE_D,
        ".977/.788 .838/.835 .587/.451 .718/.772 .748/.846 .634/.696",
        ".974/.769 .835/.848 .552/.397 .732/.763 .751/.877 .669/.735",
    ),
    (
        "medmnist-v2-28-3d",
        THREE_D,
        ".996/.907 .863/.844 .712/.508 .827/.721 .874/.877 .820/.745",
        ".994/.883 .875/.847 .725/.494 .828/.745 .907/.918 .851/.795",
    ),
    (
        "medmnist-v2-28",
        THREE_D,
        ".994/.900 .873/.847 .714/.497 .839/.754 .930/.928 .705/.722",
        ".994/.889 .886/.841 .750/.517 .828/.758 .912/.858 .719/.709",
    ),
)


@pytest.fixture
def load(tmp_path):
    """`load(recipe, flag, *overrides)`: a run of ERM under a recipe."""

    def make(recipe, flag, *overrides):
        file = tmp_path / "run.yaml"
        file.write_text(f"extends: [recipe/{recipe}, data/{flag}, algorithm/erm]\n")
        return load_config(file, list(overrides))

    return make


def sets_of(recipe):
    return THREE_D if "3d" in recipe else TWO_D


@pytest.mark.parametrize("recipe", RECIPES)
def test_training_is_that_of_the_scripts(load, recipe):
    config = load(recipe, sets_of(recipe)[0])
    training = config.training
    assert (training.optimizer, training.lr, training.weight_decay) == ("adam", 0.001, 0)
    assert (training.betas, training.eps) == ((0.9, 0.999), 1e-8)  # torch's
    assert (training.epochs, training.milestones, training.gamma) == (100, (50, 75), 0.1)
    assert training.batch_size == (32 if "3d" in recipe else 128)
    assert training.drop_last is False
    assert training.precision == "float32"
    assert training.select == ("val_auc",)
    assert (training.schedule, training.warmup, training.evaluate_every) == ("multistep", 0, 1)
    assert training.clip_norm is training.class_weights is training.averaging is None
    assert training.sampler is training.init_from is training.early_stopping is None
    assert config.transform.train == config.transform.eval == ()
    assert config.data.size == 28


@pytest.mark.parametrize(("recipe", "init", "stem", "conv", "size", "channels"), [
    ("medmnist_v2", "torch", "small", "acs", None, None),
    ("medmnist_v2_224", "kaiming", "imagenet", "acs", 224, 3),
    ("medmnist3d_v2", "torch", "small", "acs", None, None),
    ("medmnist3d_v2_25d", "torch", "small", "2.5d", None, None),
    ("medmnist3d_v2_3d", "torch", "small", "3d", None, None),
])  # fmt: skip
def test_network_and_pixels_are_those_of_the_scripts(
    load, recipe, init, stem, conv, size, channels
):
    protocol, fifty = RECIPES[recipe]
    for overrides, name in (((), "resnet18"), ((f"model={fifty}",), "resnet50")):
        config = load(recipe, sets_of(recipe)[0], *overrides)
        assert config.protocol == protocol
        model = config.model
        assert (model.name, model.init, model.stem, model.conv) == (name, init, stem, conv)
        assert (model.width, model.head, model.weights) == (1, "linear", None)
        assert config.transform.name == ("medmnist3d" if "3d" in recipe else "medmnist")
        assert config.transform.channels == channels
        assert getattr(config.transform, "size", None) == size


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("override", [
    "training.batch_size=64", "training.optimizer=sgd", "training.drop_last=true",
    "training.precision=bfloat16", "training.betas=[0.9, 0.99]", "model.width=0.5",
    "model.batch_norm=frozen", "model.dropout=0.1", "data.imbalance={{factor: 10}}",
    "model.stem={stem}", "model.init={init}", "model.conv={conv}",
    "transform.train=[RandFlip]",
])  # fmt: skip
def test_another_setting_is_another_protocol(load, recipe, override):
    config = load(recipe, sets_of(recipe)[0])
    override = override.format(
        stem={"small": "imagenet", "imagenet": "small"}[config.model.stem],
        init={"torch": "kaiming", "kaiming": "torch"}[config.model.init],
        conv={"acs": "3d", "3d": "2.5d", "2.5d": "acs"}[config.model.conv],
    )
    changed = load(recipe, sets_of(recipe)[0], override)
    assert changed.protocol == f"{RECIPES[recipe][0]}+modified"


def test_published_weights_are_another_protocol_too(load):
    changed = load("medmnist_v2_224", "octmnist", "model=resnet18_pretrained")
    assert changed.protocol == "medmnist-v2-224+modified"
    other = load("medmnist_224up", "octmnist", "model=resnet18_pretrained")
    assert other.protocol == "medmnist-224up+modified"


def test_shape_masks_alone_are_multiplied_at_random(load):
    shapes = {s for s in THREE_D if load("medmnist3d_v2", s).transform.shape_transform}
    assert shapes == {"adrenalmnist3d", "vesselmnist3d"}


@pytest.mark.parametrize("part", ["medmnist_v2_training", "medmnist3d_v2_training"])
def test_the_parts_pin_all_that_they_state(part):
    values = read_yaml(packaged_configs() / "recipe" / f"{part}.yaml").values
    stated = {
        f"{section}.{key}"
        for section in ("data", "transform", "training", "model")
        for key in values.get(section, {})
    }
    assert stated <= set(values["pins"])


def test_every_printed_number_is_under_the_protocol_of_its_row():
    count = 0
    for protocol, sets, *networks in PAGE:
        for model, printed in zip(("resnet18", "resnet50"), networks, strict=True):
            for flag, pair in zip(sets, printed.split(), strict=True):
                for metric, value in zip(("auc", "accuracy"), pair.split("/"), strict=True):
                    (found,) = published(
                        flag, protocol=protocol, model=model, method="erm", metric=metric
                    )
                    assert found.value == float(value), (flag, protocol, model, metric)
                    assert found.source == "MedMNIST benchmark"
                    assert "Adam" in found.note
                    count += 1
    assert count == 168


def test_no_number_of_adam_is_the_same_as_one_of_the_papers_training():
    """52.4 on RetinaMNIST is of Adam: beside a run with SGD it is another protocol's."""
    for flag in (*TWO_D, *THREE_D):
        for old in ("medmnist-28", "medmnist-224up"):
            ours = Ours(flag, old, "resnet18", "erm", "", "val_auc")
            said = {e.source: relation(ours, e).value for e in published(flag)}
            assert said["MedMNIST benchmark"] == "different protocol"
    (retina,) = published(
        "retinamnist", protocol="medmnist-v2-28", model="resnet18", metric="accuracy"
    )
    ours = Ours("retinamnist", "medmnist-v2-28", "resnet18", "erm", "", "val_auc")
    assert (retina.value, relation(ours, retina).value) == (0.524, "same protocol")
    fifty = Ours("retinamnist", "medmnist-v2-28", "resnet50", "erm", "", "val_auc")
    assert relation(fifty, retina).value == "different network"


def test_the_sweep_has_all_sets_and_the_controls_of_the_halved_rate():
    sweep = load_sweep("medmnist_v2_table")
    plan = expand(sweep, "out")
    assert {p.config.data.flag for p in plan} == {*TWO_D, *THREE_D}
    assert {p.config.protocol for p in plan} == {"medmnist-v2-28"}
    rows = {p.member.row: p.config.algorithm.lr_scale for p in plan}
    assert rows == {
        "erm": 1, "latentdr_sa": 0.5, "latentdr_pool": 0.5, "erm_half_lr": 0.5,
        "latentdr_full_lr": 1,
    }  # fmt: skip
    assert as_record(sweep, plan).layout.controls == ("erm_half_lr", "latentdr_full_lr")
    assert len(plan) == 18 * 5 * 3
    shipped = {name for name in packaged_names("run") if "mnist" in name and "_v2_" in name}
    assert len(shipped) == 9
    assert shipped < {p.config.label for p in plan}


@pytest.mark.parametrize("name", [n for n in packaged_names("run") if "_v2_" in n])
def test_a_packaged_run_quotes_the_numbers_of_its_protocol(name):
    config = load_config(name)
    text = (packaged_configs() / "run" / f"{name}.yaml").read_text()
    for metric, factor, digits in (("auc", 1, 3), ("accuracy", 100, 1)):
        (entry,) = published(
            config.data.flag, protocol=config.protocol, model="resnet18", metric=metric
        )
        assert f"{factor * entry.value:.{digits}f}" in text


def test_the_model_parts_differ_from_the_plain_ones_by_their_start_alone():
    for name in ("resnet18", "resnet50"):
        for kind in ("", "_25d", "_3d"):
            plain = load_part("model", f"{name}{kind}")["model"]
            own = load_part("model", f"{name}_medmnist{kind}")["model"]
            assert own == {**plain, "init": "torch"}
