"""Parts, file and command line are merged by one set of rules, and paths keep their meaning."""

from pathlib import Path

import pytest

from medldr.config import dump_config, load_config, load_part
from medldr.config.layers import Layers
from medldr.config.load import check, merge
from medldr.config.yaml import Document
from medldr.errors import InputError

RUN = "extends: [recipe/medmnist3d, data/fracturemnist3d, algorithm/latentdr_pool]\n"


def test_the_command_line_beats_the_file_and_the_file_beats_its_parts(write):
    path = write("run.yaml", RUN + "training: {epochs: 7, batch_size: 16, milestones: [1]}\n")
    training = load_config(path, ["training.epochs=3"]).training
    assert (training.epochs, training.batch_size, training.lr) == (3, 16, 0.001)
    assert training.milestones == (1,)  # lists replace


def test_a_new_name_drops_the_inherited_keys_of_its_section(write):
    # keep and degrade belong to latentdr; erm has no such keys and must not inherit them.
    path = write("run.yaml", RUN + "algorithm: {name: erm}\n")
    algorithm = load_config(path).algorithm
    assert algorithm.model_dump() == {"name": "erm", "lr_scale": 1.0, "loss": None}
    # The same name, and a section whose keys are all commented out, keep them.
    text = "algorithm: {name: latentdr, keep: 0.25}\ndata:\n"
    algorithm = load_config(write("run.yaml", RUN + text)).algorithm
    assert (algorithm.degrade, algorithm.keep) == ("pool", 0.25)


@pytest.mark.parametrize("place", ["file", "command line"])
def test_a_bare_word_replaces_a_section_by_its_part(write, place):
    text = RUN + "algorithm: {name: latentdr, keep: 0.25, sigma: 3}\n"
    if place == "file":
        base = write("base.yaml", text)
        path = write("run.yaml", f"extends: [./{base.name}]\nalgorithm: latentdr_sa\n")
        config = load_config(path)
    else:
        config = load_config(write("run.yaml", text), ["algorithm=latentdr_sa"])
    expected = load_config("fracturemnist3d_latentdr_sa").algorithm
    assert config.algorithm == expected
    assert config.algorithm.sigma == 1.0


def test_a_replaced_part_takes_back_what_it_said_elsewhere(write):
    # data/adrenalmnist3d turns transform.shape_transform on; another data set must not keep it.
    config = load_config("adrenalmnist3d_erm", ["data=fracturemnist3d"])
    assert load_config("adrenalmnist3d_erm").transform.shape_transform
    assert config.data.flag == "fracturemnist3d"
    assert not config.transform.shape_transform
    assert config.protocol == "medmnist-28"
    write("mine.yaml", "extends: [recipe/medmnist3d]\ntraining: {epochs: 2}\n")
    text = "extends: [./mine.yaml, data/fracturemnist3d, algorithm/erm]\nmodel: resnet50\n"
    model = load_config(write("run.yaml", text)).model  # the recipe extends another network
    assert (model.name, model.stem, model.conv) == ("resnet50", "small", "acs")


def test_a_bare_word_may_be_a_plug_in_without_a_part():
    config = load_config("retinamnist_erm", ["transform=none"])
    plain = {"name": "none", "train": (), "eval": (), "views": None}
    assert config.transform.model_dump() == plain


def test_single_keys_change_the_section_that_a_bare_word_brings_in_any_order():
    one = load_config("retinamnist_erm", ["algorithm.keep=0.25", "algorithm=latentdr_pool"])
    two = load_config("retinamnist_erm", ["algorithm=latentdr_pool", "algorithm.keep=0.25"])
    three = load_config("retinamnist_erm", ["algorithm.keep=0.25", "algorithm.name=latentdr"])
    assert one.algorithm == two.algorithm
    assert one.algorithm.keep == three.algorithm.keep == 0.25


def test_parts_can_be_added_on_the_command_line():
    config = load_config("fracturemnist3d_erm", ["extends=[transform/augment3d]"])
    assert "RandFlip" in config.transform.train[0]
    assert config.transform.name == "medmnist3d"


def test_override_values_are_yaml():
    config = load_config(
        "retinamnist_erm",
        ["training.lr=5E-4", "training.milestones=[1, 2]", "data.class_names=[no, yes, a, b, c]"],
    )
    assert config.training.lr == 0.0005
    assert config.training.milestones == (1, 2)
    assert config.data.class_names == ("no", "yes", "a", "b", "c")


