"""ROC curves: their areas are named, and of many classes the best and the worst."""

import numpy as np

from medldr.folders.evaluation_record import SplitRecord
from medldr.reporting.sections.run.drawn import roc_figure

LINE = {"fpr": [0, 1], "tpr": [0, 1]}


def test_a_curve_says_its_area_with_its_interval():
    auc = {"value": 0.875, "low": 0.75, "high": 1.0, "reason": None}
    split = SplitRecord(
        classes={"a": {"n": 4, "auc": auc}},
        roc={"a": {"fpr": [0, 0.5, 1], "tpr": [0, 1, 1]}, "b": {"fpr": [], "tpr": []}},
    )
    roc = roc_figure(split)
    assert "a: 0.875 (0.750 to 1.000)" in roc.svg
    assert ">b" not in roc.svg


def test_many_classes_name_the_best_and_the_worst_curves():
    names = [f"c{i:02d}" for i in range(20)]
    aucs = np.linspace(0.5, 0.9, 20)
    split = SplitRecord(
        classes={n: {"n": 1, "auc": {"value": a}} for n, a in zip(names, aucs, strict=True)},
        roc=dict.fromkeys(names, LINE),
    )
    svg = roc_figure(split).svg
    assert [n for n in names if f"{n}: " in svg] == ["c00", "c01", "c02", "c17", "c18", "c19"]


def test_without_a_defined_curve_there_is_no_figure():
    assert roc_figure(SplitRecord()) is None
    assert roc_figure(SplitRecord(roc={"a": None, "b": {"fpr": [0], "tpr": [0]}})) is None
