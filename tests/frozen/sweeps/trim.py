"""Keep of sweeps and runs what a report reads, small and without traces of a machine.

    python tests/frozen/sweeps/trim.py FROM TO

FROM is the folder of a sweep or of runs. Weights are left out (an empty file says that they were
there), as are the points of curves where no page of the run is among the frozen ones; numbers are
rounded, what a sweep holds twice is kept once, and what identifies the machine is replaced.
Evaluations are those of the rounded predictions, as reports demand, and checksums are left out.
"""

import csv
import io
import json
import sys
from pathlib import Path

from medldr.config.sections import section
from medldr.config.yaml import read_yaml
from medldr.evaluation import by_split, evaluate, read_predictions
from medldr.evaluation.verification import evaluation_settings
from medldr.folders.evaluation_record import read_evaluation
from medldr.folders.files import RunFolder

RUN = ("config.yaml", "metrics.jsonl", "predictions.csv", "evaluation.json", "bad_files.csv")
MACHINE = {
    "platform": "Linux",
    "hardware": {"cpu": "a processor", "cores": 2, "memory_gib": 8.0, "gpus": [], "cuda": None},
}


def rounded(value, digits=5):
    """Some digits of every fraction."""
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, dict):
        return {key: rounded(item, digits) for key, item in value.items()}
    return [rounded(item, digits) for item in value] if isinstance(value, list) else value


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


def agree(folder):
    """Put the numbers that the rounded predictions give into the evaluation beside them."""
    files = RunFolder(folder)
    if not (files.evaluation.is_file() and files.predictions.is_file()):
        return
    said, content = read_evaluation(files), json.loads(files.evaluation.read_text())
    again = evaluate(
        by_split(read_predictions(files.predictions, said.task)),
        evaluation_settings(said, section(read_yaml(files.config).values, "evaluation")),
        seen={d for of in said.splits.values() for d, entry in of.domains.items() if entry.seen},
        shared=[said.gap.seen] if said.gap is not None and said.gap.shared_groups else [],
    )
    text = json.dumps(replaced(content, again), ensure_ascii=False, separators=(",", ":"))
    files.evaluation.write_text(text + "\n", encoding="utf-8")


def replaced(old, new):
    """The same keys and sentences with new numbers, of ten digits."""
    if isinstance(old, dict) and isinstance(new, dict):
        if "low" in old and (old["low"] is None) != (new["low"] is None):
            return rounded(new, 10)  # with its reason
        return {key: replaced(item, new[key]) if key in new else item for key, item in old.items()}
    if isinstance(old, list) and isinstance(new, list) and old and not isinstance(old[0], str):
        return rounded(new, 10)
    return rounded(new, 10) if isinstance(old, float) and isinstance(new, float) else old


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
        record.pop("checksums", None)
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
        agree(self.target / folder.relative_to(self.source))

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
