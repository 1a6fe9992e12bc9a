"""Reading without a word from the readers: pydicom and nibabel talk to whoever runs them."""

from __future__ import annotations

import logging
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, cast

_RULE: Final = (
    "ignore",
    None,
    Warning,
    re.compile(r"(pydicom|nibabel|pylibjpeg|libjpeg|openjpeg|rle)(\.|$)"),
    0,
)
"""An entry of Python's own list of rules: pass over what these modules warn of."""

_LOGGERS: Final = (
    "pydicom",
    "pydicom.pixels.decoders.base",
    "pydicom.pixels.utils",
    "pylibjpeg.utils",
    "openjpeg.utils",
    "nibabel.global",
    "tifffile",
)
"""A filter holds for one logger and not for those below it, so each is named."""

_lock = threading.Lock()
_inside = 0
_this_thread = threading.local()


class _Mute(logging.Filter):
    """Drops what is logged by a thread that reads a scan."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is kept."""
        del record
        return not getattr(_this_thread, "reads", 0)


for _name in _LOGGERS:
    logging.getLogger(_name).addFilter(_Mute())


@contextmanager
def quiet() -> Iterator[None]:
    """Keep warnings and log lines of pydicom and nibabel from everybody, while inside.

    What matters of them is found by rules of our own and told in a scan's warnings; the rest must
    not reach a terminal, for it cites values of the file, and a patient's name is one.

    Any number of threads may be inside. ``warnings.catch_warnings`` does not serve: it puts back a
    whole list, so two threads that leave in another order than they came lose each other's rules.
    Here the first puts one rule in front of the list, and the last takes that one out.
    """
    global _inside
    with _lock:
        _inside += 1
        if _RULE not in warnings.filters:
            cast("list[Any]", warnings.filters).insert(0, _RULE)
    _this_thread.reads = getattr(_this_thread, "reads", 0) + 1
    try:
        yield
    finally:
        _this_thread.reads -= 1
        with _lock:
            _inside -= 1
            if not _inside:
                with suppress(ValueError):  # somebody has put another list there meanwhile
                    cast("list[Any]", warnings.filters).remove(_RULE)
