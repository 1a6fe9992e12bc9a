"""Whatever is wrong with a file of a run, its reader gives a typed record or one clear refusal."""

import copy
import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import medldr
from medldr.config.yaml import read_yaml
from medldr.errors import InputError
from medldr.evaluation.predictions.table import read_predictions
from medldr.evaluation.verification import verify_run
from medldr.folders.evaluation_record import read_evaluation
from medldr.folders.files import RunFolder, load_checkpoint, load_tensors
from medldr.folders.metrics_log import read_log
from medldr.folders.mistakes_record import read_mistakes
from medldr.folders.owner import is_owned
from medldr.folders.preprocessing_record import read_preprocessing
from medldr.folders.privacy import read_ids, read_split_ids
from medldr.folders.run_record import read_run_record
from medldr.folders.sweep_record import SweepFolder, read_sweep

SWEEP = Path(__file__).parents[1] / "frozen" / "two_sets" / "folder" / "sweep.json"
READERS = {
    "run.json": lambda run: read_run_record(RunFolder(run)),
    "owner.json": lambda run: is_owned(RunFolder(run)),
    "evaluation.json": lambda run: read_evaluation(RunFolder(run)),
    "mistakes.json": lambda run: read_mistakes(RunFolder(run)),
    "splits.json": lambda run: read_split_ids(run / "splits.json"),
    "predictions.csv": lambda run: (
        read_predictions(run / "predictions.csv"),
        read_ids(run / "predictions.csv"),
    ),
    "metrics.jsonl": lambda run: read_log(run / "metrics.jsonl"),
    "config.yaml": lambda run: read_yaml(run / "config.yaml"),
    "preprocessing.json": lambda run: read_preprocessing(run / "preprocessing.json"),
    "seen_images.safetensors": lambda run: load_tensors(run / "seen_images.safetensors"),
    "checkpoints/last.ckpt": lambda run: load_checkpoint(run / "checkpoints" / "last.ckpt"),
    "sweep.json": lambda run: read_sweep(SweepFolder(run)),
}
ODD = st.sampled_from(
    [None, True, -1, 0, 1.5, 10**400, "", "x", "../../x", "\x1b[2J", [], {}, [[]], {"": 0}]
)


@pytest.fixture(scope="module")
def run(lab, tmp_path_factory):
    """A finished run, and the plan of a sweep, in one folder."""
    folder = shutil.copytree(lab.picture, tmp_path_factory.mktemp("damage") / lab.picture.name)
    shutil.copy(SWEEP, folder)
    return folder


@st.composite
def damages(draw, content):
    """The content of a file with a part changed, as disks, editors and people change it."""
    kind = draw(st.sampled_from(["bit", "cut", "bytes", "value"]))
    at = draw(st.integers(0, max(len(content) - 1, 0)))
    if kind == "bit" and content:
        flipped = content[at] ^ (1 << draw(st.integers(0, 7)))
        return content[:at] + bytes([flipped]) + content[at + 1 :]
    if kind == "cut":
        return content[:at]
    try:
        value = json.loads(content)
    except ValueError:
        return content[:at] + draw(st.binary(max_size=8)) + content[at + draw(st.integers(0, 8)) :]
    return json.dumps(_changed(draw, copy.deepcopy(value))).encode()


def _changed(draw, value):
    """A value in which one part, somewhere, is something else or is gone."""
    holder, key, inside = None, None, value
    while isinstance(inside, (dict, list)) and inside and (holder is None or draw(st.booleans())):
        keys = sorted(inside) if isinstance(inside, dict) else range(len(inside))
        holder, key = inside, draw(st.sampled_from(keys))
        inside = holder[key]
    if holder is None:
        return draw(ODD)
    if draw(st.booleans()):
        holder[key] = draw(ODD)
    else:
        del holder[key]
    return value


@pytest.mark.parametrize("name", READERS)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    derandomize=True,
)
@given(data=st.data())
def test_a_damaged_record_is_a_record_or_a_refusal(run, name, data):
    path = run / name
    whole, said = path.read_bytes(), ""
    try:
        path.write_bytes(data.draw(damages(whole)))
        READERS[name](run)
    except InputError as refusal:
        said = str(refusal)
    finally:
        path.write_bytes(whole)
    assert not said or path.name in said or run.name in said


def _says(content):
    try:
        return json.loads(content)
    except ValueError:
        return content


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    derandomize=True,
)
@given(data=st.data())
def test_a_damaged_run_is_verified_and_read_without_a_stumble(run, data):
    name = data.draw(st.sampled_from([each for each in READERS if each.endswith(("json", "csv"))]))
    path = run / name
    whole = path.read_bytes()
    try:
        changed = data.draw(damages(whole))
        path.write_bytes(changed)
        verdict = verify_run(RunFolder(run))
        same = name == "run.json" and _says(changed) == _says(whole)  # its layout is free
        if name not in ("owner.json", "sweep.json") and changed != whole and not same:
            assert verdict is None or verdict.differs
        medldr.results(run)
    except InputError:
        pass
    finally:
        path.write_bytes(whole)
