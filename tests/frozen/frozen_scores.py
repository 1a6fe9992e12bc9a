"""`evaluation.json` and comparisons, of the frozen runs and of made-up answers."""

import json
import shutil
from pathlib import Path

import numpy as np
from frozen_adapter import evaluated, scored, write_answers
from frozen_text import joined, lines_of

import medldr

HERE = Path(__file__).resolve().parent
RUNS = {
    "augmentation": ["erm_no_aug-*-s0", "fish_targeted-*-s0"],
    "benchmarks": ["pacs-photo_coral-*-s0"],
    "leave_one_out": ["erm_swad_sketch-*-s0"],
    "phantom": ["*_latentdr_pool-*-s1"],
    "search": ["erm_low_sun-voc-*-s0"],
    "single": ["*"],
    "two_sets": ["too_fast_retina-*-s0", "mixup_retina-*-s2", "peeking_breast-*-s1"],
}
"""Runs that are scored again, by case."""
COMPARED = {
    "augmentation": ["erm_no_aug-*", "latentdr_sa_no_aug-*", "erm_targeted-*"],
    "leave_one_out": ["erm_photo-*", "coral_photo-*", "erm_swad_photo-*"],
    "phantom": ["*_erm-*", "*_mixstyle-*", "*_latentdr_pool-*"],
    "two_sets": ["erm_half_lr_breast-*", "latentdr_pool_breast-*"],
}
"""Runs that are compared, the reference first, by case."""
TOLERANCE = 1e-9


def flat(content):
    """The lines of a file of scores; definitions are texts of the table of metrics."""
    kept = {key: value for key, value in content.items() if key != "definitions"}
    kept["definitions"] = len(content.get("definitions") or ())
    return joined(lines_of(kept, TOLERANCE))


def evaluations(_):
    """The frozen runs scored again, each from its predictions alone."""
    found = {}
    for case, patterns in RUNS.items():
        for pattern in patterns:
            for path in sorted((HERE / case / "folder").glob(f"{pattern}/run.json")):
                if not (path.parent / "predictions.csv").is_file():
                    continue
                label, _, seed = path.parent.name.rsplit("-", 2)
                content = evaluated(path.parent)
                found[f"{case}.{label}-{seed}.r9.txt"] = flat(content)
    return found


def comparisons(parent):
    """The frozen runs beside each other, as `medldr.compare` gives them."""
    found = {}
    for case, patterns in COMPARED.items():
        shutil.copytree(HERE / case / "folder", parent / case)
        runs = [run for pattern in patterns for run in sorted((parent / case).glob(pattern))]
        compared = medldr.compare([run for run in runs if (run / "predictions.csv").is_file()])
        found[f"{case}.r9.txt"] = flat(compared).replace(f"{parent}/", "")
    return found


def made_up(seed, n, classes=3, *, skill=40, several=False, groups=3, domains=2, missing=0):
    """Answers drawn with whole numbers: what `predictions_of` takes.

    Args:
        seed: Of the draws.
        n: Items.
        classes: Classes or labels.
        skill: How much the right class is preferred.
        several: Whether an item may have several labels.
        groups: Items of one group; 0 for none.
        domains: Domains; 0 for none.
        missing: Every so many items one label is not known.
    """
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, (n, classes)) if several else random.integers(0, classes, n)
    given = random.integers(1, 60, (n, classes))
    if several:
        prob = (given + skill * labels / 2) / 100
        labels = labels.astype(float)
        if missing:
            labels[::missing, seed % classes] = np.nan
    else:
        given[np.arange(n), labels] += skill
        prob = given / given.sum(axis=1, keepdims=True)
    return {
        "label": labels,
        "prob": prob,
        "ids": [f"i{k:03d}" for k in range(n)],
        "group": [f"g{k // groups:03d}" for k in range(n)] if groups else None,
        "domain": [f"d{k % (groups * domains) // groups}" for k in range(n)] if domains else None,
        "class_names": [f"class {k}" for k in range(classes)],
    }


