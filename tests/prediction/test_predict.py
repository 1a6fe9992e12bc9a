"""New items are answered as those of the run's own evaluation were, whatever they come as."""

import csv
import json
import shutil

import nibabel
import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import medldr
from medldr import InputError, explain, predict, train
from medldr.evaluation import read_predictions
from medldr.evaluation.explain.grad_cam import NoMapError, grad_cam
from medldr.prediction import explainer
from medldr.prediction.predict import load_runs


def _same(answers, kept, names, tolerance=1e-6):
    known = kept
    for name, prob in zip(names, answers.prob.tolist(), strict=True):
        np.testing.assert_allclose(prob, known[name], rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", ["volumes", "pictures"])
def test_files_of_the_test_split_get_their_own_probabilities(lab, kept, kind):
    run, folder = {
        "volumes": (lab.volumes[0], lab.volume_files),
        "pictures": (lab.picture, lab.picture_files),
    }[kind]
    own = kept(run)
    names = sorted(own)
    answers = medldr.predict(run, [folder / name for name in names])
    assert len(answers) == len(names) > 10
    assert not answers.unreadable
    _same(answers, own, names)
    np.testing.assert_array_equal(np.asarray(answers), answers.prob)
    written = read_predictions(run / "predictions.csv")
    place = {name: row for row, name in enumerate(written.id.tolist())}
    expected = written.log_odds[[place[name] for name in names]]
    np.testing.assert_allclose(answers.log_odds, expected, atol=1e-5)
    table = medldr.predict(run, folder / "t.csv")
    assert set(own) < set(table.names)


@pytest.mark.slow
def test_labels_are_named_above_their_own_thresholds(lab, labelled, medldr, tmp_path):
    runs, out = labelled, tmp_path / "p.csv"
    points = [json.loads((run / "evaluation.json").read_text())["operating_points"] for run in runs]
    assert points[0]["rare"]["threshold"] is None
    for given, ensemble in ((points[:1], ()), (points, ("--ensemble", runs[1]))):
        cuts = {n: np.mean([of[n]["threshold"] for of in given]) for n in ("effusion", "nodule")}
        cuts["rare"] = 0.5
        ended = medldr("predict", runs[0], lab.picture_files / "labels.csv", "--out", out,
                       "--force", *ensemble)  # fmt: skip
        assert ended.code == 0, ended.err
        rows = _rows(out)
        for row in rows:
            above = [name for name, cut in cuts.items() if float(row[f"prob_{name}"]) > cut]
            assert row["predicted"] == "|".join(above)
        assert len({row["predicted"] for row in rows}) > 1
        said = " ".join(ended.out.split())
        assert f"specificity of 0.9: effusion {cuts['effusion']:.3g}, nodule" in said
        assert "for want of a threshold from validation images: rare" in said


def test_the_same_scan_as_nifti_series_array_and_archive(lab, medldr, tmp_path, write_series):
    name = "anna_3.nii.gz"
    values = nibabel.load(lab.volume_files / name).get_fdata().astype(np.int16)
    write_series(tmp_path / "series", values, spacing=2.0)
    np.save(tmp_path / "a.npy", values)
    np.savez(tmp_path / "a.npz", volume=values)
    places = [lab.volume_files / name, *(tmp_path / n for n in ("series", "a.npy", "a.npz"))]
    out = tmp_path / "p.csv"
    ended = medldr("predict", lab.volumes[0], *places, "--out", out)
    assert ended.code == 0, ended.err
    rows = _rows(out)
    assert len(rows) == 4
    for row in rows[1:]:
        assert abs(float(row["prob_ill"]) - float(rows[0]["prob_ill"])) < 1e-6


def test_arrays_and_tensors_are_read_as_files_are(lab, kept):
    names = [f"anna_{number}.nii.gz" for number in (1, 2, 3)]
    arrays = [nibabel.load(lab.volume_files / name).get_fdata().astype("i2") for name in names]
    files = medldr.predict(lab.volumes[0], [lab.volume_files / name for name in names])
    for given in (arrays, np.stack(arrays), torch.from_numpy(np.stack(arrays))):
        found = medldr.predict(lab.volumes[0], given)
        np.testing.assert_allclose(found.prob, files.prob, atol=1e-6)
    pixels = np.asarray(Image.open(lab.picture_files / "bob_3.png"))
    one = medldr.predict(lab.picture, [pixels])
    other = medldr.predict(lab.picture, [lab.picture_files / "bob_3.png"])
    np.testing.assert_allclose(one.prob, other.prob, atol=1e-6)


def test_alone_and_in_a_batch_and_twice(lab):
    names = [lab.volume_files / f"anna_{number}.nii.gz" for number in range(8)]
    (run,) = load_runs(lab.volumes[0])
    before = {key: value.clone() for key, value in run.model.state_dict().items()}
    together = medldr.predict(lab.volumes[0], names)
    again = medldr.predict(lab.volumes[0], names)
    np.testing.assert_array_equal(together.prob, again.prob)
    for row, name in enumerate(names):
        alone = medldr.predict(lab.volumes[0], name)
        np.testing.assert_allclose(alone.prob[0], together.prob[row], atol=1e-6)
    assert not run.model.training
    for key, value in run.model.state_dict().items():
        assert torch.equal(value, before[key]), key


def test_an_ensemble_is_the_mean_of_its_runs(lab):
    names = [lab.volume_files / f"anna_{number}.nii.gz" for number in range(5)]
    parts = [medldr.predict(run, names) for run in lab.volumes]
    both = medldr.predict(lab.volumes, names)
    probs = np.stack([part.prob for part in parts])
    np.testing.assert_allclose(both.prob, probs.mean(axis=0), atol=1e-9)
    odds = np.log(both.prob) - np.log1p(-both.prob)
    np.testing.assert_allclose(both.log_odds, odds, atol=1e-9)
    np.testing.assert_allclose(both.spread, probs.std(axis=0, ddof=1), atol=1e-9)
    assert both.threshold == pytest.approx(np.mean([part.threshold for part in parts]))
    assert any("mean of 2 runs" in note for note in both.notes)
    with pytest.raises(medldr.InputError, match="named twice"):
        medldr.predict([lab.volumes[0]] * 2, names)
    with pytest.raises(medldr.InputError, match="cannot answer together: their tasks"):
        medldr.predict([lab.volumes[0], lab.picture], names)


def test_views_are_those_that_training_saw(lab):
    names = [lab.picture_files / f"bob_{number}.png" for number in range(3)]
    (run,) = load_runs(lab.picture)
    found = medldr.predict(lab.picture, names, tta="left_right+quarter_turns")
    stored = torch.stack([torch.from_numpy(run.reader.read(_source(n)).image) for n in names])
    seen = run.pipeline.evaluate(stored)
    expected = []
    for mirrored in (seen, seen.flip(3)):
        for turns in range(4):
            with torch.inference_mode():
                logits = run.model(torch.rot90(mirrored, turns, (2, 3)).contiguous())
            expected.append(logits.double().softmax(1).numpy())
    np.testing.assert_allclose(found.prob, np.mean(expected, axis=0), atol=1e-6)
    odds = np.log(found.prob) - np.log1p(-found.prob)
    np.testing.assert_allclose(found.log_odds, odds, atol=1e-9)
    with pytest.raises(medldr.InputError, match="was not trained with this view"):
        medldr.predict(lab.volumes[0], lab.volume_files, tta="left_right")
    with pytest.raises(medldr.InputError, match=r"tta=left: .* it saw: left_right"):
        medldr.predict(lab.picture, names, tta="left")


def _source(path):
    from medldr.data.files.scan import Source

    return Source(path)


def _rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_what_cannot_be_read_is_listed_and_the_rest_is_done(lab, medldr, tmp_path):
    good = lab.volume_files / "anna_1.nii.gz"
    broken = tmp_path / "broken.nii.gz"
    broken.write_bytes(good.read_bytes()[:200])
    out = tmp_path / "p.csv"
    ended = medldr("predict", lab.volumes[0], good, broken, tmp_path / "no.nii", "--out", out)
    assert ended.code == 3, ended.err
    assert [row["path"] for row in _rows(out)] == [str(good)]
    assert set(_rows(out)[0]) == {
        "path", "predicted", "prob_well", "prob_ill", "warnings", "precision",
    }  # fmt: skip
    reasons = {row["path"]: row["reason"] for row in _rows(tmp_path / "p_unreadable.csv")}
    assert reasons[str(tmp_path / "no.nii")].startswith("there is no such file")
    assert "truncated" in reasons[str(broken)] or "damaged" in reasons[str(broken)]
    before = out.read_bytes()
    ended = medldr("predict", lab.volumes[0], good, "--out", out)
    assert ended.code == 2
    assert "exists. Choose another --out, or add --force" in ended.err
    assert out.read_bytes() == before
    ended = medldr("predict", lab.volumes[0], good, "--out", out, "--force")
    assert ended.code == 0
    assert not (tmp_path / "p_unreadable.csv").exists()


def test_broken_runs_leave_earlier_answers_alone(lab, medldr, tmp_path):
    out = tmp_path / "p.csv"
    out.write_text("old")
    good = lab.volume_files / "anna_1.nii.gz"
    for name, damage, said in (
        ("model.safetensors", lambda p: p.write_bytes(p.read_bytes()[:100]), "model.safetensors"),
        ("preprocessing.json", lambda p: p.unlink(), "medldr evaluate"),
        ("preprocessing.json", _of_another_version, "was changed"),
        ("run.json", lambda p: p.unlink(), "not a run folder"),
    ):
        run = tmp_path / f"run_{name}_{said[:4]}"
        shutil.copytree(lab.volumes[0], run)
        damage(run / name)
        ended = medldr("predict", run, good, "--out", out, "--force")
        assert ended.code == 2, (name, ended.err)
        assert said in ended.err, (name, ended.err)
        assert out.read_text() == "old"


def _of_another_version(path):
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 9}))


