"""Run folders as a run leaves them, and a reader of pages that knows nothing of templates."""

import functools
import hashlib
import json
import shutil
import sys
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from medldr.config import EvaluationConfig
from medldr.evaluation import checked, evaluate
from medldr.evaluation.predictions.table import by_split, read_predictions, write_predictions
from medldr.folders.files import RunFolder
from medldr.folders.sweep_record import Layout, Member, Sweep, SweepFolder, read_sweep, write_sweep
from medldr.reporting.pages.sweep import sweep_page
from medldr.reporting.results.grid import make_grid
from medldr.types import Predictions

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)

FRACTURES = ("buckle", "nondisplaced", "displaced")
SPEC = {
    "task": "multi-class", "class_names": FRACTURES, "class_counts": (), "channels": 1,
    "spatial_size": (28, 28, 28),
}  # fmt: skip


def predict(task, names, split, n, seed=0, domains=(), only=None, skill=1.0, columns=None):
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
        logits[np.arange(n), label] += skill
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
        columns={name: np.resize(values, n) for name, values in (columns or {}).items()},
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


def write_run(
    parent,
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
    skill=1.0,
    scored=None,
    further=None,
    columns=None,
    tables=None,
):
    """Write the files of a finished run.

    Args:
        parent: Folder of run folders.
        scored: Keys of the section `evaluation`.
        further: Rules that are not reported, each with the skill of its predictions.
        columns: Values of each column of the metadata, repeated over the rows of each split.
        tables: Predictions by split, in place of those that are made here.
        splits: Those with predictions; held-out domains add ``id_test`` unless ``id_val`` is there.
    """
    files = RunFolder(parent / name)
    files.path.mkdir(parents=True)
    seen = [domain for domain in domains if domain not in held_out]
    places = {"test": list(held_out) or seen, "id_test": seen, "id_val": seen, "val": seen}
    wanted = [*splits, *(["id_test"] if held_out and "id_val" not in splits else [])]

    def predicted(skill, seed):
        return {
            split: predict(
                task,
                names,
                split,
                n,
                seed,
                places[split],
                only if split == "test" else None,
                skill,
                columns,
            )
            for split in wanted
        }

    tables = tables or predicted(skill, seed)
    chosen = {"rule": "val_auc", "split": "val", "epoch": 2, "step": 16, "value": 0.7123,
              "oracle": False} | (selection or {})  # fmt: skip
    scoring = EvaluationConfig(draws=100, **(scored or {}))
    written = scored_once(tables, scoring, selection=chosen, seen=seen, notes=list(notes))
    label, identity, _ = files.path.name.rsplit("-", 2)
    settings = {
        "seed": seed, "protocol": "medmnist-28", "label": label,
        "data": {"name": "medmnist", "flag": "fracturemnist3d", "size": 28},
        "transform": {"name": "medmnist3d"},
        "model": {"name": "resnet18", "conv": "acs", "width": 0.125},
        "algorithm": {"name": "latentdr", "degrade": "pool", "lr_scale": 0.5} if latent
        else {"name": "erm", "lr_scale": 1.0},
        "training": {"epochs": epochs, "batch_size": 128, "lr": 0.001, "optimizer": "sgd"},
    }  # fmt: skip
    used = settings | (config or {})
    rate = used["training"].get("lr", 0.001) * used["algorithm"].get("lr_scale", 1.0)
    record = {
        "status": "done", "error": None, "label": label, "hash": identity, "seed": seed,
        "lr": rate, "protocol": "medmnist-28", "precision": "float32", "data_hash": "d" * 64,
        "split_hash": "e" * 64, "spec": {**SPEC, "class_counts": [30, 20, 10]},
        "data": {"name": "fracturemnist3d_28", "notes": list(notes), "files": {"a": "f0"}},
        "provenance": {"command": ["medldr", "train", "x"], "packages": {"torch": "2.9.9"}},
    }  # fmt: skip
    rules = {
        rule: {"rule": rule, "split": "" if rule == "last" else rule.split("_")[0], "epoch": 3,
               "step": 24, "value": None if rule == "last" else 0.5, "oracle": "oracle" in rule}
        for rule in further or ()
    }  # fmt: skip
    if rules:
        record["selections"] = {chosen["rule"]: chosen} | rules
    for rule, made in rules.items():
        other = predicted(further[rule], seed + 1)
        files.evaluation_of(rule).parent.mkdir(parents=True)
        files.evaluation_of(rule).write_text(scored_once(other, scoring, selection=made, seen=seen))
    files.config.write_text(json.dumps(used))
    files.run.write_text(json.dumps(record | (run or {})))
    files.metrics.write_text("".join(json.dumps(r) + "\n" for r in curve(epochs, latent)))
    files.evaluation.write_text(written)
    write_predictions(files.predictions, join(list(tables.values())))
    return files


