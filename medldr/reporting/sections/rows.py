"""Rows of methods, runs, domains and chance level, with the tags that set them apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from medldr.evaluation.intervals.estimate import Estimate
from medldr.metrics import metric_facts
from medldr.reporting.results.class_mix import Chance
from medldr.reporting.table import ANY, CHANCE, Cell, Row

K = TypeVar("K")


def grouped(pairs: Iterable[tuple[K, str]]) -> dict[K, list[str]]:
    """Names by what they share, each once.

    Example:
        >>> grouped([("swad", "ERM"), ("none", "CORAL"), ("swad", "Mixup"), ("swad", "ERM")])
        {'swad': ['ERM', 'Mixup'], 'none': ['CORAL']}
    """
    found: dict[K, dict[str, None]] = {}
    for key, name in pairs:
        found.setdefault(key, {})[name] = None
    return {key: list(names) for key, names in found.items()}


def method_row(
    name: str,
    cells: Sequence[Cell],
    *,
    reference: bool = False,
    control: bool = False,
    oracle: bool = False,
    mark: str = "",
) -> Row:
    """The row of a method.

    Args:
        name: Its heading.
        cells: One per further column.
        reference: Whether the others are compared with it.
        control: Whether it is a control, which comes below a line of its own.
        oracle: Whether its weights were chosen on the test split.
        mark: Footnote signs of the heading.

    Example:
        >>> method_row("ERM", [], reference=True, oracle=True).tags
        ('reference', 'oracle')
    """
    tags = {"reference": reference, "oracle": oracle, "control": control}
    held = tuple(tag for tag, holds in tags.items() if holds)
    return Row(name, cells, held, "reference" if reference else "", mark, apart=control)


def count(number: int, word: str) -> str:
    """A number of things.

    Example:
        >>> count(1, "run"), count(1200, "run")
        ('1 run', '1200 runs')
    """
    return f"{number} {word}{'' if number == 1 else 's'}"


def show_p(p: float) -> str:
    """A p value as a paper prints it.

    Example:
        >>> show_p(0.0301), show_p(0.0004), show_p(1.0)
        ('0.030', '< 0.001', '1.000')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def p_text(p: float) -> str:
    """A p value in a sentence.

    Example:
        >>> p_text(0.0301), p_text(0.0004)
        ('p = 0.030', 'p < 0.001')
    """
    return f"p {show_p(p)}" if p < 0.001 else f"p = {show_p(p)}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    Example:
        >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
        ('a', 'a and b', 'a, b and c')
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


LABELS = "Always the likelier answer"


def chance_row(found: Sequence[tuple[str, Chance | None]]) -> Row | None:
    """A row of numbers without intervals or marks; None where chance level says nothing.

    Args:
        found: For each cell its metric, and the chance level of its column.
    """
    there = [(known, level) for known, level in found if level and known in level.values]
    if not there:
        return None
    names = {level.name for _, level in there}
    alike = len(names) == 1
    heading = chance_heading(there[0][1]) if alike else ANY
    cells = [_cell(metric, level, named=not alike) for metric, level in found]
    return Row(heading, cells, style=CHANCE, apart=True)


def chance_heading(level: Chance) -> str:
    """What is always answered.

    Example:
        >>> chance_heading(Chance("normal", {})), chance_heading(Chance("", {}))
        ('Always “normal” (most frequent)', 'Always the most frequent class')
    """
    if level.name:
        return f"Always “{level.name}” (most frequent)"
    return LABELS if level.labels else ANY


def _cell(metric: str, level: Chance | None, *, named: bool) -> Cell:
    if level is None or metric not in level.values:
        return Cell()
    detail = f"“{level.name}”" if named and level.name else ""
    return Cell(Estimate(level.values[metric]), metric_facts(metric), detail=detail)