def test_a_run_answers_where_its_data_are_not(lab, tmp_path, kept):
    run = tmp_path / "elsewhere"
    shutil.copytree(lab.volumes[0], run)
    assert str(lab.volume_files / "t.csv") in (run / "config.yaml").read_text()
    name, own = next(iter(kept(run).items()))
    shutil.copy(lab.volume_files / name, tmp_path)
    table = lab.volume_files / "t.csv"
    table.rename(tmp_path / "t.csv")
    try:
        found = medldr.predict(run, tmp_path / name)
    finally:
        (tmp_path / "t.csv").rename(table)
    np.testing.assert_allclose(found.prob[0], own, atol=1e-6)


def test_nothing_to_predict_is_said(lab, medldr, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "slides").mkdir()
    (tmp_path / "slides/1.svs").write_bytes(b"II*\0")
    for inputs, said in (
        ([tmp_path / "empty"], "holds no scan"),
        ([tmp_path / "slides"], "its files end in .svs (1). A whole slide is not read. Cut it"),
        ([tmp_path / "t.csv"], "t.csv"),
    ):
        ended = medldr("predict", lab.volumes[0], *inputs, "--out", tmp_path / "p.csv")
        assert ended.code == 2, ended.err
        assert said in ended.err
        assert not (tmp_path / "p.csv").exists()
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    ended = medldr("predict", lab.volumes[0], tmp_path / "t.csv", "--out", tmp_path / "p.csv")
    assert "say which column names the files, with --path. Columns: a, b" in ended.err


