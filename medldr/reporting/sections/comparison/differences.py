"""Every method minus the reference, in the same draws."""

from __future__ import annotations

from medldr.evaluation.comparison.comparison import Comparison
from medldr.reporting.document import Figures, Paragraph, Section
from medldr.reporting.figures.forest import difference_figure
from medldr.reporting.sections.comparison.tables import difference_table

FIGURE_METRICS = ("accuracy", "auc")


def differences(found: Comparison) -> Section | None:
    """The section of the page; None for a single method."""
    if not found.others:
        return None
    text = (
        "Both methods judged the same images, so the luck of which images were drawn cancels in "
        "the difference."
    )
    drawings = [difference_figure(found, m) for m in FIGURE_METRICS if found.differs(m)]
    made = Section("differences", "Paired differences", "Differences", [Paragraph(text)])
    made.add(Figures([drawing for drawing in drawings if drawing is not None]))
    made.add(*(difference_table(found, split) for split in found.page_order))
    return made
