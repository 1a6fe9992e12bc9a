"""Recall of each class is that of the comparison."""

from medldr.reporting.sections.sweep.details import class_table
from medldr.reporting.writers.cells import printed


def test_recall_has_classes_down_and_methods_across(whole):
    column = whole.results.columns[1]
    table = class_table(whole.results, column, "recall")
    assert table.columns == [
        "Class", "Images", "Groups", "ERM", "Mixup (oracle)", "LatentDR (SA)", "LatentDR (Pool)",
    ]  # fmt: skip
    assert sum(printed(row.cells[0]).value for row in table.rows) == 60
    patients = {row.heading: row.cells[1].content for row in table.rows}
    entry = whole.results.study.of("ERM", column.name)[0].run.predictions["test"]
    for k, name in enumerate(entry.class_names):
        assert patients[name] == len(set(entry.group[entry.label == k]))
    for row in table.rows:
        for method, cell in zip(table.columns[3:], row.cells[2:], strict=True):
            (found,) = [
                score for score in column.comparison.classes
                if (score.split, score.class_, score.method) == ("test", row.heading, method)
            ]  # fmt: skip
            assert printed(cell).value == found.estimate.mean