def test_relative_paths_in_a_file_are_relative_to_that_file(write, tmp_path, monkeypatch):
    monkeypatch.chdir(Path("/"))
    write("parts/root.yaml", "data: {root: ../files}\n")
    path = write(
        "run.yaml",
        "extends: [run/retinamnist_erm, ./parts/root.yaml]\n"
        "model: {weights: w.safetensors}\ntraining: {init_from: runs/a}\n",
    )
    config = load_config(path)
    assert config.data.root == tmp_path / "files"
    assert config.model.weights == tmp_path / "w.safetensors"
    assert config.training.init_from == tmp_path / "runs" / "a"


def test_relative_paths_on_the_command_line_are_relative_to_the_working_directory(
    write, tmp_path, monkeypatch
):
    path = write("deep/run.yaml", "extends: run/retinamnist_erm\ndata: {root: here}\n")
    monkeypatch.chdir(tmp_path)
    config = load_config(path, ["data.root=there/../files"])
    assert config.data.root == tmp_path / "files"


def test_home_and_absolute_paths_stay_what_they_are(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_config("retinamnist_erm", ["data.root=~/d"]).data.root == tmp_path / "d"
    assert load_config("retinamnist_erm", ["data.root=/d/e"]).data.root == Path("/d/e")


def test_a_circle_of_files_is_an_error_that_shows_it(write):
    write("a.yaml", "extends: [./b.yaml]\n")
    write("b.yaml", "extends: ./c.yaml\n")
    path = write("c.yaml", "extends: [./a.yaml]\n")
    with pytest.raises(InputError, match=r"circle: .*c\.yaml -> .*a\.yaml -> .*b\.yaml -> .*c\.y"):
        load_config(path)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("recipe/medmnist3", "Did you mean 'recipe/medmnist3d'"),
        ("./absent.yaml", "there is no file"),
        ("beside", "a file beside it is ./beside.yaml"),
        ("../../etc/passwd", "there is no"),
    ],
)
def test_an_unknown_part_is_named_with_the_nearest(write, refusal, entry, said):
    write("beside.yaml", "seed: 1\n")
    message = refusal(write("run.yaml", f"extends: [{entry}]\n"))
    assert "run.yaml" in message
    assert repr(entry) in message
    assert said in message


@pytest.mark.parametrize("text", ["extends: 3", "extends: {a: b}", "extends: [[a]]", "pins: 5"])
def test_extends_and_pins_are_lists_of_names(write, refusal, text):
    message = refusal(write("run.yaml", f"seed: 1\n{text}\n"))
    assert "run.yaml:2" in message
    assert "should be a list of names" in message


def test_a_file_without_a_label_is_labelled_by_its_name(write):
    assert load_config("retinamnist_erm").label == "retinamnist_erm"
    assert load_config(write("my run (2).yaml", RUN)).label == "my_run_2"
    assert load_config(write("x.yaml", RUN + "label: other\n")).label == "other"
    assert load_config(write("x.yaml", RUN), ["label=third"]).label == "third"
    # What a file extends does not name it.
    assert load_config(write("mine.yaml", "extends: run/retinamnist_erm\n")).label == "mine"


def test_a_mapping_is_a_configuration_too(whole):
    config = load_config({**whole, "training": {"lr": 0.5}}, ["seed=2"])
    assert (config.label, config.seed, config.training.lr) == ("run", 2, 0.5)
    assert load_config({"extends": "run/retinamnist_erm"}).data.flag == "retinamnist"


def test_a_run_folder_is_its_configuration(tmp_path):
    config = load_config("octmnist_latentdr_sa", ["seed=5"])
    (tmp_path / "config.yaml").write_text(dump_config(config))
    assert load_config(tmp_path) == config
    assert load_config(str(tmp_path)) == config


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("fracturemnist3d_latentdr_pol", "Did you mean 'fracturemnist3d_latentdr_pool'"),
        ("absent.yaml", "there is no file absent.yaml"),
        ("/tmp", "is a folder, and no run folder with a config.yaml"),
    ],
)
def test_an_unknown_source_is_an_error_with_the_nearest_name(refusal, source, said):
    assert said in refusal(source)


def test_a_part_can_be_read_alone():
    assert load_part("data", "octmnist")["data"] == {"name": "medmnist", "flag": "octmnist"}
    assert load_part("algorithm", "latentdr_full_lr")["algorithm"]["degrade"] == "pool"
    with pytest.raises(InputError, match="Did you mean 'octmnist'"):
        load_part("data", "octmnst")