def _columns(n):
    return {
        "sex": ["fm"[k // 3 % 2] for k in range(n)],
        "age": [str(20 + 13 * (k // 3) % 70) if k % 17 else "" for k in range(n)],
    }


def answers_of(task, seed, n=(60, 90), **keys):
    """Made-up answers on val and test."""
    parts = {"val": n[0], "test": n[1]}
    return {
        split: {"task": task, **made_up(seed + place, count, **keys), "columns": _columns(count)}
        for place, (split, count) in enumerate(parts.items())
    }


def invented(_):
    """What the frozen runs do not have: subgroups, prevalence, recalibration, shots, parts."""
    quick = {"draws": 200}
    selection = {"rule": "val_auc", "split": "val", "epoch": 3, "step": 30, "value": 0.75}
    parted = answers_of("multi-class", 50)
    parted["test"]["part"] = ["target_in" if k % 2 else "target_out" for k in range(90)]
    one_class = answers_of("binary", 60, classes=2)
    one_class["test"]["label"] = np.ones(90, int)
    cases = {
        "multi-class": scored(
            answers_of("multi-class", 1),
            {**quick, "per_group": True, "bands": {"age": [40, 60]}},
            selection=selection,
            seen=["d0"],
            shared=["val"],
            notes=["a note"],
        ),
        "binary": scored(
            answers_of("binary", 10, classes=2),
            {**quick, "prevalence": 0.1, "positive_class": "class 0", "specificity": 0.8},
            seen=["d0", "d1"],
        ),
        "binary, the second": scored(
            answers_of("binary", 20, classes=2, groups=1, domains=0), quick
        ),
        "ordinal": scored(answers_of("ordinal", 30, classes=4), quick, selection=selection),
        "multi-label": scored(
            answers_of("multi-label", 40, classes=3, several=True, missing=7), quick, seen=["d1"]
        ),
        "shots": scored(
            answers_of("multi-class", 45, classes=4),
            {**quick, "shots": [100, 20], "subgroups": ["sex"]},
            trained_on=[200, 60, 30, 5],
        ),
        "parts": scored(parted, quick, seen=["d0"]),
        "one class": scored(one_class, quick),
        "few": scored(answers_of("multi-class", 70, n=(4, 6)), {**quick, "bins": 5}),
    }
    return {f"{name.replace(', ', '_')}.r9.txt": flat(content) for name, content in cases.items()}


def write_run(folder, tables, label, seed, settings=None, **more):
    """A finished run's folder as far as comparisons read it."""
    folder.mkdir(parents=True)
    record = {"status": "done", "error": None, "label": label, "seed": seed, "protocol": "p"}
    record |= {"hash": f"{sum(map(ord, label)):08x}", "precision": "float32", "data_hash": "d"}
    (folder / "run.json").write_text(json.dumps({**record, "split_hash": "s", **more}))
    write_answers(folder / "predictions.csv", tables)
    selection = {"rule": "last", "oracle": False}
    content = scored(tables, {"draws": 200, **(settings or {})}, selection=selection, seen=["d0"])
    (folder / "evaluation.json").write_text(json.dumps(content))


def invented_comparisons(parent):
    """Methods of one and of several seeds, with a margin, groups, and several labels."""
    found = {}
    several = {"classes": 3, "several": True, "missing": 9}
    tasks = {
        "multi-class": ({}, {"per_group": True}, {"margin": 3.0}),
        "binary": ({"classes": 2}, {}, {"margin": 0.05, "metric": "auc"}),
        "multi-label": (several, {}, {}),
    }
    for task, (keys, settings, how) in tasks.items():
        runs = []
        for place, (label, skill) in enumerate({"erm": 25, "better": 45, "worse": 10}.items()):
            for seed in range(3 if label != "worse" else 1):
                tables = answers_of(task, 5, skill=skill, **keys)
                for number, columns in enumerate(tables.values()):
                    shift = np.random.default_rng(100 * place + 10 * seed + number)
                    moved = columns["prob"] * shift.integers(60, 100, columns["prob"].shape) / 100
                    whole = 1 if task == "multi-label" else moved.sum(axis=1, keepdims=True)
                    columns["prob"] = moved / whole
                folder = parent / task / f"{label}-{seed}"
                write_run(folder, tables, label, seed, settings)
                runs.append(folder)
        found[f"{task}.r9.txt"] = flat(medldr.compare(runs, **how))
    return found


CASES = {
    "evaluations": evaluations,
    "comparisons": comparisons,
    "invented": invented,
    "invented_comparisons": invented_comparisons,
}
