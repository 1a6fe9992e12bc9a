"""Tables of a few small scans, and the images that a network gets of them."""

import importlib.util
from pathlib import Path

import nibabel
import numpy as np
import pytest
import torch
from PIL import Image
from ruamel.yaml import YAML

from medldr.config import load_config
from medldr.data import build_data
from medldr.errors import InputError

_spec = importlib.util.spec_from_file_location(
    "dicom_files", Path(__file__).parents[1] / "data" / "files" / "dicom_files.py"
)
dicom_files = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(dicom_files)

RAMP = np.arange(120, dtype=np.float32).reshape(6, 5, 4)


def noise(seed, shape=(6, 5, 4)):
    return np.random.default_rng(seed).normal(100, 30, shape).astype(np.float32)


def nifti(path, values, affine=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    nibabel.save(nibabel.Nifti1Image(values, np.eye(4) if affine is None else affine), path)
    return path.name


def volumes(folder, count=8, shape=(6, 5, 4)):
    """Names of some good volumes."""
    return [nifti(folder / f"v{n}.nii.gz", noise(n, shape)) for n in range(count)]


def table(folder, rows, columns="path,label", name="scans.csv"):
    """Write a table of rows of cells, or of paths alone: these are of two classes by turns."""
    lines = [
        f"{row},{'ab'[n % 2]}" if isinstance(row, str) else ",".join(map(str, row))
        for n, row in enumerate(rows)
    ]
    file = folder / name
    file.write_text("\n".join([columns, *lines, ""]), encoding="utf-8")
    return file


def mapping(file, **data):
    """A small run on a table, or on the keys alone where there is none."""
    named = {} if file is None else {"file": str(file)}
    return {
        "data": {"name": "table", **named, "allow_missing_classes": True, **data},
        "transform": {"name": "none"},
        "model": {"name": "resnet18", "stem": "small", "width": 0.125},
        "algorithm": {"name": "erm"},
        "training": {"epochs": 1, "batch_size": 4, "lr": 0.01, "precision": "float32"},
        "evaluation": {"draws": 100},
        "machine": {"device": "cpu", "report": False},
    }


def built(file, **data):
    """What a run would be given."""
    return build_data(load_config(mapping(file, **data)))


def images_of(file, **data):
    """The image of each item that a network gets, by id."""
    config = load_config(mapping(file, **data))
    found = build_data(config)
    images = {}
    for split, rows in found.rows.items():
        batches = found.eval_loader(split, config, device="cpu")
        parts = torch.cat([batch.image for batch in batches]).numpy()
        images |= dict(zip(found.table.ids[rows].tolist(), parts, strict=True))
    return images


def notes_of(file, **data):
    return " ".join(built(file, **data).notes)


def run_file(folder, file, **data):
    """The YAML file of a small run on a table."""
    path = folder / "run.yaml"
    with path.open("w") as stream:
        YAML(typ="safe").dump(mapping(file, **data), stream)
    return path


def refused(file, **data):
    """The one message with which a run stops before training."""
    with pytest.raises(InputError) as caught:
        built(file, **data)
    return str(caught.value)


def picture(path, seed=0, level=0, shape=(8, 8, 3)):
    """A picture of noise, brighter by a level."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 120, shape) + level
    Image.fromarray(pixels.astype(np.uint8)).save(path)
    return path.name
