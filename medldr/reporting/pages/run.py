"""The page of one run, made from the files of its folder and nothing else."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medldr.folders.files import RunFolder, write_text
from medldr.metrics import PERCENT, SPLIT_TITLES, measure, metrics_of
from medldr.reporting import document as tables
from medldr.reporting.figures import roc_reliability as judging
from medldr.reporting.figures.confusion import confusion_figures
from medldr.reporting.figures.curves import latent_curves, learning_curves
from medldr.reporting.figures.drawing import Drawing
from medldr.reporting.figures.forest import domain_figure
from medldr.reporting.published.numbers import published_table
from medldr.reporting.read import describe
from medldr.reporting.read.run import RunSource, read_run
from medldr.reporting.read.settings import as_yaml, show
from medldr.reporting.sections.domain_gap import gap_sentence
from medldr.reporting.sections.groups import group_table, worst_group_text
from medldr.reporting.sections.headline import headings, intervals_text, seen_split, strips
from medldr.reporting.sections.run_published import held_out_published
from medldr.reporting.sections.run_rules import rule_table
from medldr.reporting.sections.summary import banners, facts, lead
from medldr.reporting.writers.html import render

logger = logging.getLogger("medldr.reporting")


class ReportWarning(UserWarning):
    """A page could not be written; the run itself is whole."""


def write_report(folder: RunFolder | Path | str) -> Path:
    """Write `report.html` of a run, finished or not.

    A figure that cannot be drawn is replaced by a sentence that says why, and never raises.

    Args:
        folder: A run folder. What it does not hold is left out of the page, and said so.

    Returns:
        The page.

    Raises:
        InputError: If it is no run folder, or one of its files cannot be read.
        StorageError: If the page cannot be written.
    """
    files = folder if isinstance(folder, RunFolder) else RunFolder(folder)
    write_text(files.report, run_page(read_run(files)))
    return files.report


def write_report_or_warn(folder: RunFolder | Path | str) -> Path | None:
    """`write_report` for the end of training, where a page must never cost a result.

    Any error becomes a `ReportWarning` that says how to try again; its traceback goes to the log.

    Returns:
        The page, or None where it could not be written.
    """
    try:
        return write_report(folder)
    except Exception as error:  # by now the weights and numbers are on the disk
        path = folder.path if isinstance(folder, RunFolder) else folder
        logger.debug("the page of %s could not be written", path, exc_info=True)
        warnings.warn(
            f"the page of {path} could not be written ({type(error).__name__}: {error}); its "
            f"numbers are whole. Try again with: medldr report {path}",
            ReportWarning,
            stacklevel=2,
        )
        return None


def run_page(source: RunSource) -> str:
    """The page of one run as text."""
    evaluation = source.evaluation or {}
    splits: Mapping[str, Any] = evaluation.get("splits") or {}
    name = headline_split(splits)
    content = {
        **_head(source, name),
        **_numbers(source, name),
        **_pictures(source, name),
        "changed": _changed(source),
        "settings_note": source.settings_note,
        "config_text": as_yaml(source.config) if source.config else "config.yaml is absent.",
        "provenance": describe.provenance_groups(source.run),
    }
    content["sections"] = _sections(content)
    return render("run.html.jinja", **content)


def headline_split(splits: Mapping[str, Any]) -> str:
    """The split whose numbers stand at the top: the test split, or what comes nearest to it.

    Example:
        >>> headline_split({"val": {}, "test": {}}), headline_split({"val": {}}), headline_split({})
        ('test', 'val', '')
    """
    for name in ("test", "id_test", "val", "id_val", "train"):
        if name in splits:
            return name
    return next(iter(splits), "")


def _head(source: RunSource, name: str) -> dict[str, Any]:
    config, run = source.config, source.run
    method = describe.method_title(config)
    data = describe.dataset_name(config, run)
    return {
        "title": f"{method} on {data}",
        "kicker": "medldr · report of one run",
        "subtitle": f"{source.name} · seed {config.get('seed', run.get('seed', '?'))}",
        "banners": banners(source, name),
        "notes": source.notes,
        "facts": facts(source, method, data),
        "lead": lead(source, name),
    }


def _numbers(source: RunSource, name: str) -> dict[str, Any]:
    evaluation = source.evaluation or {}
    splits: Mapping[str, Any] = evaluation.get("splits") or {}
    split = splits.get(name) or {}
    task = evaluation.get("task", "")
    titles = headings(evaluation)
    multi = task == "multi-label"
    domains = tables.domain_entries(splits, name, seen_split(evaluation))
    label_table = None
    if multi and split.get("confusion"):
        label_table = tables.label_confusion_table(split["confusion"], evaluation["class_names"])
    shown = {key for one in splits.values() for key in metrics_of(one)}
    shown |= {"recall", "precision", "f1"} if split.get("classes") else set()
    return {
        "multi_label": multi,
        "split_title": f"{SPLIT_TITLES.get(name, name)} split." if name else "",
        "strips": strips(evaluation, name),
        "split_table": tables.split_table(splits, titles) if splits else None,
        "intervals": intervals_text(evaluation, name),
        "class_table": tables.class_table(split, multi) if split.get("classes") else None,
        "domain_table": tables.domain_table(domains) if domains else None,
        "domain_lead": _domain_lead(domains),
        "gap": gap_sentence(evaluation),
        "group_table": group_table(split),
        "group_lead": worst_group_text(split),
        "rule_table": rule_table(source, name),
        "label_table": label_table,
        "published": published_table(source, split) or held_out_published(source)
        if name == "test"
        else None,
        "glossary": [
            (titles.get(key, measure(key).title).removesuffix(" (%)"), measure(key).meaning)
            for key in tables.ordered(shown) if measure(key).meaning
        ],
    }  # fmt: skip


def _domain_lead(entries: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    worst = tables.worst_domain(entries)
    if not worst:
        return ""
    number = dict(entries)[worst]["metrics"]["accuracy"]
    show_value = measure("accuracy").show
    text = f"The worst one is {worst}, with an accuracy of {show_value(number['value'])}{PERCENT}"
    if number.get("low") is not None and number.get("high") is not None:
        text += (
            f" (95{PERCENT} interval {show_value(number['low'])} to {show_value(number['high'])})"
        )
    return f"{text}."


def _pictures(source: RunSource, name: str) -> dict[str, Any]:
    evaluation = source.evaluation or {}
    splits: Mapping[str, Any] = evaluation.get("splits") or {}
    split = splits.get(name) or {}
    selection = evaluation.get("selection")
    names = evaluation.get("class_names") or []
    multi = evaluation.get("task") == "multi-label"
    confusion: list[Drawing] = []
    if split.get("confusion") and not multi:
        confusion = confusion_figures(split["confusion"], names)
    calibration = evaluation.get("calibration") or {}
    drawings = [
        judging.roc_figure(split),
        judging.reliability_figure(split, calibration),
        judging.positive_reliability_figure(split, str(evaluation.get("positive_class"))),
    ]
    domains = domain_figure(tables.domain_entries(splits, name, seen_split(evaluation)))
    return {
        "curve_figures": learning_curves(source.rows, selection),
        "latent_figures": latent_curves(source.rows, selection, _guessing(source)),
        "confusion_figures": confusion,
        "no_roc": _no_roc(split),
        "judging_figures": [drawing for drawing in drawings if drawing is not None],
        "domain_figures": [domains] if domains is not None else [],
    }


def _no_roc(split: Mapping[str, Any]) -> str:
    """Why there is no ROC curve; empty where there is one, or no result at all."""
    if not split or judging.roc_curves(split):
        return ""
    number = (split.get("metrics") or {}).get("auc") or {}
    return f"There is no ROC curve: {number.get('reason') or 'it is not defined here'}."


def _guessing(source: RunSource) -> float | None:
    """Training accuracy of always naming the most frequent class; None where it is unknown."""
    spec = source.run.get("spec")
    counts = spec.get("class_counts") if isinstance(spec, Mapping) else None
    evaluation = source.evaluation or {}
    if evaluation.get("task") == "multi-label" or not counts or sum(counts) <= 0:
        return None
    return float(max(counts) / sum(counts))


def _changed(source: RunSource) -> dict[str, Any]:
    rows = [[change.key, show(change.value), show(change.default)] for change in source.changed]
    return {
        "title": "Settings that differ from their defaults",
        "columns": ["Setting", "Here", "Default"],
        "rows": rows,
    }


def _sections(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    every = (
        ("result", "Result", True),
        ("notes", "Notes", content["notes"]),
        ("published", "Published", content["published"]),
        ("splits", "Splits", content["split_table"]),
        ("rules", "Rules", content["rule_table"]),
        ("domains", "Domains", content["domain_table"]),
        ("groups", "Groups", content["group_table"]),
        ("curves", "Curves", True),
        ("latents", "Latents", content["latent_figures"]),
        ("confusion", "Confusion", content["confusion_figures"] or content["label_table"]),
        ("judging", "ROC and reliability", content["judging_figures"]),
        ("classes", "Labels" if content["multi_label"] else "Classes", content["class_table"]),
        ("settings", "Settings", True),
        ("provenance", "Provenance", True),
        ("glossary", "Glossary", content["glossary"]),
    )
    return [(anchor, name) for anchor, name, there in every if there]
