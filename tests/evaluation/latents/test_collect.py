"""Latents kept by a run: those of its own network, and of D and R as its training left them."""

import json

import numpy as np
import pytest
import torch

from medldr.analysis.runs import RunReader
from medldr.api import evaluate, train
from medldr.config import load_config
from medldr.data import build_data
from medldr.errors import InputError
from medldr.evaluation.latents.collect import collect_latents
from medldr.evaluation.latents.operators import OWN_CLASSIFIER, find_operators
from medldr.evaluation.latents.training_batches import TrainingBatches
from medldr.evaluation.verification import verify
from medldr.folders.files import RunFolder
from medldr.folders.latents_record import read_latents
from medldr.folders.run_record import read_run_record
from medldr.models import build_model
from medldr.run import recorded_spec, trained_network
from medldr.training import make_single_fabric

pytestmark = pytest.mark.auto_precision

SMALL = [
    "training.epochs=2", "training.batch_size=24", "model.width=0.125", "data.patients=48",
    "data.size=12",
    "machine.threads=1", "machine.report=false", "evaluation.draws=100",
]  # fmt: skip


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A short run of LatentDR that kept its latents."""
    out = tmp_path_factory.mktemp("kept")
    return train("phantom_fracture_latentdr_sa", [*SMALL, "evaluation.latents=true"], out)


def test_kept_latents_are_what_the_network_makes_of_the_images(kept):
    files = RunFolder(kept.folder)
    config, record, model = trained_network(files)
    spec = recorded_spec(files, record)
    held = read_latents(files, spec)
    data = build_data(config)
    fabric = make_single_fabric(config, precision=record.precision)
    assert {split: int((held.split == split).sum()) for split in data.rows} == {
        split: len(rows) for split, rows in data.rows.items()
    }
    for split in ("train", "test"):
        rows = held.split == split
        loader = data.eval_loader(split, config, device="cpu")
        with torch.no_grad(), fabric.autocast():
            latents = [model.features(batch.image) for batch in loader]
            logits = [model.classify(z).float() for z in latents]
        z = torch.cat(latents).float()
        np.testing.assert_allclose(held.z[rows], z, atol=1e-5)
        np.testing.assert_allclose(
            held.views["original"].logits[rows], torch.cat(logits), atol=1e-5
        )
    np.testing.assert_array_equal(held.label, data.table.labels[held.row])
    np.testing.assert_array_equal(held.domain, data.table.domains[held.row])
    same = data.table.groups[held.row][:, None] == data.table.groups[held.row][None]
    np.testing.assert_array_equal(held.units[:, None] == held.units[None], same)


def test_the_operators_are_those_of_the_reported_weights(kept):
    files = RunFolder(kept.folder)
    config, record, model = trained_network(files)
    operators, note = find_operators(config, files, record, recorded_spec(files, record), model)
    assert operators is not None
    assert note == ""
    assert operators.batches == TrainingBatches(24, "shuffle")
    saved = torch.load(files.best, weights_only=True)["shared"]["algorithm"]
    for name, value in operators.augment.state_dict().items():
        torch.testing.assert_close(value, saved[f"augment.{name}"])
    held = read_latents(files, recorded_spec(files, record))
    again = operators.views(held)
    np.testing.assert_allclose(held.views["restored"].z, again["restored"].z, atol=1e-5)


def test_a_classifier_of_their_own_judges_degraded_and_restored_latents(tmp_path):
    own = ["algorithm.share_classifier=false", "evaluation.latents=true"]
    files = RunFolder(train("phantom_fracture_latentdr_sa", [*SMALL, *own], tmp_path).folder)
    run = RunReader().read(files.path)
    assert run.own_classifier
    assert run.notes == (OWN_CLASSIFIER,)
    saved = torch.load(files.best, weights_only=True)["shared"]["algorithm"]
    weight, bias = (saved[f"augment.own_classifier.{name}"] for name in ("weight", "bias"))
    held = run.latents.views["restored"]
    expected = held.z @ weight.numpy().T + bias.numpy()
    np.testing.assert_allclose(held.logits, expected, atol=1e-4)
    np.testing.assert_allclose(run.operators.logits(torch.from_numpy(held.z)), expected, atol=1e-4)


def test_scoring_again_writes_them_again_and_verify_finds_nothing(kept, medldr):
    files = RunFolder(kept.folder)
    before = files.latents.read_bytes()
    files.latents.unlink()
    assert medldr("verify", files.path).code == 2
    evaluate(files.path)
    assert files.latents.read_bytes() == before
    assert medldr("verify", files.path).code == 0


def test_without_the_checkpoint_the_note_says_so(kept):
    files = RunFolder(kept.folder)
    config, record, model = trained_network(files)
    aside = files.best.rename(files.best.with_suffix(".aside"))
    try:
        found, note = find_operators(config, files, record, recorded_spec(files, record), model)
    finally:
        aside.rename(files.best)
    assert found is None
    assert "best.ckpt" in note


def test_a_checkpoint_of_another_run_is_refused(kept, tmp_path):
    files = RunFolder(kept.folder)
    config, record, model = trained_network(files)
    other = RunFolder(tmp_path)
    other.checkpoints.mkdir()
    torch.save({"shared": {"algorithm": {"strange": torch.zeros(1)}}, "position": {}}, other.best)
    with pytest.raises(InputError, match="does not hold the degradation and restoration"):
        find_operators(config, other, record, recorded_spec(files, record), model)


def test_methods_without_d_and_r_have_none(tmp_path):
    run = train("phantom_fracture_erm", [*SMALL, "evaluation.latents=true"], tmp_path)
    files = RunFolder(run.folder)
    config, record, model = trained_network(files)
    spec = recorded_spec(files, record)
    assert find_operators(config, files, record, spec, model) == (None, "")
    assert list(read_latents(files, spec).views) == ["original"]
    assert "latents.safetensors" in read_run_record(files).checksums
    held = json.dumps(sorted(p.name for p in files.path.iterdir()))
    assert "latents.safetensors" in held


def test_of_a_large_split_evenly_spaced_rows_are_kept_and_the_rest_counted():
    config = load_config("phantom_fracture_erm", SMALL)
    data = build_data(config)
    model = build_model(config.model, data.spec, seed=0)
    found = collect_latents(config, data, model, make_single_fabric(config), most=10)
    for split, rows in data.rows.items():
        kept = found.row[found.split == split]
        assert len(kept) == min(10, len(rows))
        assert found.left_out[split] == max(0, len(rows) - 10)
        assert set(kept.tolist()) <= set(rows.tolist())


def test_a_run_says_what_leaks_and_a_scored_one_anew_the_same(kept):
    files = RunFolder(kept.folder)
    told = json.loads(files.evaluation.read_text())["leaks"]
    assert (told["split"], told["domains"]) == ("id_val", 3)
    assert kept.metrics["id_val/domain_probe"] == told["metrics"]["domain_probe"]["value"]
    assert {"domain_probe", "robustness_index"} <= set(kept.to_frame().metric)
    assert not verify(kept.folder).differs
    evaluate(kept.folder)
    again = json.loads(files.evaluation.read_text())["leaks"]
    assert again["n_groups"] == told["n_groups"]
    assert again["metrics"]["domain_probe"] == told["metrics"]["domain_probe"]
