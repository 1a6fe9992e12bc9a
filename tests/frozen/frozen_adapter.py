"""The only file of the frozen tests that names what is inside medldr.

Commands and public functions (`medldr.train`, `medldr.predict`) are called where they are needed.
"""

import contextlib
import importlib.util
import sys
from pathlib import Path
from unittest import mock

import numpy as np

TESTS = Path(__file__).resolve().parents[1]


def load_test_module(name, *parts):
    """A helper of other tests, under the name by which these and other processes import it."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, TESTS.joinpath(*parts))
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


# Configurations and plans


def packaged(section):
    """Names of the packaged files of a section, sorted."""
    from medldr.config import packaged_names

    return packaged_names(section)


def resolved(source, overrides=()):
    """A checked configuration and its hash."""
    from medldr.config import load_config, run_hash

    config = load_config(source, overrides)
    return config, run_hash(config)


def plan(source):
    """The record of a sweep as `sweep.json` would hold it, and the configuration of each run."""
    from dataclasses import asdict

    from medldr.sweeps.plan.expand import as_record, expand
    from medldr.sweeps.plan.file import load_sweep

    sweep = load_sweep(source)
    planned = expand(sweep, "/frozen/out")
    return asdict(as_record(sweep, planned)), [entry.config for entry in planned]


# Data


def data_of(mapping):
    """The configuration of a mapping, and the data that a run of it has."""
    from medldr.config import load_config
    from medldr.data import build_data

    config = load_config(mapping)
    return config, build_data(config)


def part(section, name):
    """The values of a packaged part."""
    from medldr.config import load_part

    return dict(load_part(section, name)[section])


def first_batch(config, data, split):
    """The first images of a split as the network is given them."""
    return next(iter(data.eval_loader(split, config, device="cpu"))).image.numpy()


def pixels(table, rows):
    """Stored images of some rows of a table."""
    return np.stack([np.asarray(table.images[int(row)]) for row in rows])


@contextlib.contextmanager
def refusals():
    """Collects the error by which the user's input is refused."""
    from medldr.errors import InputError

    held = []
    try:
        yield held
    except InputError as error:
        held.append(error)


# Scores


def evaluated(folder):
    """`evaluation.json` of a finished run, made again from its predictions by its own settings."""
    import json

    from medldr.config import EvaluationConfig
    from medldr.config.yaml import read_yaml
    from medldr.evaluation import by_split, evaluate, read_predictions

    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    content = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
    stated = dict(read_yaml(folder / "config.yaml").values["evaluation"])
    settings = {key: value for key, value in stated.items() if key in EvaluationConfig.model_fields}
    gap = content.get("gap") or {}
    return evaluate(
        by_split(read_predictions(folder / "predictions.csv", content["task"])),
        EvaluationConfig.model_validate(settings),
        selection=content["selection"],
        seen=record["spec"]["train_domains"],
        shared=[gap["seen"]] if gap.get("shared_groups") else [],
        notes=content["notes"],
        trained_on=record["spec"]["class_counts"],
    )


def scored(tables, settings, **more):
    """`evaluation.json` of made-up answers.

    Args:
        tables: By split, what `medldr.evaluation.predictions_of` takes.
        settings: The section `evaluation`.
        more: As `medldr.evaluation.evaluate` takes them.
    """
    from medldr.config import EvaluationConfig
    from medldr.evaluation import evaluate

    return evaluate(answers(tables), EvaluationConfig.model_validate(settings), **more)


def answers(tables):
    """Predictions by split."""
    from medldr.evaluation import predictions_of

    return {split: predictions_of(split=split, **columns) for split, columns in tables.items()}


def write_answers(path, tables):
    """`predictions.csv` of made-up answers."""
    from medldr.evaluation import join, write_predictions

    write_predictions(path, join(list(answers(tables).values())))


# Pages


@contextlib.contextmanager
def figures_left_empty():
    """Pages and papers without drawings, which take most of their time and are not frozen."""
    blank = '<svg viewBox="0 0 1 1"></svg>'
    with (
        mock.patch("medldr.reporting.figures.drawing._render", return_value=blank),
        mock.patch("medldr.reporting.writers.paper.for_paper", return_value=b""),
    ):
        yield


# Networks


def contract_cases():
    """The algorithms and settings that the contract tests train, by name."""
    load_test_module("standins", "contracts", "standins.py")
    return load_test_module("frozen_harness", "contracts", "harness.py").CASES


def three_steps(name):
    """What an algorithm logs in three steps on a stand-in network, in float32."""
    import torch
    from lightning_fabric import Fabric

    harness = load_test_module("frozen_harness", "contracts", "harness.py")
    fabric = Fabric(accelerator="cpu", devices=1, precision="32-true")
    made = harness.prepare(harness.CASES[name], fabric, harness.Processes(fabric))
    torch.manual_seed(11)
    for number in range(3):
        output = made.algorithm.update(made.step, made.batch(number))
        made.step.index += 1
        logs = {"loss": output.loss, **output.logs}
        yield {key: float(value.detach()) for key, value in logs.items()}


def analysed(folders, out, **settings):
    """`medldr analyze` of run folders, with settings that make it quick: page and csv files."""
    from medldr.analysis.analyze import analyze
    from medldr.evaluation.representation.frame import Options

    with figures_left_empty():
        written = analyze(folders, out, Options(**settings))
    return written.page, written.tables
