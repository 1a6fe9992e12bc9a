"""Latents that cannot be used are told before a run begins: the row or file, and what to do."""

import csv

import h5py
import numpy as np
import pyarrow as pa
import pytest
import torch
from pyarrow import parquet

COUNT, DIM = 24, 8
ROWS = [
    {"id": f"i{n:02}", "label": "ab"[n % 2], "hospital": "xy"[n // 2 % 2], "patient": f"p{n // 4}"}
    for n in range(COUNT)
]
LATENTS = np.random.default_rng(0).normal(size=(COUNT, DIM)).astype(np.float32)
KEYS = {"id": "id"}


def h5(path, values, **others):
    with h5py.File(path, "w") as file:
        for name, array in {**others, **({} if values is None else {"features": values})}.items():
            file[name] = array


WRITERS = {
    "npy": np.save,
    "npz": lambda path, values: np.savez(path, features=values),
    "h5": lambda path, values: h5(path, values, coords=np.zeros((1, 2))),
    "pt": lambda path, values: torch.save(torch.from_numpy(values), path),
}


def table(root, rows):
    with (root / "items.csv").open("w", newline="") as text:
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return {"file": "items.csv", **KEYS}


def files(root, ending="npy", rows=ROWS):
    for row, values in zip(ROWS, LATENTS, strict=True):
        WRITERS[ending](root / f"{row['id']}.{ending}", values)
    return table(root, [{**row, "path": f"{row['id']}.{ending}"} for row in rows])


def array(root, values=LATENTS, rows=ROWS):
    np.save(root / "all.npy", values)
    return {**table(root, rows), "array": "all.npy"}


def column(root, cells):
    columns = {key: [row[key] for row in ROWS] for key in ROWS[0]}
    parquet.write_table(pa.table({**columns, "uni": cells}), root / "items.parquet")
    return {"file": "items.parquet", "latents": "uni", **KEYS}


def changed(value, number=3):
    """All latents, of which one row holds a value that is none."""
    latents = LATENTS.copy()
    latents[number, 2] = value
    return latents


def with_file(ending, values):
    """Files of which that of `i03` holds something else."""

    def made(root):
        keys = files(root, ending)
        WRITERS[ending](root / f"i03.{ending}", values)
        return keys

    return made


def with_content(name, write):
    """Files of which that of `i03` is written in another way."""

    def made(root):
        keys = files(root, name.partition(".")[2])
        write(root / name)
        return keys

    return made


def other(row, **cells):
    return [{**one, **cells} if n == row else one for n, one in enumerate(ROWS)]


def short_list(root):
    return column(root, [row[:7] if n == 3 else row for n, row in enumerate(LATENTS.tolist())])


def no_list(root):
    return column(root, [None if n == 3 else row for n, row in enumerate(LATENTS.tolist())])


def nan_list(root):
    return column(root, changed(np.nan).tolist())


def joined(rows, **keys):
    return lambda root: {**files(root, rows=rows), "bag": "mean", "bag_by": "patient", **keys}


SHORT, BAG, NONE = LATENTS[3, :7], LATENTS[:3], np.zeros((0, DIM), np.float32)
FEATS = {"feats": LATENTS[3], "coords": np.zeros((1, 2))}
CASES = {
    **{
        f"{what} in {ending}": (with_file(ending, values), words)
        for ending in WRITERS
        for what, values, words in (
            ("another length", SHORT, "i03: 7 numbers, where most latents have 8"),
            ("NaN", changed(np.nan)[3], "i03: it holds NaN or infinite"),
            ("infinity", changed(np.inf)[3], "i03: it holds NaN or infinite"),
            ("several", BAG, "i03: it holds 3 latents: say in data.bag"),
            ("an empty bag", NONE, r"i03: it holds no latent: its shape is (0, 8)"),
            ("too many axes", np.zeros((2, 3, DIM), np.float32), "i03: it holds no latents as"),
        )
    },
    "another length in a column": (short_list, "such as row 4 (7). Correct them"),
    "no list in a column": (no_list, "such as row 4 (none). Correct them"),
    "NaN in a column": (nan_list, "i03: it holds NaN"),
    "NaN in an array": (lambda root: array(root, changed(np.nan)), "i03: it holds NaN"),
    "infinity in an array": (lambda root: array(root, changed(np.inf)), "i03: it holds NaN"),
    "text in an array": (
        lambda root: array(root, LATENTS.astype(str)),
        "all.npy holds <U32 and no numbers",
    ),
    "a row without a latent": (
        lambda root: array(root, LATENTS[1:]),
        "all.npy holds latents of the shape (23, 8), but the table has 24 rows",
    ),
    "a latent without a row": (
        lambda root: array(root, rows=ROWS[1:]),
        "all.npy holds latents of the shape (24, 8), but the table has 23 rows",
    ),
    "no file": (with_content("i03.npy", lambda path: path.unlink()), "line 5 (i03.npy)"),
    "no latents but coordinates": (
        with_content("i03.h5", lambda path: h5(path, None, coords=np.zeros((1, 2)))),
        "i03.h5 has no array 'features'",
    ),
    "another name": (
        with_content("i03.h5", lambda path: h5(path, None, **FEATS)),
        "i03.h5 has no array 'features'. Did you mean 'feats'",
    ),
    "several arrays, none named": (
        with_content("i03.npz", lambda path: np.savez(path, a=LATENTS[3], b=LATENTS[4])),
        "i03.npz has no array 'features'. It has a, b. Name it after a #",
    ),
    "a list of tensors": (
        with_content("i03.pt", lambda path: torch.save([torch.zeros(DIM)], path)),
        "i03.pt holds a list and no tensor",
    ),
    "two rows of one id": (
        lambda root: array(root, rows=other(3, id="i02")),
        "line 4 (i02) and line 5 (i02) have the same id 'i02'",
    ),
    "rows that differ in label": (
        joined([{**row, "label": "b" if n == 3 else "a"} for n, row in enumerate(ROWS[:4])]
               + [{**row, "label": "ab"[n % 2]} for n, row in enumerate(ROWS[4:], 4)]),
        "p0: i00 has the label 'a', i03 'b'",
    ),
    "an item without a name": (
        joined(other(3, patient="")), "the column 'patient' is empty for i03"
    ),
    "no such column": (joined(ROWS, bag_by="patent"), "data.bag_by"),
    "several rows and no bag": (joined(ROWS, bag="refuse"), "say in bag what their latents become"),
    "a limit of what is pooled": (joined(ROWS, max_latents=3), "max_latents is about bag"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_it_is_told_before_the_run_begins(case, medldr, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make, words = CASES[case]
    data = ", ".join(f"{key}: {value}" for key, value in make(tmp_path).items())
    (tmp_path / "run.yaml").write_text(
        "extends: [recipe/own_features, data/features, algorithm/erm]\n"
        f"data: {{{data}}}\nmachine: {{device: cpu}}\n"
    )
    ended = medldr("train", "run.yaml")
    said = " ".join(ended.err.split())
    assert ended.code == 2, said
    assert words in said
    assert not list(tmp_path.rglob("*.safetensors"))
