"""Every algorithm has its derivation, and the comparison sees what is not the authors'."""

import importlib.util
import re
import textwrap
from pathlib import Path

import pytest
import standins
from fidelity import Case, Plain, Reference, compare, cross_entropy

from medldr import plugins

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", plugins.names("algorithms"))
def test_the_algorithm_is_compared_with_its_authors_update(name):
    path = HERE / f"test_{name}.py"
    assert path.is_file(), (
        f"no derivation of {name}'s update: write tests/fidelity/test_{name}.py, with a Reference "
        "and its cases (CONTRIBUTING, 'Adding an algorithm')"
    )
    spec = importlib.util.spec_from_file_location(f"fidelity_of_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    reference = module.test_every_step.reference
    assert issubclass(reference, Reference)
    assert reference.name == name
    assert "update" in {key for cls in reference.mro()[:-2] for key in vars(cls)}


def test_the_derivation_that_contributing_shows_is_one(optimizer):
    page = (HERE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^ *```python\n(.*?)^ *```", page, re.MULTILINE | re.DOTALL)
    (text,) = [textwrap.dedent(block) for block in blocks if "every_step(" in block]
    shown = {}
    exec(compile(text, "CONTRIBUTING.md", "exec"), shown)

    class Example(shown["LogitNoise"]):
        name = standins.EXAMPLE

    compare(Example, Case({"sigma": 0.5}), optimizer)


class Scaled(Plain):
    """A loss that is too large by a ten-millionth."""

    def update(self, batch):
        logits = self.classify(self.features(batch.image))
        return self.minimise((1 + 1e-7) * cross_entropy(logits, batch.label))


class Forgetful(Plain):
    """An optimizer that is new at the fourth step."""

    def update(self, batch):
        if self.index == 3:
            self.reset()
        return super().update(batch)


class Late(Plain):
    """A schedule that is a step behind."""

    def update(self, batch):
        if self.index == 1:
            self.factor = 0.5
        return super().update(batch)


class Biased(Plain):
    """Running variances that divide by all rows."""

    def tracked(self):
        kept = super().tracked()
        return {name: value * (0.999 if "var" in name else 1) for name, value in kept.items()}


@pytest.mark.parametrize("wrong", [Scaled, Forgetful, Late, Biased])
def test_a_deviation_is_noticed(wrong, optimizer):
    with pytest.raises(AssertionError, match="after step"):
        compare(wrong, Case(norm="live"), optimizer)


def test_a_method_that_does_nothing_is_noticed():
    class Nothing(Plain):
        name = "coral"

    with pytest.raises(AssertionError, match="plain training"):
        compare(Nothing, Case({"weight": 0.0}), "sgd")
