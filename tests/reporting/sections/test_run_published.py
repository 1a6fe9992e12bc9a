"""A run that held a domain out stands beside published numbers of that domain and its method."""

import pytest
from medldr.reporting.sections.run_published import held_out_published

from medldr.reporting.pages.run import write_report
from medldr.reporting.read.describe import held_out, method_id, method_title
from medldr.reporting.read.run import RunSource


def source(held=("sketch",), algorithm="erm", model="resnet18", parts=True, averaging=None):
    config = {
        "data": {"name": "domain_folders", "set": "pacs", "held_out": list(held)},
        "model": {"name": model}, "protocol": "swad", "algorithm": {"name": algorithm},
        "training": {"averaging": averaging},
    }  # fmt: skip
    part = {"target_in": {"items": 9, "metrics": {"accuracy": {"value": 0.625}}}}
    test = {"metrics": {"accuracy": {"value": 0.5}}} | ({"parts": part} if parts else {})
    rule = "swad" if averaging else "val_domain_accuracy"
    judged = {"selection": {"rule": rule}, "splits": {"test": test}}
    return RunSource("x", config, {}, [], judged)


def test_target_in_stands_beside_the_numbers_of_that_domain_alone():
    table = held_out_published(source(model="resnet50"))
    cells = {row.heading: [cell.text for cell in row.cells] for row in table.rows}
    assert cells == {
        "This run": ["swad", "62.5"],
        "DomainBed": ["domainbed-2020", "79.3"],
        "LatentDR paper": ["swad", "75.0"],
    }
    assert [row.cells[0].extra for row in table.rows] == ["", "other protocol", "same protocol"]


def test_another_network_is_told():
    table = held_out_published(source())
    first = table.rows[2].cells[0]
    assert first.extra == "other network"
    assert dict(table.footnotes)[first.mark] == "ResNet-50; ours is ResNet-18."


def test_without_parts_ours_is_a_dash():
    assert held_out_published(source(parts=False)).rows[0].cells[1].text == "–"


@pytest.mark.parametrize(
    "changed",
    [{"held": ("photo", "sketch")}, {"held": ()}, {"algorithm": "own"}, {"held": ("clipart",)}],
)
def test_two_domains_none_an_unknown_method_or_domain_have_no_table(changed):
    assert held_out_published(source(**changed)) is None


def test_averaged_weights_are_another_method():
    averaged = source(averaging="swad").config
    assert method_id(averaged) == "erm+swad"
    assert method_title(averaged) == "ERM + SWAD"
    assert method_id(source(averaging={"name": "ema", "decay": 0.9}).config) == "erm"
    assert method_id(source(averaging={"name": "swad", "ratio": 0.2}).config) == "erm+swad"
    assert held_out(averaged) == ("sketch",)


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, "latentdr_pool"),
        ({"degrade": "attention"}, "latentdr_sa"),
        ({"terms": ["degraded"], "restore": "none"}, "latentdr_d_only"),
        ({"terms": ["degraded"], "degrade": "attention"}, "latentdr"),
        ({"restore": "none"}, "latentdr"),
        ({"base": {"name": "mixstyle"}}, "latentdr"),
        ({"norm": "post"}, "latentdr_pool"),
        ({"norm": "residual"}, "latentdr"),
        ({"share_classifier": False}, "latentdr_own_classifier"),
        ({"share_classifier": False, "degrade": "attention"}, "latentdr"),
    ],
)
def test_latentdr_has_an_id_in_its_published_forms_alone(changed, found):
    assert method_id({"algorithm": {"name": "latentdr", "degrade": "pool", **changed}}) == found


def test_variants_are_not_compared_with_the_published_form():
    assert method_id({"algorithm": {"name": "mmd", "bandwidths": "fixed"}}) == "mmd"
    assert method_id({"algorithm": {"name": "mmd", "bandwidths": "median"}}) == "mmd_median"
    second = {"name": "mldg", "order": "second"}
    assert method_id({"algorithm": second}) == "mldg_second_order"


@pytest.mark.usefixtures("quick")
def test_the_page_of_a_run_shows_it(run_folder, read):
    files = run_folder(
        domains=("photo", "sketch"), held_out=("sketch",), n=24,
        config={"data": {"name": "domain_folders", "set": "pacs", "held_out": ["sketch"]},
                "algorithm": {"name": "erm"}},
    )  # fmt: skip
    page = read(write_report(files.path))
    rows = page.table("Method", "Protocol", "Accuracy (%)")
    assert [row[0] for row in rows] == ["This run", "DomainBed", "LatentDR paper"]