def test_numbers_of_free_form_arguments_are_plain_python(write):
    path = write(
        "run.yaml", RUN + "transform: {train: [{RandFlip: {prob: 0.50, spatial_axis: 0}}]}"
    )
    arguments = load_config(path).transform.train[0]["RandFlip"]
    assert arguments == {"prob": 0.5, "spatial_axis": 0}
    assert [type(value) for value in arguments.values()] == [float, int]


def test_nothing_in_a_configuration_is_imported_but_plug_in_names(write, refusal, tmp_path):
    flag = tmp_path / "executed"
    evil = f'!!python/object/apply:pathlib.Path.touch ["{flag}"]'
    refusal(write("run.yaml", RUN + f"seed: {evil}\n"))
    refusal("retinamnist_erm", f"seed={evil}")
    assert not flag.exists()


def test_a_replaced_section_is_part_of_the_label_so_that_folders_do_not_mislead():
    config = load_config("retinamnist_erm", ["algorithm=latentdr_sa", "model=resnet50"])
    assert config.label == "retinamnist_erm+latentdr_sa+resnet50"
    assert load_config("retinamnist_erm", ["algorithm.lr_scale=0.5"]).label == "retinamnist_erm"
    named = load_config("retinamnist_erm", ["algorithm=latentdr_sa", "label=mine"])
    assert named.label == "mine"


def test_ids_that_look_like_numbers_stay_as_written():
    ids = ("12e4", "1.50", "0x1F", "+7", "1e400", "7.", "2026-01-02", "1_000", "0089")
    config = load_config("phantom_fracture_erm", [f"data.exclude=[{', '.join(ids)}]"])
    assert config.data.exclude == ids


def test_the_order_of_held_out_domains_never_matters():
    one = load_config("phantom_fracture_erm", ["data.held_out=[scanner_b, scanner_a]"])
    assert one == load_config("phantom_fracture_erm", ["data.held_out=[scanner_a, scanner_b]"])


def test_the_stronger_of_epochs_and_steps_decides():
    for overrides in (["training.steps=50"], ["training.steps=50", "training.epochs=null"]):
        training = load_config("retinamnist_erm", overrides).training
        assert (training.steps, training.epochs) == (50, None)


def test_several_documents_make_one_configuration_by_the_rules_of_a_file(tmp_path):
    layers = Layers()
    layers.add_document(Document("a", {"extends": "recipe/medmnist"}), tmp_path)
    layers.add_document(
        Document("b", {"extends": "data/retinamnist", "training": {"steps": 9}}), tmp_path
    )
    layers.add_document(Document("c", {"algorithm": "erm", "data": {"root": "d"}}), tmp_path)
    merged = merge(layers)
    merged.values["label"] = "mine"
    config, problems = check(merged, layers)
    assert problems == []
    assert config == load_config(
        "retinamnist_erm", ["training.steps=9", f"data.root={tmp_path / 'd'}", "label=mine"]
    )
    assert config.protocol == "medmnist-28+modified"


def test_parts_are_merged_left_to_right(write):
    write("a.yaml", "training: {lr: 1, momentum: 0.5}\n")
    write("b.yaml", "training: {lr: 2}\n")
    text = "extends: [run/fracturemnist3d_erm, ./{}, ./{}]\n"
    ab = load_config(write("ab.yaml", text.format("a.yaml", "b.yaml"))).training
    ba = load_config(write("ba.yaml", text.format("b.yaml", "a.yaml"))).training
    assert (ab.lr, ab.momentum, ba.lr, ba.momentum) == (2, 0.5, 1, 0.5)


def test_an_outside_path_key_is_found_by_its_type(write, tmp_path, monkeypatch):
    package = tmp_path / "lab_paths_plugin.py"
    package.write_text(
        "from pathlib import Path\n"
        "from medldr.datasets.base import DatasetConfig\n"
        "class Config(DatasetConfig):\n"
        "    table: Path\n"
        "    masks: tuple[Path, ...] = ()\n"
    )
    (tmp_path / "lab").mkdir()
    package.rename(tmp_path / "lab" / "paths_plugin.py")
    monkeypatch.syspath_prepend(tmp_path)
    path = write(
        "c/run.yaml",
        "extends: run/phantom_fracture_erm\n"
        "data: {name: lab.paths_plugin, table: t.csv, masks: [a, /b]}\n",
    )
    data = load_config(path).data
    assert data.table == tmp_path / "c" / "t.csv"
    assert data.masks == (tmp_path / "c" / "a", Path("/b"))


def test_a_mapping_is_left_as_it_was(whole):
    before = {**whole, "training": {"milestones": [1, 2]}}
    load_config(before, ["training.milestones=[3]", "data.patients=20"])
    assert before == {**whole, "training": {"milestones": [1, 2]}}
