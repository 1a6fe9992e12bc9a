"""Checksums of what a run left in its folder, by which a later change of a file is seen.

`run.json` holds them: one of each file with results, and one of its own content, which includes
the others. They detect a file that was edited, damaged or mixed up with that of another run. They
are no signature: whoever rewrites the files and `run.json` alike, checksums included, is not found.
"""

from __future__ import annotations

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
_SCORED: Final = frozenset({
    "config.yaml", "splits.json", "bad_files.csv", "predictions.csv", "evaluation.json",
    "mistakes.json", "preprocessing.json", "unlike.safetensors", "latents.safetensors",
})  # fmt: skip


def result_files(files: RunFolder) -> dict[str, Path]:
    """The files with results that are there, by their name within the folder.

    Checkpoints, the owner and pages are no results: pages are made from these files.
    """
    single = (
        files.config, files.splits, files.bad_files, files.metrics, files.model,
        files.predictions, files.evaluation, files.mistakes, files.preprocessing, files.unlike,
        files.latents,
    )  # fmt: skip
    found = [path for path in single if path.is_file()]
    for folder in FOLDERS:
        below = sorted((files.path / folder).rglob("*"))
        found += [
            path
            for path in below
            if path.is_file() and not path.name.startswith(".") and path.suffix != ".ckpt"
        ]
    return {path.relative_to(files.path).as_posix(): path for path in found}


def checksums_of(files: RunFolder, names: Collection[str] | None = None) -> dict[str, str]:
    """The SHA-256 of each of `result_files`, or of some of them."""
    return {
        name: checksum(path)
        for name, path in result_files(files).items()
        if names is None or name in names
    }


def checksum_of_content(content: Mapping[str, Any]) -> str:
    """The checksum of `run.json`: of its values, not of how the file is laid out.

    Args:
        content: What the file holds; a checksum of its own that is in there does not count.

    Example:
        >>> one = checksum_of_content({"seed": 0, "checksums": {"a": "1"}})
        >>> one == checksum_of_content({"checksums": {"a": "1", "run.json": one}, "seed": 0})
        True
        >>> one == checksum_of_content({"checksums": {"a": "2", "run.json": one}, "seed": 0})
        False
    """
    of_files = {k: v for k, v in (content.get(CHECKSUMS) or {}).items() if k != "run.json"}
    text = json.dumps({**content, CHECKSUMS: of_files}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def is_scored(name: str) -> bool:
    """Whether a file is written, or read afresh, whenever a run is scored.

    Example:
        >>> [is_scored(f"selected/last{end}") for end in (".safetensors", "/evaluation.json")]
        [False, True]
        >>> is_scored("predictions.csv"), is_scored("metrics.jsonl")
        (True, False)
    """
    folder, *inner = PurePosixPath(name).parts
    return name in _SCORED or folder == "submission" or (folder == "selected" and len(inner) > 1)


def is_stopped(files: RunFolder, known: Mapping[str, str]) -> bool:
    """Whether scoring a finished run again was stopped, which leaves scores without checksums."""
    return bool(known) and files.evaluation.name not in known and files.evaluation.is_file()


def changes(
    files: RunFolder, content: Mapping[str, Any], names: Collection[str] | None = None
) -> Iterator[tuple[str, str]]:
    """Files that are not as they were when the run finished or was last evaluated.

    Args:
        files: The run folder.
        content: What its `run.json` holds. Without checksums in it nothing is known to differ, and
            neither is a file that is being scored again.
        names: The files to look at; all unless given.

    Yields:
        The name of a file, and what is wrong with it.
    """
    known = content.get(CHECKSUMS)
    if not known:
        return
    if names is None or "run.json" in names:
        found = checksum_of_content(content)
        if known.get("run.json") != found:
            yield "run.json", "was changed: its content does not have its checksum"
    there, stopped = result_files(files), is_stopped(files, known)
    for name in dict.fromkeys([*known, *there]):
        if name == "run.json" or (names is not None and name not in names):
            continue
        if not _is_result(name):
            yield name, "has a checksum in run.json, but no run writes such a file"
        elif name not in there:
            yield name, MISSING
        elif name not in known:
            if stopped and is_scored(name):
                continue
            yield name, "was added: it has no checksum in run.json"
        elif checksum(there[name]) != known[name]:
            yield name, "was changed: it does not have the checksum in run.json"


def _is_result(name: str) -> bool:
    """Whether a name may be that of a result; a `run.json` from elsewhere may name any file."""
    path = PurePosixPath(name)
    inside = not path.is_absolute() and ".." not in path.parts
    return inside and (len(path.parts) == 1 or path.parts[0] in FOLDERS)
