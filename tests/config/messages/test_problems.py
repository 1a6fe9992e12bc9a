"""Everything that is wrong is said at once: where, what, what is allowed, what is near."""

import pytest

from medldr.config import load_config
from medldr.errors import InputError


def test_misspelt_misplaced_and_hyphenated_keys_are_all_named_with_what_was_meant(write, refusal):
    path = write(
        "typos.yaml",
        """\
        extends: run/retinamnist_erm
        train:
          epochs: 1
          learning_rte: 0.01
          batch-size: 4
        lr: 0.5
        """,
    )
    lines = {line.split(" = ")[0].strip(): line for line in refusal(path).splitlines()[1:]}
    assert set(lines) == {"train.epochs", "train.learning_rte", "train.batch-size", "lr"}
    for key, meant, number in (
        ("train.epochs", "training.epochs", 3),
        ("train.learning_rte", "training.lr", 4),
        ("train.batch-size", "training.batch_size", 5),
        ("lr", "training.lr", 6),
    ):
        assert f"typos.yaml:{number}" in lines[key]
        assert f"Did you mean {meant}?" in lines[key]


def test_all_problems_of_files_and_command_line_are_in_one_message(write, refusal):
    path = write(
        "bad.yaml",
        """\
        extends: run/retinamnist_erm
        training:
          lr: abc
          momentum: 2
        data: {flag: retinamist}
        """,
    )
    message = refusal(
        path,
        "training.optimizer=sgdd",
        "algorithm.name=latendr",
        "machine.threads=0",
        "training.milestones=[1, x]",
        "nonsense",
    )
    assert message.startswith(f"8 problems in the configuration {path}:")
    for line in (
        f"training.lr = 'abc' ({path}:3): should be a number > 0",
        f"training.momentum = 2 ({path}:4): should be a number >= 0 and < 1",
        f"data.flag = 'retinamist' ({path}:5): MedMNIST has no data set 'retinamist'. Did you mean",
        "training.optimizer = 'sgdd' (command line): should be sgd, adam or adamw."
        " Did you mean 'sgd'?",
        "algorithm.name = 'latendr' (command line): there is no algorithm named 'latendr'."
        " Did you mean 'latentdr'?",
        "machine.threads = 0 (command line): should be a whole number >= 1 or null",
        "training.milestones[1] = 'x' (command line): should be a whole number",
        "'nonsense' (command line): should be KEY=VALUE",
    ):
        assert line in message


def test_an_unknown_key_lists_its_neighbours(refusal):
    message = refusal("retinamnist_latentdr_pool", "algorithm.keeep=0.1")
    assert "Did you mean algorithm.keep?" in message
    assert "Keys of algorithm: name, lr_scale, loss, set_scope, base, degrade" in message


def test_a_key_of_another_algorithm_is_refused(refusal):
    assert "algorithm.keep = 0.1 (command line)" in refusal("retinamnist_erm", "algorithm.keep=0.1")


def test_keys_of_a_nested_plug_in_are_checked_by_their_full_name(refusal):
    message = refusal(
        "retinamnist_latentdr_pool",
        "algorithm.base={name: erm, lr_scal: 1}",
        "algorithm.loss={name: cros_entropy}",
    )
    assert "algorithm.base.lr_scal = 1 (command line): there is no such key" in message
    assert "Did you mean algorithm.base.lr_scale?" in message
    assert "algorithm.loss.name = 'cros_entropy' (command line): there is no loss" in message
    assert "Did you mean 'cross_entropy'?" in message


STAGES = {
    "[{name: retrain_head, epochs: 2, alg: x}]": (
        "training.stages[0].alg = 'x' (command line): there is no such key. Did you mean "
        "training.stages[0].algorithm? Keys of training.stages[0]: name, epochs, steps, restart"
    ),
    "[tau_norm, {name: retrain_head, epochs: 2, learning_rate: 1}]": (
        "training.stages[1].learning_rate = 1 (command line): there is no such key. Did you mean "
        "training.stages[1].lr? Keys of training.stages[1]: name, epochs"
    ),
    "[{name: tau_norm, ta: 1}]": (
        "Did you mean training.stages[0].tau? Keys of training.stages[0]: name, tau"
    ),
    "[{name: tau_norm, nonsense: 1}]": (
        "training.stages[0].nonsense = 1 (command line): there is no such key. "
        "Keys of training.stages[0]: name, tau"
    ),
    "[{name: retrain_head, steps: 2, algorithm: {name: balms, metalr: 3}}]": (
        "Did you mean training.stages[0].algorithm.meta_lr? "
        "Keys of training.stages[0].algorithm: name, lr_scale, loss, meta_lr"
    ),
    "[{name: retrain_head, epochs: 0}]": (
        "training.stages[0].epochs = 0 (command line): should be a whole number >= 1 or null"
    ),
    "[{name: retrain_head, epochs: 1, sampler: weigted}]": (
        "should be shuffle, weighted or domains. Did you mean 'weighted'?"
    ),
}