def test_unusual_items_are_told(lab, tmp_path):
    wide = nibabel.Nifti1Image(np.full((12, 12, 12), 300, np.int16), np.diag([9.0, 2, 2, 1]))
    nibabel.save(wide, tmp_path / "wide.nii")
    found = medldr.predict(lab.volumes[0], tmp_path / "wide.nii")
    said = " ".join(found.warnings[0])
    assert "its spacing is 9 x 2 x 2 mm; training images had 2 x 2 x 2 mm" in said
    assert "grey values" in said
    big = nibabel.Nifti1Image(np.zeros((30, 12, 12), np.int16), np.diag([2.0, 2, 2, 1]))
    nibabel.save(big, tmp_path / "big.nii")
    found = medldr.predict(lab.volumes[0], tmp_path / "big.nii")
    assert "its size is 30 x 12 x 12" in " ".join(found.warnings[0])
    grey = Image.fromarray(np.zeros((20, 24), np.uint8))
    grey.save(tmp_path / "grey.png")
    found = medldr.predict(lab.picture, tmp_path / "grey.png")
    assert "its channels are 1; training images had 3" in " ".join(found.warnings[0])


def test_pictures_of_16_bits_are_scaled_and_a_volume_is_refused(lab, tmp_path):
    deep = np.random.default_rng(0).integers(0, 65535, (20, 24)).astype(np.uint16)
    Image.fromarray(deep).save(tmp_path / "deep.png")
    found = medldr.predict(lab.picture, tmp_path / "deep.png")
    assert any("were scaled to the 8 bits of training" in said for said in found.warnings[0])
    found = medldr.predict(lab.picture, [lab.volume_files / "anna_1.nii.gz"])
    assert len(found) == 0
    assert found.prob.shape == (0, 3)
    assert found.unreadable[0].reason


