"""A run that held a domain out is shown next to published numbers of that domain and method."""

from dataclasses import replace

from medldr.folders.evaluation_record import EvaluationRecord
from medldr.reporting.read.run import RunFiles
from medldr.reporting.sections.published import run_published
from medldr.reporting.writers.cells import printed


def run_files(held=("sketch",), algorithm="erm", model="resnet18", parts=True, averaging=None):
    config = {
        "data": {"name": "domain_folders", "set": "pacs", "held_out": list(held)},
        "model": {"name": model}, "protocol": "swad", "algorithm": {"name": algorithm},
        "training": {"averaging": averaging},
    }  # fmt: skip
    part = {"target_in": {"items": 9, "metrics": {"accuracy": {"value": 0.625}}}}
    test = {"metrics": {"accuracy": {"value": 0.5}}} | ({"parts": part} if parts else {})
    rule = "swad" if averaging else "val_domain_accuracy"
    scored = {"task": "multi-class", "selection": {"rule": rule}, "splits": {"test": test}}
    return RunFiles("x", config, evaluation=EvaluationRecord.model_validate(scored))


def test_target_in_stands_beside_the_numbers_of_that_domain_alone():
    table = run_published(run_files(model="resnet50"))
    cells = {row.heading: [printed(cell).text for cell in row.cells] for row in table.rows}
    assert cells == {
        "This run": ["swad", "62.5"],
        "DomainBed": ["domainbed-2020", "79.3"],
        "LatentDR paper": ["swad", "75.0"],
    }
    assert [row.cells[0].extra for row in table.rows] == ["", "different protocol", "same protocol"]


def test_another_network_is_told():
    table = run_published(run_files())
    first = table.rows[2].cells[0]
    assert first.extra == "different network"
    notes = [dict(table.footnotes)[sign] for sign in first.mark.split(",")]
    assert "ResNet-50; ours is ResNet-18." in notes


def test_a_run_that_was_not_scored_on_the_test_split_has_no_table():
    assert run_published(replace(run_files(), evaluation=None)) is None
    other = EvaluationRecord.model_validate({"task": "multi-class", "splits": {"val": {}}})
    assert run_published(replace(run_files(), evaluation=other)) is None


def test_a_fixed_test_split_has_both_metrics_of_every_published_result():
    number = {"value": 0.5, "low": 0.4, "high": 0.6}
    test = {"metrics": {"accuracy": number, "auc": {"value": None, "reason": "one class"}}}
    files = RunFiles(
        "x",
        {"data": {"name": "medmnist", "flag": "octmnist"}, "model": "resnet18",
         "algorithm": "erm", "protocol": "medmnist-v2-28"},
        evaluation=EvaluationRecord.model_validate(
            {"task": "multi-class", "selection": {"rule": "val_auc"}, "splits": {"test": test}}
        ),
    )  # fmt: skip
    table = run_published(files)
    assert table.columns == ["Method", "Protocol", "Accuracy (%)", "AUC"]
    ours, nearest, other, *_ = table.rows
    texts = [printed(cell) for cell in ours.cells]
    assert [text.text for text in texts] == ["medmnist-v2-28", "50.0", "n/a"]
    assert texts[1].detail == "40.0 to 60.0"
    assert dict(table.footnotes)[ours.cells[2].mark] == "one class"
    assert nearest.heading == "ERM, ResNet-18 (MedMNIST benchmark)"
    texts = [printed(cell).text for cell in nearest.cells]
    assert texts == ["medmnist-v2-28", "74.3", "0.943"]
    assert (nearest.cells[0].style, nearest.cells[0].extra) == ("same", "same protocol")
    assert other.cells[0].style == ""
    assert len(table.rows) == 1 + 15


def test_without_parts_ours_is_a_dash():
    assert run_published(run_files(parts=False)).rows[0].cells[1].content == "–"