@pytest.mark.parametrize("value", STAGES)
def test_keys_of_a_list_s_item_are_those_of_its_own_section(refusal, value):
    message = refusal("retinamnist_erm", f"training.stages={value}")
    assert STAGES[value] in message
    assert "config_version" not in message
    assert "1 problem" in message


def test_a_nested_plug_in_may_be_a_bare_name(refusal):
    config = load_config("retinamnist_latentdr_pool", ["algorithm.loss=cross_entropy"])
    assert config.algorithm.loss.name == "cross_entropy"
    message = refusal("retinamnist_latentdr_pool", "algorithm.loss=cross_entropi")
    assert "algorithm.loss = 'cross_entropi' (command line)" in message


def test_a_part_taken_for_a_plug_in_name_is_explained(refusal):
    message = refusal("retinamnist_erm", "algorithm={name: latentdr_pool}")
    assert "write algorithm=latentdr_pool" in message


def test_an_unknown_word_for_a_section_names_parts(refusal):
    message = refusal("retinamnist_erm", "algorithm=latentdr_pol")
    assert "algorithm = 'latentdr_pol' (command line)" in message
    assert "Did you mean 'latentdr_pool'?" in message


def test_missing_sections_and_keys_are_named(refusal):
    message = refusal({"training": {"epochs": 1}})
    for section in ("data", "transform", "model", "algorithm"):
        assert f"{section}: this section is missing" in message
    assert "data.flag" in refusal("phantom_fracture_erm", "data.name=medmnist")


def test_sections_must_be_mappings(refusal):
    message = refusal("retinamnist_erm", "training=3", "machine=[1]", "data={name: 5}")
    assert "training = 3 (command line)" in message
    assert "machine = [1] (command line)" in message
    assert "data.name = 5 (command line)" in message


@pytest.mark.parametrize("key", ["training.lr", "training.epochs", "seed", "training.clip_norm"])
def test_true_is_no_number(refusal, key):
    assert f"{key} = true (command line): should be a" in refusal("retinamnist_erm", f"{key}=true")


def test_true_in_a_list_of_numbers_is_refused(refusal):
    assert "training.milestones[1] = true" in refusal(
        "retinamnist_erm", "training.milestones=[1, true]"
    )


@pytest.mark.parametrize("value", [".inf", ".nan", "nan", "-.inf"])
def test_numbers_are_finite(refusal, value):
    assert "training.lr = " in refusal("retinamnist_erm", f"training.lr={value}")


def test_epochs_and_steps_together_say_how_to_put_one_away(refusal):
    message = refusal("retinamnist_erm", "training={epochs: 2, steps: 5}")
    assert "training.epochs=null" in message
    assert "command line" in message


def test_no_length_at_all_is_refused(refusal):
    assert "training.epochs or training.steps" in refusal("retinamnist_erm", "training.epochs=null")


def test_a_dotted_key_in_a_file_is_told_where_it_belongs(write, refusal):
    path = write("run.yaml", "extends: run/retinamnist_erm\ntraining.lr: 0.1\n")
    assert "dotted keys are for the command line" in refusal(path)


@pytest.mark.parametrize("text", ["=3", "training..lr=1", ".lr=1", "lr"])
def test_an_override_that_is_no_key_and_value_is_shown(refusal, text):
    assert f"{text!r} (command line): should be KEY=VALUE" in refusal("retinamnist_erm", text)


def test_broken_yaml_on_the_command_line_is_shown_with_the_other_problems(refusal):
    message = refusal("retinamnist_erm", "data.class_names=[a, b", "training.lr=x")
    assert "'data.class_names=[a, b' (command line): YAML syntax" in message
    assert "training.lr = 'x'" in message


@pytest.mark.parametrize("name", ["..os", "os.", "a b.c", "medldr.algorithms.erm;x"])
def test_an_odd_plug_in_name_is_refused_without_an_import(refusal, name):
    message = refusal("retinamnist_erm", f"algorithm={{name: {name!r}}}")
    assert "is not a valid algorithm name" in message


def test_a_module_that_is_no_plug_in_is_refused(refusal):
    message = refusal("retinamnist_erm", "algorithm.name=json.decoder")
    assert "'json.decoder' is not a plug-in for algorithms" in message
    message = refusal("retinamnist_erm", "algorithm.name=my_lab_that_is_absent.method")
    assert "cannot be imported" in message


def test_long_values_are_shortened(refusal):
    message = refusal("retinamnist_erm", f"training.lr={'x' * 500}")
    assert "x" * 100 not in message


def test_one_mistake_is_one_problem(refusal):
    # A choice (null, 'balanced', a list, mappings) fails in each of its branches; it is said once.
    message = refusal("retinamnist_erm", "training.class_weights=ballanced")
    assert message.splitlines()[0].startswith("1 problem in")
    assert len(message.splitlines()) == 2
    allowed = "should be balanced, a list of numbers, a mapping or null."
    assert f"{allowed} Did you mean 'balanced'?" in message


def test_every_problem_is_the_users():
    with pytest.raises(InputError):
        load_config("retinamnist_erm", ["training={lr: {deep: [1, {deeper: 2}]}}"])
