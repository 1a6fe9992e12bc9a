"""Which weights are reported: what each selection rule chose, and how they were recalibrated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from medldr.evaluation.recalibration import NOTICED
from medldr.folders.evaluation_record import EvaluationRecord, Number
from medldr.folders.run_record import Selection
from medldr.metrics import metric_facts
from medldr.reporting.document import Paragraph, Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import headline_split, page_order
from medldr.reporting.sections.run.parts import Part, metrics_table
from medldr.reporting.sections.run.verdict import leading
from medldr.reporting.table import Cell, Table
from medldr.reporting.wording import ordered, split_name

NOT_EVALUATED: Final = "not evaluated; run `medldr evaluate` on the run again"
CALIBRATION: Final = ("ece", "brier", "nll", "calibration_slope")


def rules(files: RunFiles) -> Section | None:
    """What each selection rule chose, and what its weights reach; None for a single rule."""
    return section("run", "rules", rule_table(files), count=len(files.by_rule))


def rule_table(files: RunFiles) -> Table | None:
    """A row per rule, the reported one first; None where the run has a single rule."""
    if len(files.by_rule) < 2 or files.evaluation is None:
        return None
    split, keys = headline_split(files.evaluation), leading(files.evaluation)
    parts = []
    for place, (rule, (chosen, scored)) in enumerate(files.by_rule.items()):
        held: Mapping[str, Number] = {key: Number(reason=NOT_EVALUATED) for key in keys}
        if scored is not None:
            held = scored.splits[split].metrics if split in scored.splits else {}
        front = [
            Cell(split_name(chosen.split).lower()) if chosen.split else Cell(),
            Cell() if chosen.epoch is None else Cell(f"{chosen.epoch}", order=float(chosen.epoch)),
            Cell() if chosen.value is None else Cell(value_text(chosen), order=chosen.value),
        ]
        tags = [*(["reported"] if place == 0 else []), *(["oracle"] if chosen.oracle else [])]
        parts.append(Part(rule, held, front, tags=tags))
    first = ["Rule", "Selection split", "Epoch", "Value at selection"]
    caption = f"By selection rule, {split_name(split).lower()} split"
    table = metrics_table(caption, first, parts, keys=keys)
    table.texts = (1,)
    if any("oracle" in part.tags for part in parts):
        table.notes.append(sentence("rule_oracle"))
    return table


def value_text(chosen: Selection) -> str:
    """What a rule found where it chose, with its unit; empty where it compared nothing.

    Example:
        >>> value_text(Selection(rule="val_auc", value=0.5)), value_text(Selection(rule="last"))
        ('0.500', '')
    """
    if chosen.value is None:
        return ""
    return metric_facts(metric_of(chosen.rule)).with_unit(chosen.value)


def metric_of(rule: str) -> str:
    """The metric that a rule compares; empty for ``last``.

    Example:
        >>> metric_of("id_val_balanced_accuracy"), metric_of("oracle_auc"), metric_of("last")
        ('balanced_accuracy', 'auc', '')
        >>> metric_of("swad")
        'domain_loss'
    """
    if rule == "swad":
        return "domain_loss"
    prefixes = ("id_val_", "val_", "oracle_out_", "oracle_")
    known = next((prefix for prefix in prefixes if rule.startswith(prefix)), rule)
    return rule.removeprefix(known)


def recalibration(scored: EvaluationRecord) -> Section | None:
    """What recalibration changed, before and after; None for a run without it."""
    made = scored.recalibration
    if made is None:
        return None
    if made.temperature is None:
        said = sentence("not_recalibrated", reason=made.reason)
        return section("run", "recalibration", Paragraph(said))
    ends = (made.low, made.high)
    clear = None not in ends and not (ends[0] or 0) <= 1 <= (ends[1] or 0)
    tendency = "overconfident" if made.temperature > 1 else "underconfident"
    said = sentence(
        "recalibrated",
        temperature=f"{made.temperature:.3g}",
        interval=f" ({made.interval})" if made.interval else "",
        tendency=f"was {tendency}" if clear else "was not clearly over- or underconfident",
        split=split_name(made.split or "").lower(),
        size=made.size,
    )
    harm = " ".join(of.note for of in made.worsened if of.after - of.before >= NOTICED)
    return section(
        "run", "recalibration", Paragraph(said), recalibration_table(scored), Paragraph(harm)
    )


def recalibration_table(scored: EvaluationRecord) -> Table | None:
    """Each split before and after; None where nothing was recorded before."""
    old = {} if scored.recalibration is None else scored.recalibration.before
    parts = []
    for name in (name for name in page_order(scored) if name in old):
        before = {key: Number(value=value) for key, value in old[name].items()}
        after, title = scored.splits[name].metrics, split_name(name)
        parts.append(Part(f"{title}, before", before))
        parts.append(Part(f"{title}, after", {key: after[key] for key in before if key in after}))
    keys = [key for key in ordered(k for part in parts for k in part.metrics) if key in CALIBRATION]
    caption = "Calibration before and after"
    return metrics_table(caption, ["Split"], parts, keys=keys) if keys else None
