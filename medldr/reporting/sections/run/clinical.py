"""What a clinical reader asks first: frequencies, decisions, calibration, benefit, referral."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from medldr.config.sections import section as config_section
from medldr.evaluation.frequency import shots_of
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.metrics.decision_curve import useful
from medldr.folders.evaluation_parts import ClassCount
from medldr.folders.evaluation_record import EvaluationRecord, SplitRecord
from medldr.metrics import metric_facts
from medldr.reporting.document import Block, Figures, Heading, Paragraph, Section
from medldr.reporting.figures.calibration import calibration_figures
from medldr.reporting.figures.clinical import coverage_figure, decision_figure
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.class_mix import largest_shift, share
from medldr.reporting.results.headline import (
    headline,
    headline_split,
    page_order,
    tested_domains,
)
from medldr.reporting.sections.class_sizes import size_blocks, unequal
from medldr.reporting.sections.run.numbers import where
from medldr.reporting.sections.run.result import title
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.wording import bracketed, split_name

AT_THRESHOLD = (
    "sensitivity_at_specificity", "specificity_at_threshold", "ppv", "npv",
    "ppv_at_prevalence", "npv_at_prevalence", "lr_positive", "lr_negative",
)  # fmt: skip


def clinical(files: RunFiles) -> Section | None:
    """The section of the page; None where an older version evaluated the run."""
    scored = files.evaluation
    split = headline(scored)
    if scored is None or split is None:
        return None
    parts = (
        ("How often each class occurs", frequencies(files, scored)),
        ("At the threshold", operating(scored, split)),
        ("Calibration", calibration(scored, split)),
        ("Net benefit", benefit(split)),
        ("Leaving unsure images to a reader", referral(split)),
    )
    blocks = [block for heading, found in parts for block in _headed(heading, found)]
    return section("run", "clinical", *([where(scored), *blocks] if blocks else ()))


def _headed(heading: str, blocks: Iterator[Block | None]) -> list[Block]:
    """Blocks with content below a heading; nothing if none has any."""
    made = Section("", "", "")
    made.add(*blocks)
    return [Heading(heading), *made.blocks] if made.blocks else []


def frequencies(files: RunFiles, scored: EvaluationRecord) -> Iterator[Block | None]:
    """Images and groups of each class in every split, and in every tested domain."""
    grouped = {name: split.unit == "group" for name, split in scored.splits.items()}
    columns = {
        f"{split_name(name)} (n = {split.n:,})": split.class_counts
        for name, split in page_order(scored).items()
    }
    sizes = [
        split.n_groups if grouped[name] else None for name, split in page_order(scored).items()
    ]
    if not any(mix for mix in columns.values()):
        return
    spec = None if files.record is None else files.record.spec
    single = scored.task != "multi-label"
    counts: Sequence[int] = spec.class_counts if spec is not None and single else ()
    total: int = sum(counts)
    if total and "train" not in scored.splits and len(counts) == len(scored.class_names):
        columns[f"{split_name('train')} (n = {total:,})"] = {
            name: ClassCount(n=n, known=total)
            for name, n in zip(scored.class_names, counts, strict=True)
        }
        sizes.append(None)
    yield _frequency_table("Class frequency by split", scored, columns, sizes)
    asked = bool(config_section(files.config, "data").get("imbalance"))
    if len(counts) == len(scored.class_names) and total and unequal(counts, asked=asked):
        trained_on = dict(zip(scored.class_names, counts, strict=True))
        yield from size_blocks({"": trained_on}, shots_of(scored), table=False)
    domains = tested_domains(scored)
    mixes = {name: entry.class_counts for name, entry in domains.items() if entry.class_counts}
    if len(mixes) > 1:
        shift = largest_shift(domains)
        yield Paragraph("" if shift is None else sentence("class_mix", **shift._asdict()))
        of = [domains[name].n_groups if any(grouped.values()) else None for name in mixes]
        columns = {f"{name} (n = {domains[name].n or 0:,})": mix for name, mix in mixes.items()}
        yield _frequency_table("Class frequency by domain", scored, columns, of)
    if any(size is not None for size in sizes):
        yield Paragraph(sentence("class_shares"), "small")


def _frequency_table(
    caption: str,
    scored: EvaluationRecord,
    columns: Mapping[str, Mapping[str, ClassCount]],
    sizes: list[int | None],
) -> Table:
    """Classes down; `sizes` are the groups of each column, None where there are none."""
    one = "Label" if scored.task == "multi-label" else "Class"
    table = Table(caption, [one, *columns], intervals=False)
    for name in scored.class_names:
        cells = [
            _frequency(found[name], size) if name in found else Cell()
            for found, size in zip(columns.values(), sizes, strict=True)
        ]
        table.rows.append(Row(name, cells))
    return table


def _frequency(count: ClassCount, groups: int | None) -> Cell:
    part = share(count)
    images = f"{count.n:,}" + ("" if part is None else f" ({part:.1%})")
    if not groups:
        return Cell(images, order=count.n)
    detail = f"{count.n_groups:,} of {groups:,} groups ({count.n_groups / groups:.1%})"
    return Cell(images, detail=detail, order=count.n)


def operating(scored: EvaluationRecord, split: SplitRecord) -> Iterator[Block | None]:
    """Decisions at the threshold from validation, of each label if there are several."""
    if scored.operating_points:
        yield Paragraph(sentence("label_thresholds", wanted=100 * (scored.specificity or 0)))
        yield labels_table(scored, split)
    point, counts = scored.operating_point, split.decisions
    if point is not None and point.reason:
        yield Paragraph(f"There is {point.reason}.")
    if point is None or point.threshold is None or counts is None or point.specificity is None:
        return
    reached, known = split.metrics.get("specificity_at_threshold"), metric_facts("specificity")
    text = sentence(
        "threshold", positive=scored.positive_class, threshold=f"{point.threshold:.3g}",
        wanted=100 * point.specificity, split=split_name(point.split or "").lower(),
    )  # fmt: skip
    if reached is not None and reached.value is not None:
        ends = bracketed(reached, known, scored.level, unit="%")
        here = split_name(headline_split(scored)).lower()
        shown = f"{known.with_unit(reached.value)}{ends}"
        text += sentence("threshold_reached", split=here, reached=shown)
    yield Paragraph(text)
    yield decision_table(scored, split)
    yield worth_table(scored, split)
    positive = counts.true_positives + counts.false_negatives
    part, stated = positive / max(split.n, 1), point.prevalence
    name = "no_prevalence" if stated is None else "stated_prevalence"
    yield Paragraph(sentence(name, share=part, stated=stated), "small")


def labels_table(scored: EvaluationRecord, split: SplitRecord) -> Table:
    """What a decision on each label at its threshold is worth; labels down."""
    table = Table("What a decision on each label means", ["Label", "Threshold"])
    shown = [key for key in AT_THRESHOLD if any(key in of.metrics for of in split.classes.values())]
    table.columns += [metric_facts(key).heading for key in shown]
    for name, point in scored.operating_points.items():
        numbers = split.classes[name].metrics
        cells = [table.number(key, Estimate.of(numbers[key])) for key in shown]
        own = Cell() if point.threshold is None else Cell(f"{point.threshold:.3g}")
        table.rows.append(Row(name, [own, *cells]))
    return table


def decision_table(scored: EvaluationRecord, split: SplitRecord) -> Table | None:
    """Counts of decisions at the threshold, truth down; None without a threshold."""
    counts = split.decisions
    if counts is None:
        return None
    positive = str(scored.positive_class)
    negative = next(name for name in scored.class_names if name != positive)
    table = Table(
        "Decisions at the threshold",
        ["Truth", f"Called {positive}", f"Called {negative}", "All"],
        intervals=False,
    )
    rows = {
        positive: (counts.true_positives, counts.false_negatives),
        negative: (counts.false_positives, counts.true_negatives),
    }
    rows["All"] = tuple(map(sum, zip(*rows.values(), strict=True)))  # type: ignore[assignment]
    for name, (called, spared) in rows.items():
        cells = [Cell(number) for number in (called, spared, called + spared)]
        table.rows.append(Row(name, cells, apart=name == "All"))
    return table


def worth_table(scored: EvaluationRecord, split: SplitRecord) -> Table:
    """Sensitivity, specificity, predictive values and likelihood ratios at the threshold."""
    numbers = {**split.metrics, **split.at_prevalence}
    table = Table("What a decision at the threshold means", ["Metric", "Value"])
    for key in AT_THRESHOLD:
        if key in numbers:
            unit = " (%)" if metric_facts(key).percent else ""
            cell = table.number(key, Estimate.of(numbers[key]))
            table.rows.append(Row(f"{title(scored, key)}{unit}", [cell]))
    return table


def calibration(scored: EvaluationRecord, split: SplitRecord) -> Iterator[Block | None]:
    """Intercept and slope of each class, and smooth curves."""
    if not split.calibration_fit:
        return
    keys = ("calibration_intercept", "calibration_slope")
    table = Table("Calibration intercept and slope", ["Class", "Images of it"])
    table.columns += [metric_facts(key).heading for key in keys]
    for name, fit in split.calibration_fit.items():
        cells = [table.number(key, Estimate.of(getattr(fit, key))) for key in keys]
        table.rows.append(Row(name, [Cell() if fit.n is None else Cell(fit.n), *cells]))
    yield table
    yield Figures(calibration_figures(split, scored.level))
    for name, curve in split.calibration_curves.items():
        if curve.reason:
            yield Paragraph(f"There is no calibration curve of {name}: {curve.reason}.", "small")
    said, moved = (
        [sentence("calibration_made")],
        sum(f.moved for f in split.calibration_fit.values()),
    )
    said += [sentence("moved", count=f"{moved:,}")] if moved else []
    yield Paragraph(" ".join(said), "small")


def benefit(split: SplitRecord) -> Iterator[Block | None]:
    """The decision curve, and where it speaks for the predictions; of each label in a table."""
    if split.decision_curves:
        caption = "Where acting on the predictions has the highest net benefit"
        table = Table(caption, ["Label", "Thresholds", "Longest range"], intervals=False)
        for name, curve in split.decision_curves.items():
            best = useful(curve)
            span = Cell() if best is None else Cell(f"{best.low:.0%} to {best.high:.0%}")
            count = 0 if best is None else best.thresholds
            table.rows.append(Row(name, [Cell(f"{count} of {len(curve.threshold)}"), span]))
        yield table
    figure = decision_figure(split)
    if figure is None or split.decision_curve is None:
        return
    found = useful(split.decision_curve)
    text = sentence("not_useful") if found is None else sentence("useful", **found._asdict())
    yield Paragraph(text)
    yield Figures([figure])


def referral(split: SplitRecord) -> Iterator[Block | None]:
    """Errors among the images that are kept."""
    if not split.error_at_coverage:
        return
    yield Paragraph(sentence("coverage"))
    known = metric_facts("accuracy")
    table = Table(
        "Error when the least confident images are left out", ["Images kept", "Error (%)"]
    )
    for percent, number in split.error_at_coverage.items():
        found = Estimate.of(number)
        mark = table.sign(found.reason) if found.reason else ""
        table.rows.append(Row(f"{percent}%", [Cell(found, known, mark=mark)]))
    yield table
    figure = coverage_figure(split)
    yield Figures([] if figure is None else [figure])
