"""Run folders as users leave them: changed by hand, cut off, compared with others."""

import json
import os
import shutil
import signal

import pytest
import torch

from medldr.folders.files import RunFolder


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Folder of what was trained for an earlier test, which is copied for the next one."""
    return tmp_path_factory.mktemp("trained")


@pytest.fixture
def interrupted(train, disturb, out, the_run, trained):
    """The folder of a run that was stopped in its second epoch."""
    kept = trained / "interrupted"
    if kept.exists():
        shutil.copytree(kept, out)
    else:
        disturb(2, lambda batch: signal.raise_signal(signal.SIGTERM))
        assert train().code == 143
        shutil.copytree(out, kept)
    return the_run()


@pytest.fixture
def finished(train, out, trained):
    """A run that was trained to its end; each label has rows and overrides of its own."""

    def run(label, *words, given=None):
        for kept in trained.glob(f"{label}-*"):
            return RunFolder(shutil.copytree(kept, out / kept.name))
        ended = train("training.epochs=1", f"label={label}", *words, given=given)
        assert ended.code == 0, ended.err
        (folder,) = out.glob(f"{label}-*")
        shutil.copytree(folder, trained / folder.name)
        return RunFolder(folder)

    return run


def test_a_run_goes_on_only_under_the_conditions_it_began_with(interrupted, train):
    ended = train("machine.threads=2")
    torch.set_num_threads(1)
    assert ended.code == 2
    assert "the number of CPU threads was 1 and is now 2" in ended.err
    assert "machine.threads" in ended.err
    assert train().code == 0


def test_another_length_is_another_run(interrupted, train, out, history):
    assert train("training.epochs=3").code == 0
    assert len(list(out.iterdir())) == 2
    assert len(history(interrupted)) == 1


def test_an_edited_config_is_never_taken_for_the_one_that_trained(finished, medldr):
    folder = finished("a")
    text = folder.config.read_text()
    folder.config.write_text(text.replace("width: 0.125", "width: 0.25"))
    assert folder.config.read_text() != text
    ended = medldr("evaluate", folder.path, "--device", "cpu")
    assert ended.code == 2
    assert f"{folder.config} was changed after training" in ended.err
    folder.config.write_text(text)
    assert medldr("evaluate", folder.path, "--device", "cpu").code == 0


def test_a_start_writes_the_config_of_the_run_it_goes_on_with(interrupted, train):
    text = interrupted.config.read_text()
    interrupted.config.write_text(text.replace("lr: 0.01", "lr: 0.5"))
    assert train().code == 0
    assert interrupted.config.read_text() == text


GONE = {
    "checkpoints": (0, "epoch 1/2"),
    "metrics.jsonl": (0, "resumed after step 3"),
    "config.yaml": (0, "resumed after step 3"),
    "run.json": (0, "resumed after step 3"),
    "selected": (2, "selected/val_auc.safetensors is missing"),
}


@pytest.mark.parametrize("name", GONE)
def test_a_file_that_is_gone_is_made_again_or_named(name, interrupted, train, history):
    path = interrupted.path / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    code, said = GONE[name]
    ended = train()
    assert ended.code == code
    assert said in ended.err
    if code:
        assert "--restart" in ended.err
        assert train("--restart").code == 0
    else:
        assert [row["epoch"] for row in history(interrupted)] == [1, 2]


@pytest.mark.parametrize(
    "content",
    ["", '{"label": "ca', "[]", '{"status": "failed", "times": {"starts": "twice"}}'],
    ids=["empty", "cut", "a list", "a text for a number"],
)
def test_a_damaged_record_is_named_with_its_cure(content, interrupted, train):
    interrupted.run.write_text(content)
    ended = train()
    assert ended.code == 2
    assert str(interrupted.run) in ended.err
    assert "--restart" in ended.err
    assert train("--restart").code == 0


@pytest.mark.parametrize("what", ["identity", "model"])
def test_a_checkpoint_that_does_not_fit_is_named(what, interrupted, train):
    state = torch.load(interrupted.last, weights_only=True)
    if what == "identity":
        state = {"version": state["version"]}
    else:
        state["shared"]["model"]["head.bias"] = torch.zeros(7)
    torch.save(state, interrupted.last)
    ended = train()
    assert ended.code == 2
    assert f"cannot resume {interrupted.path}" in ended.err
    assert "--restart" in ended.err


def test_what_a_killed_process_had_begun_to_write_is_removed(interrupted, train):
    half = interrupted.checkpoints / ".last.ckpt.x1y2.tmp"
    half.write_bytes(b"half")
    assert train().code == 0
    assert not half.exists()


def test_half_a_line_of_the_history_is_no_row(interrupted, train, history):
    with interrupted.metrics.open("a") as file:
        file.write('{"epoch": 2, "st')
    assert train().code == 0
    assert [row["epoch"] for row in history(interrupted)] == [1, 2]


@pytest.mark.parametrize("name", ["model.safetensors", "config.yaml", "run.json"])
def test_a_cut_file_is_named_by_evaluate(name, finished, medldr):
    folder = finished("a")
    os.truncate(folder.path / name, 60)
    ended = medldr("evaluate", folder.path, "--device", "cpu")
    assert ended.code == 2
    assert str(folder.path / name) in ended.err


def test_evaluate_says_what_it_needs(interrupted, finished, medldr, tmp_path):
    ended = medldr("evaluate", interrupted.path)
    assert ended.code == 2
    assert "its status is interrupted" in ended.err
    assert "medldr train" in ended.err
    (tmp_path / "empty").mkdir()
    for name, said in {"empty": "is not a run folder", "absent": "does not exist"}.items():
        ended = medldr("evaluate", tmp_path / name)
        assert ended.code == 2
        assert said in ended.err
    ended = medldr("evaluate", finished("a").path, "--device", "gpu")
    assert ended.code == 2
    assert "machine.device: this machine has no gpu device" in ended.err


def test_compare_refuses_what_cannot_be_compared(finished, rows, medldr, tmp_path):
    page = tmp_path / "page.html"
    one, two = finished("a"), finished("b")
    given = rows(train="01010101", val="0101", test="010")
    others = {
        "their test items differ (4 and 3 items": finished("items", given=given).path,
        "they differ in classes": finished("names", "data.class_names=[x, y]").path,
        "a run can count only once": one.path,
        "does not exist": tmp_path / "absent",
    }
    for said, other in others.items():
        ended = medldr("compare", one.path, other, "--out", page)
        assert ended.code == 2, said
        assert said in ended.err
    ended = medldr("compare", one.path, two.path, "--metric", "acuracy", "--out", page)
    assert ended.code == 2
    assert "Did you mean 'accuracy'?" in ended.err
    ended = medldr("compare", one.path, two.path, "--out", tmp_path)
    assert ended.code == 2
    assert str(tmp_path) in ended.err
    assert not page.exists()


def test_compare_shows_an_unfinished_run_as_a_row(finished, train, disturb, out, medldr, tmp_path):
    one = finished("a")
    disturb(0, lambda batch: batch._replace(image=batch.image * float("nan")))
    assert train("label=bad").code == 2
    (bad,) = out.glob("bad-*")
    ended = medldr("compare", one.path, bad, "--out", tmp_path / "page.html")
    assert ended.code == 0, ended.err
    assert bad.name in (tmp_path / "page.html").read_text()
    record = json.loads((bad / "run.json").read_text())
    (bad / "run.json").write_text(json.dumps({**record, "status": "running", "error": None}))
    killed = medldr("compare", one.path, bad, "--out", tmp_path / "page.html")
    assert killed.code == 0, killed.err
    assert "interrupted" in (tmp_path / "page.html").read_text()  # its process is gone
    alone = medldr("compare", bad, "--out", tmp_path / "page.html")
    assert alone.code == 2
    assert "give two runs" in alone.err


@pytest.mark.parametrize(
    ("spoil", "key"),
    [
        (lambda content: content | {"splits": {"test": {"n": "many"}}}, "splits.test.n"),
        (lambda content: content | {"schema": 9}, "schema 9"),
        (lambda content: {k: v for k, v in content.items() if k != "task"}, "task"),
    ],
)
def test_an_evaluation_that_makes_no_sense_is_named_by_compare(
    spoil, key, finished, medldr, tmp_path
):
    folder, other = finished("a"), finished("b")
    folder.evaluation.write_text(json.dumps(spoil(json.loads(folder.evaluation.read_text()))))
    ended = medldr("compare", folder.path, other.path, "--out", tmp_path / "page.html")
    assert ended.code == 2
    assert str(folder.evaluation) in ended.err
    assert key in ended.err
    assert "medldr evaluate" in ended.err


def _run(train, out, label, words):
    assert train(f"label={label}", *words).code == 0
    (folder,) = out.glob(f"{label}-*")
    return RunFolder(folder)


NAMES = ["a, b", "<script>alert(1)</script>"]


def test_class_names_are_text_everywhere(train, out, medldr, tmp_path):
    words = (f"data.class_names={json.dumps(NAMES)}", "machine.report=true")
    folder, other = (_run(train, out, label, words) for label in ("one", "two"))
    page = tmp_path / "page.html"
    assert medldr("evaluate", folder.path, "--device", "cpu").code == 0
    assert medldr("compare", folder.path, other.path, "--out", page).code == 0
    assert json.loads(folder.evaluation.read_text())["class_names"] == NAMES
    for text in (folder.report.read_text(), page.read_text()):
        assert NAMES[1] not in text
    assert "&lt;script&gt;alert(1)" in folder.report.read_text()


def test_class_names_in_brackets_are_no_markup(medldr, write):
    path = write(data={"class_names": ["[bold]x", "[/]"]})
    for command in ("check", "stats"):
        ended = medldr("data", command, path)
        assert ended.code == 0, ended.err
        assert "[bold]x" in ended.out
        assert "[/]" in ended.out


WRONG = {
    "a class that does not exist is positive": (
        ["evaluation.positive_class=zz", "data.task=binary"],
        "evaluation.positive_class",
    ),
    "positive without two classes": (
        [
            "evaluation.positive_class=a",
            "data.classes=[a, b, c]",
            "data.allow_missing_classes=true",
        ],
        "only a binary task",
    ),
    "names twice": (["data.class_names=[x, x]"], "data.class_names"),
    "an empty name": (["data.class_names=['', x]"], "data.class_names"),
    "warm-up longer than the run": (["training.warmup=50"], "training.warmup"),
    "weights for other classes": (["training.class_weights=[1, 2, 3]"], "training.class_weights"),
    "weights of nothing": (["training.class_weights=[0, 0]"], "training.class_weights"),
    "domains where there are none": (["training.sampler=domains"], "training.sampler"),
    "weights from nowhere": (["training.init_from=/no/where"], "training.init_from"),
    "patience without a measure": (
        ["training.select=[last]", "training.early_stopping=2"],
        "training.early_stopping",
    ),
    "half precision without a card": (["training.precision=float16"], "training.precision"),
    "everything excluded": (
        [f"data.exclude=[{', '.join(f'item{n:02d}' for n in range(16))}]"],
        "data.exclude",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_work_is_refused_before_the_first_epoch(name, train, out):
    if name == "half precision without a card" and torch.cuda.is_available():
        pytest.skip("this machine has a card")
    words, said = WRONG[name]
    ended = train(*words)
    assert ended.code == 2, ended.err
    assert said in ended.err
    assert "epoch 1" not in ended.err
    assert not list(out.glob("*/checkpoints/*"))
