"""What D and R do to the decisions of each run's own classifier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.judged import (
    ACCURACY,
    BALANCED,
    ENTROPY,
    PROBABILITY,
    RECALL,
    TO_MIX,
    Classified,
    Judged,
    Part,
)
from medldr.folders.latents_record import ORIGINAL
from medldr.metric import Metric
from medldr.reporting.document import Figures, Section
from medldr.reporting.figures.latents.operators import operators_figures, shown_classes
from medldr.reporting.figures.views import VIEW_TITLES
from medldr.reporting.prose import section
from medldr.reporting.sections.analysis.numbers import cell, columns
from medldr.reporting.sections.analysis.views import minus_text
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.wording import split_name


def operators_section(found: Mapping[str, Classified]) -> Section | None:
    """Figures and tables of what D and R do; None where no run has either.

    Args:
        found: Decisions of runs by their heading.
    """
    moved = {heading: judged for heading, judged in found.items() if _moves(judged)}
    if not moved:
        return None
    mix = "Entropy says how undecided a prediction is. The cross-entropy to the class mix of the "
    mix += "training images is lowest where every prediction is that mix, the mean target of D."
    several = all(judged.several for judged in moved.values())
    return section(
        "analysis",
        "operators",
        Figures(operators_figures(moved)),
        _by_split(found),
        _differences(moved),
        None if several else _undecided(moved),
        *(_by_class(heading, judged, len(moved) > 1) for heading, judged in moved.items()),
        mix="" if several else mix,
    )


def _moves(judged: Classified) -> bool:
    return any(view != ORIGINAL for view in judged.last.views)


def part_title(part: Part) -> str:
    """A split as tables name it, and whether its domains are new.

    Example:
        >>> part_title(Part("test", True, 9, None, {}, {}, 0.5))
        'Test, unseen domains'
    """
    return f"{split_name(part.split)}{', unseen domains' if part.unseen else ''}"


def _titles(found: Mapping[str, Classified]) -> list[str]:
    return list(dict.fromkeys(part_title(p) for judged in found.values() for p in judged.parts))


def _by_split(found: Mapping[str, Classified]) -> Table:
    titles = _titles(found)
    table = Table("Balanced accuracy of each run’s own classifier (%)", ["Latents", *titles])
    for heading, judged in found.items():
        parts = {part_title(part): part for part in judged.parts}
        for view in judged.last.views:
            given = [parts[c].views[view].balanced if c in parts else None for c in titles]
            cells = [cell(table, each, BALANCED) for each in given]
            table.rows.append(Row(f"{heading}, {VIEW_TITLES[view]}", cells))
    guessed = {h: _guessing(judged, titles) for h, judged in found.items()}
    for numbers, headings in _joined(guessed):
        where = "" if len(headings) == len(found) else f" ({', '.join(headings)})"
        shown = [cell(table, each, BALANCED) for each in numbers]
        table.rows.append(Row(f"Guessing{where}", shown, apart=True))
    return table


def _guessing(judged: Classified, titles: Sequence[str]) -> list[Estimate | None]:
    """What guessing one of all classes gives in each split of a table; None where it has none."""
    found: dict[str, Estimate] = {}
    for part in judged.parts:
        why = "balanced accuracy is the mean over the classes that have images here, "
        why += f"{len(judged.class_names) - part.lacking} of {len(judged.class_names)}"
        found[part_title(part)] = Estimate(part.chance, reason=why if part.lacking else "")
    return [found.get(title) for title in titles]


def _joined(
    rows: Mapping[str, Sequence[Estimate | None]],
) -> list[tuple[list[Estimate | None], list[str]]]:
    """Rows that agree wherever both have a number, as one row, with the headings of both."""
    joined: list[tuple[list[Estimate | None], list[str]]] = []
    for name, row in rows.items():
        for held, headings in joined:
            if all(a == b or a is None or b is None for a, b in zip(held, row, strict=True)):
                held[:] = [b if a is None else a for a, b in zip(held, row, strict=True)]
                headings.append(name)
                break
        else:
            joined.append((list(row), [name]))
    return joined


def _differences(found: Mapping[str, Classified]) -> Table:
    titles = _titles(found)
    table = Table(
        "Paired differences of balanced accuracy (percentage points)", ["Difference", *titles]
    )
    for heading, judged in found.items():
        parts = {part_title(part): part for part in judged.parts}
        for pair in judged.last.differences:
            given = [parts[c].differences[pair] if c in parts else None for c in titles]
            cells = [cell(table, each, BALANCED, signed=True) for each in given]
            table.rows.append(Row(f"{heading}: {minus_text(*pair)}", cells))
    return table


def _undecided(found: Mapping[str, Classified]) -> Table:
    """Entropies of the last part, beside those of the class mix itself."""
    titles = ", ".join(dict.fromkeys(part_title(judged.last) for judged in found.values()))
    table = Table(
        f"How undecided the predictions are ({titles.lower()})",
        ["Latents", ACCURACY.heading, ENTROPY.heading, TO_MIX.heading],
    )
    for heading, judged in found.items():
        for view, of in judged.last.views.items():
            given = ((of.accuracy, ACCURACY), (of.entropy, ENTROPY), (of.to_mix, TO_MIX))
            cells = [cell(table, each, metric) for each, metric in given]
            table.rows.append(Row(f"{heading}, {VIEW_TITLES[view]}", cells))
    floors = {judged.floor for judged in found.values()}
    floor = floors.pop()
    if not floors and floor is not None:
        cells = [Cell(), *(Cell(Estimate(floor), metric) for metric in (ENTROPY, TO_MIX))]
        table.rows.append(Row("The class mix itself", cells, apart=True))
    return table


def _by_class(heading: str, judged: Classified, many: bool) -> Table:
    """Recall and mean probability of each class by view, on the last part."""
    views = judged.last.views
    share = bool(judged.mix)
    where = f"{heading}, {part_title(judged.last).lower()}" if many else part_title(judged.last)
    kept = shown_classes(judged)
    left_out = len(judged.class_names) - len(kept)
    caption = f"By class: share recognised (recall) and mean probability (%) ({where})"
    table = Table(
        caption,
        [
            "Class",
            *(["Share in training"] if share else []),
            *(f"Recall, {VIEW_TITLES[view]}" for view in views),
            *(f"Probability, {VIEW_TITLES[view]}" for view in views if share),
        ],
    )
    for k in kept:
        cells = [Cell(Estimate(judged.mix[k]), PROBABILITY)] if share else []
        cells += [cell(table, of.by_class[k], RECALL) for of in views.values()]
        cells += [cell(table, of.mean[k], PROBABILITY) for of in views.values() if share]
        table.rows.append(Row(judged.class_names[k], cells))
    if left_out:
        table.notes.append(f"{left_out} rarer classes are in the csv file alone.")
    return table


def operators_lines(found: Mapping[str, Classified]) -> list[dict[str, object]]:
    """One line per run, split, view, class or domain, and metric, for a csv file."""
    return [
        {"run": heading, **line}
        for heading, judged in found.items()
        for part in judged.parts
        for line in _lines(judged, part)
    ]


def _lines(judged: Classified, part: Part) -> Iterator[dict[str, object]]:
    size = {
        "chance": part.chance, "classes_without_images": part.lacking, "images": part.images,
        "groups": "" if part.groups is None else part.groups,
    }  # fmt: skip
    for (view, other), domain, name, metric, held in _numbers(judged, part):
        yield {
            "split": part.split, "unseen": part.unseen, "latents": view, "minus": other,
            "domain": domain, "class": name, "metric": metric.name, **columns(held), **size,
        }  # fmt: skip


def _numbers(
    judged: Classified, part: Part
) -> Iterator[tuple[tuple[str, str], str, str, Metric, Estimate]]:
    """Views, domain, class, metric and number of a part."""
    for view, of in part.views.items():
        for metric, held in _of_all(of):
            yield (view, ""), "", "", metric, held
        for name, recall, mean in zip(judged.class_names, of.by_class, of.mean, strict=True):
            yield (view, ""), "", name, RECALL, recall
            yield (view, ""), "", name, PROBABILITY, mean
        for domain, held in of.by_domain.items():
            yield (view, ""), domain, "", BALANCED, held
    for pair, held in part.differences.items():
        yield pair, "", "", BALANCED, held


def _of_all(of: Judged) -> Iterator[tuple[Metric, Estimate]]:
    yield ACCURACY, of.accuracy
    yield BALANCED, of.balanced
    yield ENTROPY, of.entropy
    yield TO_MIX, of.to_mix