def test_explanations_are_a_folder_of_pictures_and_a_page_without_names(lab, medldr, tmp_path):
    names = [lab.volume_files / f"anna_{number}.nii.gz" for number in (1, 2)]
    words = ("predict", lab.volumes[0], *names, "--out", tmp_path / "p.csv")
    ended = medldr(*words, "--explain", tmp_path / "why")
    assert ended.code == 0, ended.err
    assert sorted(p.name for p in (tmp_path / "why").iterdir()) == [
        "0001.nii.gz", "0001.png", "0002.nii.gz", "0002.png", "index.html",
    ]  # fmt: skip
    scan, heat = nibabel.load(names[0]), nibabel.load(tmp_path / "why" / "0001.nii.gz")
    scan = nibabel.as_closest_canonical(scan)
    assert heat.shape == scan.shape[:3]
    np.testing.assert_allclose(heat.affine, scan.affine, atol=1e-6)
    page = (tmp_path / "why" / "index.html").read_text("utf-8")
    assert "anna_" not in page
    assert "item 2" in page
    again = medldr(*words, "--explain", tmp_path / "why")
    assert again.code == 2
    (tmp_path / "why" / "0003.png").touch()  # of an earlier, longer list
    shown = medldr(*words, "--explain", tmp_path / "why", "--force", "--show-ids")
    assert shown.code == 0, shown.err
    assert not (tmp_path / "why" / "0003.png").exists()
    assert "anna_1.nii.gz" in (tmp_path / "why" / "index.html").read_text("utf-8")


def test_a_heat_map_that_is_zero_everywhere_is_marked_on_the_page(
    lab, medldr, tmp_path, monkeypatch
):
    made = []

    def every_other(model, image, target, stage=""):
        made.append(target)
        return torch.full((1, *image.shape[2:]), float(len(made) % 2))

    monkeypatch.setattr("medldr.prediction.explainer.grad_cam", every_other)
    names = [lab.volume_files / f"anna_{number}.nii.gz" for number in (1, 2, 3)]
    words = ("predict", lab.volumes[0], *names, "--out", tmp_path / "p.csv")
    ended = medldr(*words, "--explain", tmp_path / "why")
    assert ended.code == 0, ended.err
    page = (tmp_path / "why" / "index.html").read_text("utf-8")
    assert page.count("the heat map is zero everywhere") == 1
    assert page.index("item 2: ") < page.index("zero everywhere") < page.index("item 3: ")


