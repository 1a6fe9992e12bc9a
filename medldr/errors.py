"""The one exception that means "the user's input is wrong", and did-you-mean texts."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """The user's input is wrong: one clear message, exit code 2, no traceback.

    The message names the file, the key and the cure. Anything else that is raised
    is a fault of ours (exit code 1).
    """


class MissingExtraError(InputError):
    """An optional package is absent; the message names the extra that brings it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed. "
            f"Install it with: pip install 'medldr[{extra}]'"
        )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the nearest known name, or an empty text.

    Example:
        >>> did_you_mean("latentrd", ["erm", "latentdr"])
        " Did you mean 'latentdr'?"
        >>> did_you_mean("zzz", ["erm"])
        ''
    """
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""
