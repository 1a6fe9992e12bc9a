"""`medldr plan`: how precise a study with so many patients and seeds will be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

import typer

from medldr.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from medldr.evaluation.intervals.planning import Design

SEEDS: Final = (2, 3, 5, 10)
FEWEST: Final = 10


def plan(
    patients: Annotated[int, typer.Option(help="Patients in the test set.")],
    accuracy: Annotated[
        float | None, typer.Option(help="Expected accuracy in percent, for example 80.")
    ] = None,
    auc: Annotated[
        float | None, typer.Option(help="Expected AUC instead, for example 0.85.")
    ] = None,
    prevalence: Annotated[
        float | None, typer.Option(help="Share of positive images; for --auc; unset: 0.5.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Networks trained per method.")] = 3,
    images: Annotated[int, typer.Option(help="Images per patient.")] = 1,
    icc: Annotated[
        float,
        typer.Option(
            help="Intraclass correlation: how much errors on images of one patient resemble each "
            "other, from 0 (independent) to 1 (copies)."
        ),
    ] = 0.5,
    seed_sd: Annotated[
        float,
        typer.Option(
            help="SD between seeds in percentage points (for --auc: hundredths). Default: the "
            "median of the SDs that the LatentDR paper prints for held-out domains, where they "
            "range from 0.2 to 3.6; WILDS prints 6 to 8 for Camelyon17."
        ),
    ] = 1.0,
    correlation: Annotated[
        float,
        typer.Option(
            help="Correlation of the errors of two methods' networks on the same images (0 and 1 "
            "for right and wrong), from the predictions.csv of a pilot study. Default: our choice; "
            "two seeds of ERM on the rib phantom had 0.25."
        ),
    ] = 0.5,
) -> None:
    """Plan a study: widths of 95% CIs, and the difference between two methods it can detect.

    Numbers are of the analysis that `medldr compare` makes, for the patients and seeds asked for
    and for others around them.
    """
    from medldr.reporting.writers.terminal import console

    study = design(
        patients, accuracy, auc, prevalence, seeds, images, icc, seed_sd, correlation
    )  # fmt: skip
    out = console()
    out.print(table(study))
    for line in (*sentences(study), *assumptions(study)):
        out.print(line, highlight=False, markup=False)


def design(
    patients: int,
    accuracy: float | None,
    auc: float | None,
    prevalence: float | None,
    seeds: int,
    images: int,
    icc: float,
    seed_sd: float,
    correlation: float,
) -> Design:
    """The study that the options describe.

    Raises:
        InputError: If an option has a value that no study can have; names the option.
    """
    from medldr.evaluation.intervals.planning import Design

    if (accuracy is None) == (auc is None):
        raise InputError("give either --accuracy or --auc, the value that you expect")
    if prevalence is not None and auc is None:
        raise InputError("--prevalence is only for --auc: remove it, or give --auc")
    share = 0.5 if prevalence is None else prevalence
    for option, fine, wanted in (
        ("--patients", patients >= FEWEST, f"at least {FEWEST}"),
        ("--images", images >= 1, "at least 1"),
        ("--seeds", 1 <= seeds <= 1000, "from 1 to 1000"),
        ("--icc", 0 <= icc <= 1, "from 0 to 1"),
        ("--accuracy", accuracy is None or 1 < accuracy < 100, "a percentage, for example 80"),
        ("--auc", auc is None or 0.5 <= auc < 1, "at least 0.5 and below 1"),
        ("--prevalence", 0 < share < 1, "above 0 and below 1"),
        ("--seed-sd", 0 <= seed_sd < 50, "from 0 to 50 percentage points"),
        ("--correlation", 0 <= correlation < 1, "at least 0 and below 1"),
    ):
        if not fine:
            raise InputError(f"{option} should be {wanted}")
    study = Design(
        patients,
        images,
        icc,
        seeds,
        "accuracy" if auc is None else "auc",
        auc if accuracy is None else accuracy / 100,  # type: ignore[arg-type]
        share,
        seed_sd / 100,
        correlation,
    )
    rarer = min(share, 1 - share) * replace(study, patients=patients // 2).effective
    if auc is not None and rarer < 2:
        raise InputError(
            f"--prevalence {share:g} leaves half of --patients {patients} with fewer than 2 images "
            "of the rarer class, too few for an AUC. Plan with more patients"
        )
    return study


def table(study: Design) -> Table:
    """Precision for the patients and seeds asked for, which are bold, and for others around."""
    from rich import box
    from rich.table import Table

    from medldr.evaluation.intervals.planning import precision
    from medldr.metrics import metric_facts

    metric = metric_facts(study.metric)
    points = "in percentage points" if metric.percent else "in units of the AUC"
    printed = Table(
        title=f"{metric.title} of {metric.with_unit(study.value)} expected; numbers {points}",
        title_justify="left",
        box=box.SIMPLE,
        pad_edge=False,
    )
    headings = ("patients", "seeds", "95% CI of one network", "95% CI of a mean over seeds",
                "difference detected with 80% power")  # fmt: skip
    for heading in headings:
        printed.add_column(heading, justify="right", max_width=18)
    for patients in (study.patients // 2, study.patients, 2 * study.patients):
        for seeds in sorted({*SEEDS, study.seeds}):
            numbers = precision(replace(study, patients=patients, seeds=seeds))
            asked = (patients, seeds) == (study.patients, study.seeds)
            halves = ["–" if half is None else f"± {metric.show(half)}" for half in numbers[:2]]
            detected = "–" if numbers.detectable is None else metric.show(numbers.detectable)
            cells = (f"{patients:,}", f"{seeds}", *halves, detected)
            printed.add_row(*cells, style="bold" if asked else "")
        printed.add_section()
    return printed


def sentences(study: Design) -> Sequence[str]:
    """What limits the study, and whether it can find anything."""
    from medldr.evaluation.intervals.estimate import TESTED
    from medldr.evaluation.intervals.planning import precision, what_limits
    from medldr.metrics import metric_facts

    if study.seeds < TESTED:
        return ["With fewer than three seeds per method, no difference between methods is tested."]
    metric = metric_facts(study.metric)
    unit = " percentage points" if metric.percent else ""
    numbers = precision(study)
    limit, patients, seeds = what_limits(study)
    size = float(numbers.detectable or 0)
    lines = [
        f"With {study.patients:,} patients and {study.seeds} seeds per method, a difference of "
        f"{metric.show(size)}{unit} is detected with 80% power. The {limit} limit it: twice the "
        f"patients would detect {metric.show(patients)}, twice the seeds {metric.show(seeds)}."
    ]
    if size > 1 - study.value:
        lines.append(
            f"No gain over {metric.with_unit(study.value)} can be that large: as planned, this "
            "study cannot be expected to find a better method."
        )
    return lines


def assumptions(study: Design) -> Sequence[str]:
    """What the numbers rest on."""
    points = 100 * study.seed_sd
    spread = f"{points:g} percentage points" if study.metric == "accuracy" else f"{points / 100:g}"
    lines = [f"SD between seeds {spread}", f"correlation of two methods {study.correlation:g}"]
    if study.images > 1:
        lines.append(
            f"{study.images} images per patient with intraclass correlation {study.icc:g}, worth "
            f"{study.effective:,.0f} independent images"
        )
    if study.metric == "auc":
        lines.append(f"prevalence {study.prevalence:g}")
    return [f"Assumed: {'; '.join(lines)}."]
