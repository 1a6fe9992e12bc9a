"""Rules that the keys and labels of a sweep file must follow together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from medldr.config import PLUGIN_SECTIONS, RunConfig
from medldr.config.yaml import KeyPath
from medldr.errors import did_you_mean

Report = Callable[[KeyPath, str], None]

_ELSEWHERE = {
    "seed": "seeds have their own key: seeds: [0, 1, 2]",
    "label": "labels are built from the axes and the labels of the runs",
}


def check_entries(entries: Sequence[tuple[str | None, str | None]], report: Report) -> None:
    """Report missing and repeated labels, and an ``after`` that leads nowhere or in a circle.

    Args:
        entries: Label and ``after`` of each.
        report: Called with the place and the words of each problem.
    """
    first: dict[str, int] = {}
    for number, (label, _) in enumerate(entries):
        if label is None and len(entries) > 1:
            report(("runs", number), "needs a label, because there are several runs")
        elif label in first:
            report(("runs", number, "label"), f"run {first[label] + 1} of the list already has it")
        elif label is not None:
            first[label] = number
    earlier = {label: after for label, after in entries if label is not None}
    for number, (label, after) in enumerate(entries):
        if after is None:
            continue
        if after not in earlier:
            near = did_you_mean(after, earlier)
            known = f" Labels: {', '.join(earlier)}" if earlier else ""
            report(("runs", number, "after"), f"no run has this label.{near}{known}")
            continue
        chain = list(_chain(label, earlier)) if label is not None else []
        if len(chain) > 1 and chain[-1] == label == min(chain):  # report a circle once
            circle = " -> ".join(str(step) for step in chain)
            report(("runs", number, "after"), f"the runs wait for each other in a circle: {circle}")


def check_axis(key: str, written: Any, report: Report) -> None:
    """Report an axis over something that is not a key of a run, or indented instead of dotted."""
    section = key.partition(".")[0]
    if key in _ELSEWHERE:
        report(("axes", key), _ELSEWHERE[key])
    elif section not in RunConfig.model_fields and section != "extends":
        near = did_you_mean(section, RunConfig.model_fields)
        report(("axes", key), f"a run has no key {section!r}.{near}")
    elif (
        key in RunConfig.model_fields
        and key not in PLUGIN_SECTIONS
        and isinstance(written, dict)
        and any(isinstance(value, list) for value in written.values())
    ):
        name = next(name for name, value in written.items() if isinstance(value, list))
        report(("axes", key), f"an axis is a dotted key: write {key}.{name}: [...]")


def check_not_an_axis(keys: Sequence[str], texts: Sequence[str]) -> Iterator[str]:
    """One line per ``KEY=VALUE`` text that would give every run the same value of an axis."""
    for text in texts:
        key = text.partition("=")[0].strip()
        if key in keys:
            yield (
                f"{text!r} (command line): {key} is an axis of this sweep; write axes.{text} "
                "to select its values"
            )


def _chain(label: str, earlier: dict[str, str | None]) -> Iterator[str]:
    """The label, what it comes after, and so on, up to a label that was met before."""
    met: set[str] = set()
    step: str | None = label
    while step is not None:
        yield step
        if step in met:
            return
        met.add(step)
        step = earlier.get(step)
