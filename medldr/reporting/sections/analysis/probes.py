"""What linear probes tell from the latents of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.probes import LABELS, METRIC, Probed, Probes
from medldr.folders.latents_record import ORIGINAL
from medldr.reporting.document import Bullets, Figures, Section
from medldr.reporting.figures.latents.probes import probes_figure
from medldr.reporting.figures.views import VIEW_TITLES
from medldr.reporting.prose import section
from medldr.reporting.sections.analysis.numbers import columns
from medldr.reporting.sections.analysis.views import minus_text
from medldr.reporting.sections.rows import grouped
from medldr.reporting.table import Cell, Row, Table

TARGETS = ("class", "domain")


def probes_section(found: Mapping[str, Probes]) -> Section | None:
    """Figure, balanced accuracies, and paired differences; None where there is no prediction.

    Args:
        found: Probes of runs by their heading; the first is the reference.
    """
    held = [probed for probes in found.values() for probed in _targets(probes).values()]
    if not any(probed.accuracy for probed in held):
        return None
    drawing = probes_figure(found)
    # What labels tell has no place in data without domains.
    alone = any(LABELS in probed.accuracy for probed in held)
    mix = "Domains differ in their mix of classes, so latents that separate classes also tell "
    mix += "something of the domain: “class alone” is the most that the class of an image tells "
    mix += "of its domain, and only what exceeds it comes from how the images look."
    return section(
        "analysis",
        "probes",
        Figures([] if drawing is None else [drawing]),
        _accuracies(found),
        _differences(found),
        Bullets(_notes(found)),
        made=_made(found),
        mix=mix if alone else "",
    )


def _targets(probes: Probes) -> dict[str, Probed]:
    return dict(zip(TARGETS, (probes.of_class, probes.of_domain), strict=True))


def _accuracies(found: Mapping[str, Probes]) -> Table:
    table = Table("Balanced accuracy of linear probes (%)", ["Latents", "Class", "Domain"])
    key = METRIC.name
    for heading, probes in found.items():
        targets = _targets(probes).values()
        for view in dict.fromkeys(v for t in targets for v in t.accuracy if v != LABELS):
            cells = [table.number(key, _number(probed, view)) for probed in targets]
            table.rows.append(Row(f"{heading}, {VIEW_TITLES[view]}", cells))
    for name, levels in (("Guessing", _guessing(found)), ("Class alone", _alone(found))):
        for values, headings in grouped((v, h) for h, v in levels.items()).items():
            where = "" if len(headings) == len(found) else f" ({', '.join(headings)})"
            cells = [Cell() if v is None else table.number(key, v) for v in values]
            if any(not cell.empty for cell in cells):
                table.rows.append(Row(f"{name}{where}", cells, apart=True))
    return table


def _number(probed: Probed, view: str) -> Estimate | None:
    return Estimate(reason=probed.reason) if probed.reason else probed.accuracy.get(view)


def _guessing(found: Mapping[str, Probes]) -> dict[str, tuple[Estimate | None, ...]]:
    def level(probed: Probed) -> Estimate | None:
        return None if probed.chance is None else Estimate(probed.chance)

    return {h: tuple(map(level, _targets(p).values())) for h, p in found.items()}


def _alone(found: Mapping[str, Probes]) -> dict[str, tuple[Estimate | None, ...]]:
    return {h: (None, probes.of_domain.accuracy.get(LABELS)) for h, probes in found.items()}


def _differences(found: Mapping[str, Probes]) -> Table:
    """Paired differences within runs, and of every run from the first on the same images."""
    table = Table(
        "Paired differences of balanced accuracy (percentage points)",
        ["Difference", "Class", "Domain"],
    )
    for name, estimates in _compared(found):
        cells = [
            Cell() if each is None else table.number(METRIC.name, each, signed=True)
            for each in estimates
        ]
        if any(cell.estimate is not None or cell.mark for cell in cells):
            table.rows.append(Row(name, cells))
    return table


def _compared(found: Mapping[str, Probes]) -> Iterator[tuple[str, list[Estimate | None]]]:
    for heading, probes in found.items():
        targets = _targets(probes).values()
        for pair in dict.fromkeys(pair for probed in targets for pair in probed.differences):
            given = [probed.differences.get(pair) for probed in targets]
            yield f"{heading}: {minus_text(*pair)}", given
    for heading, probes in found.items():
        reference = _reference(found, heading)
        if heading != reference:
            pairs = zip(_targets(probes).values(), _targets(found[reference]).values(), strict=True)
            name = f"{heading} minus {reference}, {VIEW_TITLES[ORIGINAL]}"
            yield name, [_minus(one, base) for one, base in pairs]


def _reference(found: Mapping[str, Probes], heading: str) -> str:
    """The first run that was probed on the same images as another, or else the first of all."""
    own = found[heading]
    for name, other in found.items():
        if name == heading:
            break
        pairs = zip(_targets(own).values(), _targets(other).values(), strict=True)
        if any(one.key == base.key and one.key for one, base in pairs):
            return name
    return next(iter(found))


def _minus(one: Probed, base: Probed) -> Estimate | None:
    return None if one.reason or base.reason else one.minus(base)


def _made(found: Mapping[str, Probes]) -> str:
    """How many images were predicted, in how many folds, in words."""
    said = grouped((_sizes(probes), heading) for heading, probes in found.items())
    one = len(said) == 1
    return " ".join(
        text if one else f"{', '.join(of)}: {text}" for text, of in said.items() if text
    )


def _sizes(probes: Probes) -> str:
    probed = next((t for t in _targets(probes).values() if not t.reason), None)
    if probed is None:
        return ""
    grouped_by, apart = "", ""
    if probed.groups is not None:
        grouped_by = f" of {probed.groups:,} groups (patients, slides)"
        apart = ", with no group in two of them"
    folds = dict.fromkeys(t.folds for t in _targets(probes).values() if not t.reason)
    parts = " and ".join(str(number) for number in folds)
    text = f"{probed.images:,} images{grouped_by} are cut into {parts} parts{apart}; each part is "
    text += "told by a probe fitted on the others."
    if probed.training:
        text += f" {probed.training:,} of the images were used to train the network, which knows "
        text += "them: what is told here is not what new images would show."
    return text


def _notes(found: Mapping[str, Probes]) -> list[str]:
    """What could not be predicted, what was left out, and fits that did not converge."""
    said: list[tuple[str, str]] = []
    for heading, probes in found.items():
        for target, probed in _targets(probes).items():
            if probed.reason:
                said.append((f"the {target} is not told: {probed.reason}.", heading))
            if probed.left_out:
                names = ", ".join(probed.left_out)
                said.append((f"left out, with images of a single group: {names}.", heading))
            if probed.unfinished:
                text = f"{probed.unfinished} fits for the {target} did not converge; their numbers "
                said.append((f"{text}may be a little too low.", heading))
    every = len(found)
    return [
        _capital(text) if len(of) == every else f"{', '.join(of)}: {text}"
        for text, of in grouped(said).items()
    ]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def probes_lines(found: Mapping[str, Probes]) -> list[dict[str, object]]:
    """One line per run, target and view or difference, for a csv file."""
    lines: list[dict[str, object]] = []
    for heading, probes in found.items():
        for target, probed in _targets(probes).items():
            head: dict[str, object] = {"run": heading, "target": target}
            size: dict[str, object] = {
                "chance": "" if probed.chance is None else probed.chance, "folds": probed.folds,
                "images": probed.images, "training_images": probed.training,
                "groups": "" if probed.groups is None else probed.groups,
            }  # fmt: skip
            if probed.reason:
                lines.append({**head, "latents": "", "minus": "",
                              **columns(Estimate(reason=probed.reason)), **size})  # fmt: skip
            numbers = {(view, ""): held for view, held in probed.accuracy.items()}
            for (one, other), held in {**numbers, **probed.differences}.items():
                lines.append({**head, "latents": one, "minus": other, **columns(held), **size})
    return lines
