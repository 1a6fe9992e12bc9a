"""Stored latents: every file that holds the same ones gives the same table."""

import csv
import itertools

import h5py
import numpy as np
import pyarrow as pa
import pytest
import torch
from pyarrow import parquet

import medldr
from medldr.data import check_table
from medldr.datasets.features import Config, load
from medldr.errors import InputError

RNG = np.random.default_rng(0)
ROWS = [
    {"id": f"{domain}{number}", "label": "ab"[number % 2], "hospital": domain,
     "patient": f"p{domain}{number // 2}", "split": ["train", "val", "test"][number % 3]}
    for domain, number in itertools.product("xy", range(12))
]  # fmt: skip
LATENTS = RNG.normal(size=(len(ROWS), 8)).astype(np.float32)
KEYS = {"domain": "hospital", "group": "patient", "split": "split", "id": "id"}


def write_csv(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def npy(path, values):
    np.save(path, values)


def npz(path, values):
    np.savez(path, coords=np.zeros((1, 2)), features=values)


def hdf5(path, values):
    """As CLAM and TRIDENT write the patches of a slide."""
    with h5py.File(path, "w") as file:
        file["features"], file["coords"] = values[None, None], np.zeros((1, 2))


def tensor(path, values):
    torch.save(torch.from_numpy(values), path)


WRITERS = {".npy": npy, ".npz": npz, ".h5": hdf5, ".pt": tensor}


def of_files(root, ending, latents=LATENTS):
    for row, values in zip(ROWS, latents, strict=True):
        WRITERS[ending](root / f"{row['id']}{ending}", values)
    rows = [{**row, "path": f"{row['id']}{ending}"} for row in ROWS]
    return {"file": write_csv(root / "latents.csv", rows), **KEYS}


def of_array(root):
    np.save(root / "all.npy", LATENTS)
    return {"file": write_csv(root / "rows.csv", ROWS), "array": root / "all.npy", **KEYS}


def of_parquet(root):
    columns = {key: [row[key] for row in ROWS] for key in ROWS[0]}
    parquet.write_table(pa.table({**columns, "uni": LATENTS.tolist()}), root / "rows.parquet")
    return {"file": root / "rows.parquet", "latents": "uni", **KEYS}


def contract_files(root, request):
    """Latents of a phantom."""
    changes = ["data.patients=60", "model.width=0.0625"]
    medldr.features("phantom_fracture_erm", changes, root / "made")
    for path in (root / "made").iterdir():
        path.rename(root / path.name)


@pytest.mark.parametrize("way", [*WRITERS, of_array, of_parquet])
def test_the_same_latents_are_the_same_table_whatever_holds_them(tmp_path, way):
    keys = of_files(tmp_path, way) if isinstance(way, str) else way(tmp_path)
    table = load(Config(**keys))
    assert np.array_equal(table.images, LATENTS)
    assert table.images.dtype == np.float32
    assert table.ids.tolist() == [row["id"] for row in ROWS]
    assert table.labels.tolist() == ["ab".index(row["label"]) for row in ROWS]
    for column, key in (("domains", "hospital"), ("groups", "patient"), ("splits", "split")):
        assert getattr(table, column).tolist() == [row[key] for row in ROWS]
    assert not check_table(table)


def test_half_precision_is_widened_once(tmp_path):
    table = load(Config(**of_files(tmp_path, ".npy", LATENTS.astype(np.float16))))
    assert np.array_equal(table.images, LATENTS.astype(np.float16).astype(np.float32))


@pytest.mark.parametrize("bag", ["mean", "max"])
def test_a_bag_becomes_one_latent_as_asked(tmp_path, bag):
    bags = [RNG.normal(size=(3, 8)).astype(np.float32) for _ in ROWS]
    keys = of_files(tmp_path, ".npy", bags)
    with pytest.raises(InputError, match=r"it holds 3 latents: say in data\.bag"):
        load(Config(**keys))
    made = load(Config(**keys, bag=bag)).images
    assert np.allclose(made, [getattr(np.float64(one), bag)(0) for one in bags], atol=1e-6)


def long(root):
    npy(root / "x1.npy", np.zeros(9, np.float32))


def nan(root):
    npy(root / "x1.npy", np.full(8, np.nan, np.float32))


def gone(root):
    (root / "x1.npy").unlink()


def text(root):
    (root / "x1.npy").write_text("no array")


def pipe(root):
    import os

    gone(root)
    os.mkfifo(root / "x1.npy")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (long, "x1: 9 numbers, where most latents have 8"),
        (nan, "x1: it holds NaN"),
        (gone, "x1.npy"),
        (text, "x1.npy is not a readable file of latents"),
        (pipe, "x1.npy is a pipe"),
    ],
)
def test_a_latent_that_cannot_be_used_is_named(tmp_path, fault, words):
    keys = of_files(tmp_path, ".npy")
    fault(tmp_path)
    with pytest.raises(InputError, match=words):
        load(Config(**keys))
    assert len(load(Config(**keys, on_bad_file="skip"))) == len(ROWS) - 1


def test_two_latents_of_one_item_are_refused(tmp_path):
    keys = of_array(tmp_path)
    write_csv(keys["file"], [*ROWS[:-1], ROWS[0]])
    with pytest.raises(InputError, match="x0"):
        load(Config(**keys))


def test_an_array_with_fewer_rows_than_the_table_is_refused(tmp_path):
    keys = of_array(tmp_path)
    np.save(keys["array"], LATENTS[1:])
    with pytest.raises(InputError, match=r"shape \(23, 8\), but the table has 24 rows"):
        load(Config(**keys))


def test_a_file_of_several_arrays_without_features_is_refused_with_their_names(tmp_path):
    keys = of_files(tmp_path, ".h5")
    with h5py.File(tmp_path / "x1.h5", "w") as file:
        file["feats"], file["coords"] = LATENTS[1], np.zeros((1, 2))
    with pytest.raises(InputError, match=r"has no array 'features'\. Did you mean 'feats'"):
        load(Config(**keys))


def test_pictures_are_refused_with_what_makes_latents_of_them(tmp_path):
    keys = of_files(tmp_path, ".npy")
    rows = [{**row, "path": f"{row['id']}.png"} for row in ROWS]
    for row in rows:
        (tmp_path / row["path"]).touch()
    write_csv(keys["file"], rows)
    with pytest.raises(InputError, match="medldr features"):
        load(Config(**keys))


def test_a_pickle_is_not_executed(tmp_path):
    class Evil:
        def __reduce__(self):
            return (tmp_path.joinpath("made").mkdir, ())

    keys = of_files(tmp_path, ".pt")
    torch.save({"features": Evil()}, tmp_path / "x1.pt")
    with pytest.raises(InputError, match=r"x1\.pt"):
        load(Config(**keys))
    assert not (tmp_path / "made").exists()
