"""What `medldr.train` and `medldr.sweep` return, as a terminal and a notebook show it."""

import json
import math
import re
from pathlib import Path

import pytest

import medldr
from medldr.folders.files import RunFolder
from medldr.reporting import printed_tables, write_sweep_report
from medldr.run_result import Evaluated, RunResult
from medldr.sweeps.launch import SweepResult

FROZEN = Path(__file__).parent / "frozen"


@pytest.fixture
def run():
    (folder,) = (FROZEN / "single" / "folder").glob("scanner-*")
    return RunFolder(folder)


def test_a_run_is_shown_by_its_first_number_and_seed(run):
    found = RunResult.read(run)
    number = json.loads(run.evaluation.read_text())["splits"]["test"]["metrics"]["accuracy"]
    value, low, high = (100 * number[key] for key in ("value", "low", "high"))
    shown = f"test accuracy {value:.1f}% (95% CI {low:.1f} to {high:.1f})"
    assert (
        repr(found).replace("\N{NO-BREAK SPACE}", " ") == f"RunResult({run.path}, {shown}, seed 0)"
    )


def test_a_notebook_shows_every_split_of_a_run(run):
    html = RunResult.read(run)._repr_html_()
    splits = json.loads(run.evaluation.read_text())["splits"]
    for split in splits.values():
        assert f">{100 * split['metrics']['accuracy']['value']:.1f}<" in html
    assert html.count("<table") == html.count("</table>") == 1


def test_a_run_without_more_than_its_numbers_is_still_shown():
    bare = RunResult(Path("runs/x"), {"test/auc": None})
    assert repr(bare) == "RunResult(runs/x)"
    assert bare._repr_html_() is None


def test_a_sweep_is_shown_by_its_counts_and_in_a_notebook_by_its_grids(tmp_path):
    import shutil

    folder = tmp_path / "S"
    shutil.copytree(FROZEN / "phantom" / "folder", folder)
    tables = tuple(printed_tables(write_sweep_report(folder)))
    bare = SweepResult(folder, ("a", "b"), {"c": "E"}, {})
    assert repr(bare) == f"SweepResult({folder}, 2 runs done, 1 failed)"
    assert bare._repr_html_() is None
    found = SweepResult(folder, ("a",), {}, {"b": "why"}, tables)
    assert repr(found) == f"SweepResult({folder}, 1 run done, 1 left out, 3 rows)"
    html = found._repr_html_()
    for name in ("ERM", "MixStyle", "LatentDR (Pool)"):
        assert re.search(rf"<th scope=\"row\"[^>]*>{re.escape(name)}", html)


def test_what_is_returned_gives_its_numbers_as_a_frame(run):
    found = RunResult.read(run)
    table = found.to_frame()
    (accuracy,) = table[
        (table.split == "test") & (table.metric == "accuracy") & (table.domain == "")
        & (table["class"] == "")
    ].value  # fmt: skip
    assert accuracy == found.metrics["test/accuracy"]
    scored = Evaluated(found)
    assert scored == json.loads(run.evaluation.read_text())
    assert scored.to_frame().equals(table)
    assert scored._repr_html_() == found._repr_html_()
    swept = SweepResult(FROZEN / "phantom" / "folder", (), {}, {})
    assert swept.to_frame().run.nunique() == 6


def test_a_comparison_is_values_a_frame_and_a_table():
    runs = sorted((FROZEN / "phantom" / "folder").glob("phantom*"))
    found = medldr.compare(runs)
    assert json.loads(json.dumps(found))["reference"] == found["reference"]
    table = found.to_frame()
    assert len(table) == len(found["rows"])
    for row, known in zip(table.to_dict("records"), found["rows"], strict=True):
        assert row["method"] == known["method"]
        difference = known["difference"] or {}
        for name, value in {
            "mean": known["mean"],
            "difference": difference.get("value"),
            "difference_low": difference.get("low"),
            "p": difference.get("p"),
        }.items():
            assert row[name] == value or (value is None and math.isnan(row[name]))
    html = found._repr_html_()
    assert html.count("<table") == html.count("</table>") == 1
    for name in ("ERM", "MixStyle", "LatentDR (Pool)"):
        assert name in html
