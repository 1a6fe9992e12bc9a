"""Finished runs side by side: means over seeds, intervals, and paired differences.

Runs with the same configuration but the seed are one *method*. Everything is computed anew from
the runs' predictions, with the bootstrap settings, positive class, specificity and bins of the
first run. `compare` returns plain values:

``schema``, ``task``, ``class_names``, ``positive_class``, ``intervals``, ``calibration``, \
``definitions``
    As in `evaluation.json`.
``reference``
    Name of the method that differences are taken to: method minus reference.
``methods``
    One dict per method: ``method`` (its name), ``label``, ``hash``, ``seeds``, ``runs`` (folder
    names), ``protocol``, ``precision``, ``data_hash``, ``split_hash`` (of its first run),
    ``selection`` (rule), ``oracle``, ``same_protocol`` (as the reference), ``footnotes``
    (numbers, from 1, into ``footnotes``).
``splits``
    By split: ``n``, ``n_groups``, ``unit``, ``few_groups``, ``absent_classes``,
    ``domains`` (name -> ``n``, ``n_groups``, ``few_groups``).
``rows``
    A flat list, one dict per split, domain, metric and method: ``split``, ``domain`` (None for
    the whole split), ``seen`` (of that domain, in that method; None for the whole split),
    ``metric``, ``method``, ``runs`` (how many), ``values`` (one per run), ``mean``, ``sd``
    (ddof 1; None for one run), ``low``, ``high``, ``reason`` (why undefined), ``few_groups``,
    ``difference``: None for the reference, else ``value``, ``low``, ``high``, ``reason``,
    ``p``, ``p_holm``. Holm's correction is over the methods of one column, that is one split,
    domain and metric. The metric ``worst_domain`` is the lowest accuracy of any domain.
``gaps``
    ``id_test`` minus ``test`` per ``metric`` and ``method``: ``value``, ``low``, ``high``,
    ``reason``; how much is lost where no training row came from. Empty without both splits.
``footnotes``
    Texts on methods that differ from the reference in precision, data or splits.
``missing``
    Runs without a result: ``run`` and ``reason``. They are rows of a table too.
``notes``
    What a reader must be told about all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from medldr.errors import InputError, did_you_mean
from medldr.evaluation import intervals, metrics, operating_point
from medldr.evaluation.evaluate import absent_classes, split_notes
from medldr.evaluation.judge import (
    DOMAIN_METRICS,
    WORST_DOMAIN,
    Judge,
    headline_metrics,
    positive_class,
)
from medldr.evaluation.runs import FACTS, Method, Run, aligned, load_run, methods, same_task
from medldr.evaluation.sums import Array
from medldr.files import RunFolder

SPLITS = ("id_test", "test")


def compare(
    runs: Sequence[Path | str | RunFolder | Run],
    *,
    reference: str | None = None,
    splits: Sequence[str] = SPLITS,
) -> dict[str, Any]:
    """Compare finished runs.

    Args:
        runs: Run folders, or runs that are loaded already.
        reference: Name of the method that others are compared with; unset: the first one.
        splits: Splits to compare; those that any run lacks are left out, with a note.

    Returns:
        Plain values, as the module says.

    Raises:
        InputError: If no run has a result, or they were not judged on the same items.
    """
    found, missing = _load(runs)
    same_task(found)
    known = methods(found)
    base = _reference(known, reference)
    ordered = [run for method in known for run in method.runs]
    shared = [s for s in splits if all(s in run.predictions for run in ordered)]
    if not shared:
        raise InputError(
            f"no split of {', '.join(splits)} is in the predictions of every run: "
            + "; ".join(f"{run.name} has {', '.join(run.predictions)}" for run in ordered)
        )
    notes = [
        f"{s} is left out: not every run has it."
        for s in splits
        if s not in shared and any(s in run.predictions for run in ordered)
    ]
    settings = found[0].evaluation
    columns = {split: _Split(split, known, base, settings) for split in shared}
    footnotes, marks = _footnotes(known, base)
    return {
        "schema": 1,
        **{
            key: settings.get(key)
            for key in ("task", "class_names", "positive_class", "intervals", "calibration")
        },
        "definitions": metrics.DEFINITIONS,
        "reference": base.name,
        "methods": [_describe(method, base, marks[method.name]) for method in known],
        "splits": {split: column.about() for split, column in columns.items()},
        "rows": [row for column in columns.values() for row in column.rows()],
        "gaps": list(_gaps(columns, known)),
        "footnotes": footnotes,
        "missing": missing,
        "notes": notes + [n for s, c in columns.items() for n in split_notes(s, c.judges[0])],
    }


def _load(
    runs: Sequence[Path | str | RunFolder | Run],
) -> tuple[list[Run], list[dict[str, str]]]:
    found, missing = [], []
    for given in runs:
        run = given if isinstance(given, Run) else load_run(given)
        if isinstance(run, Run):
            found.append(run)
        else:
            path = given.path if isinstance(given, RunFolder) else Path(str(given))
            missing.append({"run": path.resolve().name, "reason": run})
    if not found:
        told = "".join(f"\n  {one['run']}: {one['reason']}" for one in missing)
        raise InputError(f"none of the {len(missing)} runs has a result to compare.{told}")
    return found, missing


def _reference(known: Sequence[Method], name: str | None) -> Method:
    if name is None:
        return known[0]
    names = [method.name for method in known]
    if name not in names:
        raise InputError(
            f"there is no method {name!r} to compare with.{did_you_mean(name, names)} "
            f"Known: {', '.join(names)}"
        )
    return known[names.index(name)]


@dataclass(frozen=True)
class _Column:
    """One metric of one method: a value per run, and the mean over runs in each draw."""

    values: Array
    draws: Array

    @property
    def mean(self) -> float:
        return float(self.values.mean())


class _Split:
    """All methods on one split, in the same bootstrap draws."""

    def __init__(
        self, split: str, known: Sequence[Method], base: Method, settings: Mapping[str, Any]
    ) -> None:
        self.split, self.known, self.base = split, known, base
        runs = [run for method in known for run in method.runs]
        tables = aligned(runs, split)
        self.judges = [_judge(run, t, settings) for run, t in zip(runs, tables, strict=True)]
        draws, seed = settings["intervals"]["draws"], settings["intervals"]["seed"]
        first = self.judges[0]
        # One pass over the draws for all runs: the weights of the groups are made once.
        parts = [
            (f"{i}/{prefix}", sums)
            for i, judge in enumerate(self.judges)
            for prefix, sums in judge.parts
        ]
        drawn = intervals.resample(
            parts, first.units, draws=draws, generator=intervals.stream(seed, split)
        )
        self.columns: dict[tuple[str, str], _Column] = {}
        self.reasons: dict[tuple[str, str], str] = {}
        start = 0
        for method in known:
            members = range(start, start + len(method.runs))
            start += len(method.runs)
            self._add(method, members, drawn, draws, seed)

    def _add(
        self, method: Method, members: range, drawn: Mapping[str, Array], draws: int, seed: int
    ) -> None:
        weights = intervals.run_weights(
            len(members), draws, intervals.stream(seed, "runs", method.name)
        )
        values = [self.judges[i].values() for i in members]
        of_run = [_under(f"{i}/", drawn) for i in members]
        of_run = [
            self.judges[i].with_worst(found) for i, found in zip(members, of_run, strict=True)
        ]
        undefined, no_draws = np.array([np.nan]), np.full(draws, np.nan)
        for name in self.names():
            value = np.concatenate([found.get(name, undefined) for found in values])
            each = np.stack([found.get(name, no_draws) for found in of_run])
            self.columns[method.name, name] = _Column(value, intervals.over_runs(each, weights))
            odd = np.flatnonzero(np.isnan(value))
            if len(odd):
                judge, run = self.judges[members[odd[0]]], method.runs[odd[0]]
                where = f"{run.name}: " if len(members) > 1 else ""
                self.reasons[method.name, name] = where + judge.reason(name)

    def names(self) -> list[str]:
        """Metrics of the split, of each domain, and the worst domain, as `Judge` names them."""
        judge = self.judges[0]
        of_domains = [f"domain/{d}/{m}" for d in judge.domains for m in DOMAIN_METRICS]
        worst = [WORST_DOMAIN] if judge.domains else []
        return headline_metrics(judge.table.task) + worst + of_domains

    def about(self) -> dict[str, Any]:
        judge = self.judges[0]
        return {
            "n": len(judge.table),
            "n_groups": judge.units.count,
            "unit": judge.units.kind,
            "few_groups": judge.units.few,
            "absent_classes": absent_classes(judge),
            "domains": {name: self._about_domain(name) for name in judge.domains},
        }

    def _about_domain(self, name: str) -> dict[str, Any]:
        judge = self.judges[0]
        rows = judge.domains[name]
        groups = len(np.unique(judge.units.number[rows]))
        few = groups < intervals.FEW_GROUPS
        return {"n": int(rows.sum()), "n_groups": groups, "few_groups": few}

    def rows(self) -> Iterator[dict[str, Any]]:
        about = self.about()
        for name in self.names():
            domain, metric = _parse(name)
            few = about["domains"][domain]["few_groups"] if domain else about["few_groups"]
            differences = {m.name: self._difference(m, name) for m in self.known}
            p = {m: d["p"] for m, d in differences.items() if d is not None}
            adjusted = intervals.holm(p)
            for method in self.known:
                difference = differences[method.name]
                if difference is not None:
                    difference["p_holm"] = adjusted[method.name]
                yield {
                    "split": self.split,
                    "domain": domain,
                    "seen": _seen(method, self.split, domain),
                    "metric": metric,
                    "method": method.name,
                    **self._numbers(method, name),
                    "few_groups": few,
                    "difference": difference,
                }

    def _numbers(self, method: Method, name: str) -> dict[str, Any]:
        column = self.columns[method.name, name]
        whole = intervals.number(column.mean, column.draws, self.reasons.get((method.name, name)))
        several = len(column.values) > 1 and whole["value"] is not None
        return {
            "runs": len(column.values),
            "values": [None if np.isnan(v) else float(v) for v in column.values],
            "mean": whole["value"],
            "sd": float(column.values.std(ddof=1)) if several else None,
            **{key: whole[key] for key in ("low", "high", "reason")},
        }

    def _difference(self, method: Method, name: str) -> dict[str, Any] | None:
        if method.name == self.base.name:
            return None
        one, other = self.columns[method.name, name], self.columns[self.base.name, name]
        draws = one.draws - other.draws
        reason = self.reasons.get((method.name, name)) or self.reasons.get((self.base.name, name))
        out = intervals.number(one.mean - other.mean, draws, reason)
        p = intervals.p_value(draws) if out["value"] is not None else None
        return {**{k: out[k] for k in ("value", "low", "high", "reason")}, "p": p, "p_holm": None}


def _judge(run: Run, table: Any, settings: Mapping[str, Any]) -> Judge:
    """Judge a run by the settings of the first one, with its own threshold."""
    positive = positive_class(table, settings.get("positive_class"))
    wanted = (settings.get("operating_point") or {}).get("specificity", 0.9)
    point = operating_point.OperatingPoint(wanted)
    if table.task == "binary":
        point = operating_point.find(run.predictions, positive=positive, specificity=wanted)
    return Judge(table, settings["calibration"]["bins"], positive, point)


def _under(prefix: str, found: Mapping[str, Array]) -> dict[str, Array]:
    return {name[len(prefix) :]: v for name, v in found.items() if name.startswith(prefix)}


def _parse(name: str) -> tuple[str | None, str]:
    if name == WORST_DOMAIN:
        return None, "worst_domain"
    if not name.startswith("domain/"):
        return None, name
    domain, metric = name[len("domain/") :].rsplit("/", 1)
    return domain, metric


def _seen(method: Method, split: str, domain: str | None) -> bool | None:
    if domain is None:
        return None
    judged = method.runs[0].evaluation["splits"].get(split, {}).get("domains", {})
    seen: bool | None = judged.get(domain, {}).get("seen")
    return seen


def _gaps(columns: Mapping[str, _Split], known: Sequence[Method]) -> Iterator[dict[str, Any]]:
    if not {"id_test", "test"} <= set(columns):
        return
    inside, outside = columns["id_test"], columns["test"]
    for name in headline_metrics(inside.judges[0].table.task):
        for method in known:
            key = method.name, name
            one, other = inside.columns[key], outside.columns[key]
            reason = inside.reasons.get(key) or outside.reasons.get(key)
            gap = intervals.number(one.mean - other.mean, one.draws - other.draws, reason)
            kept = {k: gap[k] for k in ("value", "low", "high", "reason")}
            yield {"metric": name, "method": method.name, **kept}


def _describe(method: Method, base: Method, marks: list[int]) -> dict[str, Any]:
    first = method.runs[0]
    return {
        "method": method.name,
        "label": first.label,
        "hash": first.hash,
        "seeds": [run.seed for run in method.runs],
        "runs": [run.name for run in method.runs],
        **{fact: first.facts.get(fact) for fact in FACTS},
        "selection": (first.evaluation.get("selection") or {}).get("rule"),
        "oracle": any(run.oracle for run in method.runs),
        "same_protocol": first.facts.get("protocol") == base.runs[0].facts.get("protocol"),
        "footnotes": marks,
    }


def _footnotes(known: Sequence[Method], base: Method) -> tuple[list[str], dict[str, list[int]]]:
    """Texts on runs that differ from the reference's first in what must be equal."""
    texts: list[str] = []
    marks: dict[str, list[int]] = {method.name: [] for method in known}
    for fact in FACTS[1:]:
        standard = base.runs[0].facts.get(fact)
        for method in known:
            others = {run.name: run.facts.get(fact) for run in method.runs}
            odd = {name: value for name, value in others.items() if value != standard}
            if odd:
                told = ", ".join(f"{name} has {value}" for name, value in odd.items())
                texts.append(f"{fact} differs: {told}; {base.runs[0].name} has {standard}.")
                marks[method.name].append(len(texts))
    return texts, marks
