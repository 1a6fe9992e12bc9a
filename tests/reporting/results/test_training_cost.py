"""Seconds per step: of a run, over runs, and beside the reference."""

import numpy as np
import pytest
from scipy import stats

from medldr.reporting.results.gains import data_sets
from medldr.reporting.sections.analysis.training_cost import (
    ELSEWHERE,
    TOO_FEW,
    seconds_per_step,
    training_cost,
)


def rows_of(seconds, steps=10, evaluations=4, start=7.0):
    """A log whose steps take equally long after a start of 7 seconds."""
    return [
        {"step": steps * n, "time_s": start + seconds * steps * n, "epoch": n}
        for n in range(1, evaluations + 1)
    ]


def test_the_start_is_not_counted_and_a_pause_is_one_of_many():
    log = rows_of(0.5, evaluations=6)
    assert seconds_per_step(log) == pytest.approx(0.5)
    for row in log[3:]:
        row["time_s"] += 1000
    assert seconds_per_step(log) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "log",
    [[], rows_of(1.0, evaluations=1), [{"step": 1}, {"step": 2}],
     [{"step": 1, "time_s": 2.0}, {"step": 2, "time_s": None}, {"step": 3}],
     [{"step": 1, "time_s": 2.0}, {"step": 2, "time_s": 2.0}]],
)  # fmt: skip
def test_without_two_times_there_is_none(log):
    assert seconds_per_step(log) is None


SECONDS = {"erm": (0.10, 0.12, 0.11), "latentdr": (0.15, 0.14, 0.16), "mixup": (0.1, 0.11, 0.1)}


def on(device="cpu", threads=1, cpu="A"):
    hardware = {"cpu": cpu, "gpus": ["H200"] if device == "cuda" else []}
    return {"device": device, "threads": threads, "processes": 1,
            "provenance": {"hardware": hardware}}  # fmt: skip


def cost_of(in_memory, *, facts=lambda *_: on(), log=None, columns=("set",), **more):
    made = in_memory(
        list(SECONDS), list(columns), lambda row, _c, _p, seed: 0.5 + 0.01 * seed, facts=facts,
        log=log or (lambda row, _, seed: rows_of(SECONDS[row][seed])), **more,
    )  # fmt: skip
    (data,) = data_sets(*made)
    return training_cost(made[0], data, "accuracy", "test")


def test_means_and_quotients_are_those_of_the_logarithms(in_memory):
    cost = cost_of(in_memory, controls=("mixup",))
    assert [of.row for of in cost.methods] == ["erm", "latentdr", "mixup"]
    assert [of.control for of in cost.methods] == [False, False, True]
    logs = {row: np.log(of) for row, of in SECONDS.items()}
    for of in cost.methods:
        own = logs[of.row]
        assert of.seconds.mean == pytest.approx(np.exp(own.mean()), rel=1e-4)
        ends = np.exp(stats.t.interval(0.95, 2, own.mean(), stats.sem(own)))
        assert (of.seconds.low, of.seconds.high) == pytest.approx(tuple(ends), rel=1e-4)
        assert (of.seconds.n, of.left_out) == (3, 0)
        assert of.score.mean == pytest.approx(0.51)
        if of.row == "erm":
            assert of.times.mean is None
            continue
        test = stats.ttest_ind(own, logs["erm"], equal_var=False).confidence_interval()
        assert (of.times.low, of.times.high) == pytest.approx(tuple(np.exp(test)), rel=1e-4)
        assert of.times.mean == pytest.approx(of.seconds.mean / cost.methods[0].seconds.mean)


def test_runs_on_other_machines_are_left_out(in_memory):
    def facts(row, _, seed):
        return on(threads=8) if (row, seed) in {("erm", 0), ("mixup", 0)} else on()

    cost = cost_of(in_memory, facts=facts)
    assert cost.machine.title == "CPU (A), 1 thread"
    assert {machine.title: n for machine, n in cost.others.items()} == {"CPU (A), 8 threads": 2}
    erm, latentdr, mixup = cost.methods
    assert (erm.seconds.n, latentdr.seconds.n, mixup.seconds.n) == (2, 3, 2)
    assert (erm.left_out, latentdr.left_out) == (1, 0)
    assert erm.seconds.mean == pytest.approx((0.12 * 0.11) ** 0.5, rel=1e-4)


@pytest.mark.parametrize("other", [on("cuda"), on(cpu="B")])
def test_a_method_that_ran_elsewhere_alone_has_a_reason(in_memory, other):
    cost = cost_of(in_memory, facts=lambda row, *_: other if row == "latentdr" else on())
    latentdr = cost.methods[1]
    assert (latentdr.seconds.mean, latentdr.seconds.reason) == (None, ELSEWHERE)
    assert (latentdr.times.mean, latentdr.times.reason) == (None, ELSEWHERE)
    assert latentdr.left_out == 3


def test_a_method_without_times_has_a_reason(in_memory):
    def log(row, _, seed):
        return [] if row == "latentdr" else rows_of(SECONDS[row][seed])

    cost = cost_of(in_memory, log=log)
    assert cost.methods[1].seconds.reason == TOO_FEW
    assert cost.methods[2].times.mean is not None


def test_single_runs_have_no_interval_and_nothing_at_all_is_no_cost(in_memory):
    cost = cost_of(in_memory, seeds=(0,))
    latentdr = cost.methods[1]
    assert latentdr.times.mean == pytest.approx(1.5, rel=1e-4)
    assert (latentdr.seconds.low, latentdr.times.low) == (None, None)
    assert cost_of(in_memory, log=lambda *_: ()) is None
