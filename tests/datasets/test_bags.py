"""Bags of latents: whoever holds them, what a step sees of them, and whole runs on them."""

import csv
import json

import h5py
import numpy as np
import pyarrow as pa
import pytest
import torch
from pyarrow import parquet

import medldr
from medldr.analysis.analyze import analyze
from medldr.config import load_config
from medldr.console import Console
from medldr.data import build_data, check_table
from medldr.data.store import make_pack
from medldr.datasets.features import Config, load
from medldr.errors import InputError
from medldr.evaluation.representation.frame import Options
from medldr.folders.lifecycle import Interrupted
from medldr.training.trainer import Trainer

DIM = 8
RNG = np.random.default_rng(5)
PATIENTS = [
    {
        "patient": f"{'xyz'[n % 3]}{n}",
        "label": "ab"[n // 3 % 2],
        "hospital": "xyz"[n % 3],
        "split": ["train", "train", "val", "test"][n // 3 // 2 % 4],
    }
    for n in range(72)
]
BAGS = [RNG.normal(size=(1 + n % 5, DIM)).astype(np.float32) for n in range(len(PATIENTS))]
for _patient, _bag in zip(PATIENTS, BAGS, strict=True):
    if _patient["label"] == "b":  # one latent of the bag tells
        _bag[len(_bag) // 2, 0] += 4
SLICES = [
    {**patient, "id": f"{patient['patient']}_{k}", "number": str(k)}
    for k in range(5)  # patients take turns, so that the rows of one are not together
    for patient, bag in zip(PATIENTS, BAGS, strict=True)
    if k < len(bag)
]
LATENTS = np.stack([BAGS[int(row["patient"][1:])][int(row["number"])] for row in SLICES])
KEYS = {"domain": "hospital", "split": "split"}
ROWS = {**KEYS, "group": "patient", "id": "id", "bag_by": "patient"}


def write(file, rows):
    with file.open("w", newline="") as text:
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return file


def one_file_each(root, bags=BAGS):
    """A file for each patient, as TRIDENT writes that of a slide."""
    for patient, bag in zip(PATIENTS, bags, strict=True):
        with h5py.File(root / f"{patient['patient']}.h5", "w") as file:
            file["features"], file["coords"] = bag[None], np.zeros((len(bag), 2))
    rows = [{**patient, "path": f"{patient['patient']}.h5"} for patient in PATIENTS]
    return {"file": write(root / "slides.csv", rows), **KEYS, "group": "patient", "id": "patient"}


def files_of_slices(root, rows=SLICES):
    for row, values in zip(SLICES, LATENTS, strict=True):
        np.save(root / f"{row['id']}.npy", values)
    listed = [{**row, "path": f"{row['id']}.npy"} for row in rows]
    return {"file": write(root / "slices.csv", listed), **ROWS}


def array_of_slices(root):
    np.save(root / "all.npy", LATENTS)
    return {"file": write(root / "slices.csv", SLICES), "array": root / "all.npy", **ROWS}


def column_of_slices(root):
    columns = {key: [row[key] for row in SLICES] for key in SLICES[0]}
    values = {**columns, "uni": LATENTS.tolist()}
    parquet.write_table(pa.table(values), root / "slices.parquet")
    return {"file": root / "slices.parquet", "latents": "uni", **ROWS}


def pack_of_slices(root):
    keys = {key: value for key, value in array_of_slices(root).items() if key != "bag_by"}
    section = Config(**keys)
    make_pack(
        load(section), section, root / "made", workers=0, console=Console(), encoder={"dim": DIM}
    )
    return {"root": root / "made", "bag_by": "group"}


ROUTES = [one_file_each, files_of_slices, array_of_slices, column_of_slices, pack_of_slices]


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_gives_the_same_bags(tmp_path, route):
    keys = route(tmp_path)
    table = load(Config(**keys, bag="attention"))
    assert table.images.shape == (len(BAGS), DIM)
    for row, bag in enumerate(BAGS):
        assert np.array_equal(table.images[row], bag)
    for bag in ("mean", "max"):
        pooled = load(Config(**keys, bag=bag)).images
        assert np.array_equal(pooled, [getattr(one, bag)(0) for one in BAGS])
    assert table.ids.tolist() == [patient["patient"] for patient in PATIENTS]
    assert table.labels.tolist() == ["ab".index(patient["label"]) for patient in PATIENTS]
    assert table.domains.tolist() == [patient["hospital"] for patient in PATIENTS]
    assert table.splits.tolist() == [patient["split"] for patient in PATIENTS]
    assert not check_table(table)


def test_a_folder_of_latents_stays_mapped(tmp_path):
    images = load(Config(**pack_of_slices(tmp_path), bag="attention")).images
    assert isinstance(images.latents, np.memmap)


def test_equal_bags_are_told_whatever_is_beside_them(tmp_path):
    keys = one_file_each(tmp_path, [*BAGS[:-1], BAGS[3]])
    assert any("z71" in note for note in check_table(load(Config(**keys, bag="attention"))))


@pytest.mark.parametrize("column", ["label", "hospital", "split"])
def test_rows_of_one_item_that_differ_are_named(tmp_path, column):
    rows = [dict(row) for row in SLICES]
    last = next(row for row in reversed(rows) if row["patient"] == "x9")
    last[column] = {"label": "ab"["ba".index(last["label"])], "hospital": "y", "split": "test"}[
        column
    ]
    said = {"hospital": "domain"}.get(column, column)
    with pytest.raises(InputError, match=rf"x9: x9_0 has the {said} '\w+', {last['id']} '\w+'"):
        load(Config(**{**files_of_slices(tmp_path, rows), "group": None}, bag="mean"))


def test_further_columns_keep_what_all_rows_of_an_item_say(tmp_path):
    keys = {**files_of_slices(tmp_path), "columns": ["hospital", "number"]}
    metadata = load(Config(**keys, bag="max")).metadata
    assert metadata["hospital"].tolist() == [patient["hospital"] for patient in PATIENTS]
    assert [bool(text) for text in metadata["number"]] == [len(bag) == 1 for bag in BAGS]


def study(keys, algorithm="erm", **data):
    values = {key: str(value) for key, value in keys.items()}
    return {
        "extends": ["recipe/own_features", "data/features", f"algorithm/{algorithm}"],
        "data": {**values, "bag": "attention", **data},
        "model": {"adapter": "mlp"},
        "training": {"steps": 40, "evaluate_every": 20, "batch_size": 12, "lr": 0.01},
        "evaluation": {"draws": 100},
        "machine": {"device": "cpu", "threads": 1},
    }


def steps(data, config, epoch, start=0):
    loader = data.train_loader(config, sampler="shuffle", device="cpu")
    return {
        row: image[~image.isnan().any(1)]
        for batch in loader.batches(epoch, start)
        for row, image in zip(batch.index.tolist(), batch.image, strict=True)
    }


def test_a_step_sees_some_latents_of_a_bag_and_evaluation_all(tmp_path):
    config = load_config(study(array_of_slices(tmp_path), max_latents=2))
    data = build_data(config)
    first, again, other = steps(data, config, 0), steps(data, config, 0), steps(data, config, 1)
    differ = 0
    for row, seen in first.items():
        bag = torch.from_numpy(data.table.images[row])
        assert len(seen) == min(2, len(bag))
        assert all((bag == one).all(1).any() for one in seen)
        assert torch.equal(seen, again[row])
        differ += row in other and not torch.equal(seen, other[row])
    assert differ > len(first) / 4
    resumed = steps(data, config, 0, start=1)
    assert all(torch.equal(first[row], seen) for row, seen in resumed.items())
    for batch in data.eval_loader("test", config, device="cpu"):
        for row, image in zip(batch.index.tolist(), batch.image, strict=True):
            assert np.array_equal(image[~image.isnan().any(1)], data.table.images[row])


@pytest.mark.parametrize("algorithm", ["mixup", "cutmix", "manifold_mixup", "mixstyle", "bcl"])
def test_methods_that_change_what_the_network_is_given_refuse_bags(tmp_path, algorithm):
    with pytest.raises(InputError, match=r"latents|extra views"):
        medldr.train(study(one_file_each(tmp_path), algorithm), out=tmp_path / "runs")


@pytest.fixture(scope="module", params=["erm", "latentdr_sa"])
def run(request, tmp_path_factory):
    root = tmp_path_factory.mktemp("bags")
    keys = array_of_slices(root)
    made = study(keys, request.param, held_out=["z"], max_latents=3)
    made["evaluation"]["latents"] = True
    return medldr.train(made, out=root / "runs")


def test_a_run_learns_answers_and_is_verified(run, tmp_path):
    assert not any(verdict.differs for verdict in medldr.verify(run.folder).runs)
    record = json.loads((run.folder / "preprocessing.json").read_text())
    assert record["reading"] == {"kind": "latents", "bag": "attention"}
    assert all(np.isfinite(record["training"]["mean"]))
    slides = one_file_each(tmp_path)
    paths = [tmp_path / f"{patient['patient']}.h5" for patient in PATIENTS]
    with (run.folder / "predictions.csv").open() as text:
        stored = {row["id"]: float(row["prob_b"]) for row in csv.DictReader(text)}
    for given in (paths, [slides["file"]]):
        answers = medldr.predict(run.folder, given)
        found = dict(zip([p["patient"] for p in PATIENTS], answers.prob[:, 1], strict=True))
        assert len(stored) > 10
        assert all(abs(found[name] - prob) < 1e-6 for name, prob in stored.items())
    assert "all latents of one patient" in " ".join(answers.notes)
    with pytest.raises(InputError, match=r"data\.bag: attention.*is not exported"):
        medldr.export(run.folder, "onnx")


def test_its_page_and_its_analysis_are_written(run, tmp_path):
    assert (run.folder / "report.html").is_file()
    if "name: latentdr" not in (run.folder / "config.yaml").read_text():
        return  # an analysis of LatentDR has all that one of ERM has
    few = Options(draws=40, neighbours=5, points=20, queries=2)
    assert analyze([run.folder], tmp_path / "analysis", few).page.is_file()


def test_a_stopped_run_goes_on_as_if_it_had_not_been(tmp_path, monkeypatch):
    made = study(one_file_each(tmp_path), "latentdr_sa", max_latents=2)
    whole = medldr.train(made, out=tmp_path / "whole")
    look_after = Trainer.look_after

    def stopping(self, watch):
        watch.received = 15 if self.step.index == 25 else watch.received
        look_after(self, watch)

    monkeypatch.setattr(Trainer, "look_after", stopping)
    with pytest.raises(Interrupted):
        medldr.train(made, out=tmp_path / "broken")
    monkeypatch.undo()
    resumed = medldr.train(made, out=tmp_path / "broken")
    for name in ("model.safetensors", "predictions.csv"):
        assert (resumed.folder / name).read_bytes() == (whole.folder / name).read_bytes()
