"""Tiny models, data and algorithms that stand in for real ones in the contract tests.

Each algorithm here shows one pattern that the contract must carry, and nothing of the method it is
named after beyond that.
"""

from __future__ import annotations

import copy
import re
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from medldr import plugins
from medldr.algorithms import Algorithm, AlgorithmConfig, build_algorithm
from medldr.algorithms._gather import mean_over_processes
from medldr.models.base import STAGES, FeatureModel
from medldr.types import Batch, DataSpec, StepOutput

DOMAINS = ("north", "south", "west")
EXAMPLE = "mylab.logit_noise"
"""The algorithm that CONTRIBUTING shows, which the contract holds word for word."""
ALGORITHMS = (*plugins.names("algorithms"), EXAMPLE)


class TinyModel(FeatureModel):
    """Five small convolutions; counts how often the encoder runs."""

    def __init__(self, spec: DataSpec, norm: bool = False) -> None:
        widths = (4, 4, 5, 6, 8)
        super().__init__(stage_dims=widths, dim=8, num_classes=spec.num_classes)
        conv = nn.Conv2d if spec.spatial_dims == 2 else nn.Conv3d
        inputs = (spec.channels, *widths)
        self.blocks = nn.ModuleList(
            conv(i, o, 3, padding=1) for i, o in zip(inputs, widths, strict=False)
        )
        self.norm = nn.BatchNorm2d(widths[0]) if norm else nn.Identity()
        self.passes = 0

    def features(self, image: Tensor, taps: Any = None) -> Tensor:
        self.passes += 1
        x = image
        for stage, block in zip(STAGES, self.blocks, strict=True):
            x = self.tap(stage, torch.tanh(block(x)), taps)
            x = self.norm(x) if stage == "stem" else x
        return x.flatten(2).mean(2, dtype=torch.promote_types(x.dtype, torch.float32))


def make_spec(task: str = "multi-class", classes: int = 4, domains: bool = True) -> DataSpec:
    names = tuple(f"class_{k}" for k in range(2 if task == "binary" else classes))
    known = DOMAINS if domains else ()
    return DataSpec(task, names, (10,) * len(names), 1, (8, 8), known, known)


