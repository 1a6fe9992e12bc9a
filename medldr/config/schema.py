"""The sections of a run's configuration and what each key means.

Plug-in sections (data, transform, model, algorithm) are declared in the plug-in's own file;
the sections of the loop itself are declared here.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, SerializeAsAny, model_validator

from medldr.config.section import AlgorithmSection, Plugin, PluginSection, Section
from medldr.config.training_options import Averaging, ClassWeights, RetrainAll, Stage
from medldr.folders.records import NAME
from medldr.types import SplitName

CONFIG_VERSION: Final = 1
"""Raised whenever a default changes, which changes the identity of runs too."""

Decay = Annotated[float, Field(ge=0, lt=1)]


def _ascending(edges: tuple[float, ...]) -> tuple[float, ...]:
    if not edges or any(low >= high for low, high in itertools.pairwise(edges)):
        raise ValueError("should be one or more numbers in ascending order, such as [40, 60]")
    return edges


def _many_then_few(limits: tuple[int, int]) -> tuple[int, int]:
    many, few = limits
    if few < 0 or many < few - 1:
        raise ValueError(
            "should be two numbers of training images, the larger first, such as [100, 20]"
        )
    return limits


class TrainingConfig(Section):
    """The loop: how long to train, with which optimizer, which weights to keep."""

    epochs: int | None = Field(100, ge=1, description="passes over the training images")
    steps: int | None = Field(None, ge=1, description="optimizer steps, instead of epochs")
    batch_size: int = Field(128, ge=1, description="images per step, over all processes")
    batch_per_domain: int | None = Field(
        None,
        ge=1,
        description="images per source domain and step, instead of batch_size; needs batches in "
        "blocks of domains (sampler: domains)",
    )
    drop_last: bool = Field(True, description="drop the last, incomplete batch of an epoch")
    accumulate: int = Field(1, ge=1, description="split each batch into this many passes")
    accumulate_sets: bool = Field(
        False, description="let a set-based algorithm accumulate, which makes its sets smaller"
    )

    optimizer: Literal["sgd", "adam", "adamw"] = "sgd"
    lr: float = Field(0.001, gt=0, description="multiplied by algorithm.lr_scale")
    momentum: float = Field(0.9, ge=0, lt=1, description="sgd only")
    nesterov: bool = Field(False, description="sgd only")
    betas: tuple[Decay, Decay] = Field((0.9, 0.999), description="adam and adamw only")
    eps: float = Field(1e-8, gt=0, description="adam and adamw only")
    weight_decay: float = Field(0.0, ge=0)
    schedule: Literal["constant", "multistep", "cosine"] = "multistep"
    milestones: tuple[int, ...] = Field(
        (50, 75), description="multistep: epochs (or steps, when training.steps is set)"
    )
    gamma: float = Field(0.1, gt=0, le=1, description="multistep: factor at each milestone")
    cosine_top: Literal["first", "one_before"] = Field(
        "first",
        description="cosine: the epoch (or step) of the full rate, the first one after warm-up or "
        "the one before it, which is the last of the warm-up",
    )
    cosine_zero: Literal["one_after", "last"] = Field(
        "one_after",
        description="cosine: where the rate reaches 0, one epoch (or step) after the end or in "
        "the last one",
    )
    warmup: int = Field(0, ge=0, description="linear warm-up, in epochs (or steps)")
    warmup_from: float | None = Field(
        None, ge=0, le=1, description="factor at which the warm-up begins; unset: 1 / warmup"
    )
    warmup_head: int = Field(
        0,
        ge=0,
        description="epochs (or steps) at first in which the classifier alone is trained and the "
        "encoder stays as it is, its batch statistics included",
    )
    clip_norm: float | None = Field(None, gt=0, description="maximum norm of the gradient")

    sampler: Literal["shuffle", "weighted", "domains"] | None = Field(
        None, description="unset: the algorithm decides"
    )
    class_weights: ClassWeights | None = Field(
        None,
        description="balanced, one number per class, or a mapping such as {kind: effective_number, "
        "beta: 0.9999, start: 160}",
    )
    precision: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    init_from: Path | None = Field(None, description="run folder whose weights to start from")
    allow_seen: bool = Field(
        False,
        description="start from weights that were trained on images of our validation or test "
        "split; every number is then marked",
    )
    averaging: Averaging | None = None
    stages: tuple[Stage, ...] = Field(
        (),
        description="what follows, in order: retrain_head, the classifier alone on frozen latents, "
        "or tau_norm, such as [{name: retrain_head, epochs: 10}]; or retrain_all: all again, from "
        "the first weights, on validation images too, for as many steps as selection chose",
    )

    select: tuple[str, ...] = Field(
        ("val_auc",), min_length=1, description="selection rules; the first one is reported"
    )
    evaluate_every: int = Field(1, ge=1, description="epochs (or steps) between validations")
    evaluate_offset: int = Field(
        0,
        ge=0,
        description="epochs (or steps) before the first validation; the next ones follow every "
        "evaluate_every; 0: the first one comes after evaluate_every",
    )
    early_stopping: int | None = Field(
        None, ge=1, description="stop after this many validations without improvement"
    )
    checkpoint_minutes: float = Field(10.0, gt=0, description="maximum time between checkpoints")

    @model_validator(mode="before")
    @classmethod
    def _steps_replace_the_default(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("steps") is not None:
            return {"epochs": None, **values}
        return values

    @model_validator(mode="after")
    def _one_length(self) -> TrainingConfig:
        if (self.steps is None) == (self.epochs is None):
            raise ValueError(
                "set either training.epochs or training.steps, the other to null, such as "
                "training.epochs=null"
            )
        return self

    @model_validator(mode="after")
    def _blocks_of_domains(self) -> TrainingConfig:
        if self.batch_per_domain is not None and self.sampler in ("shuffle", "weighted"):
            raise ValueError(
                f"batch_per_domain needs sampler: domains, but training.sampler is {self.sampler}"
            )
        return self

    @property
    def trains_on_validation(self) -> bool:
        """Whether the reported weights are trained on validation images, too."""
        return any(isinstance(stage, RetrainAll) for stage in self.stages)

    @model_validator(mode="after")
    def _all_or_the_classifier(self) -> TrainingConfig:
        if len(self.stages) > 1 and self.trains_on_validation:
            raise ValueError("retrain_all is the only stage of a run, but training.stages has more")
        return self

    @model_validator(mode="after")
    def _nesterov_needs_momentum(self) -> TrainingConfig:
        if self.optimizer == "sgd" and self.nesterov and not self.momentum:
            raise ValueError("nesterov: true needs a momentum above 0, but training.momentum is 0")
        return self


class EvaluationConfig(Section):
    """What is scored at the end, and with what uncertainty."""

    splits: tuple[SplitName, ...] = Field(
        ("id_val", "val", "id_test", "test"),
        min_length=1,
        description="splits to score; missing ones are skipped",
    )
    draws: int = Field(2000, ge=100, description="bootstrap draws for each 95% CI")
    bootstrap_seed: int = Field(0, ge=0)
    bins: int = Field(15, ge=2, description="equal-width bins of the calibration error")
    positive_class: str | None = Field(
        None, description="binary tasks: the positive class; unset: the second class"
    )
    primary: str | None = Field(
        None,
        description="the metric that the study was planned for, such as auc, which leads tables "
        "and verdicts; unset: accuracy. Stated before training: a later change is said",
    )
    specificity: float = Field(
        0.9, gt=0, lt=1, description="specificity at which sensitivity is reported"
    )
    recalibrate: Literal["none", "temperature"] = Field(
        "none",
        description="temperature: divide the logits by one number, fitted on val, else id_val, "
        "before anything is scored or written; decisions stay the same",
    )
    temperature_forced: bool = Field(
        False,
        description="fit a temperature also on fewer than 50 validation images (groups, where "
        "there are any), which do not determine one",
    )
    prevalence: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="binary tasks: share of positives where the test will be used, for PPV and NPV "
        "beside those at the prevalence of the data",
    )
    shots: Annotated[tuple[int, int], AfterValidator(_many_then_few)] | None = Field(
        None,
        description="score frequent and rare classes apart: many-shot with more training images "
        "than the first number, few-shot with fewer than the second, such as [100, 20]",
    )
    batch_size: int = Field(256, ge=1)
    per_group: bool = Field(
        False, description="score each group (slide, patient) and the worst one, as WILDS does"
    )
    aggregate: Literal["none", "mean", "max", "share"] = Field(
        "none",
        description="score groups (patients, slides) beside images, each by the mean or the "
        "maximum of the probabilities of its images, or (binary tasks) by the share of them above "
        "their threshold",
    )
    group_label: Literal["refuse", "any"] = Field(
        "refuse",
        description="what a group with images of different labels is, for these scores: refused, "
        "or what any image shows (positive; the highest grade)",
    )
    subgroups: tuple[str, ...] | None = Field(
        None,
        description="columns of data.metadata to score value by value, at most 12 values unless "
        "they are numbers; unset: each with 2 to 12 values, and each of numbers, in bands",
    )
    bands: dict[str, Annotated[tuple[float, ...], AfterValidator(_ascending)]] = Field(
        {},
        description="edges at which columns of numbers are cut, such as {age: [40, 60]}, besides "
        "those of subgroups; a column of more than 12 numbers without any is cut at its tertiles",
    )
    oracle: bool = Field(False, description="allow selection rules that read the test split")
    latents: bool = Field(
        False,
        description="keep the latents of all splits in latents.safetensors, so that `medldr "
        "analyze` needs neither the images nor the network",
    )
    leaks: bool = Field(
        True,
        description="measure on at most 2,000 training and validation images whether latents tell "
        "the domain of patients who were held back; needs two training domains",
    )
    domain_curves: bool = Field(
        False,
        description="score each held-out domain at every validation; reports use this to choose "
        "among runs (leave-one-domain-out), selection rules of the run never do",
    )


class MachineConfig(Section):
    """Where the run happens; not part of its identity."""

    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    devices: int = Field(1, ge=1, description="processes per node, one device each")
    nodes: int = Field(1, ge=1)
    threads: int | None = Field(None, ge=1, description="CPU threads; unset: torch's choice")
    workers: int = Field(0, ge=0, description="processes that load and transform images in advance")
    compile: bool = Field(False, description="use torch.compile for the training step")
    report: bool = Field(True, description="write report.html at the end")
    thumbnails: bool = Field(
        True,
        description="keep small pictures of the most confident mistakes for the page; they hold no "
        "names, but they are images of patients",
    )


class RunConfig(Section):
    """One run: one configuration, one seed."""

    config_version: Literal[1] = CONFIG_VERSION
    seed: int = Field(0, ge=0, le=2**32 - 1)
    protocol: str = Field(
        "", description="id of the protocol; ends in '+modified' if a pinned key was changed"
    )
    label: str = Field("run", pattern=NAME, max_length=200)
    data: Annotated[SerializeAsAny[PluginSection], Plugin("datasets")]
    transform: Annotated[SerializeAsAny[PluginSection], Plugin("transforms")]
    model: Annotated[SerializeAsAny[PluginSection], Plugin("models")]
    algorithm: AlgorithmSection
    training: TrainingConfig = TrainingConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    machine: MachineConfig = MachineConfig()
    pinned: dict[str, Any] = Field(
        {}, description="values the protocol fixes, by dotted key; taken from the parts' `pins`"
    )
