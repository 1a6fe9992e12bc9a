"""The numbers of a sweep as one flat table, for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from medldr.reporting.pages.sweep import SweepContent
from medldr.reporting.published.augmentation import augmentation_id
from medldr.reporting.results.by_rule import rule_means
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.held_out import LeftOut, left_out
from medldr.reporting.results.spread import seed_means
from medldr.reporting.results.target_parts import TARGETS
from medldr.reporting.sections.held_out import mean_over_domains
from medldr.reporting.sections.sweep_published import beside

FIELDS = (
    "kind", "column", "split", "domain", "class", "metric", "row", "status", "runs", "planned",
    "mean", "sd", "low", "high", "reason", "compared_with", "difference", "difference_low",
    "difference_high", "p", "p_holm", "published", "published_source", "published_protocol",
    "protocol", "same_protocol", "oracle", "control", "title", "column_title", "rule",
    "augmentation", "published_augmentation",
)  # fmt: skip
"""
``kind`` is ``result``, ``contrast`` (a chosen pair: ``row`` minus ``compared_with``) or ``rule`` (a
selection rule beside the one that runs report, which ``rule`` names in the other lines). ``row``
and ``column`` are the names of the sweep file, the titles what tables print. An empty number is
undefined, and ``reason`` says why; ``published`` is the first number that tables show beside ours.
"""


LEFT_OUT_FIELDS = ("dataset", "seed", "se")
"""
Further fields where one domain was held out at a time. ``kind`` is then ``left_out`` too: ``row``
is the method as printed, ``split`` target_in or target_all, ``domain`` the held-out one, or
``mean`` for the mean over all; a line with a ``seed`` is of that seed alone.
"""


def tidy_csv(content: SweepContent) -> str:
    """One line per column, split, domain, class, metric and row; fields are in `FIELDS`.

    `LEFT_OUT_FIELDS` follow where one domain was held out at a time.
    """
    sets = left_out(content.study)
    out = io.StringIO()
    fields = (*FIELDS, *(LEFT_OUT_FIELDS if sets else ()))
    writer = csv.DictWriter(out, fields, lineterminator="\n", restval="")
    writer.writeheader()
    lines = [line for column in content.columns for line in _lines(content, column)]
    lines += [line for found in sets for line in _left_out(found, content.metrics[0])]
    for line in lines:
        writer.writerow({key: _text(value) for key, value in line.items()})
    return out.getvalue()


def _left_out(found: LeftOut, metric: str) -> Iterator[dict[str, Any]]:
    """Every seed of every method, domain and target, and the means over domains."""
    for row in found.rows:
        head: dict[str, Any] = {"kind": "left_out", "dataset": found.dataset, "metric": metric}
        head |= {"row": row, "control": row in found.controls}
        for target in TARGETS:
            by_domain = {d: found.values(row, d, target, metric) for d in found.domains}
            total = mean_over_domains(found, row, target, metric)
            means = {} if total is None else seed_means(by_domain)
            for domain, values in [*by_domain.items(), ("mean", means)]:
                for seed, value in values.items():
                    place = {"split": target, "domain": domain, "seed": seed}
                    yield {**head, **place, "runs": 1, "mean": value}
            if total is not None:
                numbers = {"runs": total.n, "mean": total.mean, "sd": total.sd, "se": total.se}
                yield {**head, "split": target, "domain": "mean", **numbers}


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value


def _lines(content: SweepContent, column: Column) -> Iterator[dict[str, Any]]:
    result = column.result or {"rows": (), "classes": (), "contrasts": ()}
    rows = [row for row in content.study.rows if row in column.planned]
    heads = {row: _head(content, column, row) for row in rows}
    with_result = {row["method"] for row in result["rows"]}
    for row in result["rows"]:
        yield {
            **heads[row["method"]],
            **_numbers(row),
            **_difference(content, row["difference"]),
            **_published(content, column, row),
        }
    for row in result["classes"]:
        yield {**heads[row["method"]], **_numbers(row)}
    for row, head in heads.items():
        if row not in with_result:
            for metric in content.metrics:
                yield {**head, "split": "test", "metric": metric, "runs": 0}
    for row in result["contrasts"]:
        yield {
            **heads[row["method"]],
            "kind": "contrast",
            **{key: row[key] for key in ("split", "domain", "metric", "reason")},
            **_minus(row),
            "compared_with": content.study.keys[row["minus"]],
        }
    yield from _rules(content, column, heads)


def _rules(
    content: SweepContent, column: Column, heads: Mapping[str, dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """One line per split, measure, row and rule that is not reported."""
    for split in column.splits:
        for metric in content.metrics:
            for found in rule_means(content.study, column.name, metric, split):
                if not found.reported:
                    yield {
                        **heads[found.row],
                        "kind": "rule",
                        "rule": found.rule,
                        "oracle": found.oracle,
                        "split": split,
                        "metric": metric,
                        "runs": found.runs,
                        "mean": found.mean,
                        "sd": found.sd,
                    }


def _head(content: SweepContent, column: Column, row: str) -> dict[str, Any]:
    study = content.study
    source = study.source(row, column.name)
    return {
        "kind": "result",
        "column": study.column_keys[column.name],
        "row": study.keys[row],
        "status": f"not comparable: {column.problem}" if column.problem else _status(column, row),
        "planned": column.planned[row],
        "protocol": None if source is None else source.protocol,
        "rule": None if source is None else next(iter(source.by_rule), None),
        "augmentation": None if source is None else augmentation_id(source.config),
        "oracle": study.oracle(row),
        "control": row in study.layout.controls,
        "title": row,
        "column_title": column.name,
    }


def _status(column: Column, row: str) -> str:
    missing = column.why_missing(row)
    if not missing:
        return "done"
    whole = sum(column.missing[row].values()) == column.planned[row]
    return missing if whole else f"partly: {missing}"


def _numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("split", "metric", "runs", "mean", "sd", "low", "high", "reason")
    found = {key: row[key] for key in kept}
    return {**found, "domain": row.get("domain"), "class": row.get("class")}


def _difference(content: SweepContent, number: Mapping[str, Any] | None) -> dict[str, Any]:
    if number is None:
        return {}
    return {**_minus(number), "compared_with": content.study.keys[content.study.reference]}


def _minus(number: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "difference": number["value"],
        "difference_low": number["low"],
        "difference_high": number["high"],
        "p": number["p"],
        "p_holm": number["p_holm"],
    }


def _published(content: SweepContent, column: Column, row: Mapping[str, Any]) -> dict[str, Any]:
    if row["split"] != "test" or row["domain"] is not None:
        return {}
    found = beside(content.study, column.name, row["method"], row["metric"])
    if not found:
        return {}
    return {
        "published": found[0].entry.value,
        "published_source": found[0].entry.source,
        "published_protocol": found[0].entry.protocol,
        "published_augmentation": found[0].entry.augmentation,
        "same_protocol": found[0].same,
    }
