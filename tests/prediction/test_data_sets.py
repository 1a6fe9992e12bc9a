"""Whatever data set a run was trained on, a file of it gets the run's own probabilities."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import medldr

REAL_DATA = Path(__file__).parents[3] / "shared" / "data"
SMALL = [
    "model.width=0.0625", "training.epochs=1", "training.batch_size=16", "evaluation.draws=100",
    "machine.report=false", "machine.device=cpu", "machine.threads=1",
    "training.precision=float32",
]  # fmt: skip


def _same(run, kept, place_of, count=12):
    own = kept(run)
    names = list(own)[:: max(1, len(own) // count)]
    found = medldr.predict(run, [place_of(name) for name in names])
    assert not found.unreadable, found.unreadable
    for name, prob in zip(names, found.prob.tolist(), strict=True):
        np.testing.assert_allclose(prob, own[name], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["retinamnist", "vesselmnist3d"])
def test_items_of_an_archive(medmnist_root, tmp_path, kept, name):
    real = medmnist_root / f"{name}.npz"
    if not real.exists():
        pytest.skip(f"real data is absent: {real}")
    file = tmp_path / real.name
    with np.load(real) as arrays:
        # One row in ten, as its classes may follow one another.
        np.savez(file, **{key: arrays[key][::10] for key in arrays})
    given = [*SMALL, f"data.root={tmp_path}", "data.md5=any"]
    run = Path(medldr.train(f"{name}_erm", given, tmp_path / "runs").folder)

    def place(item):
        part, row = item.split("/")
        return f"{file}#{part}_images[{row}]"

    _same(run, kept, place)


@pytest.mark.slow
def test_patches_of_camelyon17(write_camelyon17, tmp_path, kept):
    root = write_camelyon17(tmp_path / "data")
    given = [*SMALL, f"data.root={root}", "data.packed=off"]
    run = Path(medldr.train("camelyon17_erm", given, tmp_path).folder)
    folder = next(Path(root).rglob("patches")).parent
    _same(run, kept, lambda item: next(folder.rglob(f"{Path(item).name}*")))


@pytest.mark.slow
def test_pictures_of_folders(tmp_path, kept):
    for number in range(48):
        folder = tmp_path / "tree" / "xy"[number % 2] / "ab"[number // 2 % 2]
        folder.mkdir(parents=True, exist_ok=True)
        draw = np.random.default_rng(number).integers(0, 255, (30, 24, 4), dtype=np.uint8)
        Image.fromarray(draw).save(folder / f"{number}.png")
    config = {
        "extends": ["recipe/own_microscopy", "algorithm/erm"],
        "data": {"name": "domain_folders", "root": str(tmp_path / "tree"), "size": 16},
    }
    run = Path(medldr.train(config, SMALL, tmp_path / "runs").folder)
    _same(run, kept, lambda item: tmp_path / "tree" / item)


@pytest.mark.slow
def test_a_phantom_has_no_files_but_arrays(tmp_path, kept):
    from medldr.config import load_config
    from medldr.data import build_data

    given = [*SMALL, "data.patients=24", "data.size=8"]
    run = Path(medldr.train("phantom_fracture_erm", given, tmp_path).folder)
    table = build_data(load_config(run / "config.yaml")).table
    row = {name: number for number, name in enumerate(table.ids.tolist())}
    own = kept(run)
    names = list(own)[:10]
    found = medldr.predict(run, [np.asarray(table.images[row[name]])[0] for name in names])
    np.testing.assert_allclose(found.prob, [own[name] for name in names], atol=1e-6)
