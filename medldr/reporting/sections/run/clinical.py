"""What a clinical reader asks: frequencies, decisions, calibration, benefit, referral."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from medldr.config.sections import section as config_section
from medldr.evaluation.frequency import shots_of
from medldr.evaluation.metrics.decision_curve import useful
from medldr.folders.evaluation_parts import ClassCount
from medldr.folders.evaluation_record import EvaluationRecord, SplitRecord
from medldr.metrics import metric_facts
from medldr.reporting.document import Block, Figures, Heading, Paragraph, Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.class_mix import largest_shift, share
from medldr.reporting.results.headline import headline, page_order, tested_domains
from medldr.reporting.sections.class_sizes import size_blocks, unequal
from medldr.reporting.sections.run.drawn import (
    calibration_figures,
    coverage_figure,
    decision_figure,
)
from medldr.reporting.sections.run.tables import count_cell, metrics_table, numbers, where
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
    """Images and groups of each class in every split, and in every tested domain."""
    shown, tested = page_order(scored), tested_domains(scored)
    mixes = {
        f"{split_name(name)} (n = {of.n:,})":
        (of.class_counts, of.n_groups if of.unit == "group" else None)
        for name, of in shown.items()
    }  # fmt: skip
    if not any(mix for mix, _ in mixes.values()):
        return
    spec = None if files.record is None else files.record.spec
    single = scored.task != "multi-label"
    counts: Sequence[int] = spec.class_counts if spec is not None and single else ()
    total, known = sum(counts), len(counts) == len(scored.class_names)
    trained_on = dict(zip(scored.class_names, counts, strict=True)) if known and total else {}
    if trained_on and "train" not in shown:
        train = {name: ClassCount(n=n, known=total) for name, n in trained_on.items()}
        mixes[f"{split_name('train')} (n = {total:,})"] = (train, None)
    yield _frequency_table("Class frequency by split", scored, mixes)
    asked = bool(config_section(files.config, "data").get("imbalance"))
    if trained_on and unequal(counts, asked=asked):
        yield from size_blocks({"": trained_on}, shots_of(scored), table=False)
    grouped = any(split.unit == "group" for split in shown.values())
    of_domains = {
        f"{name} (n = {of.n or 0:,})": (of.class_counts, of.n_groups if grouped else None)
        for name, of in tested.items()
        if of.class_counts
    }
    if len(of_domains) > 1:
        shift = largest_shift(tested)
        yield Paragraph("" if shift is None else sentence("class_mix", **shift._asdict()))
        yield _frequency_table("Class frequency by domain", scored, of_domains)
    if grouped:
        yield Paragraph(sentence("class_shares"), "small")


def _frequency_table(
    caption: str,
    scored: EvaluationRecord,
    columns: Mapping[str, tuple[Mapping[str, ClassCount], int | None]],
) -> Table:
    """Classes down; each column has its counts and its groups, None where there are none."""
    one = "Label" if scored.task == "multi-label" else "Class"
    table = Table(caption, [one, *columns], intervals=False)
    for name in scored.class_names:
        cells = [_frequency(mix.get(name), groups) for mix, groups in columns.values()]
        table.rows.append(Row(name, cells))
    return table


def _frequency(count: ClassCount | None, groups: int | None) -> Cell:
    if count is None:
        return Cell()
    part = share(count)
    images = f"{count.n:,}" + ("" if part is None else f" ({part:.1%})")
    detail = ""
    if groups:
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
    text = sentence(
        "threshold", positive=scored.positive_class, threshold=f"{point.threshold:.3g}",
        wanted=100 * point.specificity, split=split_name(point.split or "").lower(),
    )  # fmt: skip
    yield Paragraph(text + pair_text(scored, split))
    yield decision_table(scored, split)
    table = Table("What a decision at the threshold means", ["Metric", "Value"])
    held = {**split.metrics, **split.at_prevalence}
    for key in (key for key in AT_THRESHOLD if key in held):
        table.rows.append(Row(metric_facts(key).heading, numbers(table, [key], held)))
    yield table
    part = (counts.true_positives + counts.false_negatives) / max(split.n, 1)
    name = "no_prevalence" if point.prevalence is None else "stated_prevalence"
    yield Paragraph(sentence(name, share=part, stated=point.prevalence), "small")


def labels_table(scored: EvaluationRecord, split: SplitRecord) -> Table:
    """What a decision on each label at its threshold is worth; labels down."""
    points = scored.operating_points
    parts = {name: split.classes[name].metrics for name in points}
    keys = [key for key in AT_THRESHOLD if any(key in held for held in parts.values())]
    front = {
        name: [Cell() if of.threshold is None else Cell(f"{of.threshold:.3g}")]
        for name, of in points.items()
    }
    caption = "What a decision on each label means"
    return metrics_table(caption, ["Label", "Threshold"], parts, front, keys=keys)


def decision_table(scored: EvaluationRecord, split: SplitRecord) -> Table | None:
    """Counts of decisions at the threshold, truth down; None without a threshold."""
    counts = split.decisions
    if counts is None:
        return None
    positive = str(scored.positive_class)
    negative = next(name for name in scored.class_names if name != positive)
    columns = ["Truth", f"Called {positive}", f"Called {negative}", "All"]
    table = Table("Decisions at the threshold", columns, intervals=False)
    rows = {
        positive: (counts.true_positives, counts.false_negatives),
        negative: (counts.false_positives, counts.true_negatives),
    }
    for name, (called, spared) in rows.items():
        table.rows.append(Row(name, [Cell(n) for n in (called, spared, called + spared)]))
    called, spared = (sum(column) for column in zip(*rows.values(), strict=True))
    all_of = [Cell(n) for n in (called, spared, called + spared)]
    table.rows.append(Row("All", all_of, apart=True))
    return table


def calibration(scored: EvaluationRecord, split: SplitRecord) -> Iterator[Block | None]:
    """Intercept and slope of each class, and smooth curves."""
    fits = split.calibration_fit
    if not fits:
        return
    keys = ("calibration_intercept", "calibration_slope")
    parts = {name: {key: getattr(fit, key) for key in keys} for name, fit in fits.items()}
    front = {name: [count_cell(fit.n)] for name, fit in fits.items()}
    caption = "Calibration intercept and slope"
    yield metrics_table(caption, ["Class", "Images of it"], parts, front, keys=keys)
    yield Figures(calibration_figures(split, scored.level))
    for name, curve in split.calibration_curves.items():
        if curve.reason:
            yield Paragraph(f"There is no calibration curve of {name}: {curve.reason}.", "small")
    moved = sum(fit.moved for fit in fits.values())
    said = [sentence("calibration_made"), sentence("moved", count=f"{moved:,}") if moved else ""]
    yield Paragraph(" ".join(filter(None, said)), "small")


def benefit(split: SplitRecord) -> Iterator[Block | None]:
    """The decision curve, and where it speaks for the predictions; of each label in a table."""
    if split.decision_curves:
        caption = "Where net benefit on these images favours the predictions (no CI)"
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
    table = Table(
        "Error when the least confident images are left out", ["Images kept", "Error (%)"]
    )
    for percent, number in split.error_at_coverage.items():
        table.rows.append(Row(f"{percent}%", numbers(table, ["accuracy"], {"accuracy": number})))
    yield table
    figure = coverage_figure(split)
    yield Figures([] if figure is None else [figure])
