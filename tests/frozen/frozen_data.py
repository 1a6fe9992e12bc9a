"""What frozen cases are made of: real data where it is, and small sets drawn with whole numbers.

Nothing drawn here depends on the processor.
"""

import csv
import importlib.util
import sys
from pathlib import Path

import numpy as np
from frozen_text import AbsentError
from PIL import Image

SHARED = Path(__file__).resolve().parents[3] / "shared"
HOSPITALS = ("aachen", "bremen", "celle")
CLASSES = ("benign", "malignant")


def real(*parts):
    """A file or folder of the real data beside the repository.

    Raises:
        AbsentError: If it is not there.
    """
    path = SHARED.joinpath("data", *parts)
    if not path.exists():
        raise AbsentError(f"real data is absent: {path}")
    return path


def cases(out):
    """All case folders, written by their own scripts; their names, sorted.

    Raises:
        AbsentError: If the scripts are not there.
    """
    scripts = ("make_cases", "make_cases_2", "make_cases_3", "make_cases_3b")
    folder = SHARED / "cases"
    if not all((folder / f"{name}.py").is_file() for name in scripts):
        raise AbsentError(f"the scripts of the cases are absent: {folder}")
    sys.path.insert(0, str(folder))
    try:
        for name in scripts:
            spec = importlib.util.spec_from_file_location(f"frozen_{name}", folder / f"{name}.py")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            for make in _makers(name, module):
                make(Path(out))
    finally:
        sys.path.remove(str(folder))
    return sorted(path.name for path in Path(out).iterdir() if path.is_dir())


def _makers(name, module):
    if name == "make_cases":
        return module.ALL
    if name == "make_cases_2":
        huge = "n04_huge_picture"  # takes seconds, and what is said of it is tested elsewhere
        return [
            lambda out, title=title, make=make: make(out / title)
            for title, make in module.ALL.items()
            if title != huge
        ]
    if name == "make_cases_3":
        return module.CASES
    return [module.s05, module.s06, module.s07, module.s08]


def write_table(path, rows):
    """A table of text, the first row its heading."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    return path


def image(seed, label, domain, shape):
    """Noise, brighter by domain, with a bright block where the label is 1."""
    values = np.random.default_rng(seed).integers(0, 90, shape) + 20 * domain
    if label:
        values[tuple(slice(n // 4, n // 2) for n in shape[: 2 if len(shape) < 4 else 3])] += 110
    return values.astype(np.uint8)


def pictures(folder, count=72, size=32):
    """A table of colour pictures of three hospitals: two pictures a patient, age and sex."""
    rows = [["path", "label", "hospital", "patient", "age", "sex"]]
    for number in range(count):
        domain, patient = number % 3, number // 6 * 3 + number % 3
        label = patient // 3 % 2
        pixels = image(number, label, domain, (size, size, 3))
        name = f"{HOSPITALS[domain]}/p{patient:02d}_{number:02d}.png"
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(folder / name)
        facts = [f"p{patient:02d}", 30 + 7 * patient % 50, "fm"[patient % 2]]
        rows.append([name, CLASSES[label], HOSPITALS[domain], *facts])
    return write_table(folder / "pictures.csv", rows)


def volumes(folder, count=36, size=12):
    """A table of volumes of three hospitals as NumPy arrays, one a patient."""
    rows = [["path", "label", "hospital", "patient"]]
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        domain, label = number % 3, number // 3 % 2
        np.save(folder / f"v{number:02d}.npy", image(500 + number, label, domain, (size,) * 3))
        rows.append([f"v{number:02d}.npy", CLASSES[label], HOSPITALS[domain], f"p{number:02d}"])
    return write_table(folder / "volumes.csv", rows)


def run(data, **sections):
    """The mapping of a small run on a data section."""
    values = {
        "seed": 0,
        "data": data,
        "transform": {"name": "none"},
        "model": {"name": "resnet18", "stem": "small", "width": 0.25},
        "algorithm": {"name": "erm"},
        "training": {
            "epochs": None,
            "steps": 3,
            "batch_size": 12,
            "lr": 0.001,
            "optimizer": "sgd",
            "precision": "float32",
            "select": ["last"],
        },
        "evaluation": {"draws": 100, "batch_size": 16},
        "machine": {"device": "cpu", "threads": 1, "report": False},
    }
    for section, keys in sections.items():
        values[section] = {**values.get(section, {}), **keys}
    return values
