"""The key `training.class_weights` in all its forms."""

import pytest

from medldr.config import dump_config, load_config, run_hash
from medldr.config.class_weights import BalancedWeights, EffectiveNumberWeights
from medldr.errors import InputError

RUN = "retinamnist_erm"


def chosen(text):
    return load_config(RUN, [f"training.class_weights={text}"]).training.class_weights


def test_every_form_is_read():
    assert chosen("null") is None
    assert chosen("balanced") == "balanced"
    assert chosen("[1, 2, 0.5, 1, 1]") == (1, 2, 0.5, 1, 1)
    assert chosen("{kind: balanced, start: 9}") == BalancedWeights(kind="balanced", start=9)
    deferred = chosen("{kind: effective_number, start: 160}")
    assert deferred == EffectiveNumberWeights(kind="effective_number", beta=0.9999, start=160)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{kind: balancd}", "unknown kind 'balancd'. Did you mean 'balanced'?"),
        ("{start: 3}", "needs a key 'kind'. Known: balanced, effective_number"),
        ("{kind: balanced, beta: 0.3}", "training.class_weights.beta = 0.3"),
        ("{kind: effective_number, beta: 1}", "should be less than 1"),
        ("{kind: effective_number, start: -1}", "training.class_weights.start = -1"),
    ],
)
def test_what_it_does_not_know_is_one_problem(text, message):
    with pytest.raises(InputError) as caught:
        chosen(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("1 problem")


def test_a_deferred_run_is_another_run_and_survives_being_written(tmp_path):
    late = ["training.class_weights={kind: effective_number, start: 160}"]
    config = load_config(RUN, late)
    path = tmp_path / "config.yaml"
    path.write_text(dump_config(config))
    assert load_config(path) == config
    assert run_hash(load_config(path)) == run_hash(config)
    later = load_config(RUN, ["training.class_weights={kind: effective_number, start: 161}"])
    assert len({run_hash(c) for c in (config, later, load_config(RUN))}) == 3


def test_ldam_drw_brings_its_head_and_its_weights():
    config = load_config(RUN, ["algorithm=ldam_drw", "training.class_weights.start=60"])
    assert (config.model.head, config.model.cosine_scale) == ("cosine", 30)
    assert config.algorithm.loss.name == "ldam"
    assert config.training.class_weights.start == 60
    assert config.protocol.endswith("+modified")
