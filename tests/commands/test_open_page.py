"""`medldr open`: the page in the browser, or its path where there is none."""

import shutil
import webbrowser
from pathlib import Path

import pytest

RUN = Path(__file__).parents[1] / "frozen" / "single" / "folder" / "hospital-296def41-s0"


@pytest.fixture
def opened(monkeypatch):
    """What was opened, in place of opening it."""
    found = []
    monkeypatch.setattr(webbrowser, "open", lambda uri: found.append(uri) or True)
    return found


def test_the_page_of_a_run_is_made_if_it_is_missing_and_opened(medldr, opened, tmp_path):
    run = shutil.copytree(RUN, tmp_path / "my run")
    (run / "report.html").unlink(missing_ok=True)
    ended = medldr("open", run)
    assert (ended.code, ended.out) == (0, f"{run / 'report.html'}\n"), ended.err
    assert opened == [(run / "report.html").as_uri()]
    assert "hospital" in (run / "report.html").read_text("utf-8")


def test_the_page_of_an_analysis_is_opened_as_it_is(medldr, opened, tmp_path):
    (tmp_path / "analysis.html").write_text("a page")
    assert medldr("open", tmp_path).code == 0
    assert opened == [(tmp_path / "analysis.html").as_uri()]


def test_where_no_browser_can_be_opened_the_path_is_said(medldr, monkeypatch, tmp_path):
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    (tmp_path / "report.html").write_text("a page")
    ended = medldr("open", tmp_path)
    assert ended.code == 0
    assert ended.out.startswith(f"{tmp_path / 'report.html'}\nNo browser can be opened here")


def test_what_has_no_page_is_one_message(medldr, opened, tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        ended = medldr("open", folder)
        assert ended.code == 2
        assert ended.err.startswith("error: ")
        assert ended.err.count("\n") == 1
    assert opened == []
