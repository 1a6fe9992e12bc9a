"""What a run's page and terminal say first: whether this network is worth anything, and where.

A number stands beside what guessing reaches: always the most frequent class, or an AUC of 0.5. The
network is better than guessing where the whole interval lies above that, and nowhere else. One run
is one network, so nothing here is said of a method.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import numpy as np

from medldr.evaluation import class_mix
from medldr.evaluation.comparison.comparison import Collapse, Size
from medldr.evaluation.comparison.findings import direction
from medldr.evaluation.gap import notes
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.metrics.counts import degenerate
from medldr.evaluation.subgroups import FEWEST
from medldr.folders.evaluation_record import (
    DomainRecord,
    EvaluationRecord,
    GapRecord,
    Number,
    SplitRecord,
)
from medldr.metrics import metric_facts
from medldr.reporting.document import Banner, Verdict
from medldr.reporting.prose import sentence, words
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.class_mix import Chance, chance, mix_of
from medldr.reporting.results.headline import TESTS, headline, headline_split, large_domains
from medldr.reporting.sections.basis import collapse_banner, collapse_texts
from medldr.reporting.sections.rows import chance_heading
from medldr.reporting.wording import SHOTS, bracketed, leading_metrics, points_text, split_name

Worth = Literal["better than guessing", "worse than guessing", "not clearly better than guessing"]

PAIR: Final = ("sensitivity_at_specificity", "specificity_at_threshold")
"""What a threshold gives; one half says nothing without the other."""
AGREEMENT: Final = {"quadratic_kappa": 0.0, "mcc": 0.0}
"""Metrics of which guessing gives 0 by their definition."""


def guessing(scored: EvaluationRecord, part: SplitRecord | DomainRecord) -> Chance | None:
    """What an answer that ignores the image reaches; None where the mix of classes is unknown."""
    found = chance(Size(part.n or 0, class_shares=mix_of(part)), scored.task)
    return found and found._replace(values={**found.values, **AGREEMENT})


def leading(scored: EvaluationRecord) -> tuple[str, ...]:
    """The metrics of the first table: the primary one, then what the mix of classes calls for.

    Example:
        >>> counts = {"ill": {"n": 1, "known": 9}, "well": {"n": 8, "known": 9}}
        >>> split = SplitRecord(class_counts=counts)
        >>> leading(EvaluationRecord(task="binary", splits={"test": split}))[0]
        'auc'
    """
    shares = [] if (split := headline(scored)) is None else list(mix_of(split).values())
    stated = [] if scored.primary is None else [scored.primary]
    found = [*stated, *leading_metrics(scored.task, shares)]
    keys = (each for key in found for each in (PAIR if key in PAIR else (key,)))
    return (*dict.fromkeys(keys), *(SHOTS if scored.shots is not None else ()))


def worth(number: Number, guess: float) -> Worth:
    """Where an interval lies, seen from what guessing reaches.

    Example:
        >>> worth(Number(value=0.8, low=0.7, high=0.9), 0.5)
        'better than guessing'
        >>> worth(Number(value=0.8, low=0.4, high=0.9), 0.5), worth(Number(value=0.8), 0.5)
        ('not clearly better than guessing', 'not clearly better than guessing')
    """
    if number.value is None or number.low is None or number.high is None:
        return "not clearly better than guessing"
    ends = Estimate(number.value - guess, low=number.low - guess, high=number.high - guess)
    side = direction(ends)
    if side == "unclear":
        return "not clearly better than guessing"
    return "better than guessing" if side == "higher" else "worse than guessing"


def verdict(files: RunFiles) -> Verdict:
    """The answer of a run's page: what ended badly first, then the test result."""
    return scored_verdict(files.evaluation, _ending(files))


def _ending(files: RunFiles) -> tuple[str, str]:
    """How a run ended that did not end well, in a word and in a sentence; empty for the others."""
    status = "" if files.record is None else files.record.status
    said = words("endings").get(status)
    error = files.facts.get("error")  # without ids, unlike that of the record
    return (status, f"{said}{f' ({error})' if error else ''}.") if said else ("", "")