_SCORED = {}


def scored_once(tables, scoring, **more):
    """`evaluation.json` of these predictions; many tests write the same ones."""
    key = hashlib.sha256(repr((scoring, sorted(more.items()))).encode())
    for split, table in tables.items():
        key.update(repr((split, table.task, table.class_names)).encode())
        for name in ("id", "split", "domain", "group", "label", "prob"):
            key.update(np.ascontiguousarray(getattr(table, name)).tobytes())
        for name, column in table.columns.items():
            key.update(name.encode() + column.tobytes())
    if key.digest() not in _SCORED:
        written = evaluate(tables, scoring, **more)
        _SCORED[key.digest()] = json.dumps(written, allow_nan=False)
    return _SCORED[key.digest()]


@pytest.fixture
def score_other():
    """Change columns of the predictions of a run without domains, and score it again."""

    def score(files, **columns):
        before = json.loads(files.evaluation.read_text())
        table = replace(read_predictions(files.predictions, before["task"]), **columns)
        scoring = EvaluationConfig(draws=before["intervals"]["draws"])
        scored = evaluate(by_split(table), scoring, selection=before["selection"], seen=[])
        write_predictions(files.predictions, table)
        files.evaluation.write_text(json.dumps(scored, allow_nan=False))

    return score


@pytest.fixture(scope="session", name="write_run")
def fixture_write_run():
    """Write the files of a finished run, in whatever folder."""
    return write_run


@pytest.fixture
def run_folder(tmp_path):
    """Write the files of a finished run."""
    return functools.partial(write_run, tmp_path)


ALGORITHMS = {
    "erm": {"name": "erm", "lr_scale": 1.0},
    "erm_half_lr": {"name": "erm", "lr_scale": 0.5},
    "mixup": {"name": "mixup", "lr_scale": 1.0},
    "latentdr_sa": {"name": "latentdr", "degrade": "attention", "lr_scale": 0.5},
    "latentdr_pool": {"name": "latentdr", "degrade": "pool", "lr_scale": 0.5},
    "latentdr_full_lr": {"name": "latentdr", "degrade": "pool", "lr_scale": 1.0},
}


