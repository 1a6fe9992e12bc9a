"""A study as options and a pilot describe it, and how precise it and others around it will be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from medldr.errors import InputError
from medldr.evaluation.intervals.planning import Design, PlannedMetric, Precision, precision
from medldr.plugins import takes_plugins

if TYPE_CHECKING:
    from pandas import DataFrame

    from medldr.evaluation.comparison.pilot import Pilot

SEEDS: Final = (2, 3, 5, 10)
FEWEST: Final = 10
DEFAULTS: Final = {
    "--prevalence": 0.5, "--images": 1.0, "--icc": 0.5, "--seed-sd": 1.0, "--correlation": 0.5,
}  # fmt: skip
"""What is assumed where neither an option nor a pilot says it."""


class PlannedRow(NamedTuple):
    """What a study with so many patients and seeds can tell."""

    patients: int
    seeds: int
    numbers: Precision


@dataclass(frozen=True)
class StudyPlan:
    """How precise a study will be.

    Attributes:
        study: The study asked for.
        sources: With a pilot, where the number of each option comes from; else empty.
    """

    study: Design
    sources: Mapping[str, str]

    def rows(self) -> Iterator[PlannedRow]:
        """Precision with half and twice the patients, too, and with fewer and more seeds."""
        asked = self.study
        for patients in (asked.patients // 2, asked.patients, 2 * asked.patients):
            for seeds in sorted({*SEEDS, asked.seeds}):
                numbers = precision(replace(asked, patients=patients, seeds=seeds))
                yield PlannedRow(patients, seeds, numbers)

    def to_frame(self) -> DataFrame:
        """The rows; half widths of 95% CIs and the difference detected with 80% power."""
        from pandas import DataFrame

        rows = ((patients, seeds, *numbers) for patients, seeds, numbers in self.rows())
        return DataFrame(rows, columns=["patients", "seeds", *Precision._fields])

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(index=False))


@takes_plugins
def plan(
    patients: int,
    accuracy: float | None = None,
    auc: float | None = None,
    *,
    prevalence: float | None = None,
    seeds: int = 3,
    images: float | None = None,
    icc: float | None = None,
    seed_sd: float | None = None,
    correlation: float | None = None,
    pilot: Sequence[str | Path] = (),
    plugins: Sequence[str] = (),
) -> StudyPlan:
    """Plan a study: widths of 95% CIs, and the difference between two methods it can detect.

    Args:
        patients: Patients in the test set.
        accuracy: Expected accuracy in percent, for example 80.
        auc: Expected AUC instead, for example 0.85.
        prevalence: Share of positive images, for an AUC; unset: 0.5.
        seeds: Networks trained per method.
        images: Images per patient, on average; unset: 1.
        icc: How much errors on images of one patient resemble each other, from 0 to 1; unset: 0.5.
        seed_sd: SD between seeds in percentage points (for an AUC: hundredths); unset: 1.
        correlation: Of the errors of two methods' networks on the same images; unset: 0.5.
        pilot: Finished runs of a pilot study, which tell all of these but `patients` and `seeds`
            unless given.
        plugins: Packages of your own whose plug-ins may be imported.

    Raises:
        InputError: If neither a metric nor a pilot is given, or a number is one that no study can
            have.

    Example:
        >>> plan(240, accuracy=75).to_frame().query("patients == 240 and seeds == 3").round(3)
           patients  seeds  network   mean  detectable  share_of_seeds
        5       240      3    0.055  0.051       0.077           0.181
    """
    if (accuracy is not None and auc is not None) or not (accuracy or auc or pilot):
        raise InputError("give either --accuracy or --auc, what you expect, or a --pilot")
    metric: PlannedMetric | None = "auc" if auc else "accuracy" if accuracy else None
    known = None
    if pilot:
        from medldr.evaluation.comparison.pilot import read_pilot

        known = read_pilot(pilot, metric)
    given = (accuracy, auc, prevalence, images, icc, seed_sd, correlation)
    stated = dict(zip(("--accuracy", "--auc", *DEFAULTS), given, strict=True))
    return StudyPlan(*design(patients, seeds, stated, known))


def design(
    patients: int, seeds: int, stated: Mapping[str, float | None], pilot: Pilot | None = None
) -> tuple[Design, Mapping[str, str]]:
    """The study that options and a pilot describe.

    Args:
        patients: Patients in the test set.
        seeds: Networks trained per method.
        stated: What the other options state, by their names; it wins over the pilot.
        pilot: What a pilot study tells; None: either accuracy or AUC is stated.

    Returns:
        The study, and with a pilot where the number of each option comes from.

    Raises:
        InputError: If an option has a value that no study can have; names the option.
    """
    n, sources, found = dict[str, float](), dict[str, str](), pilot.numbers if pilot else {}
    for name, number in stated.items():
        known, source = found.get(name, (None, ""))
        if number is not None:
            n[name], sources[name] = number, "as given"
        elif known is not None:
            n[name], sources[name] = known, source
        elif name in DEFAULTS:
            n[name], sources[name] = DEFAULTS[name], f"by default: {source}"
    if stated["--prevalence"] is not None and "--auc" not in n:
        raise InputError("--prevalence is only for --auc: remove it, or give --auc")
    given = {**n, "--patients": patients, "--seeds": seeds}
    for option, fine, wanted in (
        ("--patients", patients >= FEWEST, f"at least {FEWEST}"),
        ("--images", n["--images"] >= 1, "at least 1"),
        ("--seeds", 1 <= seeds <= 1000, "from 1 to 1000"),
        ("--icc", 0 <= n["--icc"] <= 1, "from 0 to 1"),
        ("--accuracy", 1 < n.get("--accuracy", 50) < 100, "a percentage, for example 80"),
        ("--auc", 0.5 <= n.get("--auc", 0.5) < 1, "at least 0.5 and below 1"),
        ("--prevalence", 0 < n["--prevalence"] < 1, "above 0 and below 1"),
        ("--seed-sd", 0 <= n["--seed-sd"] < 50, "from 0 to 50 percentage points"),
        ("--correlation", 0 <= n["--correlation"] < 1, "at least 0 and below 1"),
    ):
        if not fine:
            of_pilot = option in found and stated[option] is None
            hint = f"; the pilot has {given[option]:.3g}, so give another"
            hint = hint if of_pilot else f", not {given[option]:g}"
            raise InputError(f"{option} should be {wanted}{hint}")
    share, auc = n["--prevalence"], n.get("--auc")
    study = Design(
        patients, n["--images"], n["--icc"], seeds, "accuracy" if auc is None else "auc",
        n["--accuracy"] / 100 if auc is None else auc, share, n["--seed-sd"] / 100,
        n["--correlation"], pilot.within if pilot and stated["--correlation"] is None else None,
    )  # fmt: skip
    rarer = min(share, 1 - share) * replace(study, patients=patients // 2).effective
    if auc is not None and rarer < 2:
        raise InputError(
            f"--prevalence={share:g} leaves half of --patients={patients} with fewer than 2 images "
            "of the rarer class, too few for an AUC. Plan with more patients"
        )
    return study, sources if pilot else {}
