"""Checksums of the files of a finished run, which reveal every later change.

`run.json` holds them: one of each file with results, and one of its own content, which includes
the others. They detect a file that was edited, damaged or mixed up with that of another run. They
are no signature: whoever rewrites the files and `run.json` alike, checksums included, is not found.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from medldr.folders.files import RunFolder, checksum

CHECKSUMS: Final = "checksums"
"""The key of `run.json`."""
FOLDERS: Final = ("selected", "submission", "stages")
"""Folders of a run whose files are results, but for the checkpoints of its stages."""
MISSING: Final = "is missing"
KEPT: Final = "evaluation.{}.json"
"""Evaluations on test data that has changed since."""
_OF_TRAINING: Final = ("run.json", "metrics.jsonl", "model.safetensors")


def result_files(files: RunFolder) -> dict[str, Path]:
    """The existing files with results, by their name within the folder.

    Checkpoints, the owner and pages are no results: pages are made from these files.
    """
    candidates = [
        files.config, files.splits, files.bad_files, files.metrics, files.model,
        files.predictions, files.evaluation, files.mistakes, files.preprocessing, files.unlike,
        files.latents, files.seen, *sorted(files.path.glob(KEPT.format("*"))),
    ]  # fmt: skip
    for folder in FOLDERS:
        below = sorted((files.path / folder).rglob("[!.]*"))
        candidates += [path for path in below if path.suffix != ".ckpt"]
    return {p.relative_to(files.path).as_posix(): p for p in candidates if p.is_file()}


def checksums_of(files: RunFolder, names: Collection[str] | None = None) -> dict[str, str]:
    """The SHA-256 of each of `result_files`, or of some of them."""
    return {
        name: checksum(path)
        for name, path in result_files(files).items()
        if names is None or name in names
    }


def checksum_of_content(content: Mapping[str, Any], own: str = "run.json") -> str:
    """The checksum of `run.json`: of its values, not of how the file is laid out.

    Args:
        content: What the file holds; a checksum of its own that is in there does not count.
        own: The name of the file.

    Example:
        >>> one = checksum_of_content({"seed": 0, "checksums": {"a": "1"}})
        >>> one == checksum_of_content({"checksums": {"a": "1", "run.json": one}, "seed": 0})
        True
        >>> one == checksum_of_content({"checksums": {"a": "2", "run.json": one}, "seed": 0})
        False
    """
    of_files = {k: v for k, v in (content.get(CHECKSUMS) or {}).items() if k != own}
    text = json.dumps({**content, CHECKSUMS: of_files}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def is_scored(name: str) -> bool:
    """Whether a file is written, or read afresh, whenever a run is scored.

    Example:
        >>> [is_scored(f"selected/last{end}") for end in (".safetensors", "/evaluation.json")]
        [False, True]
        >>> is_scored("predictions.csv"), is_scored("metrics.jsonl")
        (True, False)
        >>> is_scored("evaluation.1.json")  # kept when the run was scored on other test data
        False
    """
    if fnmatch.fnmatch(PurePosixPath(name).name, KEPT.format("*")):
        return False
    folder, *inner = PurePosixPath(name).parts
    if not inner:
        return name not in _OF_TRAINING
    return folder == "submission" or (folder == "selected" and len(inner) > 1)


def is_stopped(files: RunFolder, recorded: Mapping[str, str]) -> bool:
    """Whether scoring a finished run again was stopped, which leaves scores without checksums."""
    return bool(recorded) and files.evaluation.name not in recorded and files.evaluation.is_file()


def changes(
    files: RunFolder, content: Mapping[str, Any], names: Collection[str] | None = None
) -> Iterator[tuple[str, str]]:
    """Files that are not as they were when the run finished or was last evaluated.

    Args:
        files: The run folder.
        content: What its `run.json` holds. Without checksums, as in a run that has not finished,
            nothing differs; nor does a file that is being scored again.
        names: The files to look at; all unless given.

    Yields:
        The name of a file, and what is wrong with it.
    """
    recorded = content.get(CHECKSUMS)
    if not recorded:
        return
    results, stopped = result_files(files), is_stopped(files, recorded)
    for name in dict.fromkeys(["run.json", *recorded, *results]):
        if names is not None and name not in names:
            continue
        if name == "run.json":
            if recorded.get(name) != checksum_of_content(content):
                yield name, "was changed: its content does not have its checksum"
        elif not _is_result(name):
            yield name, "has a checksum in run.json, but no run writes such a file"
        elif name not in results:
            yield name, MISSING
        elif name not in recorded:
            if not (stopped and is_scored(name)):
                yield name, "was added: it has no checksum in run.json"
        elif checksum(results[name]) != recorded[name]:
            yield name, "was changed: it does not have the checksum in run.json"


def is_inside(name: str) -> bool:
    """Whether a name is that of a file in the folder; a record from elsewhere may name any."""
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _is_result(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return is_inside(name) and (len(parts) == 1 or parts[0] in FOLDERS)
