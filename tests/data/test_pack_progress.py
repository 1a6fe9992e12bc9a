"""How far packing is: a bar on a terminal, now and then a line in a log."""

import io
import types

from rich.console import Console

from medldr.data import _pack_blocks
from medldr.data._pack_blocks import Blocks, progress


def in_a_log(monkeypatch, times):
    """What a log holds after 1,000 images in four steps, the start and each step at these times."""
    clock = types.SimpleNamespace(monotonic=iter(times).__next__)
    monkeypatch.setattr(_pack_blocks, "time", clock)
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


def test_every_row_is_in_one_block():
    for rows in (1, 3, 4, 10):
        blocks = Blocks(rows=rows, each=3)
        numbers = [n for k in range(len(blocks)) for n in range(rows)[blocks[k]]]
        assert numbers == list(range(rows))
        assert sum(blocks.size(k) for k in range(len(blocks))) == rows


def test_blocks_are_never_empty_however_large_an_image_is():
    assert Blocks.of((5, 3, 10_000, 10_000)).each == 1
    assert Blocks.of((455_954, 3, 96, 96)).each == 606
