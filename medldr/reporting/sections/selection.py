"""The section on choosing: what each rule picks for each held-out domain, and what it reaches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from medldr.config.sections import later_stages, swad_form
from medldr.evaluation.intervals.estimate import Estimate, spread
from medldr.evaluation.setting_choice import validation
from medldr.evaluation.setting_selection import (
    RULES,
    Choice,
    Evaluated,
    Missing,
    Trained,
    choose,
    choose_per_seed,
    mean_of_choices,
)
from medldr.folders.metrics_log import LogRow, last_stage
from medldr.folders.sweep_record import JOINT
from medldr.metrics import metric_facts
from medldr.reporting.document import Bullets, Paragraph, Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.run import RunFiles, show
from medldr.reporting.read.study import Pick, Study, titled
from medldr.reporting.results.frame import HeldRun, held_runs, set_domains
from medldr.reporting.results.headline import target_value
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.wording import TARGETS

ACCURACY = metric_facts("accuracy")
NAMED = 4
"""Settings without every run that a footnote names."""


def selection(study: Study) -> Section | None:
    """None where the sweep neither searches among settings nor scored held-out parts on the way.

    Which setting the main tables show comes first, then a table per data set of what each rule
    would have chosen. A draw of a random search that was
    chosen stands with its values.
    """
    own = study.layout.search_per_seed
    found = candidates(study)
    # All methods of a set or none: one whose rules agree in every run is a result too.
    sets = dict.fromkeys(c.dataset for c in found if study.picks or has_curves(c.runs))
    tables = [
        choice_table([c for c in found if c.dataset == dataset], per_seed=own) for dataset in sets
    ]
    seeds = "choice_own_seeds" if own else "choice_seeds"
    rules = ("choice_rules", "choice_oracles", seeds) if any(tables) else ()
    words = [Paragraph(sentence(name)) for name in rules]
    picks = (Bullets(_lead(study)), pick_table(study)) if study.picks else (None, None)
    scores = validation_table(study)
    most = max((pick.settings for pick in study.picks), default=1)
    return section("sweep", "choice", picks[0], *words, picks[1], scores, *tables, settings=most)


def pick_table(study: Study) -> Table:
    """The setting of each method, column by column, that the main tables show."""
    columns = list(dict.fromkeys(pick.column for pick in study.picks))
    texts = tuple(range(1, 1 + len(columns)))
    caption = "Settings shown in the main tables"
    table = Table(caption, ["Method", *columns], texts=texts, intervals=False)
    by_place: dict[tuple[str, str], list[Pick]] = {}
    for pick in study.picks:
        by_place.setdefault((pick.row, pick.column), []).append(pick)
    for row in dict.fromkeys(pick.row for pick in study.picks):
        cells = [_picks(table, study, by_place.get((row, column), [])) for column in columns]
        table.rows.append(Row(row, cells))
    return table


def _picks(table: Table, study: Study, picks: Sequence[Pick]) -> Cell:
    """What was chosen for a cell: one setting, or one of each seed."""
    cells = [_pick(table, study, pick) for pick in picks]
    if len(cells) < 2:
        return cells[0] if cells else Cell()
    texts = [f"{cell.content} (seed {p.seed})" for cell, p in zip(cells, picks, strict=True)]
    signs = [sign for cell in cells for sign in cell.mark.split(",") if sign]
    return Cell(", ".join(texts), mark=table.mark(signs))


def _pick(table: Table, study: Study, pick: Pick) -> Cell:
    signs = []
    if not pick.by:
        signs.append(table.sign("Not chosen: no setting has all runs; this one has the most."))
    if pick.incomplete:
        more = len(pick.incomplete) - NAMED
        names = "; ".join(map(JOINT.join, pick.incomplete[:NAMED]))
        names += f"; and {more} more" if more > 0 else ""
        signs.append(table.sign(f"Not considered because a run is missing: {names}."))
    text = titled(pick.setting, study.layout.titles)
    return Cell(text, detail=drawn_text(study, pick), mark=table.mark(signs))


def drawn_text(study: Study, pick: Pick) -> str:
    """The values that were drawn for a chosen setting; empty where nothing was.

    Args:
        study: The sweep.
        pick: The choice.
    """
    for entry in study.of(pick.row, pick.column):
        member = entry.member
        own = pick.seed is None or member.seed in (pick.seed, *study.layout.fresh_seeds)
        if entry.setting == pick.setting and own:
            return written(member.drawn)
    return ""


def written(values: Mapping[str, object]) -> str:
    """Drawn values as text.

    Example:
        >>> written({"training.lr": 3.2e-05, "model.dropout": 0.1, "training.clip_norm": None})
        'training.lr 3.2e-05, model.dropout 0.1, training.clip_norm unset'
    """
    return ", ".join(f"{key} {show(value)}" for key, value in values.items())


def validation_table(study: Study) -> Table | None:
    """Validation of each setting, mean and SD over seeds; None where there is nothing to choose."""
    apart = study.untested if study.fresh else ()
    picks = [p for p in study.picks if p.settings > 1 and p.row not in apart]
    columns = list(dict.fromkeys(pick.column for pick in picks))
    caption = "Validation of each setting, in %: mean and SD over seeds"
    table = Table(caption, ["Method and setting", *columns], intervals=False)
    rows: dict[str, dict[str, Cell]] = {}
    for row, column, choice in ((pick.row, pick.column, pick.choice) for pick in picks):
        for tried in choice.tried:
            own = study.layout.search_per_seed and len(tried.values) == 1
            name = f"{row}, {titled(tried.setting, study.layout.titles)}"
            name += f", seed {tried.seed}" if own else ""
            mean = validation(tried.values)
            cell = table.number("accuracy", None if mean is None else replace(mean, se=None))
            if (tried.setting, tried.seed) == (choice.setting, choice.seed):
                names = "; ".join(titled(each, study.layout.titles) for each in choice.tied)
                why = sentence("choice_tied", names=names) if names else "Chosen."
                cell = replace(cell, mark=table.sign(why))
            rows.setdefault(name, {})[column] = cell
    for name, cells in rows.items():
        table.rows.append(Row(name, [cells.get(column, Cell()) for column in columns]))
    table.notes += [f"Chosen by {by}." for by in dict.fromkeys(p.by for p in picks if p.by)]
    return table if table.rows else None


def choice_table(found: Sequence[Candidates], *, per_seed: bool = False) -> Table | None:
    """Methods and held-out domains down, rules across; None where no rule could choose.

    Args:
        found: The methods of one data set.
        per_seed: Whether each seed has settings of its own.
    """
    caption = f"{found[0].dataset}: {ACCURACY.heading} on {TARGETS['target_in']}, by selection rule"
    table = Table(caption, ["Method, held out", *RULES], intervals=False)
    any_choice, by_rule = False, choose_per_seed if per_seed else choose
    for of_method in found:
        several = len({run.setting for run in of_method.runs}) > 1
        chosen = {
            target: by_rule(of_method.runs, target, of_method.domains)
            for target in of_method.targets
        }
        for target, choices in chosen.items():
            any_choice = any_choice or any(choice.setting is not None for choice in choices)
            cells = [_cell(table, choice, named=several) for choice in choices]
            table.rows.append(Row(f"{of_method.method}, {target}", cells))
        if len(chosen) > 1:
            means = [mean_of_choices(of_rule) for of_rule in zip(*chosen.values(), strict=True)]
            heading = f"{of_method.method}, mean of {len(chosen)}"
            cells = [table.number("accuracy", mean) for mean in means]
            table.rows.append(Row(heading, cells, style="reference"))
    return table if any_choice else None


def _cell(table: Table, choice: Choice, *, named: bool) -> Cell:
    mark = table.sign(lacking) if (lacking := missing_text(choice)) else ""
    if choice.setting is None:
        return Cell(mark=mark)
    steps = [f"{step:,}" for step in dict.fromkeys(choice.steps.values())]
    what = f"step{'' if len(steps) == 1 else 's'} {' / '.join(steps)}"
    what = f"{choice.setting}, {what}" if named else what
    if not choice.numbers:
        reason = sentence("choice_unscored")
        return Cell(Estimate(reason=reason), detail=what, mark=mark or table.sign(reason))
    return Cell(replace(spread(choice.numbers), se=None), ACCURACY, detail=what, mark=mark)


def missing_text(choice: Choice) -> str:
    """Which runs a rule lacks, each held-out domain or pair of them once; empty if it has all.

    Example:
        >>> lost = [Missing(frozenset(["a", "b"]), "", seed) for seed in (0, 1)]
        >>> missing_text(Choice(RULES[1], missing=(*lost, Missing(frozenset("a"), "low", 1))))
        'No result, or no curve, for the runs that held out a + b (2 runs); a (low, seed 1).'
    """
    groups: dict[str, list[Missing]] = {}
    for lost in choice.missing:
        groups.setdefault(lost.domains, []).append(lost)
    texts = []
    for domains, runs in groups.items():
        one = ", ".join(filter(None, (runs[0].setting, f"seed {runs[0].seed}")))
        texts.append(f"{domains} ({one if len(runs) == 1 else f'{len(runs)} runs'})")
    start = "No result, or no curve, for the runs that held out "
    return f"{start}{'; '.join(texts)}." if texts else ""


def _lead(study: Study) -> list[str]:
    most = max(pick.settings for pick in study.picks)
    ways = ", ".join(dict.fromkeys(pick.by for pick in study.picks if pick.by)) or "nothing yet"
    own = study.layout.search_per_seed and (study.untested or not study.fresh)
    said = [sentence("choice_lead_seeds" if own else "choice_lead", most=most, ways=ways)]
    if study.fresh:
        seeds = ", ".join(map(str, study.layout.fresh_seeds))
        name = "choice_fresh_beside" if study.untested else "choice_fresh"
        return [*said, sentence(name, seeds=seeds)]
    return [*said, sentence("chosen_and_reported")] if study.untested else said


ORACLE_OUT = "oracle_out_accuracy"
"""The rule that takes the evaluation with the highest accuracy on target_out."""
AVERAGED = "swad"
"""A rule whose weights are of no single step."""
PARTS = ("target_in", "target_out")
_ON_A_PART = re.compile(r"held_out/(.+)/(target_in|target_out)/accuracy")


@dataclass(frozen=True)
class Candidates:
    """Runs of one method on one data set.

    Attributes:
        dataset: The data set.
        method: The method, as printed.
        domains: All domains of the data set.
        targets: Domains that were held out alone, in this order.
        runs: All of its runs, in the order of their settings.
    """

    dataset: str
    method: str
    domains: tuple[str, ...]
    targets: tuple[str, ...]
    runs: tuple[Trained, ...]


def candidates(study: Study) -> list[Candidates]:
    """Methods of every data set with held-out domains, set by set."""
    sets: dict[str, list[HeldRun]] = {}
    chose = [e for e in study.every if e.member.seed not in study.layout.fresh_seeds]
    for held in held_runs(study, chose):
        sets.setdefault(held.dataset, []).append(held)
    return [each for dataset, of_set in sets.items() for each in _of_set(study, dataset, of_set)]


def _of_set(study: Study, dataset: str, of_set: list[HeldRun]) -> Iterator[Candidates]:
    names = dict.fromkeys(domain for held in of_set for domain in held.domains)
    known = set_domains(dataset, [held.entry for held in of_set])
    # A set whose runs do not say its domains has those that were held out.
    domains = tuple(known if names.keys() <= set(known) else names)
    alone = dict.fromkeys(held.domains[0] for held in of_set if len(held.domains) == 1)
    for method in dict.fromkeys(held.row for held in of_set):
        runs = [held for held in of_set if held.row == method]
        targets = tuple(domain for domain in alone if any(r.domains == (domain,) for r in runs))
        settings = list(dict.fromkeys(held.entry.setting for held in runs))
        runs.sort(key=lambda held: settings.index(held.entry.setting))
        if targets and not all(_of_no_step(held.entry.config) for held in runs):
            trained = tuple(_trained(study, held) for held in runs)
            yield Candidates(dataset, method, domains, targets, trained)


def _of_no_step(config: Mapping[str, Any]) -> bool:
    """Whether its weights are of no single step, which is what the rules choose.

    They are averaged over many steps, normalised after training, or of a second training.
    """
    stages = later_stages(config)
    return (
        stages[-1].get("name") in ("tau_norm", "retrain_all") if stages else bool(swad_form(config))
    )


def _trained(study: Study, held: HeldRun) -> Trained:
    """One run as the rules need it."""
    entry, setting = held.entry, titled(held.entry.setting, study.layout.titles)
    run = Trained(setting, entry.member.seed, frozenset(held.domains))
    if entry.files is None:
        return run
    rows = last_stage(entry.files.log)
    points = {point.step: point for point in map(_logged, rows) if point is not None}
    scored = _scored(entry.files, held.domains[0]) if len(held.domains) == 1 else {}
    for point in scored.values():
        known = points.get(point.step, point)
        inside = {**point.target_in, **known.target_in}
        outside = {**point.target_out, **known.target_out}
        points[point.step] = known._replace(target_in=inside, target_out=outside)
    evaluated = tuple(points[step] for step in sorted(points))
    return replace(run, evaluated=evaluated, last=scored.get("last"), best=scored.get(ORACLE_OUT))


def has_curves(runs: Iterable[Trained]) -> bool:
    """Whether any run was scored on a held-out part more than once."""
    return any(sum(bool(p.target_out) for p in run.evaluated) > 1 for run in runs)


def _logged(row: LogRow) -> Evaluated | None:
    """A record of `metrics.jsonl`; None if it is not an evaluation."""
    step, val = row.get("step"), row.get("val/domain_accuracy")
    parts: dict[str, dict[str, float]] = {part: {} for part in PARTS}
    for key, value in row.items():
        found = _ON_A_PART.fullmatch(key)
        if found and value is not None:
            parts[found[2]][found[1]] = float(value)
    if not isinstance(step, int) or (val is None and not any(parts.values())):
        return None
    return Evaluated(step, None if val is None else float(val), *parts.values())


def _scored(files: RunFiles, domain: str) -> dict[str, Evaluated]:
    """The final evaluation of the weights of each rule, where they are those of one step."""
    found = {}
    for rule, (chosen, evaluation) in files.by_rule.items():
        inside, outside = (target_value(evaluation, part, "accuracy") for part in PARTS)
        if rule == AVERAGED or inside is None or outside is None or chosen.step is None:
            continue
        found[rule] = Evaluated(chosen.step, None, {domain: inside}, {domain: outside})
    return found
