"""The key `training.averaging`: no averaging of weights, a moving average, or SWAD."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from medldr.config.section import Section
from medldr.errors import did_you_mean


class AveragingConfig(Section):
    """Moving average: the averaged weights are validated, selected and saved."""

    name: Literal["ema"] = "ema"
    decay: float = Field(0.999, gt=0, lt=1, description="weight of the past in each step")


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


def _averaging(value: Any) -> Any:
    """Accept a bare name or a mapping; without a name it is the moving average."""
    kinds: dict[str, type[Section]] = {"ema": AveragingConfig, SWAD: SwadConfig}
    if isinstance(value, Section):
        return value
    values = {"name": value} if isinstance(value, str) else value
    if not isinstance(values, dict):
        raise PydanticCustomError(
            "plugin_mapping", "should be ema or swad, or a mapping with a key 'name'"
        )
    name = values.get("name", "ema")
    if name not in kinds:
        raise PydanticCustomError(
            "plugin_unknown",
            "{text}",
            {"text": f"unknown averaging.{did_you_mean(name, kinds)} Known: ema, swad"},
        )
    return kinds[name].model_validate({"name": name, **values})


Averaging = Annotated[
    AveragingConfig | SwadConfig,
    BeforeValidator(
        _averaging,
        json_schema_input_type=Literal["ema", "swad"] | AveragingConfig | SwadConfig,
    ),
]
