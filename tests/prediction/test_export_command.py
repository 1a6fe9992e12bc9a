"""`medldr export`: from a run folder to files, each with its card; what cannot be done is said."""

import json

import numpy as np
import pytest

import medldr as package


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["onnx", "torch", "bundle"])
def test_a_trained_run_becomes_files_that_answer_as_it_does(lab, medldr, tmp_path, kind):
    out = tmp_path / "out"
    ended = medldr("export", lab.picture, "--format", kind, "--out", out)
    assert ended.code == 0, ended.err
    assert "checked on random images and 8 of the split" in ended.out
    assert not ended.err
    kept = json.loads((out / "preprocessing.json").read_text())
    assert kept == json.loads((lab.picture / "preprocessing.json").read_text())
    card = (out / "README.md").read_text("utf-8")
    for said in ("ResNet-18", "ERM", "## Results", "Accuracy (%)", "## Limits"):
        assert said in card
    for path in out.rglob("*"):
        if path.is_file():
            for name in ("bob_", str(lab.picture_files)):
                assert name.encode() not in path.read_bytes(), path
    ended = medldr("export", lab.picture, "--format", kind, "--out", out)
    assert ended.code == 2
    assert "--force" in ended.err
    if kind == "onnx":
        _agrees(lab, out)


def _agrees(lab, out):
    import onnxruntime
    from PIL import Image

    names = sorted(lab.picture_files.glob("*.png"))[:5]
    answers = package.predict(lab.picture, names)
    resized = [Image.open(n).resize((16, 16), Image.Resampling.BILINEAR) for n in names]
    images = [np.asarray(one).transpose(2, 0, 1).astype(np.float32) for one in resized]
    session = onnxruntime.InferenceSession(str(out / "model.onnx"))
    _, prob = session.run(None, {"image": np.stack(images)})
    np.testing.assert_allclose(prob, answers.prob, atol=1e-6)


def test_an_unknown_format_and_scans_that_cannot_be_read(lab, medldr, tmp_path):
    ended = medldr("export", lab.picture, "--format", "onx", "--out", tmp_path / "o")
    assert ended.code == 2
    assert "Did you mean 'onnx'" in ended.err
    ended = medldr(
        "export", lab.picture, "--format", "torch", "--out", tmp_path / "o", "--check",
        tmp_path / "none.png",
    )  # fmt: skip
    assert ended.code == 2
    assert "none.png" in ended.err
    assert not (tmp_path / "o").exists()
