"""What a comparison holds: methods, scores, gaps, contrasts, sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from medldr.evaluation.estimate import Estimate


class Difference(NamedTuple):
    """One method minus another, in the same draws.

    Attributes:
        estimate: The difference with its interval.
        p: Two-sided; None where it is undefined.
        p_holm: The same after Holm's correction over its column; None for a control.
        share_of_seeds: Share of its variance that more seeds would reduce.
    """

    estimate: Estimate
    p: float | None = None
    p_holm: float | None = None
    share_of_seeds: float | None = None

    @property
    def corrected(self) -> float | None:
        """Its p, corrected for the comparisons of its family; a control has no family."""
        return self.p if self.p_holm is None else self.p_holm


class Score(NamedTuple):
    """One metric of one method on a split, or on one of its domains.

    Attributes:
        split: The split.
        domain: None for the whole split.
        metric: The metric.
        method: The method.
        estimate: Mean over its runs, with interval and spread.
        difference: To the reference; None for the reference itself.
        runs: How many runs the mean is over.
        seen: Whether training rows came from this domain; None for a whole split.
    """

    split: str
    domain: str | None
    metric: str
    method: str
    estimate: Estimate
    difference: Difference | None = None
    runs: int = 0
    seen: bool | None = None


class ClassScore(NamedTuple):
    """One metric of one class or label; `n` counts its items, or positives."""

    split: str
    name: str
    n: int
    metric: str
    method: str
    estimate: Estimate
    runs: int = 0


class Gap(NamedTuple):
    """A seen split minus the test split; `note` says why it is overestimated, if it is."""

    metric: str
    method: str
    seen: str
    estimate: Estimate
    note: str = ""


class Contrast(NamedTuple):
    """A requested pair: one method minus another."""

    split: str
    domain: str | None
    metric: str
    method: str
    minus: str
    difference: Difference


@dataclass(frozen=True)
class Method:
    """Runs that differ only in their seed.

    Attributes:
        name: Its name in the comparison.
        label: The label of its configuration.
        hash: Identity of its configuration.
        seeds: One per run.
        runs: Names of the run folders.
        protocol: Protocol id; None without one.
        precision: The precision used.
        data_hash: One number for all data.
        split_hash: One number for the splits.
        selection: The rule that chose the weights.
        oracle: Whether any run was selected on the test split.
        same_protocol: Whether it followed the protocol of the reference.
        footnotes: Where it differs from the reference although it should not.
        control: Whether it is a control of a sweep.
    """

    name: str
    label: str = ""
    hash: str = ""
    seeds: tuple[int, ...] = ()
    runs: tuple[str, ...] = ()
    protocol: str | None = None
    precision: str | None = None
    data_hash: str | None = None
    split_hash: str | None = None
    selection: str | None = None
    oracle: bool = False
    same_protocol: bool = False
    footnotes: tuple[str, ...] = ()
    control: bool = False


@dataclass(frozen=True)
class Size:
    """Size of a split or a domain; `domains` are those of a split."""

    n: int = 0
    n_groups: int | None = None
    few_groups: bool = False
    domains: Mapping[str, Size] = field(default_factory=dict)


class Missing(NamedTuple):
    """A run without a result; the reason may quote an error and thus name a file."""

    run: str
    reason: str
