"""The page of a data set before any training: counts, files, findings, and some of its pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.checks.table_checks import count_rows
from medldr.data.files.facts import Facts
from medldr.data.image_table import ImageTable
from medldr.data.inspection import Inspection
from medldr.evaluation.explain.mistakes import thumbnail
from medldr.evaluation.inputs.simple_controls import METRICS, Control
from medldr.evaluation.intervals.estimate import Estimate
from medldr.folders.privacy import hide_ids
from medldr.metrics import metric_facts
from medldr.reporting.document import (
    Banner,
    Bullets,
    Document,
    Paragraph,
    Picture,
    Pictures,
    Section,
)
from medldr.reporting.prose import sentence
from medldr.reporting.sections.class_sizes import size_blocks, unequal
from medldr.reporting.table import DASH, Cell, Row, Table

PER_DOMAIN: Final = 8
"""Pictures of each domain on the page; at least one of each class where that is enough."""

_MOST_DOMAINS: Final = 40
_MOST_COLUMNS: Final = 15
_ALL: Final = "all images"


def data_check_page(
    found: Inspection, controls: Sequence[Control], ids: Collection[str]
) -> Document:
    """The page.

    Args:
        found: What looking at the data set found.
        controls: What plain numbers tell about the classes.
        ids: Names to hide wherever they occur; empty to show them.
    """
    table = found.table
    domains = len(set(table.domains.tolist()) - {""})
    size = " x ".join(map(str, table.images.shape[2:]))
    subtitle = f"{len(table):,} images of {size} pixels, {len(table.class_names)} classes"
    if domains:
        subtitle += f", {domains} domains"
    banners = []
    if found.wrong:
        count = len(found.wrong)
        text = sentence("data_wrong", count=count, things="thing" if count == 1 else "things")
        banners.append(Banner("warning", text))
    return Document(
        table.name,
        "Data check",
        subtitle,
        banners,
        [
            _findings(found, ids),
            _counts(found),
            *_sizes(found),
            *_files(found),
            *_controls(controls),
            _pictures(found, ids),
        ],
    )


def _findings(found: Inspection, ids: Collection[str]) -> Section:
    section = Section("findings", "Findings", "Findings")
    section.add(Bullets([hide_ids(text, ids) for text in found.wrong], "warnings"))
    section.add(Bullets([hide_ids(text, ids) for text in found.notes], "notes"))
    if not section.blocks:
        section.add(Paragraph(sentence("data_nothing")))
    return section


def _counts(found: Inspection) -> Section:
    """Images per class, of each domain and of each split that a run would use."""
    table = found.table
    section = Section("counts", "Images per class", "Images")
    section.add(_count_table("Images as the data set has them", table, [("", table.splits)]))
    # One row for each split: with many domains held out in turn, one for each domain is too many.
    undivided = replace(table, domains=np.full(len(table), "", dtype="<U1"))
    plans = [(name.strip(), _splits(len(table), rows)) for name, rows in found.plans.items()]
    section.add(_count_table("Images that a run would use", undivided, plans, used=True))
    return section


def _splits(count: int, rows: Mapping[str, NDArray[np.int64]]) -> NDArray[np.str_]:
    splits = np.full(count, "", dtype="<U8")
    for split, of_split in rows.items():
        splits[of_split] = split
    return splits


def _count_table(
    caption: str,
    table: ImageTable,
    plans: Sequence[tuple[str, NDArray[np.str_]]],
    *,
    used: bool = False,
) -> Table:
    classes = list(table.class_names)
    with_groups = bool((table.groups != "").any())
    columns = [
        "Split" if used else "Domain", *classes, "Images", *(["Patients"] if with_groups else [])
    ]  # fmt: skip
    rows = []
    for plan, splits in plans:
        for record in count_rows(table, splits):
            if used and not record["split"]:
                continue
            names = [name for name in (plan, record["split"], record["domain"]) if name]
            cells = [Cell(record["classes"][name]) for name in classes]
            cells.append(Cell(record["rows"]))
            if with_groups:
                cells.append(Cell(record["groups"]))
            rows.append(Row(": ".join(names) or _ALL, cells))
    if len(classes) > _MOST_COLUMNS:  # classes down, because so many do not fit across
        across = [Row(name, [row.cells[n] for row in rows]) for n, name in enumerate(columns[1:])]
        return Table(caption, ["Class", *(row.heading for row in rows)], across, intervals=False)
    return Table(caption, columns, rows, intervals=False)


def _sizes(found: Inspection) -> list[Section]:
    """Training images of each class, where they are unequal."""
    table = found.table
    if table.labels.ndim == 2:
        return []
    plans = {
        name.strip().removeprefix(", "): dict(
            zip(
                table.class_names,
                np.bincount(table.labels[rows["train"]], minlength=len(table.class_names)).tolist(),
                strict=True,
            )
        )
        for name, rows in found.plans.items()
    }
    if not any(unequal(list(counts.values())) for counts in plans.values()):
        return []
    section = Section("sizes", "Frequent and rare classes", "Rare classes")
    section.add(*size_blocks(plans))
    return [section]


def _files(found: Inspection) -> list[Section]:
    """Kinds, sizes, spacings and values of the files of each domain; nothing without files."""
    facts = found.table.facts
    if not facts:
        return []
    columns = ["Domain", "Files", "Kind", "Size", "Spacing (mm)", "Values"]
    table = Table("Files by domain", columns, texts=(2, 3, 4, 5), intervals=False)
    domains = found.table.domains
    for domain in np.unique(domains).tolist():
        of_domain = [facts[row] for row in np.flatnonzero(domains == domain).tolist()]
        table.rows.append(Row(domain or _ALL, _facts_cells(of_domain)))
    section = Section("files", "Files", "Files")
    section.add(table, Paragraph(sentence("data_files"), "small"))
    return [section]


def _facts_cells(facts: Sequence[Facts]) -> list[Cell]:
    kinds = Counter(f"{one.mode} ({one.kind})" for one in facts)
    sizes = _ranges([one.spatial for one in facts])
    known = [one.spacing for one in facts if one.spacing is not None]
    spacing = _ranges(known)
    if known and len(known) < len(facts):
        spacing += f"; {len(facts) - len(known):,} unknown"
    values = f"{min(one.low for one in facts):,.6g} to {max(one.high for one in facts):,.6g}"
    listed = ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common(4))
    return [Cell(len(facts)), Cell(listed), Cell(sizes), Cell(spacing or DASH), Cell(values)]


def _ranges(numbers: Sequence[tuple[float, ...]]) -> str:
    """From the smallest to the greatest along each axis.

    Example:
        >>> _ranges([(512, 512, 20), (512, 512, 44)])
        '512 x 512 x 20–44'
    """
    texts = []
    for count in sorted({len(one) for one in numbers}):
        axes = np.array([one for one in numbers if len(one) == count], dtype=np.float64)
        ends = zip(axes.min(0).tolist(), axes.max(0).tolist(), strict=True)
        texts.append(" x ".join(f"{a:.4g}" if a == b else f"{a:.4g}–{b:.4g}" for a, b in ends))
    return "; ".join(texts)


def _controls(controls: Sequence[Control]) -> list[Section]:
    """A table for each metric: a row for each way a run divides the data, a column per control."""
    if not controls:
        return []
    section = Section("controls", "What plain numbers tell", "Controls")
    section.add(Paragraph(sentence("data_controls")))
    names = list(dict.fromkeys(one.name for one in controls))
    of_plan = {(one.plan, one.name): one for one in controls}
    for key in METRICS:
        title = metric_facts(key).title
        table = Table(f"{title} on the test split", ["Division", "Test images", *names])
        for plan in dict.fromkeys(one.plan for one in controls):
            known = [of_plan.get((plan, name)) for name in names]
            count = next(one.n for one in known if one is not None)
            cells = [
                table.number(key, None if one is None else Estimate.of(one.numbers[key]))
                for one in known
            ]
            table.rows.append(Row(plan.strip() or _ALL, [Cell(count), *cells]))
        section.add(table)
    return [section]


def _pictures(found: Inspection, ids: Collection[str]) -> Section:
    """Some images of each domain, as a network would see them."""
    section = Section("pictures", "Pictures", "Pictures")
    domains = np.unique(found.table.domains).tolist()
    for domain in domains[:_MOST_DOMAINS]:
        rows = _chosen(found.table.labels, np.flatnonzero(found.table.domains == domain))
        section.add(Paragraph(domain or _ALL), Pictures([_picture(found, r, ids) for r in rows]))
    if len(domains) > _MOST_DOMAINS:
        section.add(Paragraph(sentence("data_more", count=len(domains) - _MOST_DOMAINS)))
    section.add(Paragraph(sentence("slices") if found.table.images.ndim == 5 else "", "small"))
    return section


def _chosen(labels: NDArray[Any], rows: NDArray[np.int64]) -> list[int]:
    """Some rows, the classes in turn; the same ones each time."""
    shuffled = np.random.default_rng(0).permutation(rows)
    if labels.ndim == 2:
        return sorted(map(int, shuffled[:PER_DOMAIN]))
    of_class = [shuffled[labels[shuffled] == k] for k in np.unique(labels[shuffled])]
    turns = [(place, int(row)) for one in of_class for place, row in enumerate(one.tolist())]
    return sorted(row for _, row in sorted(turns)[:PER_DOMAIN])


def _picture(found: Inspection, row: int, ids: Collection[str]) -> Picture:
    table = found.table
    label = table.labels[row]
    if np.ndim(label):
        names = [n for n, positive in zip(table.class_names, label, strict=True) if positive == 1]
        text = ", ".join(names) or "no label"
    else:
        text = table.class_names[int(label)]
    lines = [text] if ids else [text, str(table.ids[row])]
    return Picture(thumbnail(table.images[row]), lines, f"An image of class {text}")
