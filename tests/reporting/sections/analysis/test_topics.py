"""Sections of an analysis: figures show the numbers of the frame, and notes say what is not."""

from dataclasses import replace

import numpy as np
import pytest

from medldr.evaluation.representation import planes
from medldr.evaluation.representation.frame import number
from medldr.evaluation.representation.geometry import MEASURES
from medldr.evaluation.representation.neighbours import ROBUSTNESS, SHARES
from medldr.evaluation.representation.operators import BALANCED
from medldr.folders.latents_record import View
from medldr.reporting.document import Bullets, Document, Figures, Paragraph
from medldr.reporting.sections.analysis import topics
from medldr.reporting.sections.analysis.topics import csv_lines, of_runs
from medldr.reporting.table import number_text
from medldr.reporting.writers.html import html_page


@pytest.fixture(autouse=True, scope="module")
def few():
    """t-SNE with fewer iterations: its quality does not matter here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planes, "ITERATIONS", 250)
        yield


@pytest.fixture(scope="module")
def runs(few, synthetic_latents, measured):
    """Two runs, which no test changes."""
    return {"ERM": measured(synthetic_latents(90, views=False)),
            "LatentDR": measured(synthetic_latents(90))}  # fmt: skip


PLACES = {
    "geometry": ({"images": "test", "of": "all", "measure": "uniformity"}, "Uniformity"),
    "operators": ({"split": "test", "metric": "balanced_accuracy", "domain": "", "minus": ""},
                  "Test, unseen domains"),
    "probes": ({"target": "domain", "minus": ""}, "Domain"),
    "neighbours": ({"queries": "unseen", "neighbours": "same_class_other_domain"},
                   "Test images of unseen domains"),
    "robustness": ({"queries": "all"}, "All images"),
}  # fmt: skip
METRICS = {
    "geometry": MEASURES["uniformity"], "operators": BALANCED, "probes": BALANCED,
    "neighbours": SHARES["same_class_other_domain"], "robustness": ROBUSTNESS,
}  # fmt: skip


@pytest.mark.parametrize("topic", PLACES)
def test_figures_show_the_frame(runs, topic):
    section, (place, panel) = getattr(topics, f"{topic}_section")(runs), PLACES[topic]
    (drawing,) = section.of(Figures)[0].drawings
    assert not drawing.error
    said = next(text for text in drawing.alt.split(". ") if text.startswith(panel))
    for view in ("degraded", "restored"):
        held = number(runs["LatentDR"].frames[topic], latents=view, **place)
        metric = METRICS[topic]
        assert f"LatentDR, {view} {number_text(held, metric)}" in said
    assert section.folded == (topic != "geometry")
    assert bool(section.tables) == (topic == "geometry")


def test_the_table_of_alignment_and_uniformity_has_the_numbers_of_the_frame(runs):
    (table,) = topics.geometry_section(runs).tables
    assert table.columns == ["Latents", "Alignment", "Uniformity"]
    held = number(runs["LatentDR"].frames["geometry"], latents="restored", images="test", of="all",
                  measure="uniformity")  # fmt: skip
    found = {row.heading: row.cells[1].content for row in table.rows}["LatentDR, restored"]
    assert (found.mean, found.low, found.high) == (held.mean, held.low, held.high)


@pytest.mark.usefixtures("drawn")
def test_what_numbers_are_compared_with_is_a_line_of_its_own(runs):
    for make, lines in (
        (topics.probes_section, ("guessing", "class alone")),
        (topics.robustness_section, ("neighbours at random",)),
    ):
        svg = make(runs).of(Figures)[0].drawings[0].svg
        assert all(f">{line}<" in svg for line in lines)


def test_methods_without_d_and_r_have_no_section_on_them(runs):
    erm = {"ERM": runs["ERM"]}
    assert topics.operators_section(erm) is topics.queries_section(erm) is None
    assert topics.geometry_section(erm) is not None


def test_without_domains_only_the_class_is_asked(synthetic_latents, measured):
    runs = {"ERM": measured(synthetic_latents(60, domains=(), unseen=()))}
    assert topics.centres_section(runs) is topics.robustness_section(runs) is None
    title = topics.neighbours_section(runs).of(Figures)[0].drawings[0].title
    assert "same class" in title
    assert "domain" not in title


def test_undefined_numbers_are_explained(synthetic_latents, measured):
    latents = synthetic_latents(40)
    several = replace(latents, label=np.random.default_rng(0).integers(2, size=(40, 3)) * 1.0,
                      spec=replace(latents.spec, task="multi-label"))  # fmt: skip
    (table,) = topics.geometry_section({"ERM": measured(several)}).tables
    assert [text for _, text in table.footnotes] == [
        "an image can have several labels, so it has no single class"
    ]
    assert topics.neighbours_section({"ERM": measured(several)}) is None


def test_words_say_whether_intervals_are_of_seeds(given):
    from medldr.evaluation.intervals.estimate import Estimate

    def run(n):
        head = {"images": "test", "latents": "original", "of": "all", "name": "", "n": 9}
        held = Estimate(0.5, low=0.4, high=0.6, n=n)
        return given(geometry=[{**head, "measure": m, "held": held}
                               for m in ("alignment", "uniformity")])  # fmt: skip

    def remark(runs):
        return topics.geometry_section(runs).of(Paragraph)[-1].text

    assert "means over seeds (Student's t) for ERM." in remark({"ERM": run(3)})
    assert "means over seeds" not in remark({"ERM": run(None)})
    both = remark({"ERM": run(3), "SA": run(None)})
    assert "for ERM, and of new patients or slides" in both


def test_a_network_that_knows_the_images_is_said_to(synthetic_latents, measured):
    latents = synthetic_latents(90, views=False)
    latents.split[:] = "train"
    text = topics.probes_section({"ERM": measured(latents)}).of(Paragraph)[0].text
    assert "90 of them trained the network" in text


@pytest.mark.parametrize("n", [1, 3])
def test_with_few_images_a_note_stands_in_place_of_the_maps(synthetic_latents, measured, n):
    run = measured(synthetic_latents(12, domains=(), unseen=()).select(np.arange(n)))
    section = topics.maps_section({"ERM": run}, {"ERM": "ribs"})
    assert not section.of(Figures)
    assert section.of(Bullets)[0].items[0] == (
        "ERM: no map of all images by PCA or t-SNE, because fewer than 4 images have latents that "
        "are finite."
    )
    assert {line["reason"] for line in run.maps.points()} == {planes.TOO_FEW}


def test_latents_that_are_all_nan_or_equal_are_noted(synthetic_latents, measured):
    latents = synthetic_latents(20)
    logits = latents.views["original"].logits
    made = {
        name: measured(replace(latents, views={"original": View(z, logits)}))
        for name, z in {"A": latents.z, "B": latents.z * np.nan, "C": latents.z * 0 + 1}.items()
    }
    notes = topics.maps_section(made, dict.fromkeys(made, "ribs")).of(Bullets)[0].items
    assert notes[0].startswith("B: no map of all images")
    assert "(20 of 20 are not finite)." in notes[0]
    assert any(note.startswith("C: no map") and "are the same" in note for note in notes)


def test_points_of_maps_name_no_image(synthetic_latents, measured):
    latents = synthetic_latents(30)
    latents = replace(latents, row=latents.row + 70_000, group=latents.group + 90_000)
    found = measured(latents).maps
    lines, one = found.points(), found.maps[0]
    assert len({tuple(line) for line in lines}) == 1
    for i, line in enumerate(lines[: len(one)]):
        assert (line["split"], line["domain"]) == (one.split[i], one.domain[i])
        assert (line["class"], line["unseen"]) == (f"class {one.label[i]}", bool(one.unseen[i]))
        assert (line["x"], line["y"]) == pytest.approx(tuple(one.xy[i]), abs=1e-4)
    numbers = {value for line in lines for value in line.values() if isinstance(value, int)}
    assert not numbers & {*latents.row.tolist(), *latents.group.tolist()}


@pytest.mark.usefixtures("drawn")
def test_pictures_of_runs_that_degrade_come_first(runs):
    def picture(row):
        return np.full((1, 4, 4), row % 256, dtype=np.uint8)

    section = topics.pictures_section({**runs, "lost": runs["ERM"]},
                                      dict.fromkeys(runs, picture))  # fmt: skip
    drawings = section.of(Figures)[0].drawings
    assert [drawing.title for drawing in drawings] == [
        "LatentDR: nearest neighbours", "ERM: nearest neighbours"
    ]  # fmt: skip
    page = html_page(Document("t", "k", sections=[section]))
    assert page.count("<image") == 2 * 5 + 2 * 3


@pytest.mark.parametrize("topic", [*PLACES, "centres", "queries"])
def test_csv_lines_have_every_number_once(runs, topic):
    lines = csv_lines(of_runs(runs, topic))
    assert len(lines) == sum(len(run.frames[topic]) for run in runs.values())
    keys = [
        tuple(v for k, v in line.items() if k not in ("value", "low", "high")) for line in lines
    ]
    assert len(set(keys)) == len(keys)
    assert all(line["value"] is not None or line["reason"] for line in lines)
