"""Whether the data of a finished run is still what it was made of.

A finished run is not trained again. Its numbers are those of the data as it is only if that has not
changed: neither the content of any file, nor what headers, tables and rules say of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from medldr import plugins
from medldr.config import RunConfig, load_config
from medldr.console import say
from medldr.data.config import DatasetConfig
from medldr.data.counting import counted
from medldr.data.files.read import READER
from medldr.data.files.rules import SCAN
from medldr.data.hashes import (
    PARTS,
    Parts,
    are_by_content,
    changed_columns,
    hash_metadata,
    hash_parts,
    hash_table,
)
from medldr.data.image_table import ImageTable
from medldr.data.listing.tables import sheet_of_book
from medldr.data.load import absence, load_table, whole_at_input_size
from medldr.data.metadata import add_metadata
from medldr.data.splits.make import make_splits
from medldr.data.store import find_pack
from medldr.errors import InputError
from medldr.folders.files import RunFolder, read_json
from medldr.folders.run_record import RunRecord, read_run_record

if TYPE_CHECKING:
    from medldr.data.build import Data

TRAINING, JUDGED = PARTS
DESCRIBED = "described"
"""What divides results and is no part of the data: columns of `data.metadata`."""
CURE = "Restore the data that it was trained on, or train it again with --restart"
RESCORE = (
    "Restore the data that it was scored on, or score the trained network on the new: `medldr "
    "evaluate {} --new-test`"
)
DIVIDE = "Score the run again: `medldr evaluate {}`"

_DIVIDING = (
    *("held_out", "held_out_rows", "split_rule", "split_seed", "val_fraction", "test_fraction"),
    *("manifest", "fold", "train_fraction", "imbalance", "exclude", "allow_missing_classes"),
    *("metadata", "card"),
)
"""Keys that do not decide what is read, so that the members of a sweep share one reading."""


class Comparison(NamedTuple):
    """What came of comparing a run's data with the files as they are.

    Attributes:
        changed: What differs, in words, by part of `PARTS` or `DESCRIBED`; empty where nothing
            does. What cannot be told to be of the judged part alone counts as of the training part.
        not_compared: Why nothing could be compared, in words; empty where it was.
    """

    changed: Mapping[str, str] = {}
    not_compared: str = ""

    def told(self, folder: Path | str) -> str:
        """What differs, and the cure, for the run of a folder."""
        cures = {TRAINING: CURE, JUDGED: RESCORE, DESCRIBED: DIVIDE}
        cure = next(text for part, text in cures.items() if part in self.changed)
        return f"{'; '.join(self.changed.values())}. {cure.format(folder)}"


class DataComparer:
    """Compares the data of finished runs with the files as they are; reads each data set once.

    Files that were read before and have not changed since are not read again, and no image is made.
    """

    def __init__(self) -> None:
        self._tables: dict[str, ImageTable | str | None] = {}

    def compare(self, config: RunConfig, files: RunFolder) -> Comparison:
        """Compare the data of a finished run.

        Args:
            config: Its configuration.
            files: Its folder.
        """
        section, record = cast(DatasetConfig, config.data), read_run_record(files)
        try:
            if record.data.described is None and _same_checksums(section, record):
                return Comparison()
            table = self._table(section)
            if table is None:  # made from its keys, which the run's identity holds
                return Comparison()
            if isinstance(table, str):
                return Comparison(not_compared=table)
            table = whole_at_input_size(table, config.transform)
        except InputError as error:
            return Comparison({TRAINING: str(error)})
        if (table.reading or {}).get("kind") == SCAN and record.data.reader != READER:
            reader = f"reader {record.data.reader}" if record.data.reader else "an earlier reader"
            text = f"its files were read by {reader} of medldr, and this is {READER}"
            return Comparison({TRAINING: text})
        changed = _differences(config, table, record, read_json(files.splits))
        return Comparison({**changed, **_redescribed(config, files, table, record)})

    def _table(self, section: DatasetConfig) -> ImageTable | str | None:
        """The table; why it is not here; or None where a data set has no files."""
        plain: dict[str, Any] = {
            key: DatasetConfig.model_fields[key].get_default(call_default_factory=True)
            for key in _DIVIDING
        }
        if "cache" in type(section).model_fields:
            plain["cache"] = "off"  # no image is needed
        section = section.model_copy(update={**plain, "download": False})
        key = section.model_dump_json()
        if key not in self._tables:
            self._tables[key] = _load(section)
        return self._tables[key]


def refuse_changed_data(config: RunConfig, files: RunFolder) -> None:
    """Refuse to present a finished run whose data has changed since.

    Where the data is not here, a line says that nothing was compared.

    Raises:
        InputError: Naming what changed, and the cure.
    """
    comparison = DataComparer().compare(config, files)
    if comparison.changed:
        told = comparison.told(files.path)
        raise InputError(f"{files.path} has finished, but its data has changed since: {told}")
    if comparison.not_compared:
        say(f"not compared with the data of {files.path}: {comparison.not_compared}")


def compare_parts(data: Data, record: RunRecord) -> Comparison:
    """Compare data that was read and divided with what a run's record says of its own.

    Where the record does not know what images hold (as that of an older version, or of files now
    packed), the hashes of all data and of its division count, as of the training part.
    """
    now = data.parts_hashes
    changed = _in_words(now, data.table, record)
    if not changed:
        content = are_by_content(now, record.data.parts)
        for what, current in data.hashes().items():
            then = getattr(record, what)
            if what.endswith("_data_hash") is content and current != then:
                part = JUDGED if what == "test_data_hash" else TRAINING
                changed[part] = f"{what} is now {str(current)[:12]}, was {str(then)[:12]}"
    return Comparison(changed)


def _load(section: DatasetConfig) -> ImageTable | str | None:
    module: Any = plugins.load("datasets", section.name)
    if getattr(module, "require", None) is None:
        return None
    absent = absence(module, section)
    if absent is not None and find_pack(section) is None:
        return absent
    return load_table(section)


def _same_checksums(section: DatasetConfig, record: RunRecord) -> bool:
    """Whether all that is read is in files whose checksums are those of the run."""
    checksums = getattr(plugins.load("datasets", section.name), "checksums", None)
    current = {} if checksums is None else checksums(section)
    return bool(current) and current.items() <= record.data.files.items()


def _differences(
    config: RunConfig, table: ImageTable, record: RunRecord, manifest: Mapping[str, Any]
) -> dict[str, str]:
    """What differs from the data of a run, item by item and column by column."""
    row_of = {item: row for row, item in enumerate(table.ids.tolist())}
    splits: Mapping[str, list[str]] = manifest["splits"]
    before = {item for ids in (*splits.values(), manifest["left_out"]) for item in ids}
    gone, new = before - row_of.keys(), row_of.keys() - before
    if gone or new:  # which may be divided in another way, too
        section = cast(DatasetConfig, config.data).with_seed(config.seed)
        rows, _ = make_splits(table, section)
    else:
        rows = {  # in their order now, which decides what is trained on when
            name: np.sort([row_of[item] for item in ids]) for name, ids in splits.items()
        }
    now = hash_parts(table, rows)
    changed = _in_words(now, table, record)
    if not are_by_content(now, record.data.parts):
        for items, what in ((gone, "gone"), (new, "new")):
            if items:
                text = f"{counted(len(items), 'item is', 'items are')} {what}"
                changed[TRAINING] = f"{text}, such as {min(items)}"
        if not changed and hash_table(table) != record.data_hash:
            files = record.data.files
            other = [name for name, sha256 in table.hashes.items() if files.get(name) != sha256]
            text = f"checksum of {', '.join(other)}" if other else "order of its items, or shape"
            changed[TRAINING] = text
    return changed


def _in_words(now: Parts, table: ImageTable, record: RunRecord) -> dict[str, str]:
    changed = {
        part: f"{', '.join(columns)} of the {part} part ({', '.join(PARTS[part])})"
        for part, columns in changed_columns(now, record.data.parts).items()
        if record.data.parts
    }
    if record.spec is not None and table.class_names != record.spec.class_names:
        told = (changed[TRAINING],) if TRAINING in changed else ()
        changed[TRAINING] = "; ".join((*told, "names of classes"))
    return changed


def _redescribed(
    config: RunConfig, files: RunFolder, table: ImageTable, record: RunRecord
) -> dict[str, str]:
    """Whether the columns that divided the results of a run have changed since."""
    file = cast(DatasetConfig, config.data).metadata
    if file is None or record.data.described is None or not sheet_of_book(file)[0].is_file():
        return {}
    scored = load_config(files.config).evaluation  # which `medldr evaluate` would follow again
    if hash_metadata(add_metadata(table, file, scored)) == record.data.described:
        return {}
    return {DESCRIBED: f"what data.metadata ({file}) says of its items"}
