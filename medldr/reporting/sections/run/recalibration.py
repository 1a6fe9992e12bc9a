"""What recalibration changed: calibration metrics of each split before and after it."""

from __future__ import annotations

from medldr.evaluation.intervals.estimate import Estimate
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.metrics import metric_facts
from medldr.reporting.document import Paragraph, Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.results.headline import page_order
from medldr.reporting.table import Row, Table
from medldr.reporting.wording import ordered, split_name

SHOWN = ("ece", "nll", "brier", "calibration_slope")


def recalibration(scored: EvaluationRecord) -> Section | None:
    """The section of the page; None for a run that was not recalibrated."""
    made = scored.recalibration
    if made is None:
        return None
    if made.temperature is None:
        said = sentence("not_recalibrated", reason=made.reason)
        return section("run", "recalibration", Paragraph(said))
    said = sentence(
        "recalibrated",
        temperature=f"{made.temperature:.3g}",
        interval=f" ({made.interval})" if made.interval else "",
        tendency="overconfident" if made.temperature > 1 else "underconfident",
        split=split_name(made.split or "").lower(),
        size=made.size,
    )
    harm = Paragraph(" ".join(each.note for each in made.worsened))
    return section("run", "recalibration", Paragraph(said), recalibration_table(scored), harm)


def recalibration_table(scored: EvaluationRecord) -> Table | None:
    """Splits down, each metric before and after; None where nothing was recorded before."""
    old = {} if scored.recalibration is None else scored.recalibration.before
    keys = [key for key in ordered(k for of in old.values() for k in of) if key in SHOWN]
    splits = [name for name in page_order(scored) if name in old]
    if not keys or not splits:
        return None
    table = Table("Calibration before and after", ["Split"], intervals=False)
    for key in keys:
        heading = metric_facts(key).heading
        table.columns += [f"{heading}, before", f"{heading}, after"]
    for name in splits:
        new = scored.splits[name].metrics
        cells = []
        for key in keys:
            after = new[key].value if key in new else None
            numbers = (Estimate(old[name].get(key)), Estimate(after))
            cells += [table.number(key, number) for number in numbers]
        table.rows.append(Row(split_name(name), cells))
    return table