@pytest.mark.parametrize("runs_without", [1, 2])
def test_a_network_without_a_map_answers_and_says_why(
    lab, medldr, tmp_path, monkeypatch, runs_without
):
    without = [run.name for run in lab.volumes[:runs_without]]
    drawn = explainer._heat

    def heat(run, item, target):
        if run.folder.name in without:
            raise NoMapError("it has tokens without places")
        return drawn(run, item, target)

    monkeypatch.setattr(explainer, "_heat", heat)
    scan, why = lab.volume_files / "anna_1.nii.gz", tmp_path / "why"
    why.mkdir()
    (why / "index.html").touch()
    (why / "0001.png").touch()  # of an earlier call
    words = ("--ensemble", lab.volumes[1], "--out", tmp_path / "p.csv", "--explain", why, "--force")
    ended = medldr("predict", lab.volumes[0], scan, *words)
    assert ended.code == 0, ended.err
    assert len(_rows(tmp_path / "p.csv")) == 1
    assert (why / "0001.png").exists() == (runs_without == 1)
    for said in (" ".join(ended.out.split()), (why / "index.html").read_text("utf-8")):
        for name in without:
            assert f"no heat map of {name}: it has tokens without places" in said


@pytest.mark.slow  # trains a run
def test_a_transformer_is_explained_by_its_tokens(lab, medldr, tmp_path):
    keys = {"model": {"name": "timm", "network": "test_vit"}, "data.size": 32}
    run = train(lab.picture / "config.yaml", {**keys, "training.epochs": 2}, tmp_path).folder
    names = [lab.picture_files / f"bob_{number}.png" for number in (1, 2)]
    why = tmp_path / "why"
    words = ("--out", tmp_path / "p.csv", "--explain", why)
    ended = medldr("predict", run, *names, *words)
    assert ended.code == 0, ended.err
    method = "gradient-weighted attention"
    assert method in (why / "index.html").read_text("utf-8")
    for row in ("0001", "0002"):
        with Image.open(why / f"{row}.png") as picture:
            assert picture.info["Description"] == f"heat map: {method}"
    found = explain(run, names, tmp_path / "again")
    assert [heat.shape for heat in found.heat] == [(32, 32)] * 2
    assert all(heat.max() == 1 for heat in found.heat)


def test_inputs_and_what_is_not_ours_are_never_replaced(lab, medldr, tmp_path):
    scan = tmp_path / "keep.nii.gz"
    shutil.copy(lab.volume_files / "anna_1.nii.gz", scan)
    before = scan.read_bytes()
    ended = medldr("predict", lab.volumes[0], scan, "--out", scan, "--force")
    assert ended.code == 2
    assert "is one of the inputs" in ended.err
    assert scan.read_bytes() == before
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "2024.png").write_bytes(b"scan")
    out = ("--out", tmp_path / "p.csv", "--force")
    ended = medldr("predict", lab.volumes[0], scan, *out, "--explain", mine)
    assert ended.code == 2
    assert "left alone" in ended.err
    assert (mine / "2024.png").read_bytes() == b"scan"


def test_places_that_cannot_be_written_are_told_before_anything_is_predicted(lab, medldr, tmp_path):
    (tmp_path / "file.txt").write_text("x")
    scan = lab.volume_files / "anna_1.nii.gz"
    for words in (
        ("--out", tmp_path / "file.txt" / "p.csv"),
        ("--out", tmp_path / "p.csv", "--explain", tmp_path / "file.txt" / "why"),
        ("--out", tmp_path),
    ):
        ended = medldr("predict", lab.volumes[0], scan, *words)
        assert ended.code == 2, ended.err
        assert ended.err.startswith("error: ")
        assert not ended.out


