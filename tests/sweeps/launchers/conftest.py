"""Waiting for processes, whose code is given to Python as text."""

import time

import pytest


@pytest.fixture
def until():
    """Wait for something to happen."""

    def wait(happened, seconds=60.0):
        end = time.monotonic() + seconds
        while not happened():
            assert time.monotonic() < end, "it did not happen"
            time.sleep(0.02)

    return wait


@pytest.fixture
def says(until):
    """Wait until a file contains a text."""
    return lambda path, text: until(lambda: path.exists() and text in path.read_text())


@pytest.fixture
def end_of(until):
    """Wait for the exit code of a process."""

    def wait(handle):
        until(lambda: handle.poll() is not None)
        return handle.poll()

    return wait
