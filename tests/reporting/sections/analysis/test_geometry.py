"""The section on alignment and uniformity."""

from dataclasses import replace

import numpy as np
import pytest

from medldr.evaluation.representation.geometry import geometry
from medldr.evaluation.representation.geometry_over_seeds import mean_over_seeds
from medldr.evaluation.representation.options import Options
from medldr.reporting.document import Figures, Paragraph
from medldr.reporting.sections.analysis.geometry import geometry_lines, geometry_section

FEW = Options(draws=40)


@pytest.fixture(scope="module")
def found(synthetic_latents):
    plain = synthetic_latents(n=90, views=False)
    return {"ERM": geometry(plain, FEW), "LatentDR (SA)": geometry(synthetic_latents(n=90), FEW)}


def table(section, start):
    return next((each for each in section.tables if each.caption.startswith(start)), None)


def rows(held):
    return {row.heading: row.cells for row in held.rows}


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
