"""Importing packages that would touch the network only by being imported."""

from __future__ import annotations

import importlib
import socket
import sys
from typing import Any


def load(name: str) -> Any:
    """Import a module, keeping urllib3 from probing for IPv6 while it is being imported.

    MONAI imports urllib3, which opens a socket on this machine to see whether it has IPv6. Nothing
    is sent, but anything that forbids or counts sockets would notice. Afterwards urllib3 assumes
    IPv6 wherever Python supports it, and looks at the addresses it gets.

    Args:
        name: Dotted name, such as ``monai.transforms``.

    Example:
        >>> load("math").sqrt(4.0)
        2.0
    """
    if "urllib3" in sys.modules:
        return importlib.import_module(name)
    had = socket.has_ipv6
    socket.has_ipv6 = False
    try:
        return importlib.import_module(name)
    finally:
        socket.has_ipv6 = had
        connection = sys.modules.get("urllib3.util.connection")
        if connection is not None:
            vars(connection)["HAS_IPV6"] = had
