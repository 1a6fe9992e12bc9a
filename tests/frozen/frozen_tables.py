"""Tables of images as a run gets them: real data sets, each by its data section alone."""

import re
from collections import Counter

import numpy as np
from frozen_adapter import data_of, first_batch, part, pixels
from frozen_data import SHARED, real, run, write_table
from frozen_text import digest, exact, joined, summary

SHOWN = 48
"""Images of a table whose pixels are looked at, evenly spaced."""
KEYS = re.compile(r"\b(?:data|transform|model|training|evaluation|machine)\.\w[\w.]*")


def facts_in(text):
    """Keys and numbers that a sentence names, whatever its words are.

    Example:
        >>> facts_in("3 of 120 items are bad: set data.on_bad_file=skip")
        '120 3 data.on_bad_file'
    """
    keys = [key.rstrip(".") for key in KEYS.findall(text)]
    numbers = re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", KEYS.sub(" ", text))
    return " ".join(sorted({*keys, *(number.rstrip(",") for number in numbers)}))


def counted(column):
    """A digest of a column of text, and how often each value occurs if there are few."""
    values = Counter(column.tolist())
    listed = ",".join(f"{name or '-'}={n}" for name, n in sorted(values.items()))
    return f"{digest(column)} {listed if len(values) < 9 else f'{len(values)} values'}"


def described(title, mapping, *, decoded, hashed=True):
    """The lines of one table.

    Args:
        title: What the case is called.
        mapping: The run.
        decoded: Whether a decoder or a kernel made the pixels, so that they are summarised.
        hashed: Whether the hash of its data stays what it is.
    """
    config, data = data_of(mapping)
    table = data.table
    rows = np.unique(np.linspace(0, len(table) - 1, SHOWN).round().astype(int))
    shown = pixels(table, rows)
    facts = {
        "table": f"{table.name} {table.task} n={len(table)}",
        "classes": ", ".join(table.class_names),
        "images": f"{'x'.join(map(str, table.images.shape))} {table.images.dtype}",
        "pixels": summary(shown) if decoded else exact(shown),
        "ids": digest(table.ids),
        "first ids": " ".join(table.ids[:3].tolist()),
        "labels": exact(table.labels),
        "domains": counted(table.domains),
        "groups": counted(table.groups),
        "own splits": counted(table.splits),
        "metadata": " ".join(f"{k}={digest(v)}" for k, v in table.metadata.items()),
        "bad files": digest([file.path for file in table.bad_files]),
        "shared groups": str(table.shared_groups),
        "spec": str(data.spec),
        **{f"rows of {name}": _rows(table, held) for name, held in data.rows.items()},
        **{f"part {name}": _rows(table, held) for name, held in data.parts.items()},
        "data hash": data.data_hash if hashed else "not kept",
        "split hash": data.split_hash,
        "files": digest(sorted(data.files)),
        "selects on": str(data.selection_split),
        "given to the network": summary(first_batch(config, data, next(iter(data.rows)))),
        "notes name": "; ".join(facts_in(note) for note in data.notes),
    }
    return [f"{title}\t{key}\t{value}" for key, value in facts.items()]


def _rows(table, rows):
    return f"n={len(rows)} {digest(table.ids[rows])}"


def medmnist(_):
    """Official files, also divided, made rare, left out and renamed."""
    root = str(real("medmnist"))

    def of(flag, size=28, **keys):
        return run({"name": "medmnist", "flag": flag, "size": size, "root": root, **keys})

    sets = {
        "breastmnist": of("breastmnist"),
        "retinamnist": of("retinamnist"),
        "adrenalmnist3d": of("adrenalmnist3d"),
        "vesselmnist3d at 64": of("vesselmnist3d", 64),
        "half of it": of("retinamnist", train_fraction=0.5, split_seed=3),
        "long-tailed": of("retinamnist", imbalance={"factor": 20}),
        "left out": of("breastmnist", exclude=["train/0", "test/5"], class_names=["a", "b"]),
    }
    lines = [line for name, keys in sets.items() for line in described(name, keys, decoded=False)]
    return {"tables.r5.txt": joined(lines)}


def domains(parent):
    """Trees of a folder per domain: PACS, white blood cells, mitoses."""
    pacs = {**part("data", "pacs"), "root": str(real("pacs64")), "size": 64}
    cells = {"name": "domain_folders", "root": str(real("wbc3")), "size": 48}
    mitoses = {
        "name": "domain_folders",
        "root": str(sample(real("amf64"), parent / "amf64", 30)),
        "size": 64,
        "group_pattern": "^([a-z]+[0-9]+)_",
    }
    own = {"transform": {"name": "natural", "size": 48}}
    sets = {
        "pacs": run({**pacs, "held_out": ["sketch"], "split_seed": 1}),
        "pacs, two held out": run(
            {**pacs, "split_rule": "stratified", "held_out": ["photo", "cartoon"]}
        ),
        "pacs at its own size": run({**pacs, "size": None, "held_out": ["photo"]}, **own),
        "wbc3": run({**cells, "held_out": ["bccd"]}),
        "wbc3 without a domain": run({**cells, "exclude": [], "train_fraction": 0.5}),
        "amf64": run({**mitoses, "held_out": ["tcga"]}),
        "amf64, groups by domain": run({**mitoses, "group_scope": "domain"}),
    }
    lines = [line for name, keys in sets.items() for line in described(name, keys, decoded=True)]
    return {"tables.r5.txt": joined(lines)}


