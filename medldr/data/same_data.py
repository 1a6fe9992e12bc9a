"""Whether the data of a finished run is still what it was made of.

A finished run is not trained again. Its numbers are those of the data as it is only if that has not
changed: neither the content of any file, nor what headers, tables and rules say of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

import numpy as np
from rich.console import Console

from medldr import plugins
from medldr.config import RunConfig
from medldr.data.config import DatasetConfig
from medldr.data.counting import counted
from medldr.data.files.read import READER
from medldr.data.files.rules import SCAN
from medldr.data.hashes import PARTS, hash_parts, hash_table
from medldr.data.image_table import ImageTable
from medldr.data.load import absence, load_table, whole_at_input_size
from medldr.data.store import find_pack
from medldr.errors import InputError
from medldr.folders.files import RunFolder, read_json
from medldr.folders.run_record import RunRecord, read_run_record

CURE = "Restore the data that it was trained on, or train it again with --restart"

_DIVIDING = (
    *("held_out", "held_out_rows", "split_rule", "split_seed", "val_fraction", "test_fraction"),
    *("manifest", "fold", "train_fraction", "imbalance", "exclude", "allow_missing_classes"),
    *("metadata", "card"),
)
"""Keys that do not decide what is read, so that the members of a sweep share one reading."""


class Comparison(NamedTuple):
    """What came of comparing a run's data with the files as they are.

    Attributes:
        changed: What differs, in words; empty where nothing does.
        not_compared: Why nothing could be compared, in words; empty where it was.
    """

    changed: tuple[str, ...] = ()
    not_compared: str = ""


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
            if _same_checksums(section, record):
                return Comparison()
            table = self._table(section)
            if table is None:  # made from its keys, which the run's identity holds
                return Comparison()
            if isinstance(table, str):
                return Comparison(not_compared=table)
            table = whole_at_input_size(table, config.transform)
        except InputError as error:
            return Comparison((str(error),))
        if _is_of_scans(table) and record.data.reader != READER:
            reader = f"reader {record.data.reader}" if record.data.reader else "an earlier reader"
            return Comparison((f"its files were read by {reader} of medldr, and this is {READER}",))
        changed = tuple(_differences(table, record, read_json(files.splits)))
        if changed or hash_table(table) == record.data_hash:
            return Comparison(changed)
        other = [n for n, sha256 in table.hashes.items() if record.data.files.get(n) != sha256]
        difference = (
            f"checksum of {', '.join(other)}" if other else "order of its items, or their shape"
        )
        return Comparison((difference,))

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
        raise InputError(
            f"{files.path} has finished, but its data has changed since: "
            f"{'; '.join(comparison.changed)}. {CURE}"
        )
    if comparison.not_compared:
        console = Console(stderr=True, highlight=False)
        text = f"not compared with the data of {files.path}: {comparison.not_compared}"
        console.print(text, soft_wrap=True, markup=False)


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


def _is_of_scans(table: ImageTable) -> bool:
    return table.reading is not None and table.reading.get("kind") == SCAN


def _differences(
    table: ImageTable, record: RunRecord, manifest: Mapping[str, Any]
) -> Iterator[str]:
    """What differs from the data of a run, item by item and column by column."""
    row_of = {item: row for row, item in enumerate(table.ids.tolist())}
    splits: Mapping[str, list[str]] = manifest["splits"]
    before = {item for ids in (*splits.values(), manifest["left_out"]) for item in ids}
    gone, new = before - row_of.keys(), row_of.keys() - before
    for items, what in ((gone, "gone"), (new, "new")):
        if items:
            yield f"{counted(len(items), 'item is', 'items are')} {what}, such as {min(items)}"
    if gone:
        return
    rows = {name: np.array([row_of[item] for item in ids]) for name, ids in splits.items()}
    for part, columns in hash_parts(table, rows).items():
        then = record.data.parts.get(part, {})
        other = [name for name in columns if name in then and columns[name] != then[name]]
        if other:
            yield f"{', '.join(other)} of the {part} part ({', '.join(PARTS[part])})"