def scored_verdict(scored: EvaluationRecord | None, ending: tuple[str, str] = ("", "")) -> Verdict:
    """The same of an evaluation alone.

    Args:
        scored: How the run was evaluated; None if it was not.
        ending: A word and a sentence for a run that did not end well.
    """
    split = headline(scored)
    keys: tuple[str, ...] = ()
    if scored is not None and split is not None:
        keys = tuple(key for key in leading(scored) if key in split.metrics)
    if scored is None or split is None or not keys:
        text = ending[1] or sentence("no_evaluation")
        more = (sentence("no_evaluation"),) if ending[1] else ()
        return Verdict(ending[0] or "not evaluated", text, "bad" if ending[1] else "open", more)
    guess = guessing(scored, split)
    levels = {} if guess is None else guess.values
    judged = next((key for key in keys if key in levels), "")
    found = worth(split.metrics[judged], levels[judged]) if judged else None
    few = too_few(split, split.unit) if found else ""
    found = "not clearly better than guessing" if few else found
    word: str = found or "described"
    text = f"{_number(scored, keys[0], split.metrics[keys[0]])} on {_where(scored, split)}"
    if judged not in ("", keys[0]):
        text += f"; {_number(scored, judged, split.metrics[judged])}"
    text += (
        f"; guessing reaches {metric_facts(judged).with_unit(levels[judged])}." if found else "."
    )
    text += f" {few.capitalize()} to tell." if few else ""
    tone: Literal["good", "bad", "open"] = "open"
    if ending[0]:
        word, text, tone = ending[0], f"{ending[1]} {text}", "bad"
    elif headline_split(scored) not in TESTS:
        here = split_name(headline_split(scored)).lower()
        word, text = "no test result", f"{sentence('no_test_split', split=here)} {text}"
    elif scored.selection is not None and scored.selection.oracle:
        word = "optimistic"
        text = f"{sentence('run_oracle', rule=scored.selection.rule)} {text}"
    elif found and found != "not clearly better than guessing":
        tone = "good" if found == "better than guessing" else "bad"
    return Verdict(
        word, text, tone, tuple(filter(None, _more(scored, split, judged or keys[0], guess)))
    )


def _where(scored: EvaluationRecord, split: SplitRecord) -> str:
    size = Size(split.n, split.n_groups, unit=split.unit or "").counts.split(" ", 1)
    text = f"{size[0]} {split_name(headline_split(scored)).lower()} {size[1]}"
    return f"{text} from {', '.join(split.domains)}, unseen in training" if split.unseen else text


def _number(scored: EvaluationRecord, key: str, number: Number) -> str:
    known = metric_facts(key)
    if number.value is None:
        return f"{known.title} is undefined ({number.reason})"
    ends = bracketed(number, known, scored.level, unit="%" if known.percent else "")
    return f"{known.title} {known.with_unit(number.value)}{ends}"


def _more(
    scored: EvaluationRecord, split: SplitRecord, key: str, guess: Chance | None
) -> Iterator[str]:
    yield pair_text(scored, split)
    auc, drawn = split.metrics.get("auc"), len(large_domains(scored)) < 2
    if key != "auc" and scored.task == "binary" and drawn and auc and auc.value is not None:
        yield f"{_number(scored, 'auc', auc)}."  # the ROC curve is the figure
    if key != "accuracy" and "accuracy" in split.metrics:
        beside = f"{_number(scored, 'accuracy', split.metrics['accuracy'])}"
        level = None if guess is None else guess.values["accuracy"]
        shown = "" if level is None else metric_facts("accuracy").with_unit(level)
        what = "" if guess is None else chance_heading(guess).lower()
        yield f"{beside}; {what}: {shown}." if level is not None else f"{beside}."
    yield _unseen_text(scored, split, key)
    yield gap_sentence(scored, key)


def pair_text(scored: EvaluationRecord, split: SplitRecord) -> str:
    """What the threshold from validation gives, both halves; empty where there is none.

    Example:
        >>> point = {"specificity": 0.9, "threshold": 0.4, "split": "val"}
        >>> numbers = {PAIR[0]: Number(value=0.85), PAIR[1]: Number(value=0.59)}
        >>> split = SplitRecord(metrics=numbers)
        >>> pair_text(EvaluationRecord(task="binary", splits={}, operating_point=point), split)
        'Sensitivity 85.0% at specificity 59.0% (threshold set for 90% specificity on validation).'
    """
    values = [split.metrics[key].value for key in PAIR if key in split.metrics]
    if scored.task != "binary" or len(values) < len(PAIR) or None in values:
        return ""
    show = metric_facts("sensitivity").with_unit
    shown = [show(value) for value in values if value is not None]
    return f"Sensitivity {shown[0]} at specificity {shown[1]} ({threshold_text(scored)})."


def threshold_text(scored: EvaluationRecord) -> str:
    """What the threshold of a binary task was set for, and where."""
    point = scored.operating_point
    if point is None or point.specificity is None:
        return "threshold set on validation"
    here = split_name(point.split or "val").lower()
    return f"threshold set for {100 * point.specificity:g}% specificity on {here}"


