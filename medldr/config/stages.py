"""The key `training.stages`: what follows the training of the whole network.

Frequent classes decide what a network trained on long-tailed data predicts, but hardly harm what
it sees: its latents. Both kinds of stage leave these as they are and change the classifier.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from medldr.config.section import AlgorithmSection, Section
from medldr.errors import did_you_mean


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


_KINDS: Final[dict[str, type[Section]]] = {"retrain_head": RetrainHead, "tau_norm": TauNorm}


def _stage(value: Any) -> Any:
    """Accept a bare name or a mapping with one."""
    if isinstance(value, Section):
        return value
    values = {"name": value} if isinstance(value, str) else value
    name = values.get("name") if isinstance(values, dict) else None
    if name not in _KINDS:
        near = did_you_mean(str(name), _KINDS) if name is not None else ""
        raise PydanticCustomError(
            "plugin_unknown",
            "{text}",
            {"text": f"needs the name of a stage.{near} Known: {', '.join(_KINDS)}"},
        )
    return _KINDS[name].model_validate(values)


Stage = Annotated[
    RetrainHead | TauNorm,
    BeforeValidator(
        _stage, json_schema_input_type=Literal["retrain_head", "tau_norm"] | RetrainHead | TauNorm
    ),
]
