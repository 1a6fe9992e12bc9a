"""The section on choosing: what each rule picks for each held-out domain, and what it reaches."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.metrics import measure
from medldr.reporting.document import Cell, Row, Table
from medldr.reporting.read.sweep import Study
from medldr.reporting.results.candidates import Candidates, candidates, has_curves
from medldr.reporting.results.selection import RULES, Choice, Missing, choose
from medldr.reporting.results.spread import seed_means, spread
from medldr.reporting.sections.sweep import Parts, Section

DASH = "–"
NAMED = 4
"""Settings without every run that a footnote names."""


def choice_section(parts: Parts) -> Section:
    """Empty where the sweep neither searches among settings nor scored held-out parts on the way.

    Which setting the main tables show comes first, then a table per data set of what each rule
    would have chosen.
    """
    section = Section("choice", "Choice among settings", "Choice")
    study = parts.study
    found = candidates(study)
    if study.picks:
        section.leads.append(_lead(study))
        section.tables.append(pick_table(study))
    # All methods of a set or none: one whose rules agree in every run is a result too.
    sets = {c.dataset for c in found if study.picks or has_curves(c.runs)}
    shown = [c for c in found if c.dataset in sets]
    for dataset in dict.fromkeys(c.dataset for c in shown):
        table = choice_table([c for c in shown if c.dataset == dataset])
        section.tables += [table] if table is not None else []
    if any(table.columns[1:] == list(RULES) for table in section.tables):
        section.texts += [
            "Each column is a rule that chooses a setting and an evaluation; each cell is the "
            "accuracy on target_in of what it chose. Training-domain validation takes the highest "
            "mean accuracy over the source domains. Leave-one-domain-out cross-validation takes "
            "the highest mean accuracy on a second held-out domain, over runs that held out two.",
            "The oracles look at the other 20 % of the held-out domain (target_out), so that their "
            "numbers are upper bounds and no measurements. There are two: of the last step, as in "
            "DomainBed, where it chooses the setting alone; and of any step, as in SWAD, where it "
            "chooses the evaluation too.",
            "With several seeds a setting is chosen for all of them by the mean of their best "
            "scores, and each seed keeps its own evaluation.",
        ]
    return section


def pick_table(study: Study) -> Table:
    """The setting of each method, column by column, that the main tables show."""
    columns = list(dict.fromkeys(pick.column for pick in study.picks))
    table = Table(
        "Settings that the main tables show",
        ["Method", *columns],
        texts=tuple(range(1, 1 + len(columns))),
        intervals=False,
    )
    by_place = {(pick.row, pick.column): pick for pick in study.picks}
    for row in dict.fromkeys(pick.row for pick in study.picks):
        cells = []
        for column in columns:
            pick = by_place.get((row, column))
            if pick is None:
                cells.append(Cell(DASH))
                continue
            signs = []
            if not pick.by:
                signs.append(table.sign("Not chosen: no setting has every run. It has the most."))
            if pick.incomplete:
                told = "; ".join(pick.incomplete[:NAMED]) + _more(len(pick.incomplete))
                signs.append(table.sign(f"No candidates, because a run is missing: {told}."))
            cells.append(Cell(_title(study, pick.setting), mark=",".join(signs)))
        table.rows.append(Row(row, cells))
    return table


def choice_table(found: Sequence[Candidates]) -> Table | None:
    """Methods and held-out domains down, rules across; None where no rule could choose.

    Args:
        found: The methods of one data set.
    """
    known = measure("accuracy")
    table = Table(
        f"{found[0].dataset}: {known.heading} on target_in by rule of choice",
        ["Method, held out", *RULES],
        intervals=False,
    )
    any_choice = False
    for of_method in found:
        several = len({run.setting for run in of_method.runs}) > 1
        by_rule: dict[str, list[Choice]] = {rule: [] for rule in RULES}
        for target in of_method.targets:
            chosen = choose(of_method.runs, target, of_method.domains)
            for choice in chosen:
                by_rule[choice.rule].append(choice)
            any_choice = any_choice or any(c.setting is not None for c in chosen)
            cells = [_cell(table, choice, named=several) for choice in chosen]
            table.rows.append(Row(f"{of_method.method}, {target}", cells))
        if len(of_method.targets) > 1:
            cells = [_mean(by_rule[rule]) for rule in RULES]
            heading = f"{of_method.method}, mean of {len(of_method.targets)}"
            table.rows.append(Row(heading, cells, style="reference"))
    return table if any_choice else None


def _cell(table: Table, choice: Choice, *, named: bool) -> Cell:
    mark = table.sign(lacking) if (lacking := missing_text(choice)) else ""
    if choice.setting is None:
        return Cell(DASH, mark=mark)
    steps = [f"{step:,}" for step in dict.fromkeys(choice.steps.values())]
    told = f"step{'' if len(steps) == 1 else 's'} {' / '.join(steps)}"
    what = f"{choice.setting}, {told}" if named else told
    if not choice.numbers:
        reason = "what was chosen was not scored on target_in (evaluation.domain_curves)"
        return Cell("n/a", detail=what, reason=reason, mark=mark or table.sign(reason))
    return _number(choice.numbers, detail=what, mark=mark)


def missing_text(choice: Choice) -> str:
    """Which runs a rule lacks, each held-out domain or pair of them once; empty if it has all.

    Example:
        >>> lost = [Missing(frozenset(["a", "b"]), "", seed) for seed in (0, 1)]
        >>> missing_text(Choice(RULES[1], missing=(*lost, Missing(frozenset("a"), "low", 1))))
        'No result, or no curve, of the runs that held out a + b (2 runs); a (low, seed 1).'
    """
    groups: dict[str, list[Missing]] = {}
    for lost in choice.missing:
        groups.setdefault(lost.domains, []).append(lost)
    told = []
    for domains, runs in groups.items():
        one = ", ".join(filter(None, (runs[0].setting, f"seed {runs[0].seed}")))
        told.append(f"{domains} ({one if len(runs) == 1 else f'{len(runs)} runs'})")
    start = "No result, or no curve, of the runs that held out "
    return f"{start}{'; '.join(told)}." if told else ""


def _mean(choices: Sequence[Choice]) -> Cell:
    """Over the domains within each seed, then over seeds, as in the tables of left-out domains."""
    if any(not choice.numbers for choice in choices):
        return Cell(DASH)
    by_domain = {
        str(number): {seed: value for seed, value in choice.values.items() if value is not None}
        for number, choice in enumerate(choices)
    }
    means = seed_means(by_domain)
    whole = all(set(found) == set(means) for found in by_domain.values())
    return _number(list(means.values())) if means and whole else Cell(DASH)


def _number(values: Sequence[float], detail: str = "", mark: str = "") -> Cell:
    known = measure("accuracy")
    found = spread(values)
    told = "" if found.sd is None else known.show(found.sd)
    count = f"n {found.n}"
    return Cell(
        known.show(found.mean),
        detail=detail,
        extra=f"SD {told}, {count}" if told else count,
        value=found.mean,
        mark=mark,
        spread=told,
        count=count,
    )


def _lead(study: Study) -> str:
    most = max(pick.settings for pick in study.picks)
    ways = ", ".join(dict.fromkeys(pick.by for pick in study.picks if pick.by)) or "nothing yet"
    return (
        f"Each method was trained in up to {most} settings. The main tables show one of them per "
        f"method and column, chosen by {ways}, without a look at the test split."
    )


def _title(study: Study, setting: str) -> str:
    titles = study.layout.titles
    return ", ".join(titles.get(part, part) for part in setting.split(", "))


def _more(count: int) -> str:
    return f"; and {count - NAMED} more" if count > NAMED else ""
