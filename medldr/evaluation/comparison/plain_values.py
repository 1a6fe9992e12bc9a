"""What a comparison holds, made of the plain values that `medldr.evaluation.compare` returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr.evaluation.comparison.records import (
    ClassScore,
    Contrast,
    Difference,
    Method,
    Score,
    Size,
)
from medldr.evaluation.estimate import Estimate
from medldr.evaluation.variance import Variance


def method_of(entry: Mapping[str, Any], footnotes: tuple[str, ...]) -> Method:
    """A method, with the text of its footnotes."""
    same = ("label", "hash", "protocol", "precision", "data_hash", "split_hash", "selection",
            "oracle", "same_protocol")  # fmt: skip
    return Method(
        entry["method"],
        seeds=tuple(entry["seeds"]),
        runs=tuple(entry["runs"]),
        footnotes=tuple(footnotes[number - 1] for number in entry["footnotes"]),
        **{key: entry[key] for key in same},
    )


def size_of(about: Mapping[str, Any]) -> Size:
    """Size of a split or a domain."""
    domains = {name: size_of(size) for name, size in about.get("domains", {}).items()}
    return Size(
        about["n"], about["n_groups"], about["few_groups"], domains, about["unit"],
        about["class_shares"],
    )  # fmt: skip


def contrast_of(entry: Mapping[str, Any]) -> Contrast:
    """One method minus another."""
    place = (entry["split"], entry["domain"], entry["metric"], entry["method"], entry["minus"])
    return Contrast(*place, difference_of(entry))


def score_of(row: Mapping[str, Any]) -> Score:
    """One metric of one method."""
    other = None if row["difference"] is None else difference_of(row["difference"])
    place = (row["split"], row["domain"], row["metric"], row["method"])
    return Score(*place, estimate_of(row, "mean"), other, row["runs"], row["seen"])


def class_score_of(row: Mapping[str, Any]) -> ClassScore:
    """One metric of one class."""
    place = (row["split"], row["class"], row["n"], row["metric"], row["method"])
    return ClassScore(*place, estimate_of(row, "mean"), row["runs"], row["n_groups"])


def difference_of(entry: Mapping[str, Any]) -> Difference:
    """A paired difference with its p."""
    same = {key: entry[key] for key in ("p", "p_holm", "share_of_seeds")}
    return Difference(estimate_of(entry), non_inferiority=entry.get("non_inferiority"), **same)


def estimate_of(entry: Mapping[str, Any], mean: str = "value") -> Estimate:
    """A number; `mean` is the key of its value."""
    return Estimate(
        entry[mean], entry.get("sd"), low=entry["low"], high=entry["high"],
        reason=entry["reason"] or "",
        variance=Variance.read(entry["variance"]) if entry.get("variance") else None,
        noise=tuple(entry["noise"]) if entry.get("noise") else None,
    )  # fmt: skip
