"""Keys of the section `model` that every network has."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from pydantic import Field, field_validator, model_validator

from medldr.config import PluginSection
from medldr.models._cosine_head import SCALE
from medldr.models._slices import Pooling

WEIGHTS: Final = (".safetensors", ".bin", ".pth", ".pt")
"""Endings of files that hold weights."""


class ModelConfig(PluginSection):
    """Keys that every network has."""

    width: float = Field(1.0, gt=0, description="factor on the number of channels")
    head: Literal["linear", "cosine", "corn"] = Field(
        "linear", description="corn: K - 1 decisions of ordered classes, as the loss corn needs"
    )
    cosine_scale: float = Field(
        SCALE, gt=0, description="with head: cosine, the factor on the cosines; LDAM: 30"
    )
    dropout: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="share of each latent's entries set to zero while training, before the head "
        "and before anything that a method does with latents",
    )
    weights: Path | None = Field(
        None, description="safetensors file of a 2D or 3D network of the same kind to start from"
    )
    pretrained: bool | Path | str | None = Field(
        None,
        description="weights to start from, without their head: true, the network's usual ones; an "
        "id such as ResNet50_Weights.IMAGENET1K_V1 or hf-hub:OWNER/NAME, which `medldr data fetch "
        "weights:<id>` downloads; or a file (.safetensors, .bin, .pth, .pt) of any origin",
    )
    allow_download: bool = Field(
        False, description="download missing published weights from the network"
    )
    batch_norm: Literal["live", "frozen"] = Field(
        "live",
        description="frozen: normalisation keeps its first statistics (eval mode) while its scale "
        "and shift train, as DomainBed does",
    )

    freeze: Literal["none", "all"] | int = Field(
        "none",
        description="what of the network is not trained: all of it but adapter and head, or its "
        "first stages, so many; their batch norm and dropout stay in eval mode",
    )
    adapter: Literal["none", "linear", "mlp"] = Field(
        "none",
        description="what is trained between network and head and makes the latents that methods "
        "see; it starts as the identity",
    )

    slices: Pooling | None = Field(
        None,
        description="volumes as sets of axial slices, which a network of pictures sees one by one: "
        "how their latents become one; unset: a network of volumes",
    )

    @field_validator("freeze")
    @classmethod
    def _so_many(cls, value: str | int) -> str | int:
        if isinstance(value, int) and value < 1:
            raise ValueError("should be none, all or a number of stages from 1 on")
        return value

    @field_validator("pretrained")
    @classmethod
    def _file_or_id(cls, value: bool | Path | str | None) -> bool | Path | str | None:
        if value is None or isinstance(value, bool):
            return value or None
        return Path(value) if Path(value).suffix.lower() in WEIGHTS else str(value)

    @model_validator(mode="after")
    def _scale_of_a_cosine(self) -> ModelConfig:
        if self.head != "cosine" and self.cosine_scale != SCALE:
            raise ValueError(
                f"cosine_scale {self.cosine_scale:g} has no effect on a {self.head} head. Set "
                "model.head: cosine, or leave model.cosine_scale out"
            )
        return self

    @model_validator(mode="after")
    def _one_start(self) -> ModelConfig:
        if self.pretrained is None:
            return self
        if self.weights is not None:
            raise ValueError(
                "pretrained and weights both set what the network starts from; set only one of them"
            )
        stem = getattr(self, "stem", "imagenet")
        if stem != "imagenet" or self.width != 1:
            wrong, cure = ("width", "width: 1") if self.width != 1 else ("stem", "stem: imagenet")
            raise ValueError(
                f"pretrained {self.pretrained} does not fit this {wrong}: published weights are "
                f"for the full network. Set model.{cure}, or leave model.pretrained out"
            )
        return self
