"""One plain line per evaluation where no terminal is; a bar where one is; nothing when silent."""

import io

from rich.console import Console

from medldr.training.machine.progress import RunProgress

ROW = {
    "epoch": 2,
    "step": 10,
    "lr": 0.1,
    "train/loss": 0.61234,
    "val/auc": 0.75,
    "val/accuracy": None,
}


def show(terminal=False, shown=True, done=10, **keys):
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=200, quiet=not shown)
    with RunProgress(20, done - 1, shown=shown, console=console, **keys) as progress:
        progress.note("a note [with brackets]")
        progress.step()
        progress.evaluation(ROW, best=True)
    return text.getvalue()


def test_plain_lines_name_place_values_and_time_left():
    note, line = show(epochs=4).splitlines()
    assert note == "a note [with brackets]"
    assert line.startswith("epoch 2/4, step 10/20, loss 0.6123, val accuracy undefined, val AUC")
    assert "val AUC 0.75, best so far, 0:00:0" in line
    assert line.endswith(" left")


def test_the_last_line_has_no_time_left():
    assert "left" not in show(done=20)


def test_a_terminal_gets_a_bar_with_the_time_left():
    text = show(terminal=True)
    assert "training" in text
    assert "10/20" in text
    assert "left" in text


def test_other_processes_show_nothing():
    assert show(shown=False) == ""


def test_a_narrow_terminal_breaks_between_words_and_a_file_keeps_one_line():
    text = "a sentence of words that is longer than the terminal is wide"
    for terminal, lines in ((True, 3), (False, 1)):
        file = io.StringIO()
        console = Console(file=file, force_terminal=terminal, width=24, color_system=None)
        RunProgress(4, console=console).note(text)
        printed = file.getvalue().splitlines()
        assert len(printed) == lines
        assert " ".join(line.strip() for line in printed) == text
