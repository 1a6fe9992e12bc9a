"""Sections of sweep folders, from the folders alone."""

import json
import shutil

import pytest

from medldr.config.yaml_text import write_yaml
from medldr.errors import InputError
from medldr.folders.files import RunFolder
from medldr.folders.sweep_record import Layout, Member, Sweep, SweepFolder, write_sweep
from medldr.reporting.document import Bullets, Document
from medldr.reporting.sections.analysis.sweeps import read_sweeps
from medldr.reporting.writers.html import html_page

METHODS = {"erm": {"name": "erm"}, "latentdr_sa": {"name": "latentdr", "degrade": "attention"}}


@pytest.fixture
def batches(run_folder, tmp_path):
    """A sweep of two methods at three sizes of a batch; one run has failed, one never ran."""
    first = run_folder("first-aaaaaaaa-s0", n=24, domains=("a", "b"), held_out=("b",),
                       splits=("val", "test"))  # fmt: skip
    folder, members = SweepFolder(tmp_path / "S"), []
    record = json.loads(first.run.read_text())
    for method, algorithm in METHODS.items():
        for size in (8, 16, 32):
            for seed in (0, 1):
                label = f"{method}_{size}"
                name = f"{label}-{size:08d}-s{seed}"
                members.append(Member(name, label, seed, method, str(size)))
                if (method, size, seed) == ("latentdr_sa", 32, 1):
                    continue
                files = RunFolder(shutil.copytree(first.path, folder.run(name).path))
                facts = {"label": label, "hash": f"{size:08d}", "seed": seed, "batch_size": size,
                         "steps": 10, "device": "cpu", "threads": 1}  # fmt: skip
                failed = (method, size, seed) == ("latentdr_sa", 16, 1)
                facts |= {"status": "failed", "error": "ValueError: x"} if failed else {}
                files.run.write_text(json.dumps(record | facts))
                files.config.write_text(write_yaml({
                    "seed": seed, "label": label, "algorithm": algorithm,
                    "data": {"name": "phantom_fracture", "held_out": ["b"]},
                    "training": {"batch_size": size, "steps": 10},
                }))  # fmt: skip
    layout = Layout("Sizes", rows="algorithm", columns="training.batch_size", reference="erm")
    write_sweep(folder, Sweep("sizes", layout, tuple(members)))
    shutil.rmtree(first.path)
    return folder.path


def sections(found):
    made = {name: make() for name, make in found.sections()}
    return {name: section for name, section in made.items() if section is not None}


def test_an_unfinished_sweep_shows_what_it_has(batches):
    found = read_sweeps([batches])
    shown, lines = sections(found), found.lines()
    assert set(shown) == {"batch", "cost", "gains"}
    assert [row.heading for row in shown["cost"].tables[0].rows] == ["ERM", "LatentDR (SA)"]
    counts = [(line["method"], line["images"], line["runs"]) for line in lines["batch"]]
    assert ("LatentDR (SA)", 16, 1) in counts
    assert ("ERM", 16, 2) in counts
    times = [line["seconds_per_step"] for line in lines["cost"]]
    assert times == pytest.approx([1.5 / 8] * 6)
    assert found.notes == [
        "Sizes: 2 runs of 12 did not finish or cannot be read; `medldr report` names them"
    ]


def test_a_sweep_given_twice_is_told_apart_and_never_pooled(batches):
    found = read_sweeps([batches, batches])
    assert list(found.costs) == ["Sizes", "Sizes [2]"]
    assert "pooled" not in sections(found)
    page = html_page(Document("t", "k", sections=list(sections(found).values())))
    assert page.count('id="batch"') == 1


def test_a_sweep_of_several_sets_is_pooled(whole_folder):
    found = read_sweeps([whole_folder.path])
    shown = sections(found)
    names = {line["name"] for line in found.lines()["pooled"] if line["kind"] == "gain"}
    assert names == {"Derma_1", "OCT"}
    assert any("cannot be relied on" in text for text in shown["pooled"].of(Bullets)[0].items)
    assert "batch" not in shown
    assert "DOE_JANE" not in html_page(Document("t", "k", sections=list(shown.values())))


def test_a_folder_without_runs_is_refused(tmp_path):
    with pytest.raises(InputError):
        read_sweeps([tmp_path])
    assert sections(read_sweeps([])) == {}
