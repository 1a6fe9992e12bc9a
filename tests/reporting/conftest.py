"""Run folders as a run leaves them, and a reader of pages that knows nothing of templates."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest

from medldr.config import EvaluationConfig
from medldr.config.yaml import write_yaml
from medldr.evaluation import evaluate
from medldr.evaluation.table import write_predictions
from medldr.files import RunFolder
from medldr.reporting import figures
from medldr.types import Predictions

FRACTURES = ("buckle", "nondisplaced", "displaced")


def predict(task, names, split, n, seed=0, domains=(), only=None):
    """Predictions better than chance; ids and groups look like those of patients."""
    rng = np.random.default_rng([seed, len(split)])
    k = len(names)
    if task == "multi-label":
        label = (rng.random((n, k)) < 0.4).astype(float)
        prob = 1 / (1 + np.exp(-rng.normal(size=(n, k)) - 1.5 * label + 0.7))
    else:
        label = (
            np.random.default_rng(len(split)).integers(0, k, n)
            if only is None
            else (np.full(n, only))
        )
        logits = rng.normal(size=(n, k))
        logits[np.arange(n), label] += 1.0
        prob = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return Predictions(
        task=task,
        class_names=tuple(names),
        id=np.array([f"DOE_JANE_{split}_{i:04d}.nii.gz" for i in range(n)]),
        split=np.full(n, split),
        domain=np.array([domains[i % len(domains)] if domains else "" for i in range(n)]),
        group=np.array([f"MRN-77{split}{i // 2:05d}" for i in range(n)]),
        label=label,
        prob=prob,
    )


def join(tables):
    columns = ("id", "split", "domain", "group", "label", "prob")
    first = tables[0]
    whole = {name: np.concatenate([getattr(t, name) for t in tables]) for name in columns}
    return Predictions(task=first.task, class_names=first.class_names, **whole)


def curve(epochs, latent=True):
    rows = []
    for epoch in range(1, epochs + 1):
        row = {
            "epoch": epoch, "step": 8 * epoch, "time_s": 1.5 * epoch, "lr": 0.001 / epoch,
            "train/loss": 3.0 / epoch, "train/accuracy": 0.5, "val/loss": 1.0 / epoch,
            "val/accuracy": 0.6, "val/auc": 0.7 if epoch > 1 else None,
        }  # fmt: skip
        if latent:
            row |= {
                "train/loss/original": 1.0 / epoch, "train/loss/degraded": 1.05,
                "train/loss/restored": 0.9, "train/accuracy/degraded": 0.4,
                "train/accuracy/restored": 0.55,
            }  # fmt: skip
        rows.append(row)
    return rows


@pytest.fixture
def run_folder(tmp_path):
    """Write the files of a finished run."""

    def build(
        name="fracture_erm-aaaaaaaa-s0",
        task="multi-class",
        names=FRACTURES,
        *,
        domains=(),
        held_out=(),
        only=None,
        epochs=3,
        latent=True,
        seed=0,
        n=48,
        selection=None,
        notes=(),
        config=None,
        run=None,
        splits=("val", "test"),
    ):
        files = RunFolder(tmp_path / name)
        files.path.mkdir()
        seen = [domain for domain in domains if domain not in held_out]
        places = {"test": list(held_out) or seen, "id_test": seen, "val": seen}
        wanted = [*splits, *(["id_test"] if held_out else [])]
        tables = {
            split: predict(
                task, names, split, n, seed, places[split], only if split == "test" else None
            )
            for split in wanted
        }
        chosen = {"rule": "val_auc", "split": "val", "epoch": 2, "step": 16, "value": 0.7123,
                  "oracle": False} | (selection or {})  # fmt: skip
        judged = evaluate(
            tables, EvaluationConfig(draws=100), selection=chosen, seen=seen, notes=list(notes)
        )
        label, identity, _ = name.rsplit("-", 2)
        settings = {
            "seed": seed, "protocol": "medmnist-28", "label": label,
            "data": {"name": "medmnist", "flag": "fracturemnist3d", "size": 28},
            "transform": {"name": "medmnist3d"},
            "model": {"name": "resnet18", "conv": "acs", "width": 0.125},
            "algorithm": {"name": "latentdr", "degrade": "pool", "lr_scale": 0.5} if latent
            else {"name": "erm", "lr_scale": 1.0},
            "training": {"epochs": epochs, "batch_size": 128, "lr": 0.001, "optimizer": "sgd"},
        }  # fmt: skip
        record = {
            "status": "done", "error": None, "label": label, "hash": identity, "seed": seed,
            "protocol": "medmnist-28", "precision": "float32", "data_hash": "d" * 64,
            "split_hash": "e" * 64, "spec": {"class_counts": [30, 20, 10]},
            "data": {"name": "fracturemnist3d_28", "notes": list(notes), "files": {"a": "f0"}},
            "provenance": {"command": ["medldr", "train", "x"], "packages": {"torch": "2.9.9"}},
        }  # fmt: skip
        files.config.write_text(write_yaml(settings | (config or {})))
        files.run.write_text(json.dumps(record | (run or {})))
        files.metrics.write_text("".join(json.dumps(r) + "\n" for r in curve(epochs, latent)))
        files.evaluation.write_text(json.dumps(judged, allow_nan=False))
        write_predictions(files.predictions, join(list(tables.values())))
        return files

    return build


@pytest.fixture
def quick(monkeypatch):
    """For tests of words and numbers: figures are left blank."""
    monkeypatch.setattr(figures, "_render", lambda *_: '<svg viewBox="0 0 1 1"></svg>')


class Page(HTMLParser):
    """A page as a strict reader sees it."""

    void = frozenset(["meta", "link", "br", "hr", "img", "input"])
    # matplotlib leaves these SVG elements to close themselves.
    links = ("href", "src", "xlink:href", "action", "data", "srcset", "poster")

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.errors, self.ids, self.urls = [], [], [], []
        self.tables, self.labels, self.banners, self.sections = [], [], [], []
        self.values, self.words, self.heads = [], [], []
        self.figures = self.captions = self.svgs = 0
        self._cell = None
        self.feed(text)
        self.close()
        self.errors += [f"never closed: {tag}" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        self._element(tag, dict(attributes))
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self._element(tag, dict(attributes))

    def _element(self, tag, attributes):
        if "id" in attributes:
            self.ids.append(attributes["id"])
        self.urls += [attributes[key] for key in self.links if attributes.get(key)]
        if attributes.get("role") == "img":
            self.labels.append(attributes.get("aria-label", ""))
        if "banner" in (attributes.get("class") or ""):
            self.banners.append("")
        if tag == "section":
            self.sections.append(attributes["id"])
        if "data-value" in attributes:
            self.values.append(float(attributes["data-value"]))
        self.figures += tag == "figure"
        self.captions += tag == "figcaption"
        self.svgs += tag == "svg"
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self._cell = ""
            if tag == "th":
                self.heads.append(attributes.get("scope"))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.errors.append(f"closed out of order: {tag}")
        if tag in ("td", "th"):
            self.tables[-1][-1].append(" ".join(self._cell.split()))
            self._cell = None

    def handle_data(self, data):
        if self.open and self.open[-1] in ("style", "script"):
            return
        self.words.append(data)
        if self._cell is not None:
            self._cell += data
        if self.banners and "p" in self.open[-1:]:
            self.banners[-1] = self.banners[-1] or data

    @property
    def text(self):
        return " ".join("".join(self.words).split())

    def table(self, *headings):
        """The table that begins with these headings, as rows of texts without them."""
        count = len(headings)
        return next(t[1:] for t in self.tables if tuple(t[0][:count]) == headings)


@pytest.fixture
def read():
    """Read a page."""
    return lambda path: Page(path.read_text(encoding="utf-8"))
