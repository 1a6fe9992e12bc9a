"""The gain of one method over the reference in every domain, one below the other."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.metrics import metric_facts
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import BLUE, MUTED
from medldr.reporting.figures.forest import BETTER, Whisker, forest_figure
from medldr.reporting.results.gains import Gain
from medldr.types import SPLIT_TITLES


def gains_figure(
    found: Sequence[Gain], reference: str, metric: str, number: int = 1
) -> Drawing | None:
    """Paired differences with 95% intervals, unseen domains first, the largest gain at the top.

    Args:
        found: The gains of one method, in order.
        reference: What it is compared with.
        metric: The metric that they are of.
        number: Of the figure on its page, from 1.

    Returns:
        None without any gain.
    """
    known = metric_facts(metric)
    several = len({gain.data for gain in found}) > 1
    rows = [
        Whisker(
            place_name(gain, several=several), gain.difference.estimate,
            "o" if gain.unseen is False else "s", MUTED if gain.unseen is False else BLUE,
        )
        for gain in found
        if gain.difference.estimate.mean is not None
    ]  # fmt: skip
    method = found[0].method if found else ""
    known_places = any(gain.unseen for gain in found)
    return forest_figure(
        f"gains_{number}", metric, rows,
        title=f"{known.title}: {method} minus {reference}", reference=reference,
        legend={"o": "seen in training", "s": "unseen"} if known_places else None,
        caption=f"One row per domain, with 95% CI, the largest gain first; "
        f"{BETTER.get(known.better, 'the line marks no difference')}. An interval that crosses the "
        "line means no clear difference there, not that there is none.",
    )  # fmt: skip


def place_name(gain: Gain, *, several: bool) -> str:
    """The domain of a gain, with its data set where there are several of them.

    Args:
        gain: The gain.
        several: Whether gains of other data sets stand beside it.
    """
    name = gain.domain
    if name is None:
        name = "all images" if gain.unseen is None else "seen domains"
        name = f"{name}, {gain.held_out} held out" if gain.held_out else name
    elif gain.unseen is False:
        name = f"{name} (seen)"
    if gain.unseen is None and gain.split != "test":
        name = f"{name}, {SPLIT_TITLES.get(gain.split, gain.split).lower()}"
    return f"{gain.data}: {name}" if several else name
