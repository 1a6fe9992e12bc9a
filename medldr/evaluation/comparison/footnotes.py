"""Where methods differ from the reference although they should not: data, protocol, what ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from medldr.config.sections import MODIFIED
from medldr.evaluation.comparison.runs import FACTS, TEXT_FACTS, Method, Run
from medldr.folders.run_record import what_ran


def footnotes(known: Sequence[Method], base: Method) -> tuple[list[str], dict[str, list[int]]]:
    """Sentences on methods that differ from the first run of the reference.

    Args:
        known: All methods.
        base: The reference. Where its own runs differ among themselves, it has footnotes too.

    Returns:
        The sentences, and by method the numbers (from 1) of those that are about it.
    """
    texts: list[str] = []
    marks: dict[str, list[int]] = {method.name: [] for method in known}
    for fact in FACTS:
        standard = _to_compare(base.runs[0], fact)
        for method in known:
            others = {run.name: _to_compare(run, fact) for run in method.runs}
            odd = {name: value for name, value in others.items() if value != standard}
            if odd:
                different = ", ".join(f"{name} has {_shown(fact, v)}" for name, v in odd.items())
                reference = f"{base.runs[0].name} has {_shown(fact, standard)}"
                texts.append(f"{fact} differs: {different}; {reference}.")
                marks[method.name].append(len(texts))
    for method in known:
        text = _other_code(method, base)
        if text and text not in texts:
            texts.append(text)
        if text:
            marks[method.name].append(texts.index(text) + 1)
    return texts, marks


def _other_code(method: Method, base: Method) -> str:
    """What ran a method where it is not what ran the reference; what no run says does not differ.

    One sentence that names no run, so that methods of the same runs of code share it.
    """
    own, theirs = [], []
    for fact in what_ran(base.runs[0].facts):
        there, of_base = _values(method, fact), _values(base, fact)
        if there and of_base and len({*there, *of_base}) > 1:
            word = fact.removesuffix("_version")
            own.append((word, " and ".join(there)))
            theirs.append((word, " and ".join(of_base)))
    if not own:
        return ""
    alone = len(own) == 1  # then the name of the fact need not be repeated
    said = "; ".join(f"{word} {value}" for word, value in own)
    if own == theirs:
        return f"its runs differ: {said}"
    reference = "; ".join(value if alone else f"{word} {value}" for word, value in theirs)
    return f"{said} (reference: {reference})"


def _values(method: Method, fact: str) -> list[str]:
    """What ran the runs of a method, each once; runs that do not say it are left out."""
    found = dict.fromkeys(what_ran(run.facts)[fact] for run in method.runs)
    return [value for value in found if value is not None]


def _shown(fact: str, value: Any) -> str:
    """A fact as footnotes show it; a checksum is cut to its first eight digits."""
    return str(value)[:8] if fact.endswith("_hash") else str(value)


def _to_compare(run: Run, fact: str) -> Any:
    """A fact of a run as footnotes compare it; a changed pin does not make another protocol."""
    value = getattr(run.facts, fact)
    if fact == "protocol":
        value = str(value or "").removesuffix(MODIFIED)
    return value or "none" if fact in TEXT_FACTS else value
