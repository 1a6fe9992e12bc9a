"""`medldr plan`: how precise a study with so many patients and seeds will be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medldr.commands.common_options import Json, print_json
from medldr.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from medldr.evaluation.comparison.study_plan import StudyPlan
    from medldr.evaluation.intervals.planning import Design


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
    images: Annotated[
        float | None, typer.Option(help="Images per patient, on average; unset: 1.")
    ] = None,
    icc: Annotated[
        float | None,
        typer.Option(
            help="Intraclass correlation: how much errors on images of one patient resemble each "
            "other, from 0 (independent) to 1 (copies); unset: 0.5."
        ),
    ] = None,
    seed_sd: Annotated[
        float | None,
        typer.Option(
            help="SD between seeds in percentage points (for --auc: hundredths). Unset: 1, the "
            "median of the SDs that the LatentDR paper prints for held-out domains, where they "
            "range from 0.2 to 3.6; WILDS prints 6 to 8 for Camelyon17."
        ),
    ] = None,
    correlation: Annotated[
        float | None,
        typer.Option(
            help="Correlation of the errors of two methods' networks on the same images (0 and 1 "
            "for right and wrong). Unset: 0.5, our choice; two seeds of ERM on the rib phantom had "
            "0.25."
        ),
    ] = None,
    pilot: Annotated[
        list[Path] | None,
        typer.Option(
            help="Finished runs of a pilot study, best of two methods with three seeds each. From "
            "their test split come the expected accuracy or AUC, --images, --icc, --prevalence, "
            "--seed-sd and --correlation, unless given.",
            metavar="RUN RUN ...",
        ),
    ] = None,
    more: Annotated[
        list[Path] | None,
        typer.Argument(help="Further runs of the pilot.", metavar="RUN", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Plan a study: widths of 95% CIs, and the difference between two methods it can detect.

    Numbers are of the analysis that `medldr compare` makes, for the patients and seeds asked for
    and for others around them.
    """
    from medldr.evaluation.comparison.study_plan import plan as make_plan
    from medldr.reporting.writers.terminal import console

    if more and not pilot:
        raise InputError(f"{more[0]} is no option: put --pilot before the runs of a pilot study")
    planned = make_plan(
        patients, accuracy, auc, prevalence=prevalence, seeds=seeds, images=images, icc=icc,
        seed_sd=seed_sd, correlation=correlation, pilot=[*(pilot or ()), *(more or ())],
    )  # fmt: skip
    if as_json:
        rows = [{**row._asdict(), "numbers": row.numbers._asdict()} for row in planned.rows()]
        print_json({"study": asdict(planned.study), "rows": rows, "sources": planned.sources})
        return
    out = console()
    out.print(table(planned))
    for line in (*sentences(planned.study), *assumptions(planned.study, planned.sources)):
        out.print(line, highlight=False, markup=False)


def table(planned: StudyPlan) -> Table:
    """Precision for the patients and seeds asked for, which are bold, and for others around."""
    from rich import box
    from rich.table import Table

    from medldr.metrics import metric_facts

    study = planned.study
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
    for patients, of in groupby(planned.rows(), lambda row: row.patients):
        for _, seeds, numbers in of:
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


def assumptions(study: Design, sources: Mapping[str, str]) -> Sequence[str]:
    """What the numbers rest on, and with a pilot where each comes from."""

    def said(text: str, name: str) -> str:
        return f"{text} ({sources[name]})" if sources else text

    points = _short(100 * study.seed_sd)
    spread = f"{points} percentage points" if study.metric == "accuracy" else f"{study.seed_sd:.2g}"
    agree = "" if study.within is None else f", of seeds of one {_short(study.within)}"
    lines = (
        [said(f"expected {study.metric.replace('auc', 'AUC')}", f"--{study.metric}")]
        if sources
        else []
    )
    lines += [
        said(f"SD between seeds {spread}", "--seed-sd"),
        said(f"correlation of two methods {_short(study.correlation)}{agree}", "--correlation"),
    ]
    if study.images > 1:
        images = said(f"{_short(study.images)} images per patient", "--images")
        alike = said(f"intraclass correlation {_short(study.icc)}", "--icc")
        lines.append(f"{images} with {alike}, worth {study.effective:,.0f} independent images")
    elif sources:
        lines.append(said("one image per patient", "--images"))
    if study.metric == "auc":
        lines.append(said(f"prevalence {_short(study.prevalence)}", "--prevalence"))
    return [f"Assumed: {'; '.join(lines)}."]


def _short(number: float) -> str:
    return f"{round(number, 3):g}"
