"""Keep of sweeps and runs what a report reads, small and without traces of a machine.

    python tests/frozen/sweeps/trim.py FROM TO

FROM is the folder of a sweep or of runs. Weights are left out (an empty file says that they were
there), as are the points of curves where no page of the run is among the frozen ones; numbers are
rounded, what a sweep holds twice is kept once, and what identifies the machine is replaced.
"""

import csv
import io
import json
import sys
from pathlib import Path

RUN = ("config.yaml", "metrics.jsonl", "predictions.csv", "evaluation.json", "bad_files.csv")
MACHINE = {
    "platform": "Linux",
    "hardware": {"cpu": "a processor", "cores": 2, "memory_gib": 8.0, "gpus": [], "cuda": None},
}


def rounded(value):
    """Five digits of every fraction."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def dense(text):
    """JSON as short as it can be."""
    return json.dumps(rounded(json.loads(text)), ensure_ascii=False, separators=(",", ":"))


def predictions(text):
    """The table with five digits after the point."""
    header, *rows = csv.reader(text.splitlines())
    first = next(n for n, name in enumerate(header) if name.startswith("prob_"))
    short = [[*row[:first], *(f"{round(float(p), 5):g}" for p in row[first:])] for row in rows]
    table = io.StringIO(newline="")
    csv.writer(table, lineterminator="\n").writerows([header, *short])
    return table.getvalue()


def scored(text, drawn):
    """An evaluation without definitions, and without curves unless they are drawn."""
    content = json.loads(text)
    content.pop("definitions", None)
    for split in content["splits"].values() if not drawn else ():
        for curve in ("roc", "reliability", "reliability_positive"):
            split.pop(curve, None)
    return json.dumps(content)


class Trim:
    """Writes what is kept of one folder below another."""

    def __init__(self, source, target, drawn):
        self.source, self.target, self.drawn = source.resolve(), target, drawn

    def write(self, path, text):
        """A file in its place, with neutral paths."""
        place = self.target / path.relative_to(self.source)
        place.parent.mkdir(parents=True, exist_ok=True)
        text = text.replace(str(self.source.parent), "runs")
        for folder in ("bad", "broken", "data"):
            text = text.replace(str(self.source.parents[1] / folder), "/data")
        place.write_text(text, encoding="utf-8")

    def run(self, folder):
        """A run folder."""
        record = json.loads((folder / "run.json").read_text())
        record["provenance"] |= MACHINE
        record["provenance"]["command"][0] = "medldr"
        self.write(folder / "run.json", dense(json.dumps(record)) + "\n")
        unfinished = () if record["status"] == "done" else ("splits.json",)
        paths = [folder / name for name in (*RUN, *unfinished)]
        drawn = any(folder.match(pattern) for pattern in self.drawn)
        for path in (*paths, *sorted(folder.glob("selected/*/evaluation.json"))):
            if path.is_file():
                text = path.read_text(encoding="utf-8")
                if path.name == "evaluation.json":
                    text = scored(text, drawn)
                if path.suffix == ".json":
                    text = dense(text) + "\n"
                elif path.suffix == ".jsonl":
                    text = "".join(dense(line) + "\n" for line in text.splitlines())
                elif path.name == "predictions.csv":
                    text = predictions(text)
                self.write(path, text)
        if record["status"] == "done":
            self.write(folder / "model.safetensors", "")

    def whole(self):
        """All runs, and what the folder says of them."""
        runs = [path.parent for path in sorted(self.source.glob("*/run.json"))]
        for folder in runs:
            self.run(folder)
        known = {folder.name for folder in runs}
        said = [self.source / "sweep.json", *sorted(self.source.glob("logs/*.json"))]
        said += [p for p in sorted(self.source.glob("configs/*.yaml")) if p.stem not in known]
        for path in said:
            if path.is_file():
                self.write(path, path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from frozen import PAGES

    given = Path(sys.argv[1])
    Trim(given, Path(sys.argv[2]), PAGES[given.resolve().name]).whole()
