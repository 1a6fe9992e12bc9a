"""The key `training.class_weights`: weights of the classes in the loss, from when on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from medldr.config.section import Section
from medldr.errors import did_you_mean


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


_KINDS: Final[Mapping[str, type[Section]]] = {
    "balanced": BalancedWeights,
    "effective_number": EffectiveNumberWeights,
}


def _weights(value: Any) -> Any:
    """Accept a mapping with a key ``kind`` besides ``balanced`` and a list of numbers."""
    if not isinstance(value, dict):
        return value
    kind = str(value.get("kind", ""))
    if kind not in _KINDS:
        asked = f"unknown kind {kind!r}" if kind else "needs a key 'kind'"
        text = f"{asked}.{did_you_mean(kind, _KINDS)} Known: {', '.join(_KINDS)}"
        raise PydanticCustomError("plugin_unknown", "{text}", {"text": text})
    return _KINDS[kind].model_validate(value)


ClassWeights = Annotated[
    Literal["balanced"] | tuple[float, ...] | BalancedWeights | EffectiveNumberWeights,
    BeforeValidator(
        _weights,
        json_schema_input_type=Literal["balanced"]
        | tuple[float, ...]
        | BalancedWeights
        | EffectiveNumberWeights,
    ),
]
"""``balanced``, one number per class, or a mapping."""


def start_of(weights: Any) -> int:
    """Epochs (or steps) before weights count.

    Example:
        >>> start_of("balanced"), start_of(BalancedWeights(kind="balanced", start=3))
        (0, 3)
    """
    return int(getattr(weights, "start", 0))