def test_lists_of_every_kind(lab):
    scan = lab.volume_files / "anna_1.nii.gz"
    values = nibabel.load(scan).get_fdata().astype("i2")
    expected = medldr.predict(lab.volumes[0], scan).prob
    for given in (
        (one for one in [values]), np.array([str(scan)]), torch.from_numpy(values)[None],
        [torch.from_numpy(values).float().requires_grad_()],
    ):  # fmt: skip
        np.testing.assert_allclose(medldr.predict(lab.volumes[0], given).prob, expected, atol=1e-6)
    mixed = medldr.predict(lab.volumes[0], [values, [[1, 2], [3]], np.array(3), None])
    assert len(mixed) == 1
    assert len(mixed.unreadable) == 3
    for wrong, said in (
        (values, "may be a single image"), (3, "no list of paths or arrays"), ("", "an empty path"),
        ([values, str(scan)], "paths or arrays, not both"), ([], "nothing to predict"),
    ):  # fmt: skip
        with pytest.raises(medldr.InputError, match=said):
            medldr.predict(lab.volumes[0], wrong)


def test_answers_are_the_table_that_the_command_writes(lab, medldr, tmp_path):
    names = [*(lab.volume_files / f"anna_{number}.nii.gz" for number in range(3)), "none.nii.gz"]
    out = tmp_path / "p.csv"
    words = (lab.volumes[0], *names, "--ensemble", lab.volumes[1], "--out", out)
    assert medldr("predict", *words).code == 3
    found = predict(lab.volumes, names)
    assert found.to_frame().equals(pd.read_csv(out, keep_default_na=False))
    assert repr(found) == "Answers(3 items, 1 unreadable)"
    shown = found._repr_html_()
    assert shown.count("<tr") == 4
    assert "not used: none.nii.gz: " in shown


def test_an_explanation_has_answers_pictures_and_heat(lab, medldr, tmp_path):
    names = [lab.picture_files / f"bob_{number}.png" for number in range(3)]
    found = explain(lab.picture, names, tmp_path / "why")
    np.testing.assert_array_equal(found.answers.prob, predict(lab.picture, names).prob)
    (run,) = load_runs(lab.picture)
    for name, heat in zip(names, found.heat, strict=True):
        seen = run.pipeline.evaluate(torch.from_numpy(run.reader.read(_source(name)).image)[None])
        target = run.model(seen).argmax(1)
        np.testing.assert_allclose(heat, grad_cam(run.model, seen, target)[0], atol=1e-6)
    assert found._repr_html_().count("<img") == 3
    words = ("--explain", tmp_path / "cli", "--out", tmp_path / "p.csv")
    assert medldr("predict", lab.picture, *names, *words).code == 0
    written = sorted((tmp_path / "why").iterdir())
    assert [path.name for path in written] == ["0001.png", "0002.png", "0003.png", "index.html"]
    for path in written:
        assert path.read_bytes() == (tmp_path / "cli" / path.name).read_bytes()
    with pytest.raises(InputError, match="none of 1 items"):
        explain(lab.picture, ["none.png"], tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_heat_maps_that_were_stopped_leave_what_was_there(lab, tmp_path, monkeypatch):
    names = [lab.picture_files / f"bob_{number}.png" for number in range(2)]
    explain(lab.picture, names[:1], tmp_path / "why")
    before = (tmp_path / "why" / "index.html").read_bytes()
    drawn, made = explainer._heat, []

    def stops(*of):
        if made:
            raise KeyboardInterrupt
        made.append(of)
        return drawn(*of)

    with monkeypatch.context() as patch:
        patch.setattr(explainer, "_heat", stops)
        for folder in ("why", "new"):
            made.clear()
            with pytest.raises(KeyboardInterrupt):
                explain(lab.picture, names, tmp_path / folder, force=True)
    assert (tmp_path / "why" / "index.html").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["why"]
    (tmp_path / "why" / "mine.txt").touch()
    with pytest.raises(InputError, match="left alone"):
        explain(lab.picture, names, tmp_path / "why", force=True)
