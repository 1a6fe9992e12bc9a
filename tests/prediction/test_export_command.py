"""`medldr export`: from a run folder to files, each with its card; what cannot be done is said."""

import json
import re

import numpy as np
import onnxruntime
import pytest
import torch
from PIL import Image

import medldr as package
from medldr.exporting.write import FILES


@pytest.fixture(scope="module")
def half(lab, tmp_path_factory):
    """The run on pictures, trained in bfloat16; a map of one position overflows there."""
    how = {"training.precision": "bfloat16", "model.stem": "small"}
    return package.train(lab.picture / "config.yaml", how, tmp_path_factory.mktemp("half")).folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["onnx", "torch", "bundle"])
@pytest.mark.parametrize("precision", ["bfloat16", "float32"])
def test_a_trained_run_becomes_files_whose_answers_differ_by_what_is_printed(
    lab, half, medldr, tmp_path, kind, precision
):
    run = half if precision == "bfloat16" else lab.picture
    out, words, checked = tmp_path / "out", "of the split test", []
    ids = json.loads((run / "splits.json").read_text())["splits"]["test"]
    names = [lab.picture_files / name for name in ids]
    if precision == "bfloat16":
        names = sorted(lab.picture_files.glob("*.png"))[:20]
        words, checked = "20 of --check", [word for name in names for word in ("--check", name)]
    ended = medldr("export", run, "--format", kind, "--out", out, *checked)
    assert ended.code == 0, ended.err
    assert not ended.err
    said = " ".join(ended.out.split())
    assert f"{words}, probabilities differ from those of medldr predict" in said
    assert f"in {precision}, the precision of training" in said
    found = re.findall(r"by at most (\S+) in (bfloat16|float32)", said)
    printed = {name: float(most) for most, name in found}
    assert printed.keys() == {precision, "float32"}
    theirs = _answers(out / FILES[kind], names)
    for name, most in printed.items():
        apart = abs(package.predict(run, names, precision=name).prob - theirs).max()
        assert apart <= most < (0.05 if name == "bfloat16" else 2e-6)
    assert printed.get("bfloat16", 1) > 1e-5
    kept = json.loads((out / "preprocessing.json").read_text())
    assert kept.pop("checksums").keys() >= {FILES[kind], "preprocessing.json"}
    assert kept == json.loads((run / "preprocessing.json").read_text())
    card = (out / "README.md").read_text("utf-8")
    for expected in ("ResNet-18", "ERM", "## Results", "Accuracy (%)", "## Limits", found[0][0]):
        assert expected in card
    if kind == "bundle":
        agreement = json.loads((out / "configs" / "metadata.json").read_text())["agreement"]
        assert agreement["largest_difference_from_medldr_predict"].keys() == printed.keys()
    for path in out.rglob("*"):
        if path.is_file():
            for private in ("bob_", str(lab.picture_files)):
                assert private.encode() not in path.read_bytes(), path
    ended = medldr("export", run, "--format", kind, "--out", out)
    assert ended.code == 2
    assert "--force" in ended.err


def _answers(path, names):
    """Probabilities of pictures by what was exported."""
    resized = [Image.open(n).resize((16, 16), Image.Resampling.BILINEAR) for n in names]
    images = np.stack([np.asarray(one).transpose(2, 0, 1).astype(np.float32) for one in resized])
    if path.suffix == ".onnx":
        return onnxruntime.InferenceSession(str(path)).run(None, {"image": images})[1]
    with torch.no_grad():
        return torch.export.load(path).module()(torch.from_numpy(images))[1].numpy()


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
