"""What a clinical reader asks: frequencies, decisions, calibration, benefit, referral."""

from __future__ import annotations

from collections.abc import Iterator

from medldr.config.sections import section as config_section
from medldr.evaluation.frequency import shots_of
from medldr.evaluation.metrics.decision_curve import useful
from medldr.folders.evaluation_parts import ClassCount
from medldr.folders.evaluation_record import DomainRecord, EvaluationRecord, SplitRecord
from medldr.metrics import metric_facts
from medldr.reporting.document import Block, Figures, Heading, Paragraph, Section
from medldr.reporting.figures.bars import size_figures, unequal
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.class_mix import largest_shift, share
from medldr.reporting.results.headline import headline, page_order, tested_domains
from medldr.reporting.sections.run.drawn import calibration_figures, decision_figure
from medldr.reporting.sections.run.parts import (
    Part,
    count_cell,
    metrics_table,
    numbers,
    where,
)
from medldr.reporting.sections.run.verdict import PAIR, pair_text
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.wording import split_name

AT_THRESHOLD = (
    *PAIR, "ppv", "npv", "ppv_at_prevalence", "npv_at_prevalence", "lr_positive", "lr_negative",
)  # fmt: skip


def clinical(files: RunFiles) -> Section | None:
    """The section of the page; None where an older version evaluated the run."""
    scored = files.evaluation
    split = headline(scored)
    if scored is None or split is None:
        return None
    parts = {
        "How often each class occurs": frequencies(files, scored),
        "At the threshold": operating(scored, split),
        "Calibration": calibration(scored, split),
        "Net benefit": benefit(split),
        "Leaving unsure images to a reader": referral(split),
    }
    blocks: list[Block] = []
    for heading, found in parts.items():
        made = Section("", "", "")
        made.add(*found)
        blocks += [Heading(heading), *made.blocks] if made.blocks else []
    return section("run", "clinical", *([where(scored), *blocks] if blocks else ()))


def frequencies(files: RunFiles, scored: EvaluationRecord) -> Iterator[Block | None]:
    """Images of each class in every split, in training, and in every tested domain."""
    domains = tested_domains(scored)
    domains = domains if len(domains) > 1 else {}
    parts: dict[str, SplitRecord | DomainRecord] = {
        split_name(name): split for name, split in page_order(scored).items()
    }
    columns = {
        f"{name} (n = {of.n or 0:,})": of.class_counts
        for name, of in {**parts, **domains}.items()
        if of.class_counts
    }
    if not columns:
        return
    spec = None if files.record is None else files.record.spec
    counts = () if spec is None or scored.task == "multi-label" else spec.class_counts
    total = sum(counts)
    if total and len(counts) == len(scored.class_names) and "train" not in scored.splits:
        trained_on = zip(scored.class_names, counts, strict=True)
        mix = {name: ClassCount(n=n, known=total) for name, n in trained_on}
        columns[f"{split_name('train')} (n = {total:,})"] = mix
    one = "Label" if scored.task == "multi-label" else "Class"
    table = Table("Class frequency (images)", [one, *columns], intervals=False)
    for name in scored.class_names:
        table.rows.append(Row(name, [_frequency(mix.get(name)) for mix in columns.values()]))
    yield table
    shift = largest_shift(domains)
    yield Paragraph("" if shift is None else sentence("class_mix", **shift._asdict()))
    asked = bool(config_section(files.config, "data").get("imbalance"))
    if total and unequal(counts, asked=asked):
        sizes = dict(zip(scored.class_names, counts, strict=False))
        yield size_figures({"": sizes}, shots_of(scored))


def _frequency(count: ClassCount | None) -> Cell:
    if count is None:
        return Cell()
    part = share(count)
    return Cell(f"{count.n:,}" + ("" if part is None else f" ({part:.1%})"), order=count.n)


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
    text = sentence(
        "threshold", positive=scored.positive_class, threshold=f"{point.threshold:.3g}",
        wanted=100 * point.specificity, split=split_name(point.split or "").lower(),
    )  # fmt: skip
    yield Paragraph(text + pair_text(scored, split))
    yield decision_table(scored, split)
    held = {**split.metrics, **split.at_prevalence}
    table = Table("What a decision at the threshold means", ["Metric", "Value"])
    for key in (key for key in AT_THRESHOLD if key in held):
        table.rows.append(Row(metric_facts(key).heading, numbers(table, [key], held)))
    yield table
    part = (counts.true_positives + counts.false_negatives) / max(split.n, 1)
    name = "no_prevalence" if point.prevalence is None else "stated_prevalence"
    yield Paragraph(sentence(name, share=part, stated=point.prevalence), "small")


def labels_table(scored: EvaluationRecord, split: SplitRecord) -> Table:
    """What a decision on each label at its threshold is worth; labels down."""
    parts = [
        Part(name, split.classes[name].metrics,
             [Cell() if of.threshold is None else Cell(f"{of.threshold:.3g}")])
        for name, of in scored.operating_points.items()
    ]  # fmt: skip
    keys = [key for key in AT_THRESHOLD if any(key in part.metrics for part in parts)]
    caption = "What a decision on each label means"
    return metrics_table(caption, ["Label", "Threshold"], parts, keys=keys)


def decision_table(scored: EvaluationRecord, split: SplitRecord) -> Table | None:
    """Counts of decisions at the threshold, truth down; None without a threshold."""
    counts, positive = split.decisions, str(scored.positive_class)
    if counts is None:
        return None
    negative = next(name for name in scored.class_names if name != positive)
    called = (counts.true_positives, counts.false_positives)
    spared = (counts.false_negatives, counts.true_negatives)
    columns = ["Truth", f"Called {positive}", f"Called {negative}", "All"]
    table = Table("Decisions at the threshold", columns, intervals=False)
    rows = zip(
        (positive, negative, "All"), (*called, sum(called)), (*spared, sum(spared)), strict=True
    )
    for name, yes, no in rows:
        table.rows.append(Row(name, [Cell(n) for n in (yes, no, yes + no)], apart=name == "All"))
    return table


def calibration(scored: EvaluationRecord, split: SplitRecord) -> Iterator[Block | None]:
    """Intercept and slope of each class, and smooth curves."""
    fits = split.calibration_fit
    if not fits:
        return
    keys = ("calibration_intercept", "calibration_slope")
    parts = [
        Part(name, {key: getattr(fit, key) for key in keys}, [count_cell(fit.n)])
        for name, fit in fits.items()
    ]
    first, caption = ["Class", "Images of it"], "Calibration intercept and slope"
    yield metrics_table(caption, first, parts, keys=keys)
    yield Figures.of(*calibration_figures(split, scored.level))
    for name, curve in split.calibration_curves.items():
        if curve.reason:
            yield Paragraph(f"There is no calibration curve of {name}: {curve.reason}.", "small")
    moved = sum(fit.moved for fit in fits.values())
    said = [sentence("calibration_made"), sentence("moved", count=f"{moved:,}") if moved else ""]
    yield Paragraph(" ".join(filter(None, said)), "small")


def benefit(split: SplitRecord) -> Iterator[Block | None]:
    """The decision curve, and where it speaks for the predictions."""
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
    table = Table(
        "Error when the least confident images are left out", ["Images kept", "Error (%)"]
    )
    for percent, number in split.error_at_coverage.items():
        table.rows.append(Row(f"{percent}%", numbers(table, ["accuracy"], {"accuracy": number})))
    yield table
