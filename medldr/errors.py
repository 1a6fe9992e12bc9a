"""The one exception that means "the user's input is wrong", and did-you-mean texts."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

SWITCHES: Final = (
    *("choose-again", "force", "keep-seen", "new-test"),
    *("no-page", "predict", "restart", "retry-failed", "show-ids"),
)
"""Options without a value that functions have, too."""
OTHERWISE: Final = {"item": "a tuple", "path": "path_column="}
"""Options that in Python are not arguments of the same name."""

_OPTION: Final = re.compile(r"(`[^`]*`)|(?<![\w/-])--([a-z][a-z-]*[a-z])(:|=?)")
_at_command_line = False


class InputError(ValueError):
    """The user's input is wrong: one clear message, exit code 2, no traceback.

    The message names the file, the key and the cure. Anything else that is raised
    is a bug of ours (exit code 1). It is written with the options of the command line,
    and read from Python it names the arguments in their place.
    """

    def __str__(self) -> str:
        return in_callers_words(super().__str__())


class MissingExtraError(InputError):
    """An optional package is absent; the message names the extra that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed. "
            f"Install it with: pip install 'medldr[{extra}]'"
        )


@contextmanager
def at_command_line() -> Iterator[None]:
    """Have messages name options meanwhile: the command line was used, and no function."""
    global _at_command_line
    before, _at_command_line = _at_command_line, True
    try:
        yield
    finally:
        _at_command_line = before


def in_callers_words(text: str) -> str:
    """A text that names options as it reads at the command line, and for Python with arguments.

    A value is joined to its option by ``=``; commands between backticks stay as they are typed.

    Example:
        >>> in_callers_words("--format: give --format=onnx; see `medldr export --help`")
        'format: give format=onnx; see `medldr export --help`'
        >>> in_callers_words("choose another --out, or add --force")
        'choose another out=, or add force=True'
    """
    return text if _at_command_line else _OPTION.sub(_argument, text)


def _argument(found: re.Match[str]) -> str:
    command, option, end = found.groups()
    if command is not None:
        return str(command)
    plain = option.replace("-", "_")
    said = OTHERWISE.get(option, f"{plain}=True" if option in SWITCHES else f"{plain}=")
    return f"{said.partition('=')[0]}:" if end == ":" else said


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the nearest known name, or an empty text.

    Case, spaces, dashes and underscores are ignored. Where none is near, the first that begins so
    is named.

    Example:
        >>> did_you_mean("latentrd", ["erm", "latentdr"])
        " Did you mean 'latentdr'?"
        >>> did_you_mean("REAL-WORLD", ["Art", "Real World"])
        " Did you mean 'Real World'?"
        >>> did_you_mean("erm", ["latentdr_Basel", "erm_half_lr_Basel"])
        " Did you mean 'erm_half_lr_Basel'?"
        >>> did_you_mean("zzz", ["erm"])
        ''
    """
    plain: dict[str, str] = {}
    for other in known:
        plain.setdefault(_plain(other), other)
    given = _plain(name)
    near = difflib.get_close_matches(given, plain, n=1, cutoff=0.6)
    if len(given) > 2:
        near += [other for other in plain if other.startswith(given)]
    return f" Did you mean {plain[near[0]]!r}?" if near else ""


def did_you_mean_beside(path: Path, known: Iterable[str] = ()) -> str:
    """As `did_you_mean`, for a path that does not exist: among what is in its folder, too."""
    if path.is_symlink():
        return " It is a link that leads nowhere."
    if path.exists() and not (path.is_file() or path.is_dir()):
        return " It is a pipe or a device."
    listed = path.parent.is_dir() and os.access(path.parent, os.R_OK)
    beside = path.parent.iterdir() if listed else ()
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
