"""The metric that CONTRIBUTING shows is a metric; its algorithm is among those of the contract."""

import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

from medldr.evaluation.metrics.items import Items
from medldr.metrics import Metric

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def block(holding):
    """What the code block that holds a text defines."""
    found = re.findall(r"^( *)```python\n(.*?)^ *```", PAGE, re.MULTILINE | re.DOTALL)
    (text,) = [textwrap.dedent(text) for _, text in found if holding in text]
    return text


def defined(text):
    names = {}
    exec(compile(text, "CONTRIBUTING.md", "exec"), names)
    return names


@pytest.mark.parametrize("task", ["multi-class", "binary", "ordinal"])
def test_the_metric_of_the_example_equals_its_reference(task):
    rng = np.random.default_rng(0)
    classes = 2 if task == "binary" else 4
    label, prob = rng.integers(0, classes, 90), rng.dirichlet(np.ones(classes), 90)
    items = Items(label, prob, task)
    found = defined(block("Items) -> Sums"))["cohen"](items).value()
    expected = defined(block("sklearn"))["cohen_kappa"](items)
    assert found == {"cohen_kappa": pytest.approx(expected, abs=1e-12)}


def test_the_row_of_the_example_is_one_and_names_its_function():
    row = eval(block("Metric("), {"Metric": Metric})
    assert row.better == "higher"
    assert row.function.rpartition(".")[2] in defined(block("Items) -> Sums"))
