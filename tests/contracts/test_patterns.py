"""The patterns that the contract of algorithms must carry, alone and on two processes."""

import functools
import importlib.util
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric

from medldr import plugins

HERE = Path(__file__).parent


def load(name):
    """A module beside this file, once, under the name it has in the other processes."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


STANDINS, HARNESS = load("standins"), load("harness")
CASES = tuple(HARNESS.CASES)


def first_of_each():
    """Names of all cases, and whether each is the first of its plug-in or pattern."""
    plugins_seen = set()
    for name, case in HARNESS.CASES.items():
        yield name, case.name not in plugins_seen
        plugins_seen.add(case.name)


@pytest.fixture(scope="module")
def harness():
    return HARNESS


@pytest.fixture(scope="module")
def alone(harness):
    """A Fabric of one process, and its view of the processes."""
    fabric = Fabric(accelerator="cpu", devices=1)
    return fabric, harness.Processes(fabric)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """What two processes came to, by rank and case: the only spawn of this file."""
    out = tmp_path_factory.mktemp("two")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    environment = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "NODE_RANK": "0",
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")]),
    }
    logs = [out / f"log{rank}.txt" for rank in range(2)]
    children = []
    for rank, log in enumerate(logs):
        with log.open("w") as stream:
            child = subprocess.Popen(
                [sys.executable, str(HERE / "harness.py"), str(out)],
                env=environment | {"LOCAL_RANK": str(rank)},
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
        children.append(child)
    try:
        codes = [child.wait(timeout=600) for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()
    assert codes == [0, 0], "\n".join(log.read_text() for log in logs)
    return [torch.load(out / f"rank{rank}.pt") for rank in range(2)]


@pytest.fixture(scope="module")
def trained(harness, alone):
    """What one process comes to in an unbroken run, made once for each case."""
    return functools.cache(lambda name: harness.train(harness.prepare(harness.CASES[name], *alone)))


def test_every_algorithm_has_a_case(harness):
    names = {case.name for case in harness.CASES.values()}
    assert {*plugins.names("algorithms"), STANDINS.EXAMPLE} <= names
    assert len(CASES) == len(set(CASES)) > len(names)


def differing(one, other):
    assert set(one) == set(other)
    return [name for name in one if not torch.equal(one[name], other[name])]


def without_statistics(state):
    return {k: v for k, v in state.items() if "norm." not in k or "weight" in k}


def far(one, other, **tolerance):
    assert set(one) == set(other)
    return [name for name in one if not torch.allclose(one[name], other[name], **tolerance)]


@pytest.mark.parametrize(
    "name",
    [
        # Every plug-in and pattern once; its further settings are slow tests.
        pytest.param(name, marks=() if first else pytest.mark.slow)
        for name, first in first_of_each()
    ],
)
def test_resuming_equals_going_on_bit_for_bit(name, harness, alone, trained, tmp_path):
    case = harness.CASES[name]
    folder = harness.RunFolder(tmp_path)
    harness.train(harness.prepare(case, *alone), folder, save=2, stop=True)
    resumed = harness.resumed(case, *alone, folder)
    unbroken = trained(name)
    assert not differing(unbroken, resumed)
    start = harness.prepare(case, *alone).step.pair.state_dict()
    changed = differing(start, unbroken)
    assert [n for n in changed if n.startswith("model.")]


# These are one test each for all cases: workers share tests out in the middle of the list, and each
# of them would start the two processes for its half of the cases.


@pytest.mark.slow
def test_two_processes_resume_bit_for_bit(two, harness):
    wrong = {}
    for name, case in harness.CASES.items():
        for rank, results in enumerate(two):
            unbroken, resumed = results[name]["trained"], results[name]["resumed"]
            if rank and case.norm:
                # The first process's statistics are the run's: the other takes them over before
                # each pass, and only it may have begun an update with older ones of its own.
                unbroken, resumed = without_statistics(unbroken), without_statistics(resumed)
            wrong[name, rank] = differing(unbroken, resumed)
    assert len(wrong) == 2 * len(CASES)
    assert not {key: names for key, names in wrong.items() if names}


@pytest.mark.slow
def test_two_processes_hold_the_same_weights(two, harness):
    wrong = {}
    for name, case in harness.CASES.items():
        ranks = [results[name]["trained"] for results in two]
        if case.norm:  # torch shares normalisation statistics on CUDA only
            ranks = [without_statistics(r) for r in ranks]
        wrong[name] = differing(*ranks) + differing(*(each[name]["gradients"] for each in two))
    assert not {name: names for name, names in wrong.items() if names}


@pytest.mark.slow
def test_two_processes_and_one_follow_the_same_protocol(two, harness, alone, trained):
    wrong = {}
    for name, case in harness.CASES.items():
        gradient = harness.gradients(harness.prepare(case, *alone))
        apart = far(two[0][name]["gradients"], gradient, rtol=1e-4, atol=1e-6)
        # Some methods begin as ERM does, and draw or mix later.
        apart += far(two[0][name]["trained"], trained(name), rtol=1e-4, atol=1e-5)
        if case.one_equals_two:
            wrong[name] = apart
        else:
            wrong[name] = [] if apart else ["nothing differs"]
    assert not {name: names for name, names in wrong.items() if names}


def test_turns_of_two_losses_leave_the_other_side_untouched(harness, alone):
    run = harness.prepare(harness.CASES["two losses, two optimizers"], *alone)
    pair = run.step.pair
    for index, moved in ((0, "model."), (1, "algorithm.")):
        before = {k: v.clone() for k, v in pair.state_dict().items()}
        run.step.index = index
        run.algorithm.update(run.step, run.batch(0))
        changed = differing(before, pair.state_dict())
        assert changed
        assert all(name.startswith(moved) for name in changed)


def test_one_backward_pass_steps_two_optimizers(harness, alone):
    run = harness.prepare(harness.CASES["three optimizers"], *alone)
    before = {k: v.clone() for k, v in run.step.pair.state_dict().items()}
    run.step.backward(run.step.forward(run.batch(0)).loss)
    run.step.optimizer_step("features", "content")
    changed = differing(before, run.step.pair.state_dict())
    assert set(changed) == {name for name in before if name.startswith("model.")}
    assert all(p.grad is None for p in run.step.pair.parameters())


@pytest.mark.parametrize("name", ["frozen copy", "frozen copy with batch normalisation"])
def test_a_frozen_copy_stays_in_eval_mode_and_as_it_was(name, harness, alone):
    run = harness.prepare(harness.CASES[name], *alone)
    frozen = run.algorithm.frozen
    before = {k: v.clone() for k, v in frozen.state_dict().items()}
    harness.train(run)
    run.step.pair.train()
    assert run.step.pair.model.training
    assert not any(module.training for module in frozen.modules())
    assert not differing(before, frozen.state_dict())
    assert differing(before, run.step.pair.model.state_dict())


def test_an_inner_step_is_undone_before_the_outer_one(harness, alone):
    # With weights restored exactly, the outer step is one SGD step along the summed gradients.
    run = harness.prepare(harness.CASES["inner step and restore"], *alone)
    pair, batch = run.step.pair, run.batch(0)
    model = pair.model
    parts = batch.by_domain()
    loss = run.algorithm.loss
    start = {k: v.clone() for k, v in pair.state_dict().items()}
    total = {k: torch.zeros_like(p) for k, p in model.named_parameters()}
    lr = harness.TRAINING.lr
    for inner, outer in zip(parts, parts[1:] + parts[:1], strict=True):
        names = list(total)
        first = torch.autograd.grad(loss(model, inner).loss / 3, [*model.parameters()])
        with torch.no_grad():
            for p, g in zip(model.parameters(), first, strict=True):
                p.sub_(lr * g)
        second = torch.autograd.grad(loss(model, outer).loss / 3, [*model.parameters()])
        for key, a, b in zip(names, first, second, strict=True):
            total[key] += a + b
        pair.load_state_dict(start)
    run.algorithm.update(run.step, batch)
    for key, p in model.named_parameters():
        torch.testing.assert_close(p.detach(), start[f"model.{key}"] - lr * total[key])


def test_interpolation_goes_half_the_way_of_the_inner_steps(harness, alone):
    run = harness.prepare(harness.CASES["snapshot and interpolate"], *alone)
    other = harness.prepare(harness.CASES["snapshot and interpolate"], *alone)
    start = {k: v.clone() for k, v in run.step.pair.state_dict().items()}
    batch = run.batch(0)
    run.algorithm.update(run.step, batch)
    for part in batch.by_domain():
        other.step.backward(other.step.forward(part).loss)
        other.step.optimizer_step()
    end = other.step.pair.state_dict()
    for key, value in run.step.pair.state_dict().items():
        torch.testing.assert_close(value, start[key] + 0.5 * (end[key] - start[key]))


def test_a_snapshot_is_a_copy_and_whole_numbers_are_not_interpolated(harness, alone):
    run = harness.prepare(harness.CASES["frozen copy with batch normalisation"], *alone)
    snapshot = run.step.snapshot()
    assert all(value.is_floating_point() for value in snapshot.values())
    run.algorithm.update(run.step, run.batch(0))
    counter = run.step.pair.model.norm.num_batches_tracked.clone()
    assert not torch.equal(snapshot["model.head.weight"], run.step.pair.model.head.weight)
    run.step.interpolate(snapshot, 0.25)
    assert torch.equal(run.step.pair.model.norm.num_batches_tracked, counter)
    run.step.restore(snapshot)
    assert not differing(snapshot, run.step.snapshot())


@pytest.mark.slow
def test_running_weights_live_in_the_state_and_move(trained, two):
    name = "running averages in buffers"
    weights = trained(name)["algorithm.weights"]
    assert weights.sum().item() == pytest.approx(1)
    assert (weights - 1 / 3).abs().max() > 1e-4
    for results in two:
        torch.testing.assert_close(results[name]["trained"]["algorithm.weights"], weights)


def test_stacking_runs_the_encoder_once_per_step(harness, alone):
    run = harness.prepare(harness.CASES["stacking"], *alone)
    harness.train(run)
    assert run.step.pair.model.passes == harness.STEPS


def test_a_reset_optimizer_forgets_its_momentum(harness, alone):
    run = harness.prepare(harness.CASES["erm"], *alone)
    run.algorithm.update(run.step, run.batch(0))
    assert run.step.optimizers["main"].state
    run.step.reset_optimizer()
    before = {k: v.clone() for k, v in run.step.pair.state_dict().items()}
    run.step.backward(run.step.forward(run.batch(1)).loss)
    gradient = {f"model.{k}": p.grad.clone() for k, p in run.step.pair.model.named_parameters()}
    run.step.optimizer_step()
    for key, value in run.step.pair.state_dict().items():
        torch.testing.assert_close(value, before[key] - harness.TRAINING.lr * gradient[key])
