"""A run on a folder of WILDS is scored by WILDS' own loader and metrics as it scores itself."""

import json
import sys
import warnings

import pytest
import torch

import medldr as package
from medldr.folders.files import RunFolder

SMALL = (
    "model.width=0.125", "transform.size=32", "training.epochs=null", "training.steps=2",
    "training.evaluate_every=1", "evaluation.draws=100", "evaluation.per_group=true",
    "machine.device=cpu", "training.precision=float32", "machine.report=false", "seed=3",
)  # fmt: skip


@pytest.fixture
def wilds(monkeypatch):
    """Its own reading of a folder, and its metric."""
    monkeypatch.setitem(sys.modules, "outdated", None)  # it would look for a newer version
    pytest.importorskip("wilds")
    from wilds.common.metrics.all_metrics import Accuracy
    from wilds.datasets.camelyon17_dataset import Camelyon17Dataset

    def read(root):
        with warnings.catch_warnings():
            # It makes a tensor of a pandas array that may not be written to.
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            return Camelyon17Dataset(root_dir=str(root), download=False)

    return read, Accuracy()


def test_its_files_have_one_label_a_row_and_the_same_average_and_slides(
    camelyon17_folder, wilds, tmp_path
):
    read, metric = wilds
    words = [*SMALL, f"data.root={camelyon17_folder}"]
    folder = RunFolder(package.train("camelyon17_erm", words, out=tmp_path / "runs").folder)
    scored = json.loads(folder.evaluation.read_text())["splits"]
    dataset = read(camelyon17_folder)
    slide_at = dataset.metadata_fields.index("slide")
    for split in ("id_val", "val", "test"):
        subset = dataset.get_subset(split)
        path = folder.submission / f"camelyon17_split:{split}_seed:3_epoch:best_pred.csv"
        predicted = torch.LongTensor([int(line) for line in path.read_text().splitlines()])
        average = metric.compute(predicted, subset.y_array)["acc_avg"]
        assert average == pytest.approx(scored[split]["metrics"]["accuracy"]["value"], abs=1e-6)
        slides = subset.metadata_array[:, slide_at]
        right = (predicted == subset.y_array).double()
        expected = {
            f"slide_{int(s):02d}": right[slides == s].mean().item() for s in slides.unique()
        }
        found = {name: entry["accuracy"] for name, entry in scored[split]["groups"].items()}
        assert found == pytest.approx(expected)
        assert scored[split]["worst_group"]["accuracy"]["value"] == min(found.values())
    assert json.loads(folder.run.read_text())["augmentation"] == "none"


@pytest.mark.slow  # trains a whole run
def test_there_are_no_files_and_a_note_where_a_slide_was_left_out(camelyon17_folder, tmp_path):
    words = [*SMALL, f"data.root={camelyon17_folder}", "data.exclude=[slide_10]"]
    folder = RunFolder(package.train("camelyon17_erm", words, out=tmp_path / "runs").folder)
    assert not folder.submission.exists()
    notes = json.loads(folder.evaluation.read_text())["notes"]
    assert any("No submission files were written" in n and "data.exclude" in n for n in notes)