def make_batch(spec: DataSpec, rows: int = 12, seed: int = 0, views: tuple[str, ...] = ()) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    row = torch.arange(rows)
    # The class moves the mean, so there is something to learn.
    image = torch.randn(rows, spec.channels, *spec.spatial_size, generator=generator)
    image = image + (row % spec.num_classes).view(-1, *[1] * (image.ndim - 1)) / 2
    if spec.multi_label:
        label = (torch.rand(rows, spec.num_classes, generator=generator) > 0.5).float()
        label[0] = float("nan")
        label[1, 0] = float("nan")
    else:
        label = row % spec.num_classes
    domain = row % 3 if spec.domains else torch.full((rows,), -1)
    others = {name: image + 0.1 * torch.randn(image.shape, generator=generator) for name in views}
    return Batch(image, label, domain, row // 2, row, others)


def make_model(spec: DataSpec, seed: int = 0, norm: bool = False) -> TinyModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return TinyModel(spec, norm=norm)


class TwoLosses(Algorithm):
    """Two losses and two optimizers that take turns (DANN)."""

    needs_domains = True
    sampler = "domains"

    def __init__(self, config: AlgorithmConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        self.discriminator = nn.Linear(model.dim, len(spec.train_domains))

    def optimizers(self, model: FeatureModel) -> dict[str, list[dict[str, Any]]]:
        return {
            "main": [{"params": list(model.parameters())}],
            "domains": [{"params": list(self.discriminator.parameters()), "lr": 0.2}],
        }

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        z = model.features(batch.image)
        logits = model.classify(z)
        original = self.classification_loss(logits, batch.label)
        domain = functional.cross_entropy(self.discriminator(z), batch.domain)
        logs = {"loss/original": original.detach(), "loss/domain": domain.detach()}
        return StepOutput(original - 0.5 * domain, z, logits, logs)

    def domain_loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        with torch.no_grad():
            z = model.features(batch.image)
            logits = model.classify(z)
        loss = functional.cross_entropy(self.discriminator(z), batch.domain)
        return StepOutput(loss, z, logits, {"loss/discriminator": loss.detach()})

    def update(self, step: Any, batch: Batch) -> StepOutput:
        method, name = ("loss", "main") if step.index % 2 == 0 else ("domain_loss", "domains")
        output: StepOutput = step.forward(batch, method)
        step.backward(output.loss)
        step.optimizer_step(name)
        return output


class ThreeOptimizers(Algorithm):
    """Three optimizers, two of which step from one backward pass (SagNet in DomainBed's form)."""

    def __init__(self, config: AlgorithmConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        self.style_head = nn.Linear(model.dim, spec.num_classes)

    def optimizers(self, model: FeatureModel) -> dict[str, list[dict[str, Any]]]:
        content = list(model.head.parameters())
        inside = {id(p) for p in content}
        return {
            "features": [{"params": [p for p in model.parameters() if id(p) not in inside]}],
            "content": [{"params": content}],
            "style": [{"params": list(self.style_head.parameters())}],
        }

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        z = model.features(batch.image)
        logits = model.classify(z)
        loss = self.classification_loss(logits, batch.label)
        return StepOutput(loss, z, logits, {"loss/original": loss.detach()})

    def style_loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        z = model.features(batch.image).detach()
        loss = self.classification_loss(self.style_head(z.flip(1)), batch.label)
        return StepOutput(loss, z, model.classify(z), {"loss/style": loss.detach()})

    def adversarial_loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        z = model.features(batch.image)
        loss = -0.1 * self.style_head(z.flip(1)).log_softmax(1).mean()
        return StepOutput(loss, z, model.classify(z), {"loss/adversarial": loss.detach()})

    def update(self, step: Any, batch: Batch) -> StepOutput:
        output: StepOutput = step.forward(batch)
        step.backward(output.loss)
        step.optimizer_step("features", "content")
        for method, name in (("style_loss", "style"), ("adversarial_loss", "features")):
            step.backward(step.forward(batch, method).loss)
            step.optimizer_step(name)
        return output


class FrozenCopy(Algorithm):
    """A frozen copy of the first network, reached by taps and kept in eval mode (MIRO)."""

    def __init__(self, config: AlgorithmConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        self.frozen = copy.deepcopy(model).requires_grad_(False)
        self.scale = nn.Parameter(torch.zeros(model.stage_dims[2]))
        self.taps = {"stage2": self._see}
        self._seen: list[Tensor] = []

    def train(self, mode: bool = True) -> FrozenCopy:
        super().train(mode)
        self.frozen.eval()
        return self

    def _see(self, value: Tensor) -> Tensor:
        self._seen.append(value)
        return value

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        self._seen.clear()
        z = model.features(batch.image, self.taps)
        with torch.no_grad():
            self.frozen.features(batch.image, self.taps)
        now, first = self._seen
        self._seen.clear()
        away = (now - first).square().mean((0, 2, 3))
        distance = (away * torch.exp(-self.scale) + self.scale).mean()
        logits = model.classify(z)
        original = self.classification_loss(logits, batch.label)
        logs = {"loss/original": original.detach(), "loss/distance": distance.detach()}
        return StepOutput(original + distance, z, logits, logs)


class InnerStep(Algorithm):
    """An inner step in place, then restored; its gradients act on the old weights (MLDG)."""

    needs_domains = True
    sampler = "domains"

    def optimizers(self, model: FeatureModel) -> dict[str, list[dict[str, Any]]]:
        self._trained = list(model.parameters())
        return {"main": [{"params": self._trained}], "inner": [{"params": self._trained}]}

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        z = model.features(batch.image)
        logits = model.classify(z)
        loss = self.classification_loss(logits, batch.label)
        return StepOutput(loss, z, logits, {"loss/original": loss.detach()})

    def update(self, step: Any, batch: Batch) -> StepOutput:
        total = [torch.zeros_like(p) for p in self._trained]
        parts = batch.by_domain()
        start = step.snapshot()
        for inner, outer in zip(parts, parts[1:] + parts[:1], strict=True):
            output = step.forward(inner)
            step.backward(output.loss / len(parts))
            self._add(total)
            step.reset_optimizer("inner")
            step.optimizer_step("inner")
            step.backward(step.forward(outer).loss / len(parts))
            self._add(total)
            step.restore(start)
            for p in self._trained:
                p.grad = None
        for p, gradient in zip(self._trained, total, strict=True):
            p.grad = gradient
        step.optimizer_step()
        return output

    def _add(self, total: list[Tensor]) -> None:
        for p, gradient in zip(self._trained, total, strict=True):
            assert p.grad is not None
            gradient += p.grad


class Interpolation(Algorithm):
    """Steps domain by domain, then only a part of the way (Fish)."""

    needs_domains = True
    sampler = "domains"

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        z = model.features(batch.image)
        logits = model.classify(z)
        loss = self.classification_loss(logits, batch.label)
        return StepOutput(loss, z, logits, {"loss/original": loss.detach()})

    def update(self, step: Any, batch: Batch) -> StepOutput:
        start = step.snapshot()
        for part in batch.by_domain():
            output: StepOutput = step.forward(part)
            step.backward(output.loss)
            step.optimizer_step()
        step.interpolate(start, 0.5)
        return output


class RunningWeights(Algorithm):
    """Domain weights in a buffer, moved by risks that all processes share (GroupDRO, Fishr)."""

    needs_domains = True
    sampler = "domains"

    def __init__(self, config: AlgorithmConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        self.weights: Tensor
        self.register_buffer("weights", torch.ones(len(spec.train_domains)) / 3)

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        z = model.features(batch.image)
        logits = model.classify(z)
        per_sample = self.classification(logits, batch.label)
        risks = torch.stack(
            [per_sample[batch.domain == d].mean() for d in range(len(self.weights))]
        )
        with torch.no_grad():
            moved = self.weights * torch.exp(0.5 * mean_over_processes(risks))
            self.weights.copy_(moved / moved.sum())
        loss = (self.weights.clone() * risks).sum()
        return StepOutput(loss, z, logits, {"loss/worst": risks.max().detach()})


class ProjectionConfig(AlgorithmConfig):
    """Keys of the base that LatentDR is stacked on."""

    factor: float = 0.1


class Projection(Algorithm):
    """A loss with a head and a term of its own, for LatentDR to stack on (BCL)."""

    def __init__(self, config: AlgorithmConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        assert isinstance(config, ProjectionConfig)
        self.factor = config.factor
        self.head = nn.Linear(model.dim, model.dim)

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        z = model.features(batch.image)
        logits = model.classify(z)
        original = self.classification_loss(logits, batch.label)
        extra = self.factor * (self.head(z) - z).square().mean()
        logs = {"loss/original": original.detach(), "loss/projection": extra.detach()}
        return StepOutput(original + extra, z, logits, logs)


class MixedLabels(Projection):
    """Says of itself that it mixes labels."""

    mixes_labels = True


PATTERNS: dict[str, type[Algorithm]] = {
    "two losses, two optimizers": TwoLosses,
    "three optimizers": ThreeOptimizers,
    "frozen copy": FrozenCopy,
    "inner step and restore": InnerStep,
    "snapshot and interpolate": Interpolation,
    "running averages in buffers": RunningWeights,
}


def offer_plugin(name: str, algorithm: type[Algorithm], config: type[AlgorithmConfig]) -> None:
    """Make a class available as an outside plug-in, as if a package of this name held it."""
    module = ModuleType(name)
    module.Config, module.ALGORITHM = config, algorithm  # type: ignore[attr-defined]
    sys.modules[name] = module


def example_text() -> str:
    """The module in CONTRIBUTING."""
    page = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^( *)```python\n(.*?)^ *```", page, re.MULTILINE | re.DOTALL)
    (text,) = [textwrap.dedent(text) for _, text in blocks if "ALGORITHM =" in text]
    return text


def stated(name: str) -> Mapping[str, Any]:
    """The literals in the module of an algorithm, the example's among them."""
    if name == EXAMPLE:
        return plugins.stated(example_text())[1]
    return plugins.facts("algorithms", name)


def offer_example() -> None:
    module = ModuleType(EXAMPLE)
    sys.modules[EXAMPLE] = module
    exec(compile(example_text(), "CONTRIBUTING.md", "exec"), module.__dict__)


def offer_all() -> None:
    offer_example()
    for number, algorithm in enumerate(PATTERNS.values()):
        offer_plugin(f"outside.pattern_{number}", algorithm, AlgorithmConfig)
    offer_plugin("outside.projection", Projection, ProjectionConfig)
    offer_plugin("outside.mixed_labels", MixedLabels, ProjectionConfig)


def make_algorithm(
    name: str, spec: DataSpec, model: FeatureModel, seed: int = 0, **keys: Any
) -> Algorithm:
    """An algorithm by its plug-in's name, or by that of a pattern."""
    if name in PATTERNS:
        name = f"outside.pattern_{list(PATTERNS).index(name)}"
    config = plugins.load("algorithms", name).Config.model_validate({"name": name, **keys})
    return build_algorithm(config, spec, model, seed)


offer_all()
