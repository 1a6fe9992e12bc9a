"""The recipes for images of one's own: complete, loadable with any data, and they train."""

import pytest

import medldr
from medldr.config import load_config
from medldr.transforms import ImageShape, build_pipeline, scan

RECIPES = {
    "own_2d": ("own-2d", ImageShape(1, (64, 64))),
    "own_microscopy": ("own-microscopy", ImageShape(3, (64, 64))),
    "own_3d": ("own-3d", ImageShape(1, (32, 32, 32))),
}


@pytest.fixture
def written(tmp_path):
    def write(recipe, data="data/phantom_fracture_scanners", algorithm="algorithm/erm"):
        path = tmp_path / f"{recipe}.yaml"
        path.write_text(f"extends: [recipe/{recipe}, {data}, {algorithm}]\nlabel: own\n")
        return path

    return write


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_is_complete_but_for_data_and_algorithm(recipe, written):
    protocol, shape = RECIPES[recipe]
    config = load_config(written(recipe))
    assert config.protocol == protocol
    assert (config.model.name, config.transform.name) == ("resnet18", "scan")
    assert config.training.select == ("val_auc",)
    pipeline = build_pipeline(config.transform, shape, floating=True)
    assert pipeline.output == shape


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_follows_from_the_images_is_free_and_what_makes_runs_comparable_is_not(
    recipe, written
):
    protocol, _ = RECIPES[recipe]
    free = ["transform.size=48", "transform.channels=3", "transform.mean=0.4", "model.stem=small",
            "data.held_out=scanner_b", "data.split_seed=3"]  # fmt: skip
    assert load_config(written(recipe), free).protocol == protocol
    for fixed in ("training.lr=0.1", "training.epochs=3", "training.batch_size=4",
                  "transform.flip=[left_right]", "transform.rotate_degrees=45",
                  "training.class_weights=balanced", "transform=natural"):  # fmt: skip
        assert load_config(written(recipe), [fixed]).protocol == f"{protocol}+modified"


def test_scans_are_not_mirrored_and_microscopy_is_in_every_direction(written):
    mild = load_config(written("own_2d")).transform
    assert mild == load_config(written("own_3d")).transform == scan.Config()
    free = load_config(written("own_microscopy")).transform
    changed = {"flip": ("left_right", "up_down"), "rotate_quarter_turns": True}
    assert free == scan.Config(**changed)


def test_all_methods_of_a_comparison_are_trained_alike(written):
    plain = load_config(written("own_3d"))
    other = load_config(written("own_3d", algorithm="algorithm/latentdr_pool"))
    assert other.training == plain.training
    assert other.transform == plain.transform
    assert other.protocol == plain.protocol


@pytest.mark.slow  # some seconds
@pytest.mark.parametrize(
    ("recipe", "data", "small"),
    [
        ("own_3d", "data/phantom_fracture_scanners",
         ["data.held_out=scanner_d", "data.patients=40"]),
        ("own_microscopy", "data/phantom_histology", ["data.tiles=6"]),
    ],
)  # fmt: skip
def test_a_recipe_trains(recipe, data, small, written, tmp_path):
    result = medldr.train(
        written(recipe, data),
        [*small, "model.width=0.125", "training.epochs=1", "evaluation.draws=100",
         "machine.report=false", "machine.device=cpu", "machine.threads=1"],
        out=tmp_path / "runs",
    )  # fmt: skip
    assert 0 <= result.metrics["test/auc"] <= 1
