"""Finished runs side by side: means over seeds, intervals, and paired differences.

Runs whose configurations differ only in the seed are one *method*. Everything is recomputed from
the runs' predictions, with the bootstrap settings, positive class, specificity and bins of the
first run. Intervals and p of several seeds come from `medldr.evaluation.intervals.inference`; a
single run has the interval of its own evaluation and no p. `compare` returns plain values:

``schema``, ``task``, ``class_names``, ``positive_class``, ``intervals``, ``calibration``, \
``definitions``
    As in `evaluation.json`.
``reference``
    Name of the method that all others are compared with: method minus reference.
``methods``
    One dict per method: ``method`` (its name), ``label``, ``hash``, ``seeds``, ``runs`` (folder
    names), ``protocol``, ``precision``, ``data_hash``, ``split_hash`` (of its first run),
    ``selection`` (rule), ``oracle``, ``same_protocol`` (as the reference), ``footnotes``
    (numbers, from 1, into ``footnotes``).
``splits``
    By split: ``n``, ``n_groups``, ``unit``, ``few_groups``, ``absent_classes``,
    ``class_shares`` (class -> its share of the items; label -> share of positives),
    ``domains`` (name -> ``n``, ``n_groups``, ``few_groups``, ``unit``, ``class_shares``).
``rows``
    A flat list, one dict per split, domain, metric and method: ``split``, ``domain`` (None for
    the whole split), ``seen`` (of that domain, in that method; None for the whole split),
    ``metric``, ``method``, ``runs`` (how many), ``values`` (one per run), ``mean``, ``sd``
    (ddof 1; None for one run), ``low``, ``high``, ``reason`` (why undefined, or why without an
    interval), ``noise`` (of a calibration error, as in `evaluation.json`; else None), ``variance``
    (its sources, as `Variance.written`), ``few_groups``, ``difference``: None for the reference,
    else ``value``, ``low``, ``high``, ``reason``, ``p`` (None for single seeds and oracles),
    ``p_holm`` (None for controls too), ``share_of_seeds`` (of its variance), ``variance``. Holm's
    correction is over the methods of one column, that is one split, domain and metric. The metric
    ``worst_domain`` is the lowest accuracy of any domain, and ``worst_group``, where every run was
    scored by group, that of any group; neither has an interval. Where every run scored groups in
    place of images in the same way, ``by_group/<metric>`` is that, inferred with groups as units.
``gaps``
    A seen split minus ``test`` per ``metric`` and ``method``: ``seen`` (its name: ``id_test``,
    else ``id_val``), ``value``, ``low``, ``high``, ``reason``, ``note`` (None, or why it is too
    large or no pure shift: the seen split chose the weights, shares groups with the training
    images, or has another class mix); how much is lost on domains without training rows. Empty
    without such a split, or where `test` is of seen domains.
``contrasts``
    One dict per split, domain, metric and requested pair: ``split``, ``domain``,
    ``metric``, ``method``, ``minus`` (the other method), ``value``, ``low``, ``high``,
    ``reason``, ``p``, ``p_holm``, ``share_of_seeds``, ``variance``. Holm's correction is over the
    pairs of one column.
``pairs``
    One dict per split, metric with a best value, and two methods that compete (neither control nor
    oracle): as ``contrasts``, without a correction and on the whole split alone. From these a table
    knows which methods are clearly worse than the best.
``degenerate``
    One dict per split and run that predicts a single class, or never one that occurs: ``split``,
    ``method``, ``seed``, ``only`` (the class that is predicted for every item; empty), ``lost``
    (names of classes with items but without recall, and their numbers of items).
``classes``
    Recall of single classes; of labels at 0.5, and ``sensitivity_at_specificity`` and
    ``specificity_at_threshold`` at each run's own thresholds. One dict per split, class, metric and
    method: ``split``, ``class``, ``n`` (its items, or positives), ``n_groups``, ``metric``,
    ``method``, ``runs``, ``values``, ``mean``, ``sd``, ``low``, ``high``, ``reason``, ``noise``,
    ``variance``.
``footnotes``
    Sentences on methods that differ from the reference in protocol (another id, not a changed pin),
    augmentation, precision, data or splits (those of the same seed), in how it was trained
    (learning rate, images of a step, steps, sampler), or in what ran: version of medldr or torch,
    state of the code, device; and on every method whose probabilities were recalibrated.
``margin``
    Only where one was asked for: ``metric`` and ``value``, a difference of its values. Each
    ``difference`` of that metric then has ``non_inferiority``: a `findings.Verdict`, or None where
    there is no interval, or where the method or the reference was selected on the test split.
``missing``
    Runs without a result: ``run`` and ``reason``. Tables list them too.
``notes``
    What readers should know about the comparison as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec

from medldr.errors import InputError, did_you_mean, some
from medldr.evaluation import class_mix, gap
from medldr.evaluation.comparison.comparison import (
    Comparison,
    Difference,
    Gap,
    Margin,
    Method,
    Missing,
)
from medldr.evaluation.comparison.delong import delong_notes
from medldr.evaluation.comparison.findings import margin_of, verdict
from medldr.evaluation.comparison.notes import footnotes, other_positive_class
from medldr.evaluation.comparison.plain_values import plain_values
from medldr.evaluation.comparison.runs import (
    FACTS,
    MethodRuns,
    Run,
    follows_seed,
    load_run,
    methods,
    same_items,
    same_task,
)
from medldr.evaluation.comparison.scoring import Settings, aggregates, of_groups
from medldr.evaluation.comparison.split_comparison import SplitComparison
from medldr.evaluation.frequency import shots_notes
from medldr.evaluation.from_predictions import split_notes
from medldr.evaluation.primary import changed, primary_of
from medldr.folders.files import RunFolder
from medldr.metrics import BY_GROUP, metric_facts

P = ParamSpec("P")
SPLITS = ("id_test", "test")


def make_comparison(
    runs: Sequence[Path | str | RunFolder | Run],
    *,
    reference: str | None = None,
    splits: Sequence[str] = SPLITS,
    contrasts: Sequence[tuple[str, str]] = (),
    controls: Collection[str] = (),
    margin: float | None = None,
    metric: str | None = None,
    tuned: Mapping[str, Collection[str]] | None = None,
) -> Comparison:
    """Compare finished runs.

    Args:
        runs: Run folders, or runs that are already loaded.
        reference: Name of the method that others are compared with; unset: the first one.
        splits: Splits to compare; any split that a run lacks is left out, with a note.
        contrasts: Further pairs of methods to compare, by name: the first minus the second.
        controls: Methods that explain others; Holm's correction does not count them.
        margin: How much worse than the reference a method may be and still count as non-inferior,
            in the unit in which the metric is printed; unset: nothing is said about that.
        metric: The metric that the margin is of; unset: the primary one.
        tuned: By method, what of its training was chosen on validation, as `footnotes` takes it.

    Raises:
        InputError: If no run has a result, they were not evaluated on the same items, or the margin
            judges nothing.
    """
    loaded, missing = _load(runs)
    same_task(loaded)
    compared = methods(loaded)
    base = compared[0] if reference is None else _named(compared, reference)
    pairs = [(_named(compared, one), _named(compared, other)) for one, other in contrasts]
    shared, moving = _splits([run for method in compared for run in method.runs], splits)
    settings = Settings.of(loaded[0], loaded[1:])
    by_split = {s: SplitComparison(s, compared, base, settings) for s in shared if s not in moving}
    every = [*by_split.values(), *_by_group(list(by_split), compared, base, settings)]
    notes = [
        f"{s} is left out because some runs do not have it."
        for s in splits
        if s not in shared and any(s in run.predictions for run in loaded)
    ]
    notes += [
        f"{split}: the worst group is left out because some runs were not scored by group."
        for split, one in by_split.items()
        if not one.per_group and one.some_by_group
    ]
    how = dict.fromkeys(aggregates(loaded))
    if len(how) > 1:
        notes.append(
            "scores by group are left out because runs differ in evaluation.aggregate "
            f"({', '.join(each or 'none' for each in how)}); `medldr evaluate` scores a run again."
        )
    notes += other_positive_class(loaded)
    if all("id_val" in run.predictions for run in loaded) and not same_items(loaded, "id_val"):
        moving = ["id_val", *moving]
    notes += [
        f"{s}: not compared, because its items differ between runs (the splits depend on the seed)."
        for s in moving
    ]
    notes += _changed_primary(loaded) + shots_notes([run.evaluation for run in loaded])
    notes += [n for s, one in by_split.items() for n in split_notes(s, one.per_run[0])]
    notes += [note for one in by_split.values() for note in delong_notes(one)]
    texts, marks = footnotes(compared, base, tuned)
    scored = loaded[0].evaluation
    made = Comparison(
        task=scored.task,
        class_names=tuple(scored.class_names),
        positive_class=scored.positive_class,
        intervals=scored.intervals,
        calibration=scored.calibration,
        reference=base.name,
        methods=tuple(
            _describe(method, base, [texts[n - 1] for n in marks[method.name]])
            for method in compared
        ),
        splits={split: one.size() for split, one in by_split.items()},
        scores=tuple(score for one in every for score in one.means()),
        gaps=tuple(_gaps(by_split, compared, base, settings)),
        differences=tuple(d for one in every for d in one.differences(pairs, controls)),
        collapses=tuple(run for one in by_split.values() for run in one.collapses()),
        footnotes=tuple(texts),
        missing=tuple(missing),
        notes=tuple(notes),
        primary=primary_of(run.evaluation for run in loaded),
    )
    return made if margin is None else _judged(made, metric or made.primary, margin)


def _plainly(make: Callable[P, Comparison]) -> Callable[P, dict[str, Any]]:
    def made(*args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        return plain_values(make(*args, **kwargs))

    return made


compare = _plainly(make_comparison)
"""`make_comparison` as plain values, as described for the module; it takes the same options."""


def _changed_primary(runs: Sequence[Run]) -> list[str]:
    """Whose primary metric was changed after training began, change by change."""
    said: dict[str, list[str]] = {}
    for run in runs:
        if text := changed(run.facts, run.evaluation):
            said.setdefault(text, []).append(run.name)
    return [f"{', '.join(names)}: {text}" for text, names in said.items()]


def _by_group(
    splits: Sequence[str], compared: Sequence[MethodRuns], base: MethodRuns, settings: Settings
) -> list[SplitComparison]:
    """The same of groups in place of images; empty where not all runs scored them, or alike."""
    if not settings.aggregate:
        return []
    rows = {m.name: MethodRuns(m.name, of_groups(m.runs, settings)) for m in compared}
    methods = list(rows.values())
    return [SplitComparison(s, methods, rows[base.name], settings, BY_GROUP) for s in splits]


def _splits(runs: Sequence[Run], asked: Sequence[str]) -> tuple[list[str], list[str]]:
    """Splits that all runs have, and those not compared since their items follow the seed.

    Seen items that depend on the seed must not block the comparison on the unseen domain.
    """
    shared = [s for s in asked if all(s in run.predictions for run in runs)]
    if not shared:
        raise InputError(
            f"none of the splits {', '.join(asked)} is in the predictions of every run: "
            + "; ".join(f"{run.name} has {', '.join(run.predictions)}" for run in runs)
        )
    moving = []
    if gap.UNSEEN in shared:
        moving = [s for s in shared if s != gap.UNSEEN and follows_seed(runs, s)]
    return shared, moving


def _judged(made: Comparison, metric: str, margin: float) -> Comparison:
    """A comparison with a verdict on every difference of one metric from the reference."""
    names = sorted({score.metric for score in made.scores})
    if metric not in names:
        raise InputError(
            f"margin: this comparison has no metric {metric!r}.{did_you_mean(metric, names)} "
            f"Known: {some(names)}"
        )
    value, facts = margin_of(metric, margin), metric_facts(metric)
    oracles = {method.name for method in made.methods if method.oracle}

    def judged(d: Difference) -> Difference:
        if (d.family, d.metric) != ("reference", metric) or {d.method, d.minus} & oracles:
            return d
        found = verdict(d.estimate, value, facts)
        return d._replace(non_inferiority="cannot tell" if found and d.untested else found)

    differences = tuple(map(judged, made.differences))
    return replace(made, differences=differences, margin=Margin(metric, value))


def _load(
    runs: Sequence[Path | str | RunFolder | Run],
) -> tuple[list[Run], list[Missing]]:
    finished, missing = list[Run](), list[Missing]()
    for given in runs:
        run = given if isinstance(given, Run) else load_run(given)
        if isinstance(run, Run):
            finished.append(run)
        else:
            path = given.path if isinstance(given, RunFolder) else Path(str(given))
            missing.append(Missing(path.resolve().name, run))
    if not finished:
        reasons = "".join(f"\n  {one.run}: {one.reason}" for one in missing)
        raise InputError(f"none of the {len(missing)} runs has a result to compare.{reasons}")
    return finished, missing


def _named(methods: Sequence[MethodRuns], name: str) -> MethodRuns:
    names = [method.name for method in methods]
    if name not in names:
        raise InputError(
            f"there is no method {name!r} to compare with.{did_you_mean(name, names)} "
            f"Known: {some(names)}"
        )
    return methods[names.index(name)]


def _gaps(
    by_split: Mapping[str, SplitComparison],
    compared: Sequence[MethodRuns],
    base: MethodRuns,
    settings: Settings,
) -> Iterator[Gap]:
    runs = [run for method in compared for run in method.runs]
    scored = [run.evaluation.splits.get(gap.UNSEEN) for run in runs]
    unseen = all(entry is not None and entry.unseen for entry in scored)
    splits = {gap.UNSEEN, "id_test"} & set(by_split)
    splits |= {"id_val"} if same_items(runs, "id_val") else set()
    split = gap.seen_split(splits, unseen=unseen)
    if split is None:
        return
    inside = by_split.get(split) or SplitComparison(split, compared, base, settings)
    outside = by_split[gap.UNSEEN]
    one, other = inside.per_run[0], outside.per_run[0]
    sizes = len(one.table), len(other.table)
    mix = class_mix.note(one.shares, other.shares, one.table.class_names, one.table.task, sizes)
    for name in inside.per_run[0].headline:
        for method in compared:
            key = method.name, name
            seen, unseen_scores = inside.scores[key], outside.scores[key]
            reason = inside.reasons.get(key) or outside.reasons.get(key)
            units = inside.units(name), outside.units(name)
            chosen = [run.evaluation.selection for run in method.runs]
            note = gap.notes(split, chosen, shared=any(map(_shared, method.runs)), mix=mix)
            lost_by = gap.difference(name, seen, unseen_scores, units, reason)
            yield Gap(name, method.name, split, lost_by, note or "")


def _shared(run: Run) -> bool:
    """Whether the seen split of a run shares groups with its training images."""
    return run.evaluation.gap is not None and run.evaluation.gap.shared_groups


def _describe(method: MethodRuns, base: MethodRuns, notes: Sequence[str]) -> Method:
    first = method.runs[0]
    selection = first.evaluation.selection
    return Method(
        method.name,
        label=first.label,
        hash=first.hash,
        seeds=tuple(run.seed for run in method.runs),
        runs=tuple(run.name for run in method.runs),
        **{fact: getattr(first.facts, fact) for fact in FACTS},
        selection=None if selection is None else selection.rule,
        oracle=method.oracle,
        same_protocol=first.facts.protocol == base.runs[0].facts.protocol,
        footnotes=tuple(notes),
    )
