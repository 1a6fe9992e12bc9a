"""`medldr.results`: every number of the runs of a folder, once, and none of unfinished ones."""

import json
import math
import shutil
from pathlib import Path

import pytest

import medldr
from medldr.evaluation.score_table import COLUMNS, UnfinishedWarning

FROZEN = Path(__file__).parents[1] / "frozen"
KEY = ["run", "split", "domain", "class", "metric"]


def places(content):
    """The numbers of whole splits, domains, parts and classes of `evaluation.json`."""
    for split, of in content["splits"].items():
        yield (split, "", ""), of["metrics"]
        for name, part in of.get("parts", {}).items():
            yield (f"{split}/{name}", "", ""), part["metrics"]
        for name, domain in of["domains"].items():
            yield (split, name, ""), domain["metrics"]
        for name, numbers in of["classes"].items():
            yield (split, "", name), {k: v for k, v in numbers.items() if k != "n"}


@pytest.mark.parametrize("case", ["phantom", "single"])
def test_every_number_of_a_folder_of_runs_is_there_once(case):
    folder = FROZEN / case / "folder"
    table = medldr.results(folder)
    assert tuple(table.columns) == COLUMNS
    assert not table.duplicated(KEY).any()
    by_key = {tuple(row[key] for key in KEY): row for row in table.to_dict("records")}
    runs = sorted(path.parent for path in folder.glob("*/evaluation.json"))
    assert sorted(set(table.run)) == [run.name for run in runs]
    for run in runs:
        content = json.loads((run / "evaluation.json").read_text())
        for place, numbers in places(content):
            for metric, number in numbers.items():
                row = by_key[(run.name, *place, metric)]
                for end in ("value", "low", "high"):
                    known = number.get(end)
                    assert row[end] == known or (known is None and math.isnan(row[end]))
        for split, of in content["splits"].items():
            if "accuracy" in of["metrics"]:
                assert by_key[(run.name, split, "", "", "accuracy")]["n"] == of["n"]


@pytest.fixture
def sweep(tmp_path):
    return shutil.copytree(FROZEN / "phantom" / "folder", tmp_path / "sweep")


def test_a_list_of_runs_and_folders_has_each_run_once(sweep):
    one, other, *_ = sorted(sweep.glob("phantom*"))
    whole = medldr.results(sweep)
    assert len(medldr.results([one, sweep])) == len(whole)
    two = medldr.results([one, str(other)])
    assert set(two.run) == {one.name, other.name}
    again = shutil.copytree(one, sweep.parent / "elsewhere" / one.name)
    assert set(medldr.results([one, again]).run) == {str(one), str(again)}


def test_unfinished_runs_are_counted_and_left_out(sweep):
    one, other, third, *rest = sorted(sweep.glob("phantom*"))
    shutil.rmtree(one)  # a member that was never started
    record = json.loads((other / "run.json").read_text())
    (other / "run.json").write_text(json.dumps({**record, "status": "failed"}))
    with pytest.warns(UnfinishedWarning, match="^2 unfinished runs are left out$"):
        table = medldr.results(sweep)
    assert set(table.run) == {path.name for path in (third, *rest)}
    with pytest.raises(medldr.InputError, match=r"no run of .* has finished"):
        medldr.results(other)


def test_a_run_that_was_moved_aside_does_not_count(sweep):
    one, *_ = sorted(sweep.glob("phantom*"))
    (sweep / "sweep.json").unlink()
    one.rename(f"{one}.before-20260101-000000")
    assert one.name not in set(medldr.results(sweep).run)
    assert medldr.results(sweep).run.nunique() == 5


def test_numbers_that_were_changed_are_refused(sweep):
    one, *_ = sorted(sweep.glob("phantom*"))
    content = json.loads((one / "evaluation.json").read_text())
    content["splits"]["test"]["metrics"]["accuracy"]["value"] = 0.99
    (one / "evaluation.json").write_text(json.dumps(content))
    with pytest.raises(medldr.InputError, match=one.name):
        medldr.results(sweep)


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(medldr.InputError, match="nowhere"):
        medldr.results(tmp_path / "nowhere")
