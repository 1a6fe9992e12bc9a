"""The stage `retrain_all`: the whole training again, on training and validation images.

Source:
    See `medldr.config.training_options.RetrainAll`.
"""

from __future__ import annotations

from dataclasses import replace

from medldr.config import RunConfig
from medldr.config.training_options import SWAD
from medldr.data import Data
from medldr.errors import InputError
from medldr.training.fit_result import FitResult


def check(config: RunConfig, data: Data) -> None:
    """Refuse what needs validation images that the weights have not seen.

    Args:
        config: The whole run's.
        data: Its images, split.

    Raises:
        InputError: Naming the key and the cure.
    """
    averaging = config.training.averaging
    if data.selection_split is None:
        raise InputError(
            "training.stages: retrain_all adds the validation images to the training images, but "
            "there are none. Hold some back (data.val_fraction), or leave the stage out"
        )
    if averaging is not None and averaging.name == SWAD:
        raise InputError(
            "training.stages: retrain_all leaves no validation images, which training.averaging: "
            "swad needs. Set training.averaging: {name: mean}, or leave the stage out"
        )
    if config.evaluation.recalibrate != "none":
        raise InputError(
            f"evaluation.recalibrate: {config.evaluation.recalibrate} would be fitted on images "
            "that retrain_all trains on. Set evaluation.recalibrate: none, or leave the stage out"
        )


def stage_config(config: RunConfig) -> RunConfig:
    """The configuration of a run that is this stage alone: it ends where the first one chose."""
    update = {"stages": (), "early_stopping": None}
    return config.model_copy(update={"training": config.training.model_copy(update=update)})


def marks(config: RunConfig, data: Data) -> list[str]:
    """What stands beside every number of a run with this stage; nothing of one without it.

    Args:
        config: The whole run's.
        data: Its images, split.
    """
    if not config.training.trains_on_validation:
        return []
    added = [split for split in ("val", "id_val") if split in data.rows]
    return [
        f"The weights were trained on the images of {' and '.join(added)} too (training.stages: "
        "retrain_all): their scores, and thresholds fitted on them, are of images trained on."
    ]


def settled(after: FitResult, fitted: FitResult) -> FitResult:
    """The result of this stage, under the choice that decided its length.

    Args:
        after: As the trainer gives it.
        fitted: The first stage's, whose validation no later weights can repeat.
    """
    chosen = fitted.reported
    note = (
        f"retrain_all: the weights are those of a second training, of the {after.steps:,} steps "
        f"that {chosen.rule} chose in the first; its value is of the first"
    )
    return replace(after, selections={chosen.rule: chosen}, notes=(*after.notes, note))
