"""Fixtures for every test: few threads, no network, the command, the real data where it is."""

import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from medldr import cli

os.environ.setdefault("MPLBACKEND", "Agg")
REAL_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _no_internet(monkeypatch):
    """Only this machine may be reached: gloo needs its loopback, nothing needs the internet."""
    connect = socket.socket.connect

    def guarded(self, address):
        host = address[0] if isinstance(address, tuple) else ""
        if self.family in (socket.AF_INET, socket.AF_INET6) and host not in (
            "127.0.0.1",
            "::1",
            "localhost",
        ):
            raise AssertionError(f"a test opened an internet socket to {address}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(scope="session")
def medmnist_root():
    """Folder with real MedMNIST files; the test is skipped, saying so, where it is absent."""
    root = REAL_DATA / "medmnist"
    if not root.is_dir():
        pytest.skip(f"real data is absent: {root}")
    return root


@dataclass
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def medldr(monkeypatch, capsys):
    """Run a command as typed, in this process."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["medldr", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        return Ended(end.value.code or 0, printed.out, printed.err)

    return run