def write_sweep_folder(path, rows, sets, seeds=(0, 1, 2), *, without=(), oracle=(), **more):
    """Write a sweep of small runs.

    Args:
        path: Its folder.
        rows: Skill of the predictions of each algorithm.
        sets: Data sets, the columns.
        seeds: Of every cell.
        without: Runs that get no folder, as (row, set, seed).
        oracle: Rows that were selected on the test split.
        more: ``layout``, or what `write_run` takes; ``alike`` for columns of one data set, whose
            runs predict the same.
    """
    layout = Layout(**({"title": "A sweep", "rows": "algorithm"} | more.pop("layout", {})))
    members, alike = [], more.pop("alike", False)
    for dataset in sets:
        data = sets[0] if alike else dataset
        for row, skill in rows.items():
            identity = f"{zlib.crc32(f'{dataset} {row}'.encode()):08x}"
            for seed in seeds:
                name = f"{dataset}_{row}-{identity}-s{seed}"
                members.append(Member(name, f"{dataset}_{row}", seed, row, dataset))
                if (row, dataset, seed) in without:
                    continue
                config = {"algorithm": ALGORITHMS.get(row, {"name": row}), "seed": seed}
                config["data"] = {"name": "medmnist", "flag": data, "size": 28}
                run = {"seed": seed, "data": {"name": f"{data}_28"}} | more.get("run", {})
                write_run(
                    path, name, latent="latentdr" in row, skill=skill,
                    seed=1000 * len(data) + zlib.crc32(row.encode()) % 997 + 10 * seed,
                    selection={"rule": "oracle_auc", "oracle": True} if row in oracle else None,
                    **{k: v for k, v in more.items() if k not in ("config", "run")},
                    config=config | more.get("config", {}), run=run,
                )  # fmt: skip
    folder = SweepFolder(path)
    write_sweep(folder, Sweep("a_sweep", layout, tuple(members)))
    return folder


@pytest.fixture(scope="session", name="write_sweep_folder")
def fixture_write_sweep_folder():
    """Write a sweep of small runs, in whatever folder."""
    return write_sweep_folder


@pytest.fixture
def sweep(tmp_path):
    """Write a sweep of small runs."""
    return functools.partial(write_sweep_folder, tmp_path / "S")


@pytest.fixture(scope="session")
def whole_folder(tmp_path_factory):
    """A sweep of two sets with controls, an oracle, a failed run and two that never ran.

    Its files are read by many tests, so none may change them.
    """
    layout = {
        "title": "Two <sets> & 100 %",
        "columns": "data",
        "reference": "erm",
        "controls": ("erm_half_lr",),
        "contrasts": (("latentdr_pool", "erm_half_lr"), ("latentdr_pool", "latentdr_sa")),
        "titles": {"dermamnist": "Derma_1", "octmnist": "OCT"},
        "remark": "A demonstration.",
    }
    rows = {"erm": 0.8, "erm_half_lr": 0.8, "mixup": 3.0, "latentdr_sa": 1.2, "latentdr_pool": 2.0}
    gone = {
        ("erm_half_lr", "octmnist", 0),
        ("erm_half_lr", "octmnist", 1),
        ("erm_half_lr", "octmnist", 2),
        ("mixup", "octmnist", 1),
    }
    folder = write_sweep_folder(
        tmp_path_factory.mktemp("whole") / "S", rows, ("dermamnist", "octmnist"),
        layout=layout, without=gone, oracle=("mixup",), n=60,
    )  # fmt: skip
    failed = next(m for m in read_sweep(folder).members if m.label == "octmnist_mixup" and m.seed)
    folder.logs.mkdir()
    said = "InputError: scans/DOE_JANE.nii: item MRN-77test00001 of batch_size 0"
    folder.ending(failed.run).write_text(json.dumps({"code": 2, "error": said, "starts": 0}))
    return folder


@pytest.fixture(scope="session")
def whole(whole_folder):
    """The numbers and the page of `whole_folder`; its figures are blank."""
    return sweep_page(whole_folder)


@pytest.fixture
def grids_of():
    """The main grids of a sweep, by split and metric."""

    def grids(page):
        found = page.results
        return {
            (split, metric): make_grid(
                found.study, found.columns, metric, split, averaged=found.averages(metric)
            )
            for split in found.splits
            for metric in found.metrics
        }

    return grids


class Page(HTMLParser):
    """A page as a strict reader sees it."""

    void = frozenset(["meta", "link", "br", "hr", "img", "input", "wbr"])
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


SET = ("art_painting", "cartoon", "photo", "sketch")
"""Domains of PACS."""


