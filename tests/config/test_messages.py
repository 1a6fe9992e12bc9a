"""Everything that is wrong is said at once: where, what, what is allowed, what is near."""

import pytest

from medldr.config import load_config

STAGE = "training.stages[0]"
MESSAGES = {
    # What a key allows, in pydantic's words.
    "training.lr=abc": "training.lr = 'abc' (command line): should be a number",
    "training.lr=true": "training.lr = true (command line): should be a number",
    "training.lr=.nan": "training.lr = .nan (command line): should be a finite number",
    "training={lr: {deep: 1}}": "training.lr (command line): should be a number",
    "training.momentum=2": "training.momentum = 2 (command line): should be less than 1",
    "training.clip_norm=true": "clip_norm = true (command line): should be a number",
    "training.milestones=[1, x]": "training.milestones[1] = 'x' (command line): should be a ",
    "training.optimizer=sgdd": "should be 'sgd', 'adam' or 'adamw'. Did you mean 'sgd'?",
    "training.class_weights=ballanced": "should be 'balanced'. Did you mean 'balanced'?",
    "training.class_weights={kind: balancd}": "unknown kind 'balancd'. Did you mean 'balanced'?",
    "training.class_weights={start: 3}": "needs a key 'kind'. Known: balanced, effective_number",
    "training.class_weights={kind: balanced, start: -1}": "training.class_weights.start = -1",
    "training.stages=[{epochs: 3}]": f"{STAGE}: needs a key 'name'. Known: retrain_head, tau_norm, "
    "retrain_all",
    "training.stages=[retrain_all, tau_norm]": "): retrain_all is the only stage of a run",
    "training.averaging={name: mean, start: 0}": "training.averaging.start = 0 (command line): "
    "should be greater than or equal to 1",
    "training.averaging={name: mena}": "unknown averaging 'mena'. Did you mean 'mean'?",
    "training.warmup_head=-1": "training.warmup_head = -1 (command line): should be ",
    "data.flag=retinamist": "data.flag = 'retinamist' (command line): MedMNIST has no data set "
    "'retinamist'. Did you mean",
    "training={epochs: 2, steps: 5}": "set either training.epochs or training.steps",
    "training.epochs=null": "set either training.epochs or training.steps",
    "training=3": "training = 3 (command line): should be a mapping",
    "data={name: 5}": "data.name = 5 (command line)",
    "data.exclude=[true]": "data.exclude[0] = true (command line)",
    # Names of keys.
    "algorithm.keep=0.1": "algorithm.keep = 0.1 (command line): there is no such key",
    "train.learning_rte=0.01": "there is no section 'train'. Did you mean training.lr?",
    "train.batch-size=4": "Did you mean training.batch_size?",
    "epochs=3": "epochs = 3 (command line): there is no such key. Did you mean training.epochs?",
    "training.stages=[tau_norm, {name: retrain_head, epochs: 2, learning_rate: 1}]": "training."
    "stages[1].learning_rate = 1 (command line): there is no such key. Did you mean "
    "training.stages[1].lr? Keys of training.stages[1]: name, epochs",
    "training.stages=[{name: retrain_head, steps: 2, algorithm: {name: balms, metalr: 3}}]": "Did "
    f"you mean {STAGE}.algorithm.meta_lr? Keys of {STAGE}.algorithm: name, lr_scale, loss, meta_lr",
    # Names of parts and plug-ins.
    "algorithm=latentdr_pol": "algorithm = 'latentdr_pol' (command line): there is no such part or "
    "algorithm. Did you mean 'latentdr_pool'?",
    "algorithm={name: latentdr_pool}": "write algorithm=latentdr_pool",
    "algorithm.loss={name: cros_entropy}": "Did you mean 'cross_entropy'?",
    "algorithm={name: 'medldr.algorithms.erm;x'}": "is not a valid algorithm name",
    "algorithm.name=json.decoder": "allow it: `--plugins json`",
    # Overrides that are none.
    "training..lr=1": "'training..lr=1' (command line): should be KEY=VALUE",
    "data.class_names=[a, b": "'data.class_names=[a, b' (command line): YAML syntax",
}


@pytest.mark.parametrize("override", MESSAGES)
def test_a_mistake_is_one_problem_with_its_key_and_what_is_allowed(refusal, override):
    message = refusal("retinamnist_erm", override)
    assert MESSAGES[override] in message
    assert message.startswith("1 problem in the configuration retinamnist_erm:\n")
    assert len(message.splitlines()) == 2


def test_all_problems_of_files_and_command_line_are_in_one_message(write, refusal):
    path = write(
        "bad.yaml",
        """\
        extends: run/retinamnist_latentdr_pool
        training:
          lr: abc
        train:
          batch-size: 4
        training.lr: 0.1
        algorithm: {base: {name: erm, lr_scal: 1}}
        """,
    )
    message = refusal(path, "machine.threads=0", "nonsense", "algorithm.keeep=0.1")
    assert message.startswith(f"7 problems in the configuration {path}:")
    for line in (
        f"training.lr = 'abc' ({path}:3): should be a number",
        f"train.batch-size = 4 ({path}:5): there is no section 'train'. Did you mean",
        f"training.lr = 0.1 ({path}:6): dotted keys are for the command line",
        f"algorithm.base.lr_scal = 1 ({path}:7): there is no such key. Did you mean "
        "algorithm.base.lr_scale?",
        "machine.threads = 0 (command line)",
        "'nonsense' (command line): should be KEY=VALUE",
        "Did you mean algorithm.keep? Keys of algorithm: name, lr_scale, loss, set_scope, base, "
        "degrade",
    ):
        assert line in message


def test_a_nested_plug_in_may_be_a_bare_name():
    config = load_config("retinamnist_latentdr_pool", ["algorithm.loss=cross_entropy"])
    assert config.algorithm.loss.name == "cross_entropy"


def test_missing_sections_and_keys_are_named(refusal):
    message = refusal({"training": {"epochs": 1}})
    for section in ("data", "transform", "model", "algorithm"):
        assert f"{section}: this section is missing; extend a part such as {section}/" in message
    assert "data.flag: this key is missing" in refusal("phantom_fracture_erm", "data.name=medmnist")


def test_long_values_are_shortened(refusal):
    assert "x" * 100 not in refusal("retinamnist_erm", f"training.lr={'x' * 500}")
