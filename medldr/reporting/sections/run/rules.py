"""What each selection rule of a run chose, and what its weights reach on the headline split."""

from __future__ import annotations

from medldr.evaluation.intervals.estimate import Estimate
from medldr.folders.run_record import Selection
from medldr.metrics import metric_facts
from medldr.reporting.document import Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import headline_split
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.wording import split_name

SHOWN = ("accuracy", "auc")
ABSENT = "not evaluated; run `medldr evaluate` on the run again"


def rules(files: RunFiles) -> Section | None:
    """The section of the page; None where the run has a single rule."""
    return section("run", "rules", rule_table(files))


def rule_table(files: RunFiles) -> Table | None:
    """A row per rule, the reported one first; None where the run has a single rule."""
    if len(files.by_rule) < 2:
        return None
    split = headline_split(files.evaluation)
    columns = ["Rule", "Selection split", "Epoch", "Value at selection"]
    table = Table("By selection rule", columns, texts=(1,))
    table.columns += [f"{split_name(split)}: {metric_facts(key).heading}" for key in SHOWN]
    for place, (rule, (chosen, scored)) in enumerate(files.by_rule.items()):
        cells = [
            Cell(split_name(chosen.split).lower()) if chosen.split else Cell(),
            Cell() if chosen.epoch is None else Cell(f"{chosen.epoch}", order=float(chosen.epoch)),
            Cell() if chosen.value is None else Cell(value_text(chosen), order=chosen.value),
        ]
        values = scored.splits[split].metrics if scored and split in scored.splits else {}
        missing = Estimate(reason=ABSENT) if scored is None else None
        numbers = [Estimate.of(values[key]) if key in values else missing for key in SHOWN]
        cells += [table.number(key, number) for key, number in zip(SHOWN, numbers, strict=True)]
        tags = (*(["reported"] if place == 0 else []), *(["oracle"] if chosen.oracle else []))
        table.rows.append(Row(rule, cells, tags, "reference" if place == 0 else ""))
    if any(chosen.oracle for chosen, _ in files.by_rule.values()):
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