def sample(tree, to, each):
    """Links to the first files of each class of each domain."""
    for folder in sorted(path for path in tree.glob("*/*") if path.is_dir()):
        place = to / folder.relative_to(tree)
        place.mkdir(parents=True)
        for file in sorted(folder.iterdir())[:each]:
            (place / file.name).symlink_to(file)
    return to


def own(parent):
    """Own scans by tables and folders: cells, mitoses, NIfTI, DICOM series, an archive."""
    lines = []
    for title, keys in _own_scans(parent).items():
        data, more = keys if isinstance(keys, tuple) else (keys, {})
        mapping = run({"name": "table", "cache": "memory", **data}, **more)
        lines += described(title, mapping, decoded=True, hashed=False)
    return {"tables.r5.txt": joined(lines)}


def _own_scans(parent):
    wbc, scans, lungs = real("wbc"), real("scans"), real("lidcshape3d.npz")
    names = sorted(path.name for path in (scans / "nifti").glob("*.nii.gz"))
    rows = [
        [f"nifti/{name}", "ab"[n % 2], f"p{n // 2}", "xyz"[n // 2 % 3]]
        for n, name in enumerate(names)
    ]
    brains = write_table(parent / "brains.csv", [["path", "label", "who", "where"], *rows])
    series = sorted(path.name for path in (scans / "dicom").iterdir() if path.is_dir())
    listed = [[f"dicom/{name}", "ab"[n % 2]] for n, name in enumerate(series)]
    heads = write_table(parent / "heads.csv", [["path", "label"], *listed])
    volumes = {"file": str(brains), "root": str(scans), "group": "who", "domain": "where"}
    cells = {
        "file": str(wbc / "labels.csv"),
        "path": "image",
        "domain": "lab",
        "allow_missing_classes": True,
    }
    one = {"file": str(heads), "root": str(scans), "allow_missing_classes": True}
    return {
        "wbc": {**cells, "size": 48, "held_out": ["cellavision"]},
        "wbc, padded and grey": {**cells, "size": 96, "fit": "pad", "channels": 1},
        "wbc3 by folders": {
            "root": str(real("wbc3")),
            "folders": ["domain", "label"],
            "allow_missing_classes": True,
        },
        "amf64 by its table": {
            "file": str(part_of(real("amf64", "labels.csv"), parent / "mitoses.csv")),
            "root": str(SHARED / "data" / "amf64"),
            **{k: v for k, v in part("data", "ami_br").items() if k not in ("name", "split")},
            "allow_missing_classes": True,
        },
        "brains as they are": {**volumes, "size": 24},
        "brains by spacing": {
            **volumes,
            "size": [20, 24, 16],
            "spacing": 2.0,
            "held_out": ["y"],
            "percentiles": [1, 99],
        },
        "brains by a window": {**volumes, "size": 16, "window": [10.0, 900.0], "fit": "pad"},
        "heads": {**one, "size": [24, 24, 12]},
        "heads by spacing": {**one, "size": 16, "spacing": [2, 2, 4], "window": [0.0, 2000.0]},
        "lungs": {"file": str(lungs), "label": "labels"},
        "lungs by domain": {
            "file": str(lungs),
            "label": "labels",
            "domain": "domains",
            "group": "patients",
            "split": None,
            "held_out": ["thick_3.0"],
            "columns": ["extent_mm"],
        },
    }


def part_of(table, to, every=12):
    """Some rows of a table, evenly spaced."""
    head, *rows = table.read_text(encoding="utf-8").splitlines(keepends=True)
    to.write_text("".join([head, *rows[::every]]), encoding="utf-8")
    return to


def cifar(_):
    """CIFAR-10 as a tree of pictures, and made rarer still."""
    keys = {**part("data", "cifar10_lt"), "md5": "any", "root": str(real("cifar10_lt"))}
    sets = {
        "cifar10_lt as it is": run({**keys, "imbalance": None}),
        "cifar10_lt of 500": run({**keys, "imbalance": {"largest": 500, "factor": 100}}),
    }
    lines = [line for name, one in sets.items() for line in described(name, one, decoded=True)]
    return {"tables.r5.txt": joined(lines)}


def phantoms(_):
    """Simulated data, whose pixels follow the processor in their last bit."""
    sets = {
        "fracture": run({**part("data", "phantom_fracture"), "patients": 24, "size": 16}),
        "histology": run({**part("data", "phantom_histology"), "tiles": 2, "size": 32}),
    }
    lines = [
        line
        for name, one in sets.items()
        for line in described(name, one, decoded=True, hashed=False)
    ]
    return {"tables.r5.txt": joined(lines)}


CASES = {
    "medmnist": medmnist,
    "domains": domains,
    "own": own,
    "cifar": cifar,
    "simulated": phantoms,
}
