"""A run that changes what its protocol pins says so, however the change came about."""

import pytest

from medldr.config import dump_config, load_config, run_hash

RUN = "extends: [recipe/medmnist3d, data/fracturemnist3d, algorithm/erm]\n"


def test_a_recipe_followed_is_its_protocol():
    assert load_config("fracturemnist3d_erm").protocol == "medmnist-28"
    assert load_config("fracturemnist3d_224up_erm").protocol == "medmnist-224up"


@pytest.mark.parametrize(
    "override",
    [
        "training.epochs=2",
        "training.class_weights=balanced",
        "model=resnet50",
        "transform=none",
        "transform.shape_transform=true",
        "data.size=64",
        "data=phantom_fracture",
    ],
)
def test_overriding_a_pinned_key_is_a_modification(override):
    assert load_config("fracturemnist3d_erm", [override]).protocol == "medmnist-28+modified"


@pytest.mark.parametrize(
    "override",
    [
        "transform=augment3d",
        "data.held_out=[scanner_a]",
        "data=retinamnist",
    ],
)
def test_the_phantom_is_fixed_in_all_that_its_files_state(override):
    assert load_config("phantom_fracture_erm").protocol == "phantom"
    assert load_config("phantom_fracture_erm", [override]).protocol == "phantom+modified"


@pytest.mark.parametrize(
    "override",
    [
        "training.lr=1e-3",
        "training.milestones=[50,75]",
        "algorithm=latentdr_pool",
        "algorithm.lr_scale=0.5",
        "seed=9",
        "data.root=files",
        "training.precision=float32",
    ],
)
def test_everything_else_is_not(override):
    assert load_config("fracturemnist3d_erm", [override]).protocol == "medmnist-28"


def test_the_written_configuration_keeps_its_protocol_and_its_pins(tmp_path):
    modified = load_config("fracturemnist3d_erm", ["training.epochs=2"])
    (tmp_path / "config.yaml").write_text(dump_config(modified))
    again = load_config(tmp_path)
    assert again.protocol == "medmnist-28+modified"
    assert run_hash(again) == run_hash(modified)
    # A change of the written file is noticed, and so is putting the value back.
    assert load_config(tmp_path, ["training.epochs=100"]).protocol == "medmnist-28"
    (tmp_path / "config.yaml").write_text(dump_config(load_config("fracturemnist3d_erm")))
    assert load_config(tmp_path, ["training.lr=1"]).protocol == "medmnist-28+modified"


def test_what_is_pinned_is_no_part_of_the_identity(write):
    config = load_config("octmnist_erm")
    bare = config.model_copy(update={"pinned": {}})
    assert run_hash(bare) == run_hash(config)
    assert "pinned:" in dump_config(config)


def test_a_file_with_a_protocol_of_its_own_pins_for_itself(write):
    text = RUN + "protocol: mylab-1\npins: [training.lr]\ntraining: {lr: 0.1, epochs: 5}\n"
    path = write("mine.yaml", text)
    assert load_config(path).protocol == "mylab-1"
    assert load_config(path, ["training.epochs=6"]).protocol == "mylab-1"
    assert load_config(path, ["training.lr=0.2"]).protocol == "mylab-1+modified"


def test_pinning_a_key_that_is_nowhere_stated_is_an_error(write, refusal):
    message = refusal(write("mine.yaml", RUN + "protocol: x\npins: [training.eps]\n"))
    assert "mine.yaml: pins 'training.eps'" in message
