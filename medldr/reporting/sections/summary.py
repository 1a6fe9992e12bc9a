"""A run in sentences: what must be known first, what was trained, what came out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr.metrics import PERCENT, SPLIT_TITLES, is_defined, measure, rule_text
from medldr.reporting.published.augmentation import augmentation_id, augmentation_title
from medldr.reporting.read import describe
from medldr.reporting.read.run import RunSource
from medldr.reporting.sections.domain_gap import gap_sentence

ENDINGS = {
    "failed": "This run has failed",
    "interrupted": "This run was interrupted and can go on",
    "running": "This run is still going on",
}


def banners(source: RunSource, name: str) -> list[tuple[str, str]]:
    """What must be seen before any number: kind of banner and its text."""
    evaluation = source.evaluation or {}
    selection = evaluation.get("selection") or {}
    found = []
    if selection.get("oracle"):
        found.append(
            (
                "oracle",
                "ORACLE SELECTION. The weights were chosen by looking at the test split "
                f"(rule {selection.get('rule')}). The numbers are an upper bound of what could "
                "have been reached, not a measurement of what can be expected.",
            )
        )
    status = ENDINGS.get(str(source.run.get("status")))
    if status:
        error = source.run.get("error")
        found.append(("warning", f"{status}{f' ({error})' if error else ''}."))
    if source.evaluation is None:
        found.append(("warning", "This run was not evaluated yet, so there are no results."))
    elif name not in ("test", ""):
        title = SPLIT_TITLES.get(name, name).lower()
        found.append(("warning", f"No test split was scored: these are {title} results."))
    if source.skipped_files:
        files = "file was" if source.skipped_files == 1 else "files were"
        found.append(
            ("warning", f"{source.skipped_files} unreadable {files} left out; see bad_files.csv.")
        )
    found += [("warning", problem) for problem in source.problems]
    return found


def facts(source: RunSource, method: str, data: str) -> describe.Pairs:
    """What was trained, on what, how, and which weights are reported."""
    config = source.config
    evaluation = source.evaluation or {}
    selection = evaluation.get("selection") or {}
    classes = evaluation.get("class_names") or []
    pairs = [("Method", method)]
    task = evaluation.get("task")
    kinds = "labels" if task == "multi-label" else "classes"
    pairs.append(("Data", f"{data}: {task}, {len(classes)} {kinds}" if task else data))
    pairs.append(("Network", describe.model_text(config, source.run)))
    augmentation = augmentation_id(config)
    if augmentation:
        pairs.append(("Augmentation", augmentation_title(augmentation)))
    pairs.append(("Training", describe.recipe_text(config)))
    if selection:
        value = selection.get("value")
        rule = str(selection.get("rule", ""))
        known = measure(rule.rsplit("_", 1)[-1])
        chosen = rule_text(rule, str(selection.get("split", "")))
        reached = ""
        if value is not None:
            reached = f" ({known.show(value)}{PERCENT if known.percent else ''})"
        pairs.append(
            (
                "Selection",
                f"epoch {selection.get('epoch')}, {chosen}{reached}; rule {rule}",
            )
        )
    held_out = describe.section(config, "data").get("held_out")
    if held_out:
        pairs.append(("Held out", ", ".join(map(str, held_out))))
    pairs.append(("Protocol", source.protocol or "none"))
    if task == "binary":
        pairs.append(("Positive class", str(evaluation.get("positive_class"))))
    return pairs


def lead(source: RunSource, name: str) -> str:
    """The result in a few plain sentences; empty where there is none."""
    evaluation = source.evaluation or {}
    split = (evaluation.get("splits") or {}).get(name)
    number = (split or {}).get("metrics", {}).get("accuracy")
    if not split or not is_defined(number):
        return ""
    show = measure("accuracy").show
    level = 100 * (evaluation.get("intervals") or {}).get("level", 0.95)
    span = ""
    if number.get("low") is not None and number.get("high") is not None:
        span = f" ({level:g}{PERCENT} interval {show(number['low'])} to "
        span += f"{show(number['high'])}{PERCENT})"
    what = (
        "labels were decided right"
        if evaluation.get("task") == "multi-label"
        else ("images were classified right")
    )
    title = SPLIT_TITLES.get(name, name).lower()
    domains: Mapping[str, Any] = split.get("domains") or {}
    where = f"the {title} split"
    if domains and not any(entry.get("seen") for entry in domains.values()):
        where += f", from {', '.join(domains)}, which training has not seen"
    text = f"On {where}, {show(number['value'])}{PERCENT} of the {what}{span}."
    most, share = _most_frequent(evaluation, split)
    if most:
        text += (
            f" For comparison: always answering “{most}”, its most frequent class, would be "
            f"right in {show(share)}{PERCENT}."
        )
    return f"{text} {gap_sentence(evaluation)}".rstrip()


def _most_frequent(evaluation: Mapping[str, Any], split: Mapping[str, Any]) -> tuple[str, float]:
    table = split.get("confusion")
    names = evaluation.get("class_names") or []
    if evaluation.get("task") == "multi-label" or not table or len(table) != len(names):
        return "", 0.0
    totals = [sum(row) for row in table]
    if sum(totals) == 0:
        return "", 0.0
    top = max(range(len(totals)), key=totals.__getitem__)
    return str(names[top]), totals[top] / sum(totals)
