"""The whole analysis of real, short runs: page, csv files, figures, and what is refused."""

import csv
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from medldr.analysis import analyze as module
from medldr.analysis.analyze import write_made
from medldr.analysis.plan import plan
from medldr.analysis.runs import RunReader
from medldr.errors import InputError
from medldr.evaluation.representation.frame import Options, number
from medldr.evaluation.representation.geometry import geometry
from medldr.folders.latents_record import View
from medldr.reporting.document import Document
from medldr.run import unchanged_data

pytestmark = pytest.mark.auto_precision

QUICK = Options(draws=50, items=150, points=60, queries=2, batches=3)


@pytest.fixture(scope="module")
def written(erm, latentdr, tmp_path_factory):
    return module.analyze([erm, latentdr], tmp_path_factory.mktemp("out"), QUICK)


@pytest.fixture
def blank_papers(monkeypatch):
    """Files of figures that are empty: drawing them anew for a paper takes most of the time."""
    monkeypatch.setattr("medldr.reporting.writers.paper.for_paper", lambda drawing, kind: b"")


@pytest.mark.slow
def test_the_page_has_every_topic_and_names_no_image_or_patient(written, latentdr):
    page = written.page.read_text()
    for anchor in ("result", "geometry", "operators", "probes", "neighbours", "pictures",
                   "robustness", "centres", "maps", "queries", "runs"):  # fmt: skip
        assert f'id="{anchor}"' in page
    assert "LatentDR (SA)" in page
    assert not re.search(r"could not be drawn", page)
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    run = RunReader().read(latentdr)
    table = unchanged_data(run.config, run.files, run.record).table
    for name in {*table.ids.tolist(), *table.groups.tolist()}:
        assert name not in page


@pytest.mark.slow
def test_figures_are_svg_and_pdf_with_fonts_that_journals_take(written):
    stems = {path.stem for path in written.figures}
    assert {"latent_metrics", "probes", "queries_1", "maps_tsne_all"} <= stems
    assert {path.suffix for path in written.figures} == {".svg", ".pdf"}
    for path in written.figures:
        content = path.read_bytes()
        assert content.startswith(b"%PDF" if path.suffix == ".pdf" else b"<?xml")
        assert b"/Type3" not in content
        assert b"var(--" not in content


@pytest.mark.slow
def test_csv_files_hold_the_numbers_of_the_page(written, latentdr):
    found = {p.stem: list(csv.DictReader(p.read_text().splitlines())) for p in written.tables}
    assert {"geometry", "probes", "neighbours", "robustness", "centres", "maps"} <= set(found)
    run = RunReader().read(latentdr)
    place = {"images": "test", "latents": "original", "of": "all", "measure": "alignment"}
    expected = number(geometry(run.latents, QUICK), **place).mean
    (line,) = [
        line for line in found["geometry"]
        if line["run"] == "LatentDR (SA)" and line["images"] == "test" and line["of"] == "all"
        and line["latents"] == "original" and line["measure"] == "alignment"
    ]  # fmt: skip
    assert float(line["value"]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("images", [pytest.param(12, marks=pytest.mark.slow), 3, 1])
def test_few_images_and_latents_that_are_not_finite_cost_no_page(
    latentdr, tmp_path, monkeypatch, images, blank_papers
):
    """t-SNE's perplexity of 30 needs more images; the rest of the page is written all the same."""

    read = RunReader.read

    def few(self, folder, heading):
        run = read(self, folder, heading)
        train = np.flatnonzero(run.latents.split == "train")[:images]
        part = run.latents.select(train)
        if images == 12:
            views = {name: View(v.z.copy(), v.logits) for name, v in part.views.items()}
            for view in views.values():
                view.z[0, 0] = np.nan
            part = replace(part, views=views)
        return replace(run, latents=part)

    monkeypatch.setattr(RunReader, "read", few)
    page = module.analyze([latentdr], tmp_path, QUICK).page.read_text()
    assert 'id="maps"' in page
    if images == 12:
        assert re.search(r"perplexity [\d.]+", page)[0] != "perplexity 30"
        assert "not finite" in page
    else:
        assert "no map of all images" in page
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.S).lower().split()


@pytest.mark.slow
def test_the_command_prints_the_verdict_one_table_and_where_the_page_is(
    latentdr, tmp_path, medldr, blank_papers
):
    ended = medldr("analyze", latentdr, "--out", tmp_path / "a", "--items", "60")
    assert ended.code == 0, ended.err
    assert "\nDescribed. LatentDR (SA), test images of unseen domains:" in f"\n{ended.out}"
    assert str(tmp_path / "a" / "analysis.html") in ended.out
    lines = ended.out.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines[:-1])) <= 80


@pytest.mark.slow
def test_the_same_runs_give_the_same_numbers_and_leave_nothing_to_the_next_analysis(
    written, erm, latentdr, tmp_path, blank_papers
):
    again = module.analyze([erm, latentdr], tmp_path, QUICK)
    for one, other in zip(written.tables, again.tables, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert again.document.verdict == written.document.verdict
    own = tmp_path / "mine.csv"
    own.write_text("kept")
    assert (tmp_path / "queries.csv").is_file()
    now = module.analyze([erm], tmp_path, QUICK)
    assert not (tmp_path / "queries.csv").exists()
    left = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {*now.tables, *now.figures, now.page, tmp_path / "files.json", own}


def test_a_list_of_files_from_elsewhere_removes_nothing_outside(tmp_path):
    outside = tmp_path / "outside.csv"
    outside.write_text("kept")
    out = tmp_path / "out"
    (out / "figures").mkdir(parents=True)
    (out / "a.csv").touch()
    (out / "config.yaml").touch()
    named = ["../outside.csv", "figures/../../outside.csv", str(outside), "config.yaml", "a.csv"]
    (out / "files.json").write_text(json.dumps(named))
    write_made(out, Document("title", "kicker"), {})
    assert outside.is_file()
    assert (out / "config.yaml").is_file()
    assert not (out / "a.csv").exists()


def test_a_run_that_is_given_and_in_a_sweep_too_is_analysed_once(erm, latentdr):
    found = plan([latentdr, latentdr.parent])
    assert [run.heading for run in found.runs] == ["LatentDR (SA)"]
    with pytest.raises(InputError, match="was given twice"):
        plan([erm, erm])


@pytest.mark.parametrize("what", ["absent", "empty"])
def test_a_folder_without_a_run_is_refused_before_anything_is_written(tmp_path, medldr, what):
    folder = tmp_path / "runs"
    if what == "empty":
        folder.mkdir()
    ended = medldr("analyze", folder, "--out", tmp_path / "a")
    assert ended.code == 2
    assert str(folder) in ended.err
    assert not (tmp_path / "a").exists()
