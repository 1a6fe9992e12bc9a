"""The section on alignment and uniformity."""

from dataclasses import replace

import numpy as np
import pytest

from medldr.evaluation.representation.geometry import geometry
from medldr.evaluation.representation.geometry_over_seeds import mean_over_seeds
from medldr.evaluation.representation.options import Options
from medldr.reporting.document import Document, Figures, Paragraph
from medldr.reporting.sections.analysis.geometry import geometry_lines, geometry_section
from medldr.reporting.writers.html import html_page
from medldr.reporting.writers.markdown import markdown_page

FEW = Options(draws=40)


@pytest.fixture(scope="module")
def found(synthetic_latents):
    plain = synthetic_latents(n=90, views=False)
    return {"ERM": geometry(plain, FEW), "LatentDR (SA)": geometry(synthetic_latents(n=90), FEW)}


def table(section, start):
    return next((each for each in section.tables if each.caption.startswith(start)), None)


def rows(held):
    return {row.heading: row.cells for row in held.rows}


def test_the_overview_has_every_kind_of_latents(found):
    held = table(geometry_section(found), "Alignment and uniformity")
    kinds = ["LatentDR (SA)", "LatentDR (SA), degraded", "LatentDR (SA), restored"]
    assert list(rows(held)) == ["ERM", *kinds]
    assert held.columns == [
        "Latents", "Alignment, test", "Uniformity, test", "Alignment, training",
        "Uniformity, training", "Alignment, all", "Uniformity, all",
    ]  # fmt: skip
    parts = found["LatentDR (SA)"].parts
    restored = [cell.content for cell in rows(held)["LatentDR (SA), restored"]]
    assert restored[0] == parts["test"]["restored"].closeness.alignment
    assert restored[3] == parts["train"]["restored"].uniformity
    assert restored[5] == parts["all"]["restored"].uniformity
    n = parts["test"]["original"].closeness.n
    (note,) = held.notes
    assert note.startswith(f"Test images of unseen domains: n = {n}. Training images: n = ")
    assert note.endswith("All images: n = 90.")


def test_pairs_within_and_between_domains(found):
    held = table(geometry_section(found), "Two images of the same class")
    whole = found["ERM"].parts["all"]["original"].closeness
    cells = rows(held)["ERM"]
    assert [cell.content for cell in cells] == [whole.within, whole.across, whole.apart]
    assert [cell.signed for cell in cells] == [False, False, True]


def test_classes_and_domains(found):
    section = geometry_section(found)
    held = table(section, "Alignment by class, test images of unseen domains")
    main = found["ERM"].main
    assert rows(held)["class 1"][0].content == main.classes["class 1"].n
    assert rows(held)["class 1"][1].content == main.classes["class 1"].alignment
    part = found["ERM"].parts["all"]["original"]
    for name in ("alignment", "uniformity"):
        held = table(section, f"{name.capitalize()} by domain")
        assert list(rows(held)) == ["a", "b", "c", "All seen domains"]
        assert rows(held)["c"][1].content == getattr(part.domains["c"], name)
        assert rows(held)["All seen domains"][1].content == getattr(part.together[True], name)
        assert [row.tags for row in held.rows] == [("seen",), ("seen",), ("unseen",), ()]


@pytest.mark.parametrize("chose", [0, 1])
def test_several_unseen_domains_are_together_as_far_as_they_are_tested(synthetic_latents, chose):
    latents = synthetic_latents(n=120, domains=tuple("abcd"), unseen=("c", "d"), views=False)
    if chose:
        latents.split[latents.domain == "d"] = "val"
    found = geometry(latents, FEW)
    held = table(geometry_section({"ERM": found}), "Alignment by domain")
    names = ["a", "b", "c", "d", "All seen domains", "All unseen domains, test images"]
    assert list(rows(held)) == names[: 6 - chose]
    assert [row.tags for row in held.rows[2:4]] == [("unseen",), ("unseen",)]


def test_the_figure_is_of_test_images(found):
    section = geometry_section(found)
    (drawing,) = section.of(Figures)[0].drawings
    assert drawing.name == "latent_metrics"
    assert drawing.title.endswith("test images of unseen domains")
    assert section.anchor == "geometry"


def test_words_say_where_numbers_come_from(found, synthetic_latents):
    def remark(held):
        return geometry_section(held).of(Paragraph)[-1].text

    assert "resampling groups" in remark(found)
    assert "drawn at random" not in remark(found)
    fewer = geometry(synthetic_latents(n=90), replace(FEW, items=30))
    assert "drawn at random" in remark({"ERM": fewer})
    seeds = mean_over_seeds([geometry(synthetic_latents(n=90, seed=s), FEW) for s in range(2)])
    assert "over seeds" in remark({"ERM": seeds})
    assert "resampling" not in remark({"ERM": seeds})


def test_without_domains_there_are_no_tables_of_domains(synthetic_latents):
    plain = geometry(synthetic_latents(n=60, domains=(), unseen=()), FEW)
    section = geometry_section({"ERM": plain})
    assert table(section, "Two images") is None
    assert table(section, "Alignment by domain") is None
    assert table(section, "Alignment by class, validation images of seen domains") is not None
    assert geometry_section({}) is None


def test_undefined_numbers_are_explained(synthetic_latents):
    latents = synthetic_latents(n=40)
    labels = np.random.default_rng(0).integers(2, size=(40, 3)).astype(np.float64)
    several = geometry(replace(latents, label=labels), FEW)
    section = geometry_section({"ERM": several, "Mixup": several})
    held = table(section, "Alignment and uniformity")
    reason = "an image can have several labels, so it has no single class"
    assert reason in dict(held.footnotes).values()
    assert table(section, "Alignment by class") is None
    assert table(section, "Two images") is None
    lines = geometry_lines({"ERM": several})
    undefined = [line for line in lines if line["measure"] == "alignment"]
    assert undefined
    assert all(line["value"] is None and line["reason"] == reason for line in undefined)


