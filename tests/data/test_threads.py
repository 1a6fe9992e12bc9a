"""How far a long work is: a bar on a terminal, now and then a line in a log."""

import io
import types

from rich.console import Console

from medldr.data.threads import progress


def in_a_log(monkeypatch, times):
    """What a log holds after 1,000 images in four steps, the start and each step at these times."""
    clock = types.SimpleNamespace(monotonic=iter(times).__next__)
    monkeypatch.setattr("medldr.data.threads.time", clock)
    console = Console(file=io.StringIO(), width=120)
    with progress(console, "packing", 1000) as advance:
        for _ in range(4):
            advance(250)
    return console.file.getvalue()


def test_a_log_gets_a_line_twice_a_minute_with_rate_and_time_left(monkeypatch):
    said = in_a_log(monkeypatch, [0, 10, 40, 50, 80])
    assert said == "packing: 500 of 1,000 images, 12/s, 0:00:40 left\n"


def test_a_quick_work_leaves_no_line_in_a_log(monkeypatch):
    assert in_a_log(monkeypatch, [0, 1, 2, 3, 4]) == ""


def test_a_terminal_shows_a_bar_with_the_rate():
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    with progress(console, "packing", 1000) as advance:
        advance(400)
        advance(600)
    said = console.file.getvalue()
    assert "packing" in said
    assert "1000/1000" in said
    assert "/s" in said
