"""No file name, item id or group name of a patient reaches a page.

Tables and figures never hold ids. Free text might: notes on the data, the command line, values
of the configuration. Words in it that are ids or group names of this run are replaced.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

HIDDEN = "[hidden id]"
HIDDEN_NAME = "[hidden name]"
LONGEST_ERROR = 240
ID_KEYS = ("exclude",)
"""Keys of the configuration whose values are ids."""

_OURS = ("run.json", "config.yaml", "evaluation.json", "predictions.csv", "metrics.jsonl")
_FILE = re.compile(
    r"\.(nii|dcm|dicom|png|jpe?g|tiff?|bmp|gif|npy|npz|h5|hdf5|mha|mhd|nrrd|svs|csv|tsv|xlsx?|json|"
    r"jsonl|ya?ml|txt|zip|tar|pt|pth|ckpt|safetensors)(\.gz)?$",
    re.IGNORECASE,
)
_LIKE_AN_ID = re.compile(r"(?=.*\d{3})(?=.*[^\W\d]).*|\d{6,}")
_WORD = re.compile(r"[^\s,;:=\"'`()\[\]{}<>]+")


def read_ids(predictions: Path) -> frozenset[str]:
    """Ids and group names in `predictions.csv`; empty where there is no such file.

    Short numbers are left out: as words of a text they are counts far more often than ids.
    """
    if not predictions.is_file():
        return frozenset()
    found: set[str] = set()
    with predictions.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found.update(row[key] for key in ("id", "group") if row.get(key))
    return frozenset(name for name in found if len(name) > 5 or not name.isdigit())


def hide_ids(text: str, ids: Collection[str]) -> str:
    """Replace every word of a text that is an id, also as the last part of a path.

    Example:
        >>> hide_ids("constant image: scans/anna_ct.nii (row 3)", {"anna_ct.nii"})
        'constant image: [hidden id] (row 3)'
    """
    if not ids:
        return text

    def replace(match: re.Match[str]) -> str:
        word = match[0]
        names = {word, word.rstrip(".!?"), word.rsplit("/", 1)[-1], word.rsplit("\\", 1)[-1]}
        return HIDDEN if any(name in ids for name in names) else word

    spaced = [name for name in ids if _WORD.fullmatch(name) is None and name in text]
    for name in sorted(spaced, key=len, reverse=True):
        text = text.replace(name, HIDDEN)
    return _WORD.sub(replace, text)


def read_split_ids(splits: Path) -> frozenset[str]:
    """Ids in `splits.json`, which a run that failed may have; empty where that tells none."""
    try:
        content = json.loads(splits.read_text(encoding="utf-8"))
        found = {str(name) for ids in content["splits"].values() for name in ids}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return frozenset()  # it only adds to what `hide_names` hides anyway
    return frozenset(name for name in found if len(name) > 5 or not name.isdigit())


def hide_names(text: str, ids: Collection[str], keep: Collection[str] = ()) -> str:
    """The first lines of an error without what might name a patient, and still of use.

    Known ids go, and so does every word that looks like a path, the name of a file, or an id:
    three digits beside letters, or six digits. Names of our own files stay.

    Args:
        text: The error.
        ids: Ids and names of groups.
        keep: Words that stay although they look like an id, such as names of runs.

    Example:
        >>> hide_names("OSError: scans/anna_ct.nii: bad header of MRN-77123, see run.json", ())
        'OSError: [hidden name]: bad header of [hidden name], see run.json'
        >>> hide_names("InputError: training.batch_size is 0; float32, 28 pixels", ())
        'InputError: training.batch_size is 0; float32, 28 pixels'
    """

    def replace(match: re.Match[str]) -> str:
        word = match[0].rstrip(".!?")
        odd = "/" in word or "\\" in word or _FILE.search(word) or _LIKE_AN_ID.fullmatch(word)
        return HIDDEN_NAME if odd and word not in _OURS and word not in keep else match[0]

    found = _WORD.sub(replace, hide_ids(" ".join(text.split()), ids))
    return found if len(found) <= LONGEST_ERROR else f"{found[:LONGEST_ERROR]} ..."


def hide_in_config(config: Mapping[str, Any], ids: Collection[str]) -> dict[str, Any]:
    """The same configuration without ids: lists of ids become a count.

    Example:
        >>> hide_in_config({"data": {"exclude": ["p7", "p9"], "name": "table"}}, ())
        {'data': {'exclude': '2 ids, hidden', 'name': 'table'}}
    """

    def clean(key: str, value: Any) -> Any:
        if key in ID_KEYS and isinstance(value, list | tuple):
            return f"{len(value)} id{'' if len(value) == 1 else 's'}, hidden" if value else []
        if isinstance(value, Mapping):
            return {str(k): clean(str(k), v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [clean("", v) for v in value]
        return hide_ids(value, ids) if isinstance(value, str) else value

    return {str(key): clean(str(key), value) for key, value in config.items()}


def hide_in_command(words: list[str], ids: Collection[str]) -> list[str]:
    """The command line without ids.

    Example:
        >>> hide_in_command(["train", "data.exclude=[p7,p9]", "seed=1"], ())
        ['train', 'data.exclude=[hidden id]', 'seed=1']
    """
    clean = []
    for word in words:
        key, equals, _ = word.partition("=")
        if equals and key.rsplit(".", 1)[-1] in ID_KEYS:
            clean.append(f"{key}={HIDDEN}")
        else:
            clean.append(hide_ids(word, ids))
    return clean