def test_runs_may_differ_in_what_they_hold(synthetic_latents):
    latents = synthetic_latents(n=90)
    some = {"A": geometry(latents.select(latents.split == "train"), FEW),
            "B": geometry(latents, FEW)}  # fmt: skip
    section = geometry_section(some)
    held = table(section, "Alignment and uniformity")
    assert rows(held)["A"][0].empty
    assert held.notes[0].endswith(f"n = {(latents.split == 'train').sum()} to 90.")
    assert rows(table(section, "Alignment by domain"))["c"][1].empty


def test_lines_hold_every_number(found):
    lines = geometry_lines(found)
    assert all(next(iter(line)) == "run" for line in lines)
    columns = ("run", "images", "latents", "of", "name", "measure")
    keys = [tuple(line[column] for column in columns) for line in lines]
    assert len(set(keys)) == len(keys)
    known = dict(zip(keys, lines, strict=True))
    part = found["LatentDR (SA)"].parts["all"]["restored"]
    line = known["LatentDR (SA)", "all", "restored", "domain", "b", "uniformity"]
    held = part.domains["b"]
    assert (line["n"], line["value"]) == (held.n, held.uniformity.mean)
    assert (line["low"], line["high"]) == (held.uniformity.low, held.uniformity.high)
    line = known["LatentDR (SA)", "all", "restored", "class", "class 2", "alignment_difference"]
    assert line["value"] == part.classes["class 2"].apart.mean
    line = known["LatentDR (SA)", "all", "restored", "domains", "seen", "alignment"]
    assert line["value"] == part.together[True].alignment.mean
    assert all(line["value"] is not None or line["reason"] for line in lines)


@pytest.mark.usefixtures("drawn")
def test_writers_print_it(found):
    page = Document("Latents", "Analysis", sections=[geometry_section(found)])
    assert "latent_metrics-" in html_page(page)
    text = markdown_page(page)
    assert "LatentDR (SA), degraded" in text
    assert "nan" not in text


def test_intervals_are_named_for_each_run(found, synthetic_latents):
    seeds = mean_over_seeds([geometry(synthetic_latents(n=90, seed=s), FEW) for s in range(2)])
    section = geometry_section({"ERM": seeds, "LatentDR (SA)": found["LatentDR (SA)"]})
    remark = section.of(Paragraph)[-1].text
    assert "95% CIs of ERM are of means over seeds (Student's t)" in remark
    assert "Those of LatentDR (SA) come from resampling groups" in remark
    assert "The two kinds do not compare." in remark
    (drawing,) = section.of(Figures)[0].drawings
    assert drawing.caption.endswith(
        "95% CIs of means over seeds (ERM) or of single runs (LatentDR (SA))."
    )


def test_runs_on_different_data_are_said_to_be_so(found, synthetic_latents):
    apart = geometry_section(found, [["ERM"], ["LatentDR (SA)"]]).of(Paragraph)[1].text
    assert apart.endswith("and their numbers do not compare.")
    mixed = geometry_section({**found, "b": found["ERM"]}, [["ERM", "b"], ["LatentDR (SA)"]])
    assert mixed.of(Paragraph)[1].text == f"{apart} Those that do: ERM with b."
    alike = geometry_section(found, [list(found)])
    assert not any("do not compare" in each.text for each in alike.of(Paragraph))
    other = geometry(synthetic_latents(n=60, unseen=("a",), seed=1), FEW)
    mixed = geometry_section({"ERM": found["ERM"], "other": other})
    held = table(mixed, "Alignment by domain")
    tags = {row.heading: row.tags for row in held.rows}
    assert (tags["a"], tags["b"], tags["c"]) == (("seen", "unseen"), ("seen",), ("unseen", "seen"))
    sizes = [each.parts["all"]["original"].domains["b"].n for each in (found["ERM"], other)]
    assert rows(held)["b"][0].content == f"{sizes[0]} or {sizes[1]}"
    validation = geometry(synthetic_latents(n=60, domains=(), unseen=()), FEW)
    mixed = geometry_section({"ERM": found["ERM"], "other": validation})
    of = "test images of unseen domains or validation images of seen domains"
    assert table(mixed, f"Alignment by class, {of}") is not None


def test_tables_of_many_classes_or_domains_are_cut(synthetic_latents):
    names = tuple(f"hospital {i:02}" for i in range(30))
    latents = synthetic_latents(n=900, classes=20, domains=names, unseen=names[5:10])
    held = geometry(latents, Options(draws=20))
    section = geometry_section({"ERM": held})
    by_class = table(section, "Alignment by class")
    assert len(by_class.rows) == 12
    assert by_class.notes == ["8 more, with fewer images, are in the csv file alone."]
    sizes = [rows(by_class)[name][0].content for name in rows(by_class)]
    left = [one.n for name, one in held.main.classes.items() if name not in rows(by_class)]
    assert min(sizes) >= max(left)
    for measure in ("Alignment", "Uniformity"):
        by_domain = table(section, f"{measure} by domain")
        assert len(by_domain.rows) == 12
        assert {*names[5:10], "All seen domains", "All unseen domains, test images"} < set(
            rows(by_domain)
        )
        assert by_domain.notes == ["20 more, with fewer images, are in the csv file alone."]
    lines = geometry_lines({"ERM": held})
    assert {line["name"] for line in lines if line["of"] == "domain"} == set(names)
