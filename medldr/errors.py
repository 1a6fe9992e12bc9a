"""The one exception that means "the user's input is wrong", and did-you-mean texts."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


class InputError(ValueError):
    """The user's input is wrong: one clear message, exit code 2, no traceback.

    The message names the file, the key and the cure. Anything else that is raised
    is a bug of ours (exit code 1).
    """


class MissingExtraError(InputError):
    """An optional package is absent; the message names the extra that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed. "
            f"Install it with: pip install 'medldr[{extra}]'"
        )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the nearest known name, or an empty text.

    Case, spaces, dashes and underscores are ignored.

    Example:
        >>> did_you_mean("latentrd", ["erm", "latentdr"])
        " Did you mean 'latentdr'?"
        >>> did_you_mean("REAL-WORLD", ["Art", "Real World"])
        " Did you mean 'Real World'?"
        >>> did_you_mean("zzz", ["erm"])
        ''
    """
    plain: dict[str, str] = {}
    for other in known:
        plain.setdefault(_plain(other), other)
    near = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=0.6)
    return f" Did you mean {plain[near[0]]!r}?" if near else ""


def did_you_mean_beside(path: Path, known: Iterable[str] = ()) -> str:
    """As `did_you_mean`, for a path that does not exist: among what is in its folder, too."""
    beside = path.parent.iterdir() if path.parent.is_dir() else ()
    return did_you_mean(path.name, [*(each.name for each in beside), *known])


def some(names: Iterable[str], most: int = 8, listed: str = "") -> str:
    """The first of some names, how many more there are, and the command that lists them all.

    Example:
        >>> some("abc", most=2)
        'a, b and 1 more'
        >>> some("abc", 2, "medldr list parts")
        'a, b and 1 more (`medldr list parts`)'
    """
    known = list(names)
    if len(known) <= most:
        return ", ".join(known)
    where = f" (`{listed}`)" if listed else ""
    return f"{', '.join(known[:most])} and {len(known) - most:,} more{where}"


def _plain(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")
