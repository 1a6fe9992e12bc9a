"""The drop in performance from seen to unseen domains: a seen split minus the test split.

The seen split is ``id_test``. A data set without one may still have ``id_val``, held-back rows of
the training domains, as Camelyon17 has. It is used only where no domain of the test split was seen
in training. Where it chose the weights being evaluated, or shares groups (slides, patients) with
the training rows, the gap is optimistic for the seen side, and a note says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.intervals.inference import Scores, inferred, of_gap
from medldr.evaluation.intervals.single_run import BIASED
from medldr.folders.run_record import Selection
from medldr.metrics import metric_facts
from medldr.types import SPLIT_TITLES

UNSEEN: Final = "test"


def seen_split(splits: Collection[str], *, unseen: bool) -> str | None:
    """The split that represents the seen domains; None where there is none.

    Args:
        splits: Splits that were evaluated.
        unseen: Whether every domain of the test split is unseen.

    Example:
        >>> seen_split(["id_val", "id_test", "test"], unseen=True)
        'id_test'
        >>> [seen_split(["id_val", "test"], unseen=unseen) for unseen in (True, False)]
        ['id_val', None]
    """
    if UNSEEN not in splits:
        return None
    if "id_test" in splits:
        return "id_test"
    return "id_val" if unseen and "id_val" in splits else None


def notes(
    seen: str,
    selections: Iterable[Selection | None],
    *,
    shared: bool = False,
    mix: str | None = None,
) -> str | None:
    """All that a reader of a gap must know; None where there is nothing.

    Args:
        seen: The seen split.
        selections: What chose the weights of each run.
        shared: Whether groups of the split are also among the training rows.
        mix: How its class mix differs from that of the unseen split, if it does.

    Example:
        >>> from medldr.folders.run_record import Selection
        >>> other, same = (Selection(rule="val_auc", split=name) for name in ("val", "id_val"))
        >>> notes("id_val", [other]), notes("id_test", [same])
        (None, None)
        >>> notes("id_val", [same])
        'Validation, seen domains, chose the weights: the gap is biased upwards.'
        >>> notes("id_val", [other], shared=True)
        'Validation, seen domains, shares groups with training: the gap is biased upwards.'
    """
    chose = any(s is not None and s.split == seen for s in selections)
    influences = ["chose the weights"] if chose else []
    influences += ["shares groups with training"] if shared else []
    title = SPLIT_TITLES.get(seen, seen)
    biased = f"{title}, {' and '.join(influences)}: the gap is biased upwards."
    return " ".join(filter(None, (biased if influences else None, mix))) or None


def difference(
    metric: str, seen: Scores, unseen: Scores, units: tuple[int, int], reason: str | None
) -> Estimate:
    """A seen number minus an unseen one, with its interval; the splits are resampled separately.

    Args:
        metric: What it is of.
        seen: A method on the seen split, one value per seed.
        unseen: The same seeds on the unseen one.
        units: Test units of the two splits.
        reason: Why it is undefined, used only if it is.
    """
    variance = BIASED if metric_facts(metric).biased else of_gap(seen, unseen, units)
    span = metric_facts(metric).span
    return inferred(seen.mean - unseen.mean, variance, reason=reason or "", span=span)