def write_held_folder(path, rows, held, seeds=(0, 1, 2), **more):
    """Write a sweep that holds domains out: a column per held-out domain, or per pair of them.

    Args:
        path: Its folder.
        rows: Each row's accuracy on target_in, by the domains held out and the seed; None leaves
            the run out. target_out is 0.1 lower, target_all 0.02 lower, id_test is 0.9.
        held: What is held out, one tuple per column.
        seeds: Of every cell.
        more: ``layout``; ``config`` and ``run``, changes to every run; ``parts`` (False: runs
            without parts); ``curve``, the records of `metrics.jsonl` of a run by row, domains and
            seed; ``algorithms``, by row; ``axes``, what the parts of a row's name are; ``dataset``;
            ``plans``, whether configurations are kept beside runs that are not there.
    """
    layout = Layout(**{"title": "One out", "rows": "algorithm", "columns": "held_out"}
                    | more.get("layout", {}))  # fmt: skip
    folder, members, written = SweepFolder(path), [], {}
    dataset = more.get("dataset", "pacs")
    for row, reached in rows.items():
        for domains in held:
            column = f"held_out-{'-'.join(domains)}"
            label = f"{row.replace(', ', '_')}_{column}"
            identity = f"{zlib.crc32(label.encode()):08x}"
            for seed in seeds:
                name = f"{label}-{identity}-s{seed}"
                values = dict(zip(more.get("axes", ()), row.split(", "), strict=False))
                members.append(Member(name, label, seed, row, column, row_values=values))
                value = reached(domains, seed)
                config = {
                    "algorithm": more.get("algorithms", ALGORITHMS).get(row, {"name": row}),
                    "seed": seed, "protocol": "swad", "model": {"name": "resnet50"},
                    "data": {"name": "domain_folders", "set": dataset, "held_out": list(domains)},
                    **more.get("config", {}),
                }  # fmt: skip
                if value is None:
                    if more.get("plans", True):
                        folder.configs.mkdir(parents=True, exist_ok=True)
                        folder.config(name).write_text(json.dumps(config))
                    continue
                files = folder.run(name)
                if domains in written:  # another run's files, which are all overwritten but one
                    shutil.copytree(written[domains].path, files.path)
                else:
                    written[domains] = write_run(
                        path, name, domains=SET, held_out=domains, n=24, latent=False, config={},
                        splits=("id_val", "id_test", "test"),
                        selection={"rule": "val_domain_accuracy", "split": "id_val", "step": 16},
                    )  # fmt: skip
                record = json.loads(files.run.read_text()) | {
                    "label": label, "hash": identity, "seed": seed, "data": {"name": dataset},
                    "spec": {**SPEC, "domains": list(SET)}, "protocol": config["protocol"],
                    **more.get("run", {}),
                }  # fmt: skip
                files.run.write_text(json.dumps(record))
                files.config.write_text(json.dumps(config))
                loaded = json.loads(files.evaluation.read_text())
                parts = {"target_in": value, "target_out": value - 0.1}
                test = loaded["splits"]["test"]
                test.pop("parts", None)
                if more.get("parts", True):
                    test["parts"] = {
                        part: {"items": 12, "metrics": {"accuracy": {"value": number}}}
                        for part, number in parts.items()
                    }
                test["metrics"]["accuracy"]["value"] = value - 0.02
                loaded["splits"]["id_test"]["metrics"]["accuracy"]["value"] = 0.9
                files.evaluation.write_text(json.dumps(loaded))
                if more.get("curve"):
                    records = more["curve"](row, domains, seed)
                    files.metrics.write_text("".join(json.dumps(r) + "\n" for r in records))
    write_sweep(folder, Sweep("one_out", layout, tuple(members)))
    return folder


@pytest.fixture
def held_sweep(tmp_path, monkeypatch):
    """Write a sweep that holds domains out.

    Its numbers are chosen for what tables make of them, so the predictions need not give them.
    """
    monkeypatch.setattr(checked, "differences", lambda *_: [])
    return functools.partial(write_held_folder, tmp_path / "S")
