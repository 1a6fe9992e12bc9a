"""A trained run scored at another site, in a folder that can leave it.

The folder is that of a run without weights: reports, comparisons and `medldr verify` read it. It
holds labels and probabilities, but no picture, no path, and no name of a file or a patient: items
are numbered in the order of the site's table, patients in the order of their names. The rows of the
run's own validation split, which give the threshold, are in it in the same way.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.config import load_config
from medldr.config.changes import Changes, change_texts
from medldr.data.checks.group_labels import stray_labels
from medldr.data.listing.item_frame import Listing
from medldr.data.reading.new_item import NewItem
from medldr.data.seen import seen_by
from medldr.datasets import table as table_plugin
from medldr.encoding.reader import EncodingReader
from medldr.errors import InputError
from medldr.evaluation import aggregate, recalibration
from medldr.evaluation.predictions.table import read_predictions
from medldr.folders.files import RunFolder, check_replaceable, whole_folder, write_text
from medldr.folders.records import read_content
from medldr.plugins import takes_plugins
from medldr.prediction.answers import Answers, Unreadable, unreadable_text
from medldr.prediction.items import Item
from medldr.prediction.predict import load_runs, predict_items
from medldr.prediction.trained import Trained
from medldr.prediction.validation_folder import numbered, write_validation
from medldr.reporting import write_report
from medldr.types import Predictions

COLUMNS: Final = (
    *("path", "label", "domain", "group", "group_scope", "ordinal", "uncertain"),
    *("combine", "align", "on_missing"),
)
"""Keys of the run's own table that also hold for the site's, unless others are given."""
GROUPED: Final = ("evaluation.aggregate", "evaluation.group_label")
"""Keys of scoring that a site may change: its patients need not be known, or have other labels."""
_NOT_KNOWN: Final = (
    "images of training may be among those scored: the run knows them by their stored latents, "
    "and an encoder gives other last digits to an image alone than to a batch"
)
ANY: Final = ("recipe/own_2d", "algorithm/erm", "data/table")
"""Parts of a whole configuration, of which nothing is used but the section ``data``."""


class Validated(NamedTuple):
    """What came of a validation.

    Attributes:
        folder: What can leave the site.
        items: How many items were scored.
        unreadable: Items that could not be used; their names stay at the site.
        warned: How many items are unlike the training images in some way.
        left_out: How many images were left out, as the run has seen them in training.
        notes: What is to be said of images that the run has seen, a sentence each.
        listed: The table of unusable items beside the folder, which stays; None without any.
    """

    folder: Path
    items: int
    unreadable: tuple[Unreadable, ...]
    warned: int
    left_out: int
    notes: tuple[str, ...]
    listed: Path | None


@takes_plugins
def validate(
    run: str | Path,
    table: str | Path,
    overrides: Changes = (),
    out: str | Path = "validation",
    *,
    site: str = "",
    device: str | None = None,
    encoder: str | Path | None = None,
    force: bool = False,
    keep_seen: bool = False,
    plugins: Sequence[str] = (),
) -> Validated:
    """Score a trained run on the labelled scans of another site.

    Images that the run, or a run that it started from, trained or selected on are no evidence of
    how it does elsewhere, and are left out; see `medldr.data.seen`.

    Args:
        run: The run folder.
        table: The site's table, with columns as the run's own data had them, or as `overrides` say.
        overrides: ``data.KEY=VALUE`` texts, or values by key, such as ``data.label=grade``;
            ``evaluation.aggregate`` and ``evaluation.group_label``, where groups are to be scored
            otherwise than in the run.
        out: The folder to write, with its page.
        site: What the site is called in reports; unset: the folder's name.
        device: Device to use; unset: the run's own.
        encoder: As `medldr.predict` takes it.
        force: Replace an earlier folder of that name, and an earlier list of unusable items.
        keep_seen: Score images of training too, and mark the numbers.
        plugins: Packages of your own whose plug-ins may be imported.

    Raises:
        InputError: If the run is not finished, the table does not fit it, none of its scans can be
            read, all of them were seen in training, groups cannot be scored as asked, or `out` or
            the list beside it is there already.
    """
    folder = Path(os.path.realpath(out))
    listed = folder.with_name(f"{folder.name}_unreadable.csv")
    if listed.exists() and not force:
        raise InputError(f"{listed} exists. Choose another --out, or add --force")
    check_replaceable(folder, "results of a validation", _is_validation, force=force)
    (trained,) = load_runs(run, device, encoder=encoder)
    files = RunFolder(run)
    config = _site_config(trained, Path(table), change_texts(overrides))
    listing = table_plugin.list_items(config.data)
    scoring, own = config.evaluation, _own_validation(files, trained)
    held = [(listing.labels, listing.groups), *((of.label, of.group) for of in own.values())]
    aggregate.check(scoring, trained.record.task, held)
    trained.config = trained.config.model_copy(update={"evaluation": scoring})
    kept, not_compared = seen_by(files.path)
    trained.reader.digests = {one.kind for one in kept}
    digest, seen = hashlib.sha256(), list[bool]()

    def digest_image(item: Item, images: Sequence[NewItem], prob: NDArray[np.float64]) -> None:
        del item, prob
        seen.append(any(any(one.has([images[0].digests[one.kind]])) for one in kept))
        if keep_seen or not seen[-1]:
            digest.update(np.ascontiguousarray(images[0].image).data)

    items = [Item(str(row), source) for row, source in enumerate(listing.sources)]
    answers = predict_items([trained], items, on_answer=digest_image)
    if kept and isinstance(trained.reader, EncodingReader) and trained.reader.encoded:
        not_compared = [*not_compared, _NOT_KNOWN]
    unreadable = (
        *(Unreadable(one.path, one.reason) for one in listing.skipped),
        *(Unreadable(str(listing.ids[int(one.name)]), one.reason) for one in answers.unreadable),
    )
    if not len(answers):
        raise InputError(
            f"{table}: none of its {len(items):,} scans can be used, such as {unreadable[0].name}: "
            f"{unreadable[0].reason}"
        )
    known = sum(seen)
    if known == len(seen) and not keep_seen:
        raise InputError(
            f"{table}: the run was trained or selected on all of its {known:,} images, so they say "
            "nothing about new ones. Give a table of other images, or score these all the same "
            "with --keep-seen"
        )
    used = np.flatnonzero([keep_seen or not one for one in seen])
    name = site or folder.name
    scored = _scored(listing, answers, name, trained).select(used)
    what = ", so the numbers are too good." if keep_seen else " and left out"
    said = [f"{known:,} of {len(seen):,} images were seen in training{what}"] if known else []
    notes = [*said, *listing.notes, *not_compared, *stray_labels(scored.label, scored.group)]
    if unreadable:
        notes.append(f"scans that could not be read and were left out: {len(unreadable)}")
    tables, marks = {**own, "test": scored}, said if keep_seen else []
    with whole_folder(folder) as made:
        write_validation(
            RunFolder(made), trained, files, tables, name, digest.hexdigest(), notes, marks
        )
    if unreadable:
        write_text(listed, unreadable_text(unreadable))
    else:
        listed.unlink(missing_ok=True)
    write_report(folder)
    warned = sum(bool(answers.warnings[row]) for row in used.tolist())
    left_out = 0 if keep_seen else known
    told = (*said, *not_compared)
    beside = listed if unreadable else None
    return Validated(folder, len(used), unreadable, warned, left_out, told, beside)


def _is_validation(folder: Path) -> bool:
    files = RunFolder(folder)
    if not files.run.is_file() or files.model.exists():
        return False
    return "validation_of" in read_content(files.run, "Remove it")


def _site_config(trained: Trained, table: Path, overrides: Sequence[str]) -> Any:
    """The run's configuration with the site's table in place of its data."""
    for override in overrides:
        key = override.partition("=")[0].strip()
        if key in GROUPED:
            continue
        if not key.startswith("data.") or key in ("data.name", "data.file", "data.folders"):
            raise InputError(
                f"{override}: only keys of data can be changed, such as data.label=grade, and "
                f"{' and '.join(GROUPED)}; the table is the argument after the run"
            )
    own = trained.config.data.model_dump(mode="json")
    kept = {key: own[key] for key in COLUMNS if own.get(key) is not None and own["name"] == "table"}
    if not table.is_file():
        there = "is a folder" if table.is_dir() else "does not exist"
        said = ", ".join(f"data.{key}={kept[key]}" for key in COLUMNS[:4] if key in kept)
        raise InputError(
            f"{table} {there}: give a table with a row per scan, with its file and its label"
            f"{said and f' (columns as {said}, unless others are given)'}"
        )
    crop = trained.record.reading.get("crop")
    values = {
        "extends": list(ANY),
        "data": {
            "name": "table",
            "file": str(table.resolve()),
            "classes": list(trained.record.class_names),
            "on_bad_file": "skip",
            **kept,
            **({} if crop is None else {"crop": crop}),
        },
        "evaluation": trained.config.evaluation.model_dump(mode="json"),
    }
    return load_config(values, overrides)


def _scored(listing: Listing, answers: Answers, site: str, trained: Trained) -> Predictions:
    """The site's predictions, without a name of the site's own but those of its domains."""
    rows = np.array([int(name) for name in answers.names], dtype=np.int64)
    labels: Any = listing.labels[rows]
    domains = listing.domains[rows]
    multi = trained.record.task == "multi-label"
    return Predictions(
        task=trained.record.task,
        class_names=answers.class_names,
        id=np.array([f"item {row + 1:06}" for row in rows.tolist()]),
        split=np.full(len(rows), "test"),
        domain=np.where(domains == "", site, domains),
        group=numbered(listing.groups[rows]),
        label=labels.astype(np.float64 if multi else np.int64),
        prob=answers.prob,
        log_odds=answers.log_odds,
    )


def _own_validation(files: RunFolder, trained: Trained) -> dict[str, Predictions]:
    """The run's own validation predictions, which give the threshold, without their names."""
    table = read_predictions(files.predictions, trained.record.task)
    for split in recalibration.VALIDATION:
        chosen = table.select(table.split == split)
        if len(chosen):
            ids = np.array([f"{split} {row:06}" for row in range(1, len(chosen) + 1)])
            return {split: replace(chosen, id=ids, group=numbered(chosen.group), columns={})}
    return {}
