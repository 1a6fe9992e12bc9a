"""Changes of a configuration are texts or Python values, and mean the same."""

from pathlib import Path

import numpy as np
import pytest

from medldr.config import load_config
from medldr.config.changes import change_texts
from medldr.config.yaml import parse_value, plain
from medldr.errors import InputError
from medldr.sweeps.plan.file import load_sweep


@pytest.mark.parametrize(
    "value",
    [
        1, 1.0, 1e-5, 1e16, True, None, "off", "null", "1e-3", "yes", "a: b", "a #b", "", " x", "é",
        "a\nb", "[1]", "*x", "@", "0x10", ".5", "True", ".nan", "2024-01-01", "=", "a=b", "~",
        [1, 2.0, "x", "1"], {"a": None, "b": {"c": "~"}},
    ],
    ids=repr,
)  # fmt: skip
def test_a_value_is_read_as_what_it_was_in_python(value):
    (text,) = change_texts({"a.key": value})
    read = plain(parse_value(text.removeprefix("a.key="), "here"))
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ((1, 2), [1, 2]), (np.float32(0.5), 0.5), (np.arange(2), [0, 1]),
        (Path("a b/c"), "a b/c"), ([Path("a")], ["a"]),
    ],
)  # fmt: skip
def test_what_yaml_has_no_name_for_becomes_what_a_file_would_say(value, read):
    (text,) = change_texts({"key": value})
    assert plain(parse_value(text.removeprefix("key="), "here")) == read


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object(), [float("inf")]])
def test_a_value_that_no_file_could_hold_is_refused_by_its_key(value):
    with pytest.raises(InputError, match=r"training\.lr"):
        load_config("retinamnist_erm", {"training.lr": value})


def test_a_dictionary_does_what_texts_do():
    texts = ["algorithm=latentdr_pool", "training.epochs=2", "training.lr=0.01", "seed=3"]
    values = {"algorithm": "latentdr_pool", "training.epochs": 2, "training.lr": 0.01, "seed": 3}
    assert load_config("retinamnist_erm", values) == load_config("retinamnist_erm", texts)
    runs = {"common": {"extends": "run/retinamnist_erm"}, "axes": {"algorithm": ["erm"]}}
    given = {"seeds": [0, 1], "axes.training.lr": [0.1, 0.2], "training.epochs": 3}
    texts = ["seeds=[0, 1]", "axes.training.lr=[0.1, 0.2]", "training.epochs=3"]
    assert load_sweep(runs, given) == load_sweep(runs, texts)


def test_a_wrong_value_is_named_as_on_the_command_line():
    with pytest.raises(InputError, match=r"training\.epochs"):
        load_config("retinamnist_erm", {"training.epochs": "two"})
