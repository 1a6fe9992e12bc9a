"""Algorithms that add terms to the loss of another one, by default ERM.

Source:
    Our choice of form. The paper's long-tail rows stack LatentDR and BatchFormer on other losses
    and methods.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor

from medldr import plugins
from medldr.algorithms.base import Algorithm, AlgorithmConfig, require_domains
from medldr.algorithms.erm import ERM
from medldr.config import AlgorithmSection, RunConfig
from medldr.errors import InputError
from medldr.models.base import FeatureModel
from medldr.types import DataSpec


class StackedConfig(AlgorithmConfig):
    """Keys of every algorithm that stacks on another and looks at sets of latents."""

    set_scope: Literal["global", "local"] = Field(
        "global", description="sets span the batch of all processes, or of each process alone"
    )
    base: AlgorithmSection | None = Field(
        None, description="algorithm that the terms are added to; unset: erm"
    )


class Stacked(Algorithm):
    """Takes the loss, latents and logits of the unmodified images from a base algorithm.

    The base's needs (domains, sampler and its blocks, views) become its own, and the base's
    classification loss, with the class weights, serves the added terms too. The rate is the own
    ``lr_scale``'s alone.

    Attributes:
        base: The algorithm below, made before anything of the subclass.
    """

    set_based = True
    config: StackedConfig

    def __init__(self, config: StackedConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        self.base = self._build_base(config, spec, model)
        self.needs_domains = self.base.needs_domains
        self.sampler = self.base.sampler
        self.domains_per_batch = self.base.domains_per_batch
        self.rows_per_domain = self.base.rows_per_domain
        self.views = self.base.views

    def classification_loss(self, logits: Tensor, target: Tensor) -> Tensor:
        """The base's classification loss, for all terms."""
        return self.base.classification_loss(logits, target)

    def check_run(self, config: RunConfig, *, processes: int, steps: int) -> list[str]:
        """The base's checks and notes."""
        return self.base.check_run(config, processes=processes, steps=steps)

    def begin(self, model: FeatureModel) -> None:
        """Show the base the initial weights."""
        self.base.begin(model)

    def constant(self) -> list[str]:
        """What training never changes of the base."""
        return [f"base.{name}" for name in self.base.constant()]

    def _build_base(self, config: StackedConfig, spec: DataSpec, model: FeatureModel) -> Algorithm:
        """The algorithm to stack on.

        Raises:
            InputError: If nothing can be stacked on it, or a key of it would have no effect.
        """
        if config.base is None:
            return ERM(AlgorithmConfig(name="erm", loss=config.loss), spec, model)
        name = config.base.name
        cls: type[Algorithm] = plugins.load("algorithms", name).ALGORITHM
        if cls.mixes_labels:
            raise InputError(
                f"algorithm.base: {name} mixes labels, which leaves {config.name} without true "
                "labels for its own term. Choose another base, or omit algorithm.base"
            )
        if issubclass(cls, type(self)) or isinstance(self, cls):
            raise InputError(f"algorithm.base: {name} cannot be its own base; omit algorithm.base")
        if not isinstance(config.base, AlgorithmConfig):
            raise InputError(f"algorithm.base: the Config of {name} is not an AlgorithmConfig")
        if config.loss is not None:
            raise InputError(
                "algorithm.loss has no effect with algorithm.base: set algorithm.base.loss"
            )
        if config.base.lr_scale != type(config.base).model_fields["lr_scale"].default:
            raise InputError(
                "algorithm.base.lr_scale has no effect on the run: set algorithm.lr_scale"
            )
        if cls.needs_domains:
            require_domains(name, spec)
        base = cls(config.base, spec, model)
        if cls.update is not Algorithm.update or set(base.optimizers(model)) != {"main"}:
            raise InputError(
                f"algorithm.base: {name} makes its own steps or has several optimizers, so no "
                "term can be added to its loss. Choose another base"
            )
        return base
