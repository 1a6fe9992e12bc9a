"""What a comparison holds: methods, scores, gaps, contrasts, sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from medldr.evaluation.comparison.non_inferiority import Verdict
from medldr.evaluation.estimate import Estimate


class Difference(NamedTuple):
    """One method minus another, in the same draws.

    Attributes:
        estimate: The difference with its interval.
        p: Two-sided; None where it is undefined.
        p_holm: The same after Holm's correction over its column; None for a control.
        share_of_seeds: Share of its variance that more seeds would reduce.
        non_inferiority: What the interval tells about the margin; None where none was asked for,
            or the difference is not judged.
    """

    estimate: Estimate
    p: float | None = None
    p_holm: float | None = None
    share_of_seeds: float | None = None
    non_inferiority: Verdict | None = None

    @property
    def corrected(self) -> float | None:
        """Its p, corrected for the comparisons of its family; a control has no family."""
        return self.p if self.p_holm is None else self.p_holm


class Margin(NamedTuple):
    """How much worse a method may be and still count as non-inferior: a difference of values."""

    metric: str
    value: float


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
    """One metric of one class or label; `n` counts its items, or positives, of `n_groups`."""

    split: str
    name: str
    n: int
    metric: str
    method: str
    estimate: Estimate
    runs: int = 0
    n_groups: int | None = None


class Gap(NamedTuple):
    """A seen split minus the test split; `note` says what else it may come from, if anything."""

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
    """Size of a split or a domain.

    Attributes:
        n: Its images.
        n_groups: Its groups (patients, slides).
        few_groups: Whether these are too few.
        domains: Those of a split.
        unit: What the bootstrap draws: ``group``, or ``item`` where no image has a group.
        class_shares: Share of each class among the images; of each label, that of the positives.
    """

    n: int = 0
    n_groups: int | None = None
    few_groups: bool = False
    domains: Mapping[str, Size] = field(default_factory=dict)
    unit: str = ""
    class_shares: Mapping[str, float] = field(default_factory=dict)

    @property
    def groups(self) -> int | None:
        """Its groups, where images are known to belong to some."""
        return self.n_groups if self.unit == "group" else None

    @property
    def counts(self) -> str:
        """Number of images, and of groups where they are fewer, in words.

        Example:
            >>> Size(1240, 310, unit="group").counts, Size(80, 80, unit="item").counts
            ('1,240 images of 310 groups (patients, slides)', '80 images')
        """
        fewer = self.groups is not None and self.groups != self.n
        more = f" of {self.groups:,} groups (patients, slides)" if fewer else ""
        return f"{self.n:,} images{more}"


class Collapse(NamedTuple):
    """A run that no accuracy should be read without; see `medldr.evaluation.degenerate`."""

    split: str
    method: str
    seed: int
    only: str
    lost: tuple[tuple[str, int], ...]


class Missing(NamedTuple):
    """A run without a result; the reason may quote an error and thus name a file."""

    run: str
    reason: str
