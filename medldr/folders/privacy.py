"""No file name, item id or group name of a patient reaches a page.

Tables and figures never contain ids. Free text might: notes on the data, the command line, values
of the configuration. Any word in it that is an id or group name of this run is replaced.
"""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from medldr.errors import InputError
from medldr.folders.files import read_json
from medldr.types import Predictions

HIDDEN = "[hidden id]"
HIDDEN_NAME = "[hidden name]"
LONGEST_ERROR = 480
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
_HIDDEN_LIST = r"\[hidden id\](?:(?: =|;|,) \[hidden id\])*(?: and [\d,]+ more)?"
_HIDDEN_EXAMPLES = re.compile(
    rf"(?:, for example {_HIDDEN_LIST}(?!(?: =|;|,) )| \({_HIDDEN_LIST}\))"
)
"""Examples of which every one is hidden, which say nothing any more."""
_PUBLIC_FILE = re.compile(r"[a-z]*mnist(3d)?(_\d{2,3})?\.npz")
"""Files of a public collection, which do not belong to a single patient."""
_PUBLIC_HOST = re.compile(
    r"https?://([\w-]+\.)*(zenodo\.org|github\.com|githubusercontent\.com|pytorch\.org|huggingface\.co)"
    r"(?=/|$)"
)
_COUNT = re.compile(r"\d{1,5}/\d{1,5}")
_PART = re.compile(
    r"(?P<url>https?://[^\s,;\"'`()<>]+)"
    r"|(?P<sum>\b(?:MD5|SHA-?256)(?: expected)? [0-9a-f]{32,64}(?:, found [0-9a-f]{32,64})?\b)"
    r"|\b(?P<key>(?:model|training|algorithm|transform|evaluation)\.[\w.]+=)"
    rf"(?P<value>{_WORD.pattern})"
    rf"|(?P<word>{_WORD.pattern})"
)
"""The parts of an error: addresses and checksums, keys with a value, and other words."""


def read_ids(predictions: Path) -> frozenset[str]:
    """Ids and group names in `predictions.csv`; empty if there is no such file.

    Short numbers are left out: in text they are counts far more often than ids.
    """
    if not predictions.is_file():
        return frozenset()
    with predictions.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        return worth_hiding({row[key] for row in rows for key in ("id", "group") if row.get(key)})


def ids_of(table: Predictions) -> frozenset[str]:
    """Ids and group names of predictions that have already been read."""
    return worth_hiding({*table.id.tolist(), *table.group.tolist()} - {""})


def worth_hiding(names: Collection[str]) -> frozenset[str]:
    """Names without short numbers, which in text are counts or classes far more often than ids."""
    return frozenset(name for name in names if len(name) > 5 or not name.isdigit())


def hide_ids(text: str, ids: Collection[str]) -> str:
    """Replace every word of a text that is an id, even as the last part of a path.

    Examples of which only hidden ids would be left are dropped.

    Example:
        >>> hide_ids("constant image: scans/anna_ct.nii (row 3)", {"anna_ct.nii"})
        'constant image: [hidden id] (row 3)'
        >>> hide_ids("2 images are equal, for example a.png = b.png", {"a.png", "b.png"})
        '2 images are equal'
    """
    if not ids:
        return text

    def replace(match: re.Match[str]) -> str:
        word = match[0]
        names = {word, word.rstrip(".!?"), word.rsplit("/", 1)[-1], word.rsplit("\\", 1)[-1]}
        return HIDDEN if any(name in ids for name in names) else word

    for name in _of_several_words(frozenset(ids)):
        text = text.replace(name, HIDDEN)
    return _HIDDEN_EXAMPLES.sub("", _WORD.sub(replace, text))


@functools.lru_cache(maxsize=64)  # each text of a run is searched for the same ids
def _of_several_words(ids: frozenset[str]) -> tuple[str, ...]:
    """Ids that are not a single word, longest first.

    An empty id, the group of an item without groups, would match between any two letters.
    """
    names = (name for name in ids if name and _WORD.fullmatch(name) is None)
    return tuple(sorted(names, key=len, reverse=True))


def read_split_ids(splits: Path) -> frozenset[str]:
    """Ids in `splits.json`, of all splits and of none; empty if it contains none."""
    try:
        content = read_json(splits)
        lists = [*content["splits"].values(), content.get("left_out", ())]
        return worth_hiding({str(name) for ids in lists for name in ids})
    except (InputError, KeyError, TypeError, AttributeError):
        return frozenset()  # it only adds to what `hide_names` hides anyway


def hide_names(text: str, ids: Collection[str], keep: Collection[str] = ()) -> str:
    """The beginning of an error, without anything that might name a patient, but still useful.

    Known ids are hidden, and so is every word that looks like a path, a file name or an id (three
    digits next to letters, or six digits). What helps to fix the error is kept: checksums, keys
    with their value, our own files, and the addresses and files of public collections. A path to
    such a file is reduced to its name.

    Args:
        text: The error.
        ids: Ids and names of groups.
        keep: Words to keep although they look like an id, such as names of runs.

    Example:
        >>> hide_names("OSError: scans/anna_ct.nii: bad header of MRN-77123, see run.json", ())
        'OSError: [hidden name]: bad header of [hidden name], see run.json'
        >>> hide_names("InputError: training.batch_size is 0; float32, 28 pixels", ())
        'InputError: training.batch_size is 0; float32, 28 pixels'
        >>> hide_names("/data/octmnist.npz is cut off in epoch 4/100", ())
        '.../octmnist.npz is cut off in epoch 4/100'
    """

    def stays(name: str) -> bool:
        return name in _OURS or name in keep or _PUBLIC_FILE.fullmatch(name) is not None

    def word(text: str) -> str:
        bare = text.rstrip(".!?")
        rest = text[len(bare) :]
        if stays(bare) or _COUNT.fullmatch(bare):
            return text
        if "/" in bare or "\\" in bare:
            name = re.split(r"[/\\]", bare)[-1]
            return f".../{name}{rest}" if stays(name) else f"{HIDDEN_NAME}{rest}"
        odd = _FILE.search(bare) or _LIKE_AN_ID.fullmatch(bare)
        return f"{HIDDEN_NAME}{rest}" if odd else text

    def replace(match: re.Match[str]) -> str:
        if match["word"] is not None:
            return word(match["word"])
        if match["url"] is not None:
            return match["url"] if _PUBLIC_HOST.match(match["url"]) else HIDDEN_NAME
        if match["key"] is not None:
            value = match["value"]
            named = "/" in value or "\\" in value or _FILE.search(value)
            return match["key"] + (word(value) if named else value)
        return match[0]  # a checksum

    hidden = _PART.sub(replace, hide_ids(" ".join(text.split()), ids))
    return hidden if len(hidden) <= LONGEST_ERROR else f"{hidden[:LONGEST_ERROR]} ..."


def hide_in_config(config: Mapping[str, Any], ids: Collection[str]) -> dict[str, Any]:
    """The same configuration without ids: a list of ids becomes a count.

    Example:
        >>> hide_in_config({"data": {"exclude": ["p7", "p9"], "name": "table"}}, ())
        {'data': {'exclude': 'ids, hidden: 2', 'name': 'table'}}
    """

    def clean(key: str, value: Any) -> Any:
        if key in ID_KEYS and isinstance(value, list | tuple):
            return f"ids, hidden: {len(value)}" if value else []
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
