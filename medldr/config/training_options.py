"""Keys of `training` that are sections of their own: averaging, class weights, later stages."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, model_validator

from medldr.config.section import AlgorithmSection, Section, one_of


class AveragingConfig(Section):
    """Moving average: the averaged weights are validated, selected and saved."""

    name: Literal["ema"] = "ema"
    decay: float = Field(0.999, gt=0, lt=1, description="weight of the past in each step")


class MeanConfig(Section):
    """Mean of the weights from a step on, batch statistics included, used as the moving average."""

    name: Literal["mean"]  # no default, because it is always part of a run's identity
    start: int = Field(
        1, ge=1, description="first step whose weights count; until then they are as trained"
    )


class SwadConfig(Section):
    """SWAD: after training, the mean of all weights within a valley of the validation loss."""

    name: Literal["swad"]  # no default, because it is always part of a run's identity
    n_converge: int = Field(
        3, ge=1, description="validations per window; converged when the first one is the lowest"
    )
    n_tolerance: int = Field(
        6, ge=1, description="consecutive validations above the threshold that end the valley"
    )
    ratio: float = Field(
        0.3, ge=0, description="margin of the threshold above the mean loss of that window"
    )
    compat: bool = Field(
        False, description="count weights as the published code does, some of them repeatedly"
    )
    bn_batches: int = Field(
        500, ge=1, description="training batches for recomputing the batch-norm statistics"
    )


SWAD: Final = "swad"
"""Name of the averaging, and of the selection rule that reports its weights."""

Averaging = Annotated[
    AveragingConfig | MeanConfig | SwadConfig,
    BeforeValidator(
        one_of(
            {"ema": AveragingConfig, "mean": MeanConfig, SWAD: SwadConfig},
            "averaging",
            default="ema",
        ),
        json_schema_input_type=Literal["ema", "mean", "swad"]
        | AveragingConfig
        | MeanConfig
        | SwadConfig,
    ),
]
"""A bare name or a mapping; without a name it is the moving average."""


class BalancedWeights(Section):
    """Weights inverse to the number of training images, from some epoch on."""

    kind: Literal["balanced"]  # no default, because it is always part of a run's identity
    start: int = Field(
        0, ge=0, description="epochs (or steps) before the weights count; 0: from the start"
    )


class EffectiveNumberWeights(Section):
    """Weights by the effective number of images, from some epoch on."""

    kind: Literal["effective_number"]
    beta: float = Field(
        0.9999, ge=0, lt=1, description="0: all classes weigh 1; towards 1: 1 / count"
    )
    start: int = Field(
        0, ge=0, description="epochs (or steps) before the weights count; 0: from the start"
    )


ClassWeights = Annotated[
    Literal["balanced"] | tuple[float, ...] | BalancedWeights | EffectiveNumberWeights,
    BeforeValidator(
        one_of(
            {"balanced": BalancedWeights, "effective_number": EffectiveNumberWeights},
            "kind",
            key="kind",
        ),
        json_schema_input_type=Literal["balanced"]
        | tuple[float, ...]
        | BalancedWeights
        | EffectiveNumberWeights,
    ),
]
"""``balanced``, one number per class, or a mapping with a key ``kind``."""


def start_of(weights: Any) -> int:
    """Epochs (or steps) before class weights count.

    Example:
        >>> start_of("balanced"), start_of(BalancedWeights(kind="balanced", start=3))
        (0, 3)
    """
    return int(getattr(weights, "start", 0))


class RetrainHead(Section):
    """Train the classifier alone, on frozen latents.

    Unset, the size of batches, the optimizer, its rate and its decay are those of the first stage,
    as momentum, clipping and precision always are. The rate is multiplied by the ``lr_scale`` of
    the stage's own method (1 for the default). Warm-up, accumulation, class weights, averaging and
    early stopping belong to the first stage alone. The selection rules are the run's.

    Source:
        Kang et al. 2020, "Decoupling representation and classifier": cRT, a new classifier on
        class-balanced batches; the second stage of BALMS (Ren et al. 2020) with its algorithm. Our
        choice: the frozen part is in eval mode, its batch statistics included.
    """

    name: Literal["retrain_head"]
    epochs: int | None = Field(None, ge=1, description="passes over the training images")
    steps: int | None = Field(None, ge=1, description="optimizer steps, instead of epochs")
    restart: bool = Field(
        True, description="begin with a new classifier; false: go on with the trained one"
    )
    sampler: Literal["shuffle", "weighted", "domains"] = Field(
        "weighted", description="weighted: class-balanced batches"
    )
    algorithm: AlgorithmSection | None = Field(
        None, description="unset: erm with the classification loss of the first stage"
    )
    batch_size: int | None = Field(None, ge=1)
    optimizer: Literal["sgd", "adam", "adamw"] | None = None
    lr: float | None = Field(None, gt=0)
    weight_decay: float | None = Field(None, ge=0)
    schedule: Literal["constant", "cosine"] = "cosine"
    evaluate_every: int | None = Field(
        None, ge=1, description="epochs (or steps); unset: every epoch, or ten times in all"
    )

    @model_validator(mode="after")
    def _one_length(self) -> RetrainHead:
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("retrain_head needs either epochs or steps, such as epochs: 10")
        return self


class TauNorm(Section):
    """Divide each class's weights in a linear classifier by a power of their length; no training.

    Weights of frequent classes grow longer than those of rare ones. ``w / |w|**tau`` makes them
    equally long at 1 and leaves them alone at 0; the bias is dropped.

    Source:
        Kang et al. 2020 (tau-normalised). Their tau is chosen on validation data; the grid of
        steps of 0.1 from 0 to 1 is our choice, and of equal values the smallest counts.
    """

    name: Literal["tau_norm"]
    tau: float | None = Field(
        None, ge=0, description="unset: what the selection rule prefers among 0, 0.1, ... 1"
    )


class RetrainAll(Section):
    """Train again from the first weights, on training and validation images.

    The first stage chooses how long: this one makes as many steps as its first selection rule
    chose, each at the rate, the class weights and the warm-up of that step of the first stage, and
    reports the weights of the last one. Early stopping belongs to the first stage.

    Source:
        ERM++ (Teterwak et al. 2025, "full data"): its code trains with a held-back part, then on
        all images for the number of steps with the best validation accuracy. Our choice: the other
        selection rules have no weights, SWAD, which needs validation, and a temperature fitted on
        validation are refused.
    """

    name: Literal["retrain_all"]


Stage = Annotated[
    RetrainHead | TauNorm | RetrainAll,
    BeforeValidator(
        one_of(
            {"retrain_head": RetrainHead, "tau_norm": TauNorm, "retrain_all": RetrainAll}, "stage"
        ),
        json_schema_input_type=Literal["retrain_head", "tau_norm", "retrain_all"]
        | RetrainHead
        | TauNorm
        | RetrainAll,
    ),
]
"""What follows the training of the whole network: a bare name or a mapping.

Frequent classes decide what a network trained on long-tailed data predicts, but hardly harm what
it sees: its latents. `RetrainHead` and `TauNorm` leave these as they are and change the classifier.
"""
