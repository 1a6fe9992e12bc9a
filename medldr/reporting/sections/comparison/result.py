"""What a comparison found, in sentences and with the numbers of every method."""

from __future__ import annotations

from medldr.evaluation.comparison.comparison import Comparison
from medldr.metrics import measure
from medldr.reporting.document import Paragraph, Section
from medldr.reporting.sections.comparison.intervals import interval_words
from medldr.reporting.sections.comparison.tables import result_table
from medldr.reporting.wording import bracketed

MOST_LEADS = 4
"""More sentences than this are not read."""


def result(found: Comparison) -> Section:
    """The section at the top of the page."""
    made = Section("result", "Result", "Result")
    made.add(*(Paragraph(text, "lead") for text in leads(found)))
    made.add(*(result_table(found, split) for split in found.page_order))
    made.add(Paragraph(interval_words(found), "small"))
    return made


def leads(found: Comparison, metric: str = "accuracy") -> list[str]:
    """The paired differences in plain sentences; for many methods the tables say it better."""
    known, others = measure(metric), len(found.methods) - 1
    if others > MOST_LEADS:
        return []
    sentences = []
    for split in ("test", "id_test") if others <= MOST_LEADS // 2 else ("test",):
        for method in found.names:
            difference = found.difference(split, metric, method)
            if difference is None or difference.estimate.mean is None:
                continue
            value, low, high = (getattr(difference.estimate, k) for k in ("mean", "low", "high"))
            verdict = ""
            if low is not None and high is not None:
                verdict = " The interval excludes zero."
                if low <= 0 <= high:
                    verdict = " The interval includes zero: these data do not show a difference."
            size = f"{known.show(abs(value))}{' points' if known.percent else ''}"
            span = bracketed(difference.estimate, known, signed=True)
            sentences.append(
                f"{found.title(split)}: {method} has {size} {'more' if value >= 0 else 'less'} "
                f"{known.title.lower()} than {found.reference}{span}.{verdict}"
            )
    return sentences
