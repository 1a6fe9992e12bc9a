"""Rows of methods, runs and domains, with the tags that set them apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from medldr.reporting.table import Cell, Row

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


def domain_row(
    name: str, cells: Sequence[Cell], seen: bool, few: bool, *, worst: bool = False
) -> Row:
    """The row of a domain: whether training saw it, and whether it has too few groups."""
    tags = {"seen": seen, "unseen": not seen, "few groups": few, "worst": worst}
    held = tuple(tag for tag, holds in tags.items() if holds)
    return Row(name, cells, held, "worst" if worst else "")


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
