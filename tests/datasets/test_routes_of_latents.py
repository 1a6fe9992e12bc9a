"""Whatever holds latents, a run on them is the same: its weights, predictions and numbers."""

import csv

import h5py
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import medldr
from medldr.console import Console
from medldr.data.store import make_pack
from medldr.datasets.features import Config, load

COUNT, DIM = 120, 16
RNG = np.random.default_rng(3)
ROWS = [
    {
        "id": f"i{n:03}",
        "label": "ab"[n // 2 % 2],
        "hospital": "xyz"[n % 3],
        "patient": f"{'xyz'[n % 3]}{n // 6}",
        "split": ["train", "train", "val", "test", "train"][n // 6 % 5],
    }
    for n in range(COUNT)
]
HALF = RNG.normal([[row["label"] == "b"] for row in ROWS], size=(COUNT, DIM)).astype(np.float16)
"""Half precision, as many encoders are run; every route below but the first two stores float32."""
LATENTS = HALF.astype(np.float32)
KEYS = {"id": "id", "domain": "hospital", "group": "patient", "split": "split"}


def table(file, **further):
    """The rows as CSV, with a column of files where that is asked for."""
    rows = [{**row, **{key: of(row) for key, of in further.items()}} for row in ROWS]
    with file.open("w", newline="") as text:
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return file


def half_files(root):
    for row, values in zip(ROWS, HALF, strict=True):
        np.save(root / f"{row['id']}.npy", values)
    return {"file": table(root / "items.csv", path=lambda row: f"{row['id']}.npy"), **KEYS}


def half_array(root):
    np.save(root / "all.npy", HALF)
    return {"file": table(root / "items.csv"), "array": root / "all.npy", **KEYS}


def files(root):
    for row, values in zip(ROWS, LATENTS, strict=True):
        np.save(root / f"{row['id']}.npy", values)
    return {"file": table(root / "items.csv", path=lambda row: f"{row['id']}.npy"), **KEYS}


def slides(root):
    """CLAM writes `(N, D)` and TRIDENT `(1, N, D)`, with the coordinates of the patches."""
    for n, (row, values) in enumerate(zip(ROWS, LATENTS, strict=True)):
        with h5py.File(root / f"{row['id']}.h5", "w") as file:
            file["features"] = values[None] if n % 2 else values[None, None]
            file["coords"] = np.zeros((1, 2))
    return {"file": table(root / "items.csv", path=lambda row: f"{row['id']}.h5"), **KEYS}


def column(root):
    columns = {key: [row[key] for row in ROWS] for key in ROWS[0]}
    values = {**columns, "uni": LATENTS.tolist()}
    parquet.write_table(pa.table(values), root / "items.parquet")
    return {"file": root / "items.parquet", "latents": "uni", **KEYS}


def pack(root):
    """What `medldr features` writes."""
    section = Config(**half_array(root))
    make_pack(
        load(section), section, root / "made", workers=0, console=Console(), encoder={"dim": DIM}
    )
    return {"root": root / "made"}


def trained(keys, algorithm, out):
    study = {
        "extends": ["recipe/own_features", "data/features", f"algorithm/{algorithm}"],
        "data": {key: str(value) for key, value in keys.items()},
        "model": {"adapter": "mlp"},
        "training": {"steps": 12, "evaluate_every": 6, "batch_size": 32},
        "evaluation": {"draws": 100},
        "machine": {"device": "cpu", "threads": 1},
    }
    return medldr.train(study, out=out)


@pytest.fixture(scope="module", params=["erm", "latentdr_pool"])
def reference(request, tmp_path_factory):
    root = tmp_path_factory.mktemp("array")
    return request.param, trained(half_array(root), request.param, root / "runs")


@pytest.mark.parametrize("route", [half_files, files, slides, column, pack])
def test_a_run_is_the_same_bit_for_bit(reference, route, tmp_path):
    algorithm, one = reference
    other = trained(route(tmp_path), algorithm, tmp_path / "runs")
    assert other.metrics == one.metrics
    for name in ("model.safetensors", "predictions.csv"):
        assert (other.folder / name).read_bytes() == (one.folder / name).read_bytes(), name
    assert other.scored.scores == one.scored.scores  # with their intervals
