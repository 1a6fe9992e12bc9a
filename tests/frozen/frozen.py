"""Outputs of reporting, held equal to those that were frozen: see README.md.

    python tests/frozen/frozen.py [--write] [NAME ...]

Prints how today's outputs differ from the frozen ones and ends with 1 where any does. With
``--write`` today's outputs become the frozen ones.
"""

import argparse
import contextlib
import difflib
import importlib
import io
import os
import re
import shutil
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

from frozen_adapter import figures_left_empty
from frozen_text import AbsentError, settled

from medldr import cli

HERE = Path(__file__).resolve().parent
os.environ.setdefault("MEDLDR_PLUGINS", "mylab,outside")  # packages that frozen runs name

PAGES = {
    "augmentation": ["fish_targeted-*-s0"],
    "benchmarks": ["pacs-photo_coral-*-s0"],
    "leave_one_out": ["erm_photo-*-s0", "erm_swad_sketch-*-s0", "coral_photo-*-s1"],
    "phantom": [],
    "search": ["erm_low_sun-voc-*-s0"],
    "single": ["*"],
    "two_sets": ["too_fast_retina-*-s0", "mixup_retina-*-s2", "peeking_breast-*-s1"],
}
"""The cases, each with its runs of which a page is written."""

COMPARISONS = {
    "augmentation": {
        "seeds": ["erm_no_aug-*", "latentdr_sa_no_aug-*", "erm_targeted-*"],
        "single": ["erm_no_aug-*-s1", "fish_no_aug-*-s1"],
    },
    "leave_one_out": {"held_out": ["erm_photo-*", "coral_photo-*", "erm_swad_photo-*"]},
    "phantom": {"seeds": ["*_erm-*", "*_mixstyle-*", "*_latentdr_pool-*"]},
    "single": {"one_run": ["scanner-*"], "other_data": ["ordinal-*", "labels-*"]},
    "two_sets": {
        "retina": ["erm_retina-*", "latentdr_*_retina-*", "peeking_retina-*", "too_fast_retina-*"],
        "breast": ["erm_half_lr_breast-*", "latentdr_pool_breast-*"],
    },
}
"""Runs to compare, the reference first, by case and name."""


class Cells(HTMLParser):
    """A page as lines ``tag<TAB>text`` in the order of the document."""

    LINES = (
        *("title", "h1", "h2", "h3", "h4", "p", "li", "summary", "code", "pre"),
        *("figcaption", "caption", "th", "td"),
    )
    INLINE = ("a", "abbr", "b", "code", "em", "i", "ins", "small", "span", "strong", "sub", "sup")
    SKIPPED = ("svg", "script", "style")
    VOID = ("br", "hr", "img", "input", "link", "meta", "wbr")

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.found = [["text", ""]]
        self.open = [self.found[0]]
        self.skipping = 0
        self.feed(page)
        self.close()

    def starts_line(self, tag):
        """Whether an element has a line of its own; code within a line belongs to it."""
        within = self.open[-1][0] in self.LINES
        return tag not in self.INLINE or (tag in self.LINES and not within)

    def handle_starttag(self, tag, attrs):
        if tag in self.SKIPPED:
            self.skipping += 1
        elif not self.skipping and tag not in self.VOID and self.starts_line(tag):
            self.begin(tag)
            self.open.append(self.found[-1])
            self.open[-1].append(tag)

    def begin(self, tag):
        """A line; what is no line of its own is text."""
        self.found.append([tag if tag in self.LINES else "text", ""])

    def handle_endtag(self, tag):
        if tag in self.SKIPPED:
            self.skipping -= 1
        elif not self.skipping and len(self.open) > 1 and self.open[-1][-1] == tag:
            self.open.pop()

    def handle_data(self, data):
        if not self.skipping:
            self.open[-1][1] += data

    def text(self):
        """All lines that say something."""
        lines = [(line[0], " ".join(line[1].split())) for line in self.found]
        return "".join(f"{tag}\t{said}\n" for tag, said in lines if said or tag in ("td", "th"))


def normalised(text):
    """A page without the version in its foot."""
    return re.sub(r"Written by medldr \S+\. This", "Written by medldr VERSION. This", text)


def steady(path, text):
    """A CSV file with 12 digits after the point, as further ones differ between processors."""
    if path.suffix != ".csv":
        return text
    return re.sub(r"-?\d+\.\d+(e-?\d+)?", lambda found: repr(round(float(found[0]), 12)), text)


def command(*words):
    """What a command prints, at 100 columns and without colour, and its exit code if not 0."""
    said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    plain = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    with (
        mock.patch.dict(os.environ, plain),
        mock.patch.object(sys, "argv", ["medldr", *words]),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        figures_left_empty(),
    ):
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
        said.flush()
    text = said.buffer.getvalue().decode("utf-8")
    lines = [line.rstrip() for line in text.splitlines()]
    return "".join(f"{line}\n" for line in (*lines, *([f"exit code {code}"] if code else [])))


def state(folder):
    """Every file below a folder and when it was written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@contextlib.contextmanager
def working_in(folder):
    """Keep the location of the folder out of what is printed."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def outputs(folder, title, *words):
    """What a command prints and every file that it writes, by ``title`` and the file's name."""
    before = state(folder)
    found = {f"{title}.txt": command(*words)}
    for path, written in sorted(state(folder).items()):
        if before.get(path) == written:
            continue
        text = path.read_bytes().decode("utf-8")
        page = path.suffix == ".html"
        plain = path.name if title == "report" else f"{title}.{path.name}"
        name = plain
        if page:  # a run has a page and a checklist
            name = f"{title}{'.checklist' if path.stem == 'checklist' else ''}.cells"
        if name in found:
            raise ValueError(f"{' '.join(words)} wrote two files that go by {name}")
        found[name] = normalised(Cells(text).text()) if page else steady(path, text)
    return found


