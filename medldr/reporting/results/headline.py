"""The split whose numbers represent a run, and the domains it was tested on."""

from __future__ import annotations

from medldr.evaluation.subgroups import FEWEST
from medldr.folders.evaluation_record import DomainRecord, EvaluationRecord, SplitRecord
from medldr.types import SPLIT_TITLES

TESTS = ("test", "id_test")


def headline_split(evaluation: EvaluationRecord | None) -> str:
    """The split at the top of a page: the test split, or what comes nearest; empty without any.

    Example:
        >>> scored = {"val": SplitRecord(), "test": SplitRecord()}
        >>> headline_split(EvaluationRecord(task="binary", splits=scored)), headline_split(None)
        ('test', '')
    """
    return "" if evaluation is None else next(iter(page_order(evaluation)), "")


def headline(evaluation: EvaluationRecord | None) -> SplitRecord | None:
    """The numbers of that split."""
    return None if evaluation is None else evaluation.splits.get(headline_split(evaluation))


def seen_split(evaluation: EvaluationRecord) -> str:
    """The split of the seen domains: the one that the gap was measured from, else id_test."""
    return "id_test" if evaluation.gap is None else evaluation.gap.seen


def page_order(evaluation: EvaluationRecord) -> dict[str, SplitRecord]:
    """Its splits in the order in which a page shows them."""
    names = [name for name in SPLIT_TITLES if name in evaluation.splits]
    return {name: evaluation.splits[name] for name in dict.fromkeys([*names, *evaluation.splits])}


def tested_domains(evaluation: EvaluationRecord) -> dict[str, DomainRecord]:
    """Every domain that was tested on: those of the headline split, then of the seen one.

    Returns:
        The numbers of each by its title; a domain of two splits has the split in its second title.
    """
    name = headline_split(evaluation)
    found: dict[str, DomainRecord] = {}
    others = (*TESTS, seen_split(evaluation)) if name in TESTS else ()
    for split in dict.fromkeys((name, *others)):
        record = evaluation.splits.get(split, SplitRecord())
        for domain, entry in record.domains.items():
            title = domain
            if domain in found or split not in (name, *TESTS):
                title = f"{domain} ({SPLIT_TITLES.get(split, split).lower()})"
            found[title] = entry
    return found


def large_domains(evaluation: EvaluationRecord) -> dict[str, DomainRecord]:
    """Those of at least `FEWEST` images."""
    return {n: of for n, of in tested_domains(evaluation).items() if (of.n or 0) >= FEWEST}


def target_value(evaluation: EvaluationRecord | None, target: str, metric: str) -> float | None:
    """A metric on target_in, target_out or target_all; None where it was not evaluated.

    Args:
        evaluation: The evaluation of the run.
        target: The part of the test split.
        metric: The metric.
    """
    if evaluation is None:
        return None
    part = "" if target == "target_all" else target
    return evaluation.scores.value("test", metric, part=part)
