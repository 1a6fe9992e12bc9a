"""What a reader must know of a comparison: in what its methods differ although they should not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from medldr.config.sections import MODIFIED
from medldr.evaluation.comparison.runs import FACTS, TEXT_FACTS, MethodRuns, Run
from medldr.evaluation.predictions.log_odds import BY_PROBABILITY, ties_confident
from medldr.folders.run_record import what_ran

TRAINED: Final = {
    "protocol": "protocol {}",
    "lr": "learning rate {}",
    "batch_size": "{} images per step",
    "steps": "{} steps",
    "sampler": "sampler {}",
}
"""Facts of a run in which methods that are compared should agree, and in words."""


def footnotes(
    methods: Sequence[MethodRuns],
    base: MethodRuns | None,
    tuned: Mapping[str, Collection[str]] | None = None,
) -> tuple[list[str], dict[str, list[int]]]:
    """Sentences on methods that differ from the first run of the reference, or have marks.

    Splits may follow the seed: they are those of the run of the reference with the same seed.

    Args:
        methods: All methods.
        base: The reference. Where its own runs differ among themselves, it has footnotes too. None
            where it has no run: a method then differs only among its own.
        tuned: By method, what of `TRAINED` was chosen on validation for it and for the reference
            alike, which is no difference: each is shown as tuned.

    Returns:
        The sentences, and by method the numbers (from 1) of those about it.
    """
    texts: list[str] = []
    marks: dict[str, list[int]] = {method.name: [] for method in methods}
    standards = {method.name: base or method for method in methods}
    for fact in FACTS:
        for method in methods:
            runs = standards[method.name].runs
            same_seed = {run.seed: run for run in reversed(runs)}
            odd: dict[str, tuple[Any, str]] = {}
            for run in method.runs:
                known = same_seed.get(run.seed) if fact == "split_hash" else None
                standard = known or runs[0]
                if (value := _to_compare(run, fact)) != (usual := _to_compare(standard, fact)):
                    odd[run.name] = value, f"{standard.name} has {_shown(fact, usual)}"
            if odd:
                own = ", ".join(f"{name} has {_shown(fact, v)}" for name, (v, _) in odd.items())
                reference = ", ".join(dict.fromkeys(usual for _, usual in odd.values()))
                texts.append(f"{fact} differs: {own}; {reference}.")
                marks[method.name].append(len(texts))
    chosen = tuned or {}
    shared = [
        (method, _trained(method, standards[method.name], chosen.get(method.name, ())))
        for method in methods
    ]
    shared += [(method, _too_good(method)) for method in methods]
    shared += [(method, _other_code(method, standards[method.name])) for method in methods]
    shared += [(method, _recalibrated(method)) for method in methods]
    shared += [(method, _ranked_by_probability(method)) for method in methods]
    for method, text in shared:
        if text and text not in texts:
            texts.append(text)
        if text:
            marks[method.name].append(texts.index(text) + 1)
    return texts, marks


def _trained(method: MethodRuns, base: MethodRuns, tuned: Collection[str]) -> str:
    """How a method was trained where that is not how the reference was, in values of both."""
    early = any(run.facts.stopped_early for run in (*method.runs, *base.runs))
    texts = []
    for fact, words in TRAINED.items():
        own, theirs = (_found(of, fact) for of in (method, base))
        # Another protocol altogether has a footnote of its own.
        apart = fact == "protocol" and {p.removesuffix(MODIFIED) for p in (*own, *theirs)}
        decided = fact in tuned or (fact == "steps" and early) or (apart and len(apart) > 1)
        if own and theirs and set(own) != set(theirs) and not decided:
            texts.append(f"{words.format(' / '.join(own))} ({' / '.join(theirs)})")
    start = "Trained differently from the reference (its value in parentheses): "
    return f"{start}{', '.join(texts)}." if texts else ""


def _found(method: MethodRuns, fact: str) -> list[str]:
    """The values of a fact in the runs of a method, each once; one that is not known is none."""
    values = dict.fromkeys(getattr(run.facts, fact) for run in method.runs)
    texts = (
        f"{v:g}" if isinstance(v, float) else str(v or "none") for v in values if v is not None
    )
    return list(dict.fromkeys(texts))


def _recalibrated(method: MethodRuns) -> str:
    """Which probabilities of a method are not the network's own; one sentence for all methods."""
    made = [run.evaluation.recalibration for run in method.runs]
    changed = sum(one is not None and one.temperature is not None for one in made)
    if not changed:
        return ""
    some = "" if changed == len(made) else f" in {changed} of {len(made)} runs"
    return (
        f"Probabilities recalibrated{some}, each run with a temperature from its validation split: "
        "calibration error, NLL and Brier score are not the network's own."
    )


def _too_good(method: MethodRuns) -> str:
    """What makes every number of some runs of a method too good, as it is of the first of them."""
    marked = [run for run in method.runs if run.facts.marks]
    if not marked:
        return ""
    of = f"Too good in {len(marked)} of {len(method.runs)} runs"
    return f"{of}. {marked[0].name}: {' '.join(marked[0].facts.marks)}"


def _ranked_by_probability(method: MethodRuns) -> str:
    """Says so where that makes ties of right and wrong answers."""
    tables = (table for run in method.runs for table in run.predictions.values())
    return f"{BY_PROBABILITY}." if any(map(ties_confident, tables)) else ""


def _other_code(method: MethodRuns, base: MethodRuns) -> str:
    """What ran a method where it is not what ran the reference; what no run says does not differ.

    One sentence that names no run, so that methods of the same runs of code share it.
    """
    differing = []
    for fact in what_ran(base.runs[0].facts):
        of_method, of_base = _values(method, fact), _values(base, fact)
        if of_method and of_base and len({*of_method, *of_base}) > 1:
            own, theirs = " and ".join(of_method), " and ".join(of_base)
            word = fact.removesuffix("_version")
            other = "among its own runs" if own == theirs else f"reference: {theirs}"
            differing.append(f"{word} {own} ({other})")
    return "; ".join(differing)


def _values(method: MethodRuns, fact: str) -> list[str]:
    """What ran the runs of a method, each once; runs that do not say it are left out."""
    values = dict.fromkeys(what_ran(run.facts)[fact] for run in method.runs)
    return [value for value in values if value is not None]


def _shown(fact: str, value: Any) -> str:
    """A fact as footnotes show it; a checksum is cut to its first eight digits."""
    return str(value)[:8] if fact.endswith("_hash") else str(value)


def _to_compare(run: Run, fact: str) -> Any:
    """A fact of a run as footnotes compare it; a changed pin does not make another protocol."""
    value = getattr(run.facts, fact)
    if fact == "protocol":
        value = str(value or "").removesuffix(MODIFIED)
    return value or "none" if fact in TEXT_FACTS else value


def other_positive_class(runs: Sequence[Run]) -> list[str]:
    """Says so where the evaluation of some runs had another positive class than the first."""
    mine = runs[0].evaluation.positive_class
    others = sorted({str(run.evaluation.positive_class) for run in runs} - {str(mine)})
    if not others:
        return []
    return [
        f"the positive class of every run is {mine} here, as of {runs[0].name}; in the evaluation "
        f"of some it is {', '.join(others)}."
    ]
