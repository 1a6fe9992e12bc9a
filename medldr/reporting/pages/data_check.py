"""The page of a data set before any training: may it be trained on, and what is in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.checks.table_checks import count_rows
from medldr.data.counting import counted
from medldr.data.files.facts import Facts
from medldr.data.inspection import Inspection
from medldr.evaluation.explain.mistakes import thumbnail
from medldr.evaluation.inputs.simple_controls import Control, shortcuts
from medldr.evaluation.intervals.estimate import Estimate
from medldr.folders.privacy import hide_ids
from medldr.metrics import metric_facts
from medldr.reporting.document import (
    Block,
    Bullets,
    Document,
    Paragraph,
    Picture,
    Pictures,
    Section,
    Verdict,
)
from medldr.reporting.figures.bars import size_figures, unequal
from medldr.reporting.prose import assemble, section, sentence
from medldr.reporting.table import DASH, Cell, Row, Table
from medldr.reporting.wording import split_name

PER_DOMAIN: Final = 8
"""Pictures of each domain on the page; at least one of each class where that is enough."""

_MOST_DOMAINS: Final = 40
_MOST_COLUMNS: Final = 6
_MOST_REASONS: Final = 3
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
    reasons = [hide_ids(text, ids) for text in reasons_of(found, controls)]
    notes = [hide_ids(text, ids) for text in found.notes]
    more = Bullets(reasons) if len(reasons) > _MOST_REASONS else None
    return replace(
        overview(found, controls, ids),
        kicker="medldr · data check",
        sections=assemble(
            "data",
            [
                ("findings", lambda: section("data", "findings", more, count=len(reasons))),
                ("counts", lambda: section("data", "counts", own_counts(found))),
                ("pictures", lambda: _pictures(found, ids)),
                ("splits", lambda: section("data", "splits", _used_counts(found))),
                ("sizes", lambda: section("data", "sizes", *_sizes(found))),
                ("controls", lambda: _controls(controls)),
                ("files", lambda: section("data", "files", _files(found))),
                ("notes", lambda: section("data", "notes", Bullets(notes))),
            ],
        ),
    )


def overview(
    found: Inspection,
    controls: Sequence[Control],
    ids: Collection[str] = (),
    *,
    most: int | None = _MOST_REASONS,
) -> Document:
    """Title, size, verdict and the table of images, for the terminal.

    Args:
        found: What looking at the data set found.
        controls: What plain numbers tell about the classes.
        ids: Names to hide wherever they occur; empty to show them.
        most: How many reasons stand with the verdict; None: all.
    """
    table = found.table
    domains = len(set(table.domains.tolist()) - {""})
    channels, *axes = table.images.shape[1:]
    size = f"{' x '.join(map(str, axes))} pixels" if axes else f"{channels} numbers"
    what = "images" if axes else "latents"
    subtitle = f"{len(table):,} {what} of {size}, {len(table.class_names)} classes"
    subtitle += f", {counted(domains, 'domain', 'domains')}" if domains else ""
    reasons = [hide_ids(text, ids) for text in reasons_of(found, controls)]
    counts = Section("counts", "", "", [own_counts(found)])
    return Document(table.name, "", subtitle, (), [counts], _verdict(found, reasons, most))


def reasons_of(found: Inspection, controls: Sequence[Control]) -> list[str]:
    """What speaks against training on these data as they are, the worst first."""
    table = found.table
    left_out = [
        f"{counted(len(table.bad_files), 'file', 'files')} left out, such as "
        f"{table.bad_files[0].path}: {table.bad_files[0].reason}"
    ] if table.bad_files else []  # fmt: skip
    return [*found.wrong, *left_out, *found.look, *shortcuts(controls)]


def _verdict(found: Inspection, reasons: Sequence[str], most: int | None) -> Verdict:
    more = [f"{text}." for text in reasons[:most]]
    if len(more) < len(reasons):
        more.append(f"And {len(reasons) - len(more)} more.")
    if found.wrong:
        things = counted(len(found.wrong), "thing", "things")
        said = f"Not fit to train: {things} would make numbers from these data wrong."
        return Verdict("no", said, "bad", more)
    if len(reasons) == 1:
        return Verdict("look first", more[0])
    if reasons:
        said = f"{len(reasons)} things should be looked at before training."
        return Verdict("look first", said, "open", more)
    said = f"{len(found.table):,} images were read; nothing is wrong or unusual."
    return Verdict("fit to train", said, "good")


def own_counts(found: Inspection) -> Table:
    """Images per class of each domain and split, as the data set has them."""
    records = [
        {
            **record,
            "split": split_name(record["split"]),
            "published": found.published.get((record["split"], record["domain"])),
        }
        for record in count_rows(found.table)
    ]
    return count_table("Images per class", found.table.class_names, records)


def _used_counts(found: Inspection) -> Table | None:
    # One row for each split: with many domains held out in turn, one for each domain is too many.
    undivided = replace(found.table, domains=np.full(len(found.table), "", dtype="<U1"))
    records = [
        {**record, "split": split_name(record["split"]), "domain": name.strip().removeprefix(", ")}
        for name, rows in found.plans.items()
        for record in count_rows(undivided, _splits(len(undivided), rows))
        if record["split"]
    ]
    return count_table("Images of each split", undivided.class_names, records) if records else None


def _splits(count: int, rows: Mapping[str, NDArray[np.int64]]) -> NDArray[np.str_]:
    splits = np.full(count, "", dtype="<U8")
    for split, of_split in rows.items():
        splits[of_split] = split
    return splits


def count_table(
    caption: str, class_names: Sequence[str], records: Sequence[Mapping[str, Any]]
) -> Table:
    """Records of `count_rows`: a row each, or a column each where so many classes do not fit.

    Args:
        caption: Of the table.
        class_names: The classes.
        records: Of splits and domains.
    """
    totals = {"Images": "rows", "Published": "published", "Patients": "groups"}
    totals["Without an image"] = "missing"
    totals = {
        head: key for head, key in totals.items() if any(record.get(key) for record in records)
    }
    rows = []
    for record in records:
        whole = [record.get(key) for key in totals.values()]
        numbers = [*whole, *(record["classes"][name] for name in class_names)]
        cells = [Cell() if number is None else Cell(number) for number in numbers]
        heading = ", ".join(filter(None, (record["split"], record["domain"])))
        rows.append(Row(heading or _ALL, cells))
    columns = [*totals, *class_names]
    if len(class_names) <= _MOST_COLUMNS:
        kind = "Domain" if not any(record["split"] for record in records) else "Split"
        return Table(caption, [kind, *columns], rows, intervals=False)
    across = [Row(name, [row.cells[n] for row in rows]) for n, name in enumerate(columns)]
    return Table(caption, ["Class", *(row.heading for row in rows)], across, intervals=False)


def _sizes(found: Inspection) -> list[Block]:
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
    if any(unequal(list(counts.values())) for counts in plans.values()):
        return [size_figures(plans)]
    return []


def _files(found: Inspection) -> Table | None:
    """Kinds, sizes, spacings and values of the files of each domain; nothing without files."""
    if not found.table.facts:
        return None
    columns = ["Domain", "Files", "Kind", "Size", "Spacing (mm)", "Values"]
    table = Table("Files by domain", columns, texts=(2, 3, 4, 5), intervals=False)
    domains = found.table.domains
    for column, facts in found.table.facts_of_images.items():
        for domain in np.unique(domains).tolist():
            rows = np.flatnonzero(domains == domain).tolist()
            there = [one for row in rows if (one := facts[row]) is not None]
            if there:
                heading = ", ".join(filter(None, (column, domain)))
                table.rows.append(Row(heading or _ALL, _facts_cells(there)))
    return table


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


def _controls(controls: Sequence[Control]) -> Section | None:
    """A row for each way a run divides the data, a column for each control."""
    names = list(dict.fromkeys(one.name for one in controls))
    of_plan = {(one.plan, one.name): one for one in controls}
    table = Table("AUC on the test split", ["Division", "Test images", *names])
    for plan in dict.fromkeys(one.plan for one in controls):
        known = [of_plan.get((plan, name)) for name in names]
        count = next(one.n for one in known if one is not None)
        cells = [
            table.number("auc", None if one is None else Estimate.of(one.numbers["auc"]))
            for one in known
        ]
        table.rows.append(Row(plan.strip() or _ALL, [Cell(count), *cells]))
    values = [one.numbers["auc"].value for one in controls]
    most = max((value for value in values if value is not None), default=None)
    if most is None:
        return None
    return section("data", "controls", table, most=metric_facts("auc").show(most))


def _pictures(found: Inspection, ids: Collection[str]) -> Section | None:
    """Some images of each domain, as a network would see them; nothing of stored latents."""
    if found.table.latents:
        return None
    domains = np.unique(found.table.domains).tolist()
    blocks: list[Block] = []
    for domain in domains[:_MOST_DOMAINS]:
        rows = _chosen(found.table.labels, np.flatnonzero(found.table.domains == domain))
        drawn = [one for row in rows for one in _of_item(found, row, ids)]
        blocks += [Paragraph(domain or _ALL), Pictures(drawn)]
    if len(domains) > _MOST_DOMAINS:
        blocks.append(Paragraph(sentence("data_more", count=len(domains) - _MOST_DOMAINS)))
    if found.table.images.ndim == 5:
        blocks.append(Paragraph(sentence("slices"), "small"))
    return section("data", "pictures", *blocks)


def _chosen(labels: NDArray[Any], rows: NDArray[np.int64]) -> list[int]:
    """Some rows, the classes in turn; the same ones each time."""
    shuffled = np.random.default_rng(0).permutation(rows)
    if labels.ndim == 2:
        return sorted(map(int, shuffled[:PER_DOMAIN]))
    of_class = [shuffled[labels[shuffled] == k] for k in np.unique(labels[shuffled])]
    turns = [(place, int(row)) for one in of_class for place, row in enumerate(one.tolist())]
    return sorted(row for _, row in sorted(turns)[:PER_DOMAIN])


def _of_item(found: Inspection, row: int, ids: Collection[str]) -> list[Picture]:
    """A picture of each image of an item, with its name where there are several."""
    table = found.table
    images = ("",) if table.combined is None else table.combined.names
    label = table.labels[row]
    if np.ndim(label):
        names = [n for n, positive in zip(table.class_names, label, strict=True) if positive == 1]
        text = ", ".join(names) or "no label"
    else:
        text = table.class_names[int(label)]
    below = [] if ids else [str(table.ids[row])]
    return [
        Picture(
            thumbnail(pixels), [f"{text}, {name}" if name else text, *below],
            f"An image of class {text}",
        )
        for name, pixels in zip(images, np.split(table.images[row], len(images)), strict=True)
    ]  # fmt: skip
