"""The kinds of files that are damaged, and what is then asked of medldr."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faulty.made import NEW, images, medldr


@dataclass(frozen=True)
class Kind:
    """Files of one kind and the command that reads them.

    Attributes:
        name: The name of the kind.
        base: Folder, below the base, that is copied for a try.
        files: Patterns of its files within that folder.
        use: Runs the commands on a copy; returns what they made, as a comparable value.
        weight: How many tries it gets, relative to others.
    """

    name: str
    base: str
    files: tuple[str, ...]
    use: Callable[[Path], Any]
    weight: float = 1.0


def predict(copy: Path) -> Any:
    """Answers of a run on two scans that it has not seen."""
    run = next(copy.glob("*-s0"))
    medldr("predict", run, *(copy / "new" / name for name in NEW), "--out", copy / "answers.csv")
    return (copy / "answers.csv").read_bytes()


def results(copy: Path) -> Any:
    """Every number of a run or of a sweep."""
    import medldr as package

    run = next(copy.glob("*-s0"), copy / "sweep")
    return package.results(run).to_csv()


def report(copy: Path) -> Any:
    """The page of a run or a sweep."""
    run = next(copy.glob("*-s0"), copy / "sweep")
    medldr("report", run)
    page = (run / "report.html").read_text(encoding="utf-8")
    return len(page.split())


def verify(copy: Path) -> Any:
    medldr("verify", next(copy.glob("*-s0"), copy / "sweep"))
    return True


def read_run(copy: Path) -> Any:
    """What a run says and answers, and whether `verify` accepts it."""
    return predict(copy), results(copy), report(copy), verify(copy)


def read_validation(copy: Path) -> Any:
    import medldr as package

    medldr("report", copy / "site")
    return package.results(copy / "site").to_csv()


def read_sweep(copy: Path) -> Any:
    return report(copy), results(copy), verify(copy)


def resume(copy: Path) -> Any:
    """The weights of an interrupted run, once it has been resumed."""
    medldr("train", copy / "study.yaml", "--out", copy / "out")
    run = next((copy / "out").iterdir())
    return hashlib.sha256((run / "model.safetensors").read_bytes()).hexdigest()


def train_again(copy: Path) -> Any:
    """A finished run, asked for again: it refuses data that has changed."""
    medldr("train", copy / "study.yaml", "--out", copy / "out")
    return images(copy)


def read_export(copy: Path) -> Any:
    for kind in ("onnx", "torch", "bundle"):
        medldr("verify", kind)
    return True


def analyze(copy: Path) -> Any:
    medldr("analyze", next(copy.glob("*-s0")), "--out", copy / "analysis", "--items", 20)
    return sorted((path.name, path.read_bytes()) for path in (copy / "analysis").glob("*.csv"))


KINDS: tuple[Kind, ...] = (
    Kind("pictures", "flat", ("img/**/*.*",), train_again),
    Kind("scans", "solid", ("img/**/*.*",), train_again),
    Kind("tables", "flat", ("table.csv",), train_again, 0.5),
    Kind("workbooks", "solid", ("table.xlsx",), train_again, 0.5),
    Kind("configurations", "flat", ("study.yaml",), train_again, 0.5),
    Kind("run", "done", ("*-s0/*.*", "*-s0/selected/**/*.*"), read_run, 2.0),
    Kind("new scans", "done", ("new/*",), predict),
    Kind("checkpoints", "halfway", ("out/*/checkpoints/*", "out/*/*.*"), resume, 1.0),
    Kind("packs", "packed", ("packed/*",), images),
    Kind("kept scans", "kept", ("cache/**/*.*",), images),
    Kind("latents", "done", ("*-s0/latents*",), analyze, 0.3),
    Kind("validation", "validated", ("site/**/*.*",), read_validation),
    Kind("exports", "exported", ("onnx/**/*.*", "torch/**/*.*", "bundle/**/*.*"), read_export),
    Kind("sweeps", "swept", ("sweep/*.*", "sweep/logs/*"), read_sweep, 0.7),
)
