"""The example of CONTRIBUTING: an algorithm of an outside package, from its module to a result."""

import json
import os
import re
import sys
import textwrap
from pathlib import Path

import pytest

import medldr as api
from medldr import InputError

pytestmark = pytest.mark.auto_precision

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"
SMALL = ("training.epochs=1", "model.width=0.125", "data.patients=60", "evaluation.draws=100")


def block(language, holding):
    """The code block of a language that holds a text."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", CONTRIBUTING.read_text(), re.M | re.S)
    (text,) = [textwrap.dedent(text) for _, text in found if holding in text]
    return text


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """The working directory, with the package and the configuration of the example."""
    (tmp_path / "mylab").mkdir()
    (tmp_path / "mylab" / "__init__.py").touch()
    (tmp_path / "mylab" / "logit_noise.py").write_text(
        block("python", "class LogitNoise(Algorithm)")
    )
    (tmp_path / "logit_noise.yaml").write_text(block("yaml", "mylab.logit_noise"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MEDLDR_PLUGINS", raising=False)
    monkeypatch.syspath_prepend(tmp_path)  # as PYTHONPATH=. does for a user
    others = forget()  # other tests may have a package of that name
    yield tmp_path
    forget()
    sys.modules.update(others)


def forget():
    """Take the package out of the imported modules."""
    names = [name for name in sys.modules if name.split(".")[0] == "mylab"]
    return {name: sys.modules.pop(name) for name in names}


def test_an_algorithm_of_an_outside_package_trains_from_a_config(lab, medldr):
    done = medldr("train", "logit_noise.yaml", *SMALL, "--plugins", "otherlab", "--plugins=mylab")
    assert done.code == 0, done.err
    (run,) = (lab / "runs").iterdir()
    assert json.loads((run / "run.json").read_text())["status"] == "done"
    assert "mylab.logit_noise" in (run / "config.yaml").read_text()
    (row,) = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    assert row["train/loss/classification"] > 0
    again = medldr("train", "logit_noise.yaml", *SMALL, "--plugins=mylab")
    assert again.code == 0, again.err
    forget()
    for words in (
        ["train", "logit_noise.yaml", *SMALL],
        ["sweep", "logit_noise.yaml", "axes.seed=[0,1]", "--dry-run"],
        ["data", "check", "logit_noise.yaml", "--no-page"],
        ["evaluate", run],
        ["analyze", run],
        ["predict", run, "scan.png"],
        ["validate", run, "site.csv"],
        ["export", run, "--format=torch"],
    ):
        refused = medldr(*words)
        assert (refused.code, words) == (2, words), refused.out
    with pytest.raises(InputError, match="--plugins mylab"):
        api.load_model(run)
    for command in ("verify", "report"):  # they need no plug-in
        assert medldr(command, run).code == 0
    assert "mylab.logit_noise" not in sys.modules
    assert api.load_model(run, plugins=["mylab"]).training is False
    assert "mylab" not in os.environ.get("MEDLDR_PLUGINS", "")


def test_its_keys_are_checked_and_its_absence_is_told(lab, medldr, monkeypatch):
    monkeypatch.setenv("MEDLDR_PLUGINS", "otherlab, mylab")
    wrong = medldr("train", "logit_noise.yaml", "algorithm.sigmas=0.3")
    assert wrong.code == 2
    assert "algorithm.sigmas" in wrong.err
    assert "sigma" in wrong.err
    absent = medldr("train", "logit_noise.yaml", "algorithm.name=mylab.logit_nose")
    assert absent.code == 2
    assert "mylab.logit_nose" in absent.err


def test_it_is_a_row_of_a_sweep_like_any_other(lab, medldr):
    (lab / "mine.yaml").write_text(
        "common:\n  extends: [recipe/phantom, data/phantom_fracture]\n"
        "axes:\n  algorithm: [erm, mylab.logit_noise]\n"
    )
    done = medldr("sweep", "mine.yaml", *SMALL, "--dry-run", "--plugins=mylab")
    assert done.code == 0, done.err
    assert "mylab.logit_noise" in done.out + done.err
