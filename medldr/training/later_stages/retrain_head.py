"""The stage `retrain_head`: the classifier alone, on frozen latents.

Source:
    See `medldr.config.training_options.RetrainHead`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from medldr.algorithms import build_algorithm
from medldr.algorithms.base import Algorithm
from medldr.algorithms.erm import ERMConfig
from medldr.config import RunConfig
from medldr.config.schema import TrainingConfig
from medldr.config.training_options import SWAD, RetrainHead
from medldr.folders.files import load_tensors
from medldr.models import build_model
from medldr.models.base import FeatureModel
from medldr.types import DataSpec

AS_IN_THE_FIRST = ("batch_size", "optimizer", "lr", "weight_decay")
"""Keys that a stage takes from the training of the whole network where it does not set them."""
EVALUATIONS = 10
"""How often a stage that counts in steps is validated, unless it says so."""


def stage_config(config: RunConfig, stage: RetrainHead, spec: DataSpec) -> RunConfig:
    """The configuration of a run that is this stage alone.

    Args:
        config: The whole run's.
        stage: The stage.
        spec: The data, whose source domains make a batch where that is set by domain.
    """
    every = stage.evaluate_every or max(1, (stage.steps or EVALUATIONS) // EVALUATIONS)
    rules = tuple(rule for rule in config.training.select if rule != SWAD) or ("last",)
    own: dict[str, Any] = {
        "stages": (),
        "epochs": stage.epochs,
        "steps": stage.steps,
        "sampler": stage.sampler,
        "batch_per_domain": None,
        "accumulate": 1,
        "schedule": stage.schedule,
        "cosine_top": "first",
        "cosine_zero": "one_after",
        "warmup": 0,
        "warmup_from": None,
        "warmup_head": 0,
        "class_weights": None,
        "init_from": None,
        "averaging": None,
        "early_stopping": None,
        "select": rules,
        "evaluate_every": every if stage.steps else stage.evaluate_every or 1,
        "evaluate_offset": 0,
    }
    given = {key: getattr(stage, key) for key in AS_IN_THE_FIRST}
    per_domain = config.training.batch_per_domain
    if per_domain is not None and given["batch_size"] is None:
        given["batch_size"] = per_domain * max(1, len(spec.train_domains))
    own |= {key: value for key, value in given.items() if value is not None}
    training = TrainingConfig.model_validate({**dict(config.training), **own})
    update: dict[str, Any] = {"training": training}
    if stage.algorithm is not None:
        update["algorithm"] = stage.algorithm
    return config.model_copy(update=update)


def stage_algorithm(
    config: RunConfig, number: int, spec: DataSpec, model: FeatureModel, first: Algorithm
) -> Algorithm:
    """The method of a stage: its own, or ERM with the classification loss of the first stage.

    Args:
        config: The whole run's.
        number: Place of the stage among `training.stages`.
        spec: The data.
        model: The network.
        first: The method of the first stage.
    """
    stage = config.training.stages[number]
    assert isinstance(stage, RetrainHead)
    if stage.algorithm is not None:
        return build_algorithm(stage.algorithm, spec, model, config.seed + 1 + number)
    lowest = first  # of methods that stand on another, the one whose loss serves all terms
    while isinstance(base := getattr(lowest, "base", None), Algorithm):
        lowest = base
    plain = ERMConfig(name="erm", loss=lowest.classification.config)
    return build_algorithm(plain, spec, model, config.seed + 1 + number)


def to_head(
    config: RunConfig, stage: RetrainHead, spec: DataSpec, model: FeatureModel, weights: Path
) -> None:
    """Give the network the weights of the last stage, freeze all but its head, and renew that.

    A new head is one of a new network: it depends on the run's seed alone.

    Args:
        config: The whole run's.
        stage: The stage.
        spec: The data.
        model: The network; changed in place.
        weights: The weights that the last stage reports.
    """
    model.load_state_dict(load_tensors(weights))
    model.freeze_features()
    if stage.restart:
        plain = config.model.model_copy(update={"weights": None, "pretrained": None})
        new = build_model(plain, spec, seed=config.seed)
        model.head.load_state_dict(new.head.state_dict())
