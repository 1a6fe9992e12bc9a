"""What must be known before any number of a comparison is read."""

from __future__ import annotations

from medldr.evaluation.comparison.comparison import Comparison
from medldr.reporting.document import Banner, Bullets, Section


def banners(found: Comparison, remark: str | None) -> list[Banner]:
    """A remark, oracles, single seeds, runs without a result."""
    made = [Banner("remark", remark)] if remark else []
    oracles = [method.name for method in found.methods if method.oracle]
    if oracles:
        text = (
            f"ORACLE SELECTION in {', '.join(oracles)}: weights were chosen by looking at the "
            "test split. Those numbers are upper bounds, not measurements."
        )
        made.append(Banner("oracle", text))
    if any(len(method.seeds) == 1 for method in found.methods):
        text = (
            "At least one method was trained with a single seed, so that nothing is known of "
            "how much its result would change with another."
        )
        made.append(Banner("warning", text))
    if found.missing:
        count = len(found.missing)
        runs = "run has" if count == 1 else "runs have"
        made.append(Banner("warning", f"{count} {runs} no result; see the rows marked so."))
    return made


def notes(found: Comparison) -> Section | None:
    """What a reader of any number must know."""
    if not found.notes:
        return None
    return Section("notes", "What to know about these numbers", "Notes", [Bullets(found.notes)])
