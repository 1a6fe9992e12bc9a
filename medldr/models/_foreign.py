"""Weights as a group holds them: a file of any origin, its names brought to the network's.

The rule: of the words `PREFIXES`, joined in any order, that may stand before a name, those are
taken off under which most of the network's names are found. What is called a head, and is none of
the network's own names, is left out. Everything else must be there, and nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from torch import Tensor

from medldr.errors import InputError, some
from medldr.folders.files import load_checkpoint, load_tensors

PREFIXES: Final = ("model", "backbone", "encoder", "module", "network")
_CONTAINERS: Final = ("state_dict", "model_state_dict", "model")
_HEAD: Final = re.compile(
    r"(\w+_)?heads?(_\w+)?|fc|classifier|last_linear|projector|predictor|adapter|slices"
)
_NAMED: Final = 8
"""Names that a message lists."""


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a file, by the names that they have there.

    Args:
        path: safetensors, or a file of torch, of which tensors and plain values alone are read, so
            that nothing in it is executed. They may lie in it under a key of their own.

    Raises:
        InputError: If it cannot be read, holds anything executable, or no tensors.
    """
    if path.suffix.lower() == ".safetensors":
        return load_tensors(path)
    content: Any = load_checkpoint(path)
    inner = next((content[key] for key in _CONTAINERS if isinstance(content.get(key), dict)), None)
    found = {
        str(name): value
        for name, value in (content if inner is None else inner).items()
        if isinstance(value, Tensor)
    }
    if not found:
        raise InputError(
            f"{path} holds no tensors by name, but {', '.join(map(str, content)) or 'nothing'}. "
            "Save the network's state_dict"
        )
    return found


def body(
    tensors: Mapping[str, Tensor], known: Callable[[str], bool]
) -> tuple[dict[str, Tensor], str]:
    """What a file holds for a network without its head, by the network's names.

    Args:
        tensors: By the file's names.
        known: Whether a name is one of the network's.

    Returns:
        The tensors, and the prefix that was taken off. What lies outside the prefix keeps its name.

    Example:
        >>> tensors = dict.fromkeys(["module.encoder.conv", "module.fc"])
        >>> found, prefix = body(tensors, {"conv"}.__contains__)
        >>> list(found), prefix
        (['conv'], 'module.encoder.')
    """
    prefixes = {""}
    for name in tensors:
        words = list(takewhile(PREFIXES.__contains__, name.split(".")))
        prefixes |= {".".join(words[:n]) + "." for n in range(1, len(words) + 1)}
    prefix = max(
        sorted(prefixes, key=lambda one: (len(one), one)),  # of equals the shortest
        key=lambda one: sum(n.startswith(one) and known(n.removeprefix(one)) for n in tensors),
    )
    found = {name.removeprefix(prefix): value for name, value in tensors.items()}
    return {n: value for n, value in found.items() if known(n) or not _of_head(n)}, prefix


def told(prefix: str, path: Path) -> list[str]:
    """A note on a prefix that was taken off."""
    return [f"{prefix!r} was taken off the names in {path.name}"] if prefix else []


def _of_head(name: str) -> bool:
    """Whether a name is that of a head; of what stands before it, the prefixes do not count."""
    first = next((word for word in name.split(".") if word not in PREFIXES), "")
    return _HEAD.fullmatch(first) is not None


def differences(missing: Collection[str], unknown: Collection[str], shapes: Collection[str]) -> str:
    """What a file lacks, has too much and has in other shapes, in a sentence of at most 8 names.

    Example:
        >>> differences(["a"], ["b", "c"], [])
        'it lacks a; it holds b, c, which the network does not have'
    """
    left = _NAMED
    parts = []
    for names, text in (
        (missing, "it lacks {}"),
        (unknown, "it holds {}, which the network does not have"),
        (shapes, "of another shape than the network's: {}"),
    ):
        if names:
            parts.append(text.format(some(names, left) if left else f"{len(names):,} more"))
        left = max(left - len(names), 0)
    return "; ".join(parts)
