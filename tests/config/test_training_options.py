"""Averaging, class weights and later stages: bare words and mappings."""

import pytest

from medldr.config import TrainingConfig, dump_config, load_config, run_hash
from medldr.config.training_options import (
    AveragingConfig,
    BalancedWeights,
    EffectiveNumberWeights,
    MeanConfig,
    RetrainHead,
    SwadConfig,
    TauNorm,
)

NINTH = BalancedWeights(kind="balanced", start=9)
LATE = EffectiveNumberWeights(kind="effective_number", beta=0.9999, start=160)


@pytest.mark.parametrize(
    ("key", "written", "read"),
    [
        ("class_weights", None, None),
        ("class_weights", "balanced", "balanced"),
        ("class_weights", [1, 2, 0.5], (1, 2, 0.5)),
        (
            "class_weights",
            {"kind": "balanced", "start": 9},
            NINTH,
        ),
        ("class_weights", {"kind": "effective_number", "start": 160}, LATE),
        ("averaging", "ema", AveragingConfig()),
        ("averaging", {"decay": 0.9}, AveragingConfig(decay=0.9)),
        ("averaging", "mean", MeanConfig(name="mean")),
        ("averaging", {"name": "mean", "start": 600}, MeanConfig(name="mean", start=600)),
        ("averaging", "swad", SwadConfig(name="swad")),
        ("stages", ["tau_norm"], (TauNorm(name="tau_norm"),)),
        (
            "stages",
            [{"name": "retrain_head", "epochs": 2}],
            (RetrainHead(name="retrain_head", epochs=2),),
        ),
    ],
)
def test_every_form_is_read(key, written, read):
    assert getattr(TrainingConfig.model_validate({key: written}), key) == read


def test_a_deferred_run_is_another_run_and_survives_being_written(tmp_path):
    def starting(epoch):
        weights = f"training.class_weights={{kind: effective_number, start: {epoch}}}"
        return load_config("retinamnist_erm", [weights])

    config = starting(160)
    path = tmp_path / "config.yaml"
    path.write_text(dump_config(config))
    assert load_config(path) == config
    assert run_hash(config) == run_hash(load_config(path)) != run_hash(starting(161))
