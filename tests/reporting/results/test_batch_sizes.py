"""Runs that differ in the size of a batch alone, wherever the table has it."""

import pytest

from medldr.reporting.sections.analysis.batch_sizes import batch_curves
from medldr.sweeps.plan.expand import expand
from medldr.sweeps.plan.file import load_sweep

METHODS = {"erm": {"name": "erm"}, "latentdr_sa": {"name": "latentdr", "degrade": "attention"}}
SIZES = (4, 8, 16)


def config_of(method, size, *, held="d", lr=0.001, **more):
    training = {"batch_size": 3 * size, "lr": lr, "steps": 10}
    return {
        "seed": 0, "label": f"{method}_{size}", "algorithm": METHODS[method],
        "protocol": "phantom" if size == 8 else "phantom+modified",
        "data": {"name": "phantom_fracture", "held_out": [held]}, "training": training,
        "machine": {"threads": size}, "evaluation": {"latents": size == 4}, **more,
    }  # fmt: skip


def facts_of(method, size, steps=10):
    seen = 3 * size if method == "latentdr_sa" else None
    return {"batch_size": 3 * size, "domains_per_batch": 3, "set_size": seen, "steps": steps}


def value(method, size, seed):
    return 0.5 + 0.001 * size * (method == "latentdr_sa") + 0.01 * seed


def curves_of(made):
    return batch_curves(*made, "accuracy", "test")


def shown(curve):
    return {
        line.name: [(p.images, p.per_domain, round(p.estimate.mean, 6)) for p in line.points]
        for line in curve.lines
    }


WANTED = {
    "erm": [(12, 4, 0.51), (24, 8, 0.51), (48, 16, 0.51)],
    "latentdr_sa": [(12, 4, 0.514), (24, 8, 0.518), (48, 16, 0.526)],
}


def test_sizes_may_be_part_of_the_rows(in_memory):
    rows = [f"{method}, {size} each" for method in METHODS for size in SIZES]

    def parts(row):
        method, size = row.removesuffix(" each").split(", ")
        return method, int(size)

    (curve,) = curves_of(in_memory(
        rows, ["set"], lambda row, _c, _p, seed: value(*parts(row), seed),
        config=lambda row, *_: config_of(*parts(row)), facts=lambda row, *_: facts_of(*parts(row)),
        values=lambda row, _: (
            dict(zip(("algorithm", "training.batch_size"), row.split(", "), strict=True)), {}
        ),
    ))  # fmt: skip
    titles = {"erm": "ERM", "latentdr_sa": "LatentDR (SA)"}
    assert shown(curve) == {titles[name]: points for name, points in WANTED.items()}


def test_sizes_may_be_those_of_some_labels(in_memory):
    """Other methods, and the same method at another rate or with other steps, are no points."""
    rows = {"erm": ("erm", 8), "sa": ("latentdr_sa", 8), "sa_b4": ("latentdr_sa", 4),
            "sa_b16": ("latentdr_sa", 16), "sa_fast": ("latentdr_sa", 32),
            "sa_short": ("latentdr_sa", 64)}  # fmt: skip

    def config(row, *_):
        found = config_of(*rows[row], lr=0.01 if row == "sa_fast" else 0.001)
        found["training"]["steps"] = 5 if row == "sa_short" else 10
        return found

    (curve,) = curves_of(in_memory(
        list(rows), ["set"], lambda row, _c, _p, seed: value(*rows[row], seed), config=config,
        facts=lambda row, *_: facts_of(*rows[row]), controls=("sa_b4", "sa_b16"),
    ))  # fmt: skip
    assert shown(curve) == {"LatentDR (SA)": WANTED["latentdr_sa"]}
    assert not curve.lines[0].control


def test_held_out_domains_are_averaged_where_all_are_there(in_memory):
    rows = [f"erm {size}" for size in (4, 8, 16, 32)]
    made = in_memory(
        rows, ["photo", "sketch"],
        lambda row, column, _, seed: 0.5 + 0.1 * (column == "photo") + 0.01 * seed,
        config=lambda row, column, _: config_of("erm", int(row[4:]), held=column),
        facts=lambda row, *_: facts_of("erm", int(row[4:])),
        without=[("erm 8", "sketch", seed) for seed in range(3)],
    )  # fmt: skip
    (curve,) = curves_of(made)
    assert shown(curve) == {"ERM": [(12, 4, 0.56), (48, 16, 0.56), (96, 32, 0.56)]}
    assert [(line.name, line.incomplete) for line in curve.lines if line.incomplete] == [
        ("ERM", (24,))
    ]
    assert {line.domains for line in curve.lines} == {2}
    point, one = curve.lines[0].points[0].estimate, made[1][0].estimate("test", "accuracy", "erm 4")
    assert point.high - point.low < one.high - one.low


@pytest.mark.parametrize("alike", [True, False])
def test_of_several_results_at_one_size_the_first_is_shown_and_the_others_are_known(
    in_memory, alike
):
    """As where two batch sizes have sets of one size, or a row has the default size again."""
    rows = {"sa": 8, "sa_b4": 4, "sa_b8": 8, "sa_b16": 16}
    (curve,) = curves_of(in_memory(
        list(rows), ["set"],
        lambda row, _c, _p, seed: 0.5 + 0.01 * seed + 0.1 * (row == "sa_b8" and not alike),
        config=lambda row, *_: config_of("latentdr_sa", rows[row]),
        facts=lambda row, *_: facts_of("latentdr_sa", rows[row]),
    ))  # fmt: skip
    (name,) = shown(curve)
    assert shown(curve)[name] == [(size, size // 3, 0.51) for size in (12, 24, 48)]
    assert {line.repeated for line in curve.lines if line.name == name} == {() if alike else (24,)}
    assert not any(line.incomplete for line in curve.lines)


def test_runs_without_a_recorded_size_are_left_out(in_memory):
    made = in_memory(["erm"], ["4", "8", "16"], lambda *_: 0.5,
                     config=lambda _, column, __: config_of("erm", int(column)))  # fmt: skip
    assert curves_of(made) == []


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("figures_phantom", 4), ("ablation_batch_size_phantom", 6), ("ablation_pacs_batch", 6)],
)
def test_packaged_sweeps_have_curves(in_memory, name, sizes):
    """Their configurations differ in the size of a batch alone."""
    planned = [run for run in expand(load_sweep(name), "out") if run.config.seed == 0]
    runs = {str(number): run.config for number, run in enumerate(planned)}
    plain = {number: config.model_dump(mode="json") for number, config in runs.items()}

    def facts(_, number, __):
        training = plain[number]["training"]
        each = training["batch_per_domain"]
        return {"batch_size": 3 * each if each else training["batch_size"], "steps": 1}

    study, columns = in_memory(
        ["any"], list(runs), lambda *_: 0.5, seeds=(0,), facts=facts,
        config=lambda _, number, __: plain[number],
    )  # fmt: skip
    (curve,) = batch_curves(study, columns, "accuracy", "test")
    assert {len(line.points) for line in curve.lines} == {sizes}
    assert len(curve.lines) == (1 if name == "figures_phantom" else 3)
    assert not any(line.incomplete for line in curve.lines)
