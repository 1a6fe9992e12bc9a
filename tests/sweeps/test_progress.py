"""What a sweep says while it runs: on a terminal, and in a log."""

import io
import re

from rich.console import Console

from medldr.sweeps.progress import Outcome, SweepProgress


def _play(console):
    with SweepProgress(16, console) as progress:
        bad = {f"bad{n}": "an error [of it]" for n in range(7)}
        odd = {f"odd{n}": f"error {n}" for n in range(5)}
        progress.begin(Outcome(["a", "b"], bad | odd), elsewhere=1, total=16)
        progress.started("near [bold]")
        progress.started("next")
        progress.tick()
        progress.done("near [bold]")
        progress.elsewhere("next")
        progress.note("something to know")
        progress.stopping(1)
        progress.interrupted("next")
        progress.left_out("late", "a reason")
        progress.failed("one", "boo")
        progress.failed("two", "boo")
    return console.file.getvalue()


def test_a_log_gets_one_line_per_event_with_the_time_since_the_start():
    text = _play(Console(file=io.StringIO(), width=80))
    lines = text.splitlines()
    assert all(line.startswith("[0:00:0") for line in lines)
    words = [
        "2 of 16 runs are already done",
        "12 runs failed before; add --retry-failed to retry",
        "  an error [of it]",
        "    7 runs: bad0, bad1, bad2 and 4 more",
        *[f"  odd{n}: error {n}" for n in range(4)],
        "  and 1 more (`medldr sweep status` lists them all)",
        "1 run in progress in another process",
        "started near [bold] (15 of 16)",
        "started next (16 of 16)",
        "near [bold] done (0:00:0",
        "next is in progress in another process",
        "something to know",
        "stopping: 1 run saving state",
        "next interrupted",
        "late left out: a reason",
        "one failed: boo",
        "two failed with the same error as one",
    ]
    assert len(lines) == len(words)
    for line, said in zip(lines, words, strict=True):
        assert said in line


def test_a_terminal_gets_a_bar_and_what_went_wrong():
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None)
    text = _play(console)
    assert "18/16 runs" in text
    assert "started" not in text
    assert "near [bold] done" not in text
    assert "late left out: a reason" in text
    assert "  an error [of it]" in text
    assert "7 runs: bad0, bad1, bad2 and 4 more" in text


def test_many_names_are_cut():
    console = Console(file=io.StringIO(), width=120, force_terminal=True, color_system=None)
    with SweepProgress(3, console) as progress:
        for n in range(3):
            progress.started(f"a_rather_long_name_{n}")
    shown = re.search(r"3: a_rather_long_name_0, [^…]*…", console.file.getvalue())
    assert len(shown.group()) == 32