def _unseen_text(scored: EvaluationRecord, split: SplitRecord, key: str) -> str:
    """In which of several unseen domains the network is better than guessing."""
    found: dict[str, list[str]] = {}
    for name, entry in split.domains.items():
        level = guessing(scored, entry)
        if not entry.seen and level is not None and key in level.values and key in entry.metrics:
            few = too_few(entry, split.unit)
            what = few or worth(entry.metrics[key], level.values[key])
            found.setdefault(what, []).append(name)
    if sum(map(len, found.values())) < 2:
        return ""
    told = "; ".join(f"{what} in {', '.join(names)}" for what, names in found.items())
    return f"{metric_facts(key).title} by unseen domain: {told}."


def banners(files: RunFiles) -> list[Banner]:
    """Degenerate predictions, marks of the record, images that were left out."""
    found = [] if files.evaluation is None else collapses(files.evaluation)
    texts = [*([] if files.record is None else files.record.marks), *files.problems]
    if files.skipped_files:
        what = "file was" if files.skipped_files == 1 else "files were"
        texts.append(f"{files.skipped_files} unreadable {what} left out; see bad_files.csv.")
    return found + [Banner("warning", text) for text in texts]


def collapses(scored: EvaluationRecord) -> list[Banner]:
    """What no accuracy of the headline split should be read without."""
    split, name = headline(scored), headline_split(scored)
    wrong = None if split is None else degenerate(split.decided, scored.class_names)
    found = [] if wrong is None else [Collapse(name, "This run", 0, *wrong)]
    return collapse_banner(collapse_texts(found, {"This run": (0,)}), split_name(name).lower())


def too_few(part: SplitRecord | DomainRecord, unit: str | None) -> str:
    """Why no interval of a part says anything; empty where it may.

    So few images (or groups, where the bootstrap draws these) may all be right in every draw.

    Args:
        part: A split or a domain.
        unit: What the bootstrap draws.

    Example:
        >>> too_few(SplitRecord(n=4), "item"), too_few(SplitRecord(n=40, n_groups=3), "group")
        ('too few images (4)', 'too few groups (3)')
        >>> too_few(SplitRecord(n=40, n_groups=3), "item")
        ''
    """
    grouped = unit == "group" and part.n_groups is not None
    count = (part.n_groups if grouped else part.n) or 0
    return f"too few {'groups' if grouped else 'images'} ({count})" if count < FEWEST else ""


def gap_sentence(evaluation: EvaluationRecord, metric: str = "accuracy") -> str:
    """Seen minus unseen of one run, with a direction only where its interval excludes zero.

    Args:
        evaluation: How the run was evaluated.
        metric: The metric.

    Returns:
        Nothing where it was not measured, or a split that it names is not in the record.
    """
    gap = evaluation.gap
    number = None if gap is None else gap.metrics.get(metric)
    if gap is None or number is None or number.value is None:
        return ""
    if not {gap.seen, gap.unseen} <= set(evaluation.splits):
        return ""
    known, splits = metric_facts(metric), [evaluation.splits[n] for n in (gap.seen, gap.unseen)]
    if few := next(filter(None, (too_few(of, of.unit) for of in splits)), ""):
        return f"{known.title}: {few} to compare seen and unseen domains."
    said = {
        "higher": "lower in unseen domains",
        "lower": "higher in unseen domains",
        "unclear": "no clear difference between seen and unseen domains",
    }[direction(Estimate.of(number))]
    text = f"{known.title}: {said}; seen ({split_name(gap.seen).lower()}) minus unseen (test) "
    text += points_text(number.value, metric)
    text += bracketed(number, known, evaluation.level, signed=True)
    return " ".join(filter(None, (f"{text}.", _reservations(evaluation, gap))))


def _reservations(evaluation: EvaluationRecord, gap: GapRecord) -> str | None:
    """What else a gap may come from, by today's rule, whatever its file says."""
    seen, unseen = (evaluation.splits[name] for name in (gap.seen, gap.unseen))
    ours, theirs = mix_of(seen), mix_of(unseen)
    names = [name for name in ours if name in theirs]
    mixes = [np.array([of[name] for name in names]) for of in (ours, theirs)]
    mix = class_mix.note(mixes[0], mixes[1], names, evaluation.task, (seen.n, unseen.n))
    return notes(gap.seen, [evaluation.selection], shared=gap.shared_groups, mix=mix)