def short(run):
    """Name of a run without the hash of its configuration."""
    label, _, seed = run.rsplit("-", 2)
    return f"{label}-{seed}"


def damage(folder):
    """Take the record of a sweep away, and make three of its runs unreadable, each otherwise."""
    (folder / "sweep.json").unlink()
    runs = sorted(folder.glob("erm_half_lr_breast-*"))
    whole = (runs[0] / "predictions.csv").read_text(encoding="utf-8")
    (runs[0] / "predictions.csv").write_text(whole[:-10], encoding="utf-8")
    (runs[1] / "evaluation.json").unlink()
    (runs[2] / "run.json").write_text("{", encoding="utf-8")


def produce(name, folder_copy):
    """All outputs of a case: name of a file in `expected` to its text.

    Args:
        name: The case.
        folder_copy: A copy of its folder, in a folder of its own; outputs are written there.
    """
    folder = Path(folder_copy)
    found = {}
    with working_in(folder.parent):
        place = Path(folder.name)
        if (folder / "sweep.json").is_file():
            found |= outputs(place, "report", "report", str(place))
            found["status.txt"] = command("sweep", "status", str(place))
        for pattern in PAGES[name]:
            for run in sorted(place.glob(f"{pattern}/run.json")):
                found |= outputs(place, f"run.{short(run.parent.name)}", "report", str(run.parent))
        for title, patterns in COMPARISONS.get(name, {}).items():
            runs = [str(run) for pattern in patterns for run in sorted(place.glob(pattern))]
            page = str(place / "compare.html")
            found |= outputs(place, f"compare.{title}", "compare", *runs, "--out", page)
        if name == "two_sets":
            damage(place)
            found |= outputs(place, "guessed", "report", str(place))
    return found


VALUES = {
    **dict.fromkeys(("runs", "plans", "large_plans"), "frozen_plans"),
    **dict.fromkeys(("medmnist", "domains", "own", "cifar", "simulated"), "frozen_tables"),
    **dict.fromkeys(("files", "sets"), "frozen_readers"),
    **dict.fromkeys(
        ("evaluations", "comparisons", "invented", "invented_comparisons"), "frozen_scores"
    ),
    **dict.fromkeys(("losses", "trained", "answers"), "frozen_networks"),
    **dict.fromkeys(("check", "check_real", "new", "new_real"), "frozen_commands"),
    "analysis": "frozen_analysis",
}
"""The cases that are no folder of runs, each with the module that makes its files."""

QUICK = ("runs", "plans")
"""Cases that the fast tests compare."""

NAMES = (*PAGES, *VALUES)


def made(name, parent):
    """The outputs of a case, made below a folder.

    Raises:
        AbsentError: If data that it is made of is not on this machine.
    """
    if name in VALUES:
        with mock.patch.dict(os.environ, {"MEDLDR_CACHE": str(Path(parent) / "cache")}):
            return importlib.import_module(VALUES[name]).CASES[name](Path(parent))
    copy = Path(parent) / name
    shutil.copytree(HERE / name / "folder", copy)
    return produce(name, copy)


def place(name):
    """Folder of the frozen outputs of a case."""
    return HERE / "values" / name if name in VALUES else HERE / name / "expected"


def expected(name):
    """The frozen outputs of a case."""
    return {path.name: path.read_bytes().decode("utf-8") for path in sorted(place(name).glob("*"))}


def differences(name, found):
    """Lines of a unified diff from the frozen outputs to these; empty where they are equal."""
    frozen, lines = expected(name), []
    for file in sorted({*frozen, *found}):
        old, new = frozen.get(file), found.get(file)
        if old is not None and new is not None:
            new = settled(file, old, new)
        if old != new:
            before = [] if old is None else old.splitlines(keepends=True)
            after = [] if new is None else new.splitlines(keepends=True)
            heads = f"frozen/{name}/{file}", f"today/{name}/{file}"
            lines += difflib.unified_diff(before, after, *heads)
            lines += [] if old and new else [f"{file} is empty, or not there any more or before\n"]
    return lines


def write(name, found):
    """Make these outputs the frozen ones."""
    folder, before = place(name), expected(name)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file, text in found.items():
        kept = settled(file, before[file], text) if file in before else text
        (folder / file).write_bytes(kept.encode("utf-8"))


def main(words=None):
    """Compare or write; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--write", action="store_true", help="make today's outputs the frozen ones")
    asked = parser.parse_args(words)
    unknown = [name for name in asked.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no case {', '.join(unknown)}")
    failed = False
    for name in asked.names or NAMES:
        try:
            with tempfile.TemporaryDirectory() as parent:
                found = made(name, parent)
        except AbsentError as error:
            print(f"{name}: skipped, {error}", file=sys.stderr)
            continue
        if asked.write:
            write(name, found)
            print(f"{name}: {len(found)} files written")
            continue
        lines = differences(name, found)
        failed = failed or bool(lines)
        sys.stdout.writelines(lines)
        print(f"{name}: {'different' if lines else 'equal'}, {len(found)} files", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
