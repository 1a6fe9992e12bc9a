"""What is shared names nobody, opens as a run, and says what it lacks."""

import csv
import json
import re
import socket
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import medldr as package
from medldr.errors import InputError
from medldr.folders import run_record
from medldr.folders.evaluation_record import read_evaluation
from medldr.folders.files import RunFolder
from medldr.folders.sweep_record import Layout, Member, Sweep, SweepFolder, write_sweep
from medldr.sharing.names import Names, numbered, renamed

HERE = str(Path(__file__).parents[1] / "data" / "files")
if HERE not in sys.path:
    sys.path.insert(0, HERE)

from dicom_files import IDENTITY, NAME, dicom  # noqa: E402

CANARIES = {
    "file": "zulu_file", "folder": "zulu_folder", "patient": "zulu_patient",
    "series": "zulu_series", "user": "zulu_user", "host": "zulu_host", "column": "zulu_value",
    "card": "zulu_card", "table": "zulu_table", "name": NAME, "identity": IDENTITY,
}  # fmt: skip
SMALL = [
    "model.width=0.0625", "training.epochs=2", "training.batch_size=8", "evaluation.draws=100",
    "machine.report=false", "machine.device=cpu", "machine.threads=1",
    "training.precision=float32", "evaluation.per_group=true", "evaluation.subgroups=[sex]",
]  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The folder of a sweep of two tables, every name in it a word that must not be shared."""
    folder = tmp_path_factory.mktemp("data") / CANARIES["folder"]
    patch = pytest.MonkeyPatch()
    patch.setenv("LOGNAME", CANARIES["user"])
    patch.setattr(socket, "gethostname", lambda: CANARIES["host"])
    patch.setenv("MEDLDR_CACHE", str(tmp_path_factory.mktemp("cache")))
    folder.mkdir()
    (folder / "card.yaml").write_text(f"source: {CANARIES['card']}\n")
    out, members = tmp_path_factory.mktemp("sweep"), []
    rows = [["path", "label", "patient", "hospital"]]
    people = [["id", "sex"]]
    for n in range(72):
        pixels = np.random.default_rng(n).integers(0, 900, (16, 16)).astype(np.uint16)
        pixels[4:9, 4:9] += 900 * (n % 2)
        file = f"{CANARIES['file']}_{n}.dcm"
        dicom(pixels, SeriesDescription=CANARIES["series"]).save_as(folder / file)
        patient = f"{CANARIES['patient']}_{n // 2}" if n > 9 else str(n)
        sex = "FM"[n % 3 // 2] if n < 70 else CANARIES["column"]
        rows.append([file, "ab"[n % 2], patient, f"north_{n % 3}"])
        people.append([file, sex])
    with (folder / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows(people)
    for stem in (f"{CANARIES['table']}_\u00e4", "scans"):  # the second is called as its folder
        table = folder / f"{stem}.csv"
        with table.open("w", newline="") as file:
            csv.writer(file).writerows(rows)
        name = f"file-{table.name}".replace("\u00e4", "-")  # as in the names of values of an axis
        config = {
            "extends": ["recipe/own_2d", "algorithm/erm", "data/table"],
            "label": f"study_{name}",
            "data": {
                "file": str(table), "group": "patient", "domain": "hospital",
                "size": 16, "metadata": str(folder / "people.csv"),
                "card": str(folder / "card.yaml"),
            },
        }  # fmt: skip
        made = package.train(config, SMALL, out)
        row, drawn = {"run": "study", "data.file": name}, {"data.file": str(table)}
        members.append(
            Member(
                made.folder.name, config["label"], 0, f"study, {name}", "own", (), row, {}, drawn
            )
        )
    name = f"file-{CANARIES['table']}_3.csv"  # this one has not finished
    row, drawn = {"run": "study", "data.file": name}, {"data.file": f"{folder.name}/{name[5:]}"}
    last = Member(
        f"study_{name}-1", f"study_{name}", 0, f"study, {name}", "own", (), row, {}, drawn
    )
    members.append(last)
    layout = Layout("A study", reference=members[0].row, titles={members[0].row: "The first"})
    write_sweep(SweepFolder(out), Sweep("s", layout, tuple(members), (f"data.root={folder}",)))
    package.report(out)
    patch.undo()
    return out


@pytest.fixture(scope="module")
def shared(runs, tmp_path_factory):
    """The whole sweep, shared and unpacked."""
    return unpacked(package.share(runs, tmp_path_factory.mktemp("sent") / "all.zip"))


def unpacked(path):
    with zipfile.ZipFile(path) as archive:
        archive.extractall(path.parent)
    return path.parent / "shared"


def held(folder):
    return {p.name for p in folder.rglob("*") if p.is_file()}


def words_in(folder):
    """The canaries, and what looks like a time or a kernel, in any byte or name below a folder."""
    told = set()
    for path in folder.rglob("*"):
        text = str(path.relative_to(folder)).encode()
        text += path.read_bytes() if path.is_file() else b""
        told |= {what for what, word in CANARIES.items() if word.encode() in text}
        told |= {"a date"} if re.search(rb"20\d\d-\d\d-\d\d", text) else set()
        told |= {"a path"} if re.search(rb"[\"' ]/(tmp|home|root|work)", text) else set()
        told |= {"a kernel"} if re.search(rb"Linux|glibc|x86_64", text) else set()
    return told


def test_what_is_shared_names_nobody(runs, shared, tmp_path):
    assert words_in(runs) >= {"file", "folder", "patient", "table", "a path", "a date"}
    assert words_in(shared) == set()
    first = next(path for path in sorted(runs.iterdir()) if (path / "run.json").is_file())
    alone = package.share(first, tmp_path / "one.zip", weights=True, seen=True)
    assert words_in(unpacked(alone)) == set()
    assert not [w for w in CANARIES.values() if w.encode() in alone.read_bytes()]
    with zipfile.ZipFile(alone) as archive:
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}


def test_networks_and_digests_of_images_go_only_on_request(runs, shared, tmp_path):
    usual = {"config.yaml", "evaluation.json", "metrics.jsonl", "predictions.csv", "run.json"}
    usual |= {"preprocessing.json", "splits.json", "sweep.json", "README.txt"}
    assert held(shared) == usual
    more = unpacked(package.share(runs, tmp_path / "x.zip", weights=True, seen=True))
    assert held(more) - usual == {
        "model.safetensors", "unlike.safetensors", "seen_images.safetensors",
    }  # fmt: skip
    run = next(more.glob("study*"))
    assert package.load_model(run).training is False


def test_numbers_are_those_of_the_runs_and_are_verified(runs, shared):
    own = sorted(path.parent for path in runs.glob("*/run.json"))
    copies = sorted(path.parent for path in shared.glob("*/run.json"))
    for one, copy in zip(own, copies, strict=True):
        before, after = (read_evaluation(RunFolder(path)) for path in (one, copy))
        assert [row.value for row in before.scores.rows] == [r.value for r in after.scores.rows]
        assert after.splits["test"].groups
        with (one / "predictions.csv").open() as a, (copy / "predictions.csv").open() as b:
            for old, new in zip(csv.DictReader(a), csv.DictReader(b), strict=True):
                assert re.fullmatch(r"item \d\d", new["id"])
                assert re.fullmatch(r"group \d\d", new["group"])
                same = old.keys() - {"id", "group", "meta_sex"}
                assert {key: old[key] for key in same} == {key: new[key] for key in same}
    found = package.verify(shared)
    assert not found.differs
    assert all(verdict.numbers > 100 for verdict in found.runs)
    for verdict in found.runs:
        assert "mistakes.json" in verdict.remarks[0]
        assert "model.safetensors" in verdict.remarks[0]


def test_a_changed_copy_is_found(shared, tmp_path):
    run = next(shared.glob("study*"))
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in run.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    text = (copy / "predictions.csv").read_text()
    (copy / "predictions.csv").write_text(text.replace(",0,0.", ",1,0.", 1))
    assert package.verify(copy).differs


def test_pages_of_a_copy_are_drawn(shared, medldr):
    assert medldr("report", shared).code == 0
    assert words_in(shared) == set()
    page = (shared / "report.html").read_text()
    assert "file-1" in page
    ended = medldr("compare", *sorted(shared.glob("study*")), "--out", shared / "compare.html")
    assert ended.code == 0, ended.err


def test_an_image_that_a_run_has_seen_is_found_by_its_copy(runs, tmp_path):
    run = next(path.parent for path in sorted(runs.glob("*/run.json")))
    copy = next(unpacked(package.share(run, tmp_path / "x.zip", seen=True)).glob("study*"))
    from medldr.data.seen import read_seen

    both = [RunFolder(path) for path in (run, copy)]
    keys = [read_seen(one, run_record.read_run_record(one)).key for one in both]
    assert keys[0] == keys[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["RUN", "x.tar"], "is a zip file"),
        (["RUN", "there.zip"], "exists"),
        (["EMPTY", "x.zip"], "holds no finished run"),
        (["nowhere", "x.zip"], "does not exist"),
    ],
)
def test_what_cannot_be_shared_is_refused(runs, medldr, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.zip").touch()
    (tmp_path / "empty").mkdir()
    places = {"RUN": str(runs), "EMPTY": str(tmp_path / "empty")}
    ended = medldr("share", *(places.get(word, word) for word in words))
    assert (ended.code, said in ended.err) == (2, True), ended.err


def test_a_changed_run_is_not_shared_under_new_checksums(runs, tmp_path):
    run = next(path.parent for path in sorted(runs.glob("*/run.json")))
    copy = tmp_path / run.name
    copy.mkdir()
    for path in (path for path in run.iterdir() if path.is_file()):
        (copy / path.name).write_bytes(path.read_bytes())
    content = json.loads((copy / "evaluation.json").read_text())
    content["splits"]["test"]["metrics"]["accuracy"]["value"] = 0.999
    (copy / "evaluation.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"evaluation\.json"):
        package.share(copy, tmp_path / "x.zip")


def test_domains_that_are_patients_are_numbered_in_all_places():
    names = Names({}, {"anna": "group 1"}, domains={"anna": "group 1", "7": "group 2"})
    assert renamed({"site/p1": "site/p1"}, {"site/p1": "group 1"}) == {"group 1": "group 1"}
    assert renamed({"val/domain/anna/auc": "anna", "a": ["7", 7]}, names.domains) == {
        "val/domain/group 1/auc": "group 1", "a": ["group 2", 7],
    }  # fmt: skip


def test_numbers_are_in_the_order_of_the_names():
    names = [f"p{n}" for n in range(120)]
    made = numbered(names, "item")
    assert sorted(names, key=made.get) == sorted(names)


def test_a_sentence_keeps_what_names_nobody():
    names = Names({"anna_1": "item 1"}, {}, {"x_ray.csv": "data-1.csv"}, {"x_ray": "data 1"})
    said = names.sentence("x_ray: 3 files of x_ray.csv; constant: anna_1, /a/b.png in epoch 4")
    assert said == (
        "data 1: 3 files of data-1.csv; constant: [hidden id], [hidden name] in epoch 4"
    )
