"""An analysis of the latents of two small runs: its words, and the numbers of its csv files."""

import csv
import re

import frozen
from frozen_adapter import analysed
from frozen_networks import mappings
from frozen_text import FRACTION, fraction, joined

import medldr

TOLERANCE = 1e-5
PLACES = ("x", "y")
"""Columns of maps: where t-SNE puts an image follows the last bit of every distance."""


def analysis(parent):
    """`medldr analyze` of a run of ERM and of LatentDR, which has kept its latents."""
    made = mappings(parent)
    runs = [
        medldr.train(made[name], (), parent / "runs").folder
        for name in ("erm_pictures", "latentdr_pictures")
    ]
    page, tables = analysed(
        runs, parent / "out", draws=50, items=60, points=20, queries=2, batches=3, neighbours=5
    )
    found = {}
    for path in tables:
        found[f"{path.stem}.csv.r3.txt"] = joined(_lines(path))
    words = frozen.Cells(page.read_text(encoding="utf-8")).text()
    found["page.words.txt"] = FRACTION.sub("#", frozen.normalised(words))
    return found


def _lines(path):
    head, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
    yield "\t".join(head)
    for row in rows:
        cells = zip(head, row, strict=True)
        yield "\t".join("#" if name in PLACES else _cell(cell) for name, cell in cells)


def _cell(text):
    if re.fullmatch(r"-?\d+\.\d+(e[+-]?\d+)?|-?\d+e[+-]?\d+", text):
        return fraction(float(text), TOLERANCE)
    return text


CASES = {"analysis": analysis}
