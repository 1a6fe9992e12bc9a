"""The stage `tau_norm`: class weights of a linear classifier, divided by a power of their length.

Source:
    See `medldr.config.training_options.TauNorm`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from medldr.config import RunConfig
from medldr.config.training_options import SWAD, TauNorm
from medldr.data import Data
from medldr.errors import InputError
from medldr.folders.files import RunFolder, load_tensors, save_tensors
from medldr.folders.run_record import Selection
from medldr.models.base import FeatureModel
from medldr.training.fit_result import Before, FitResult
from medldr.training.machine.processes import Processes
from medldr.training.state.checkpoint import twin
from medldr.training.state.history import History
from medldr.training.validation import Validation
from medldr.training.weights.selection import Rule, parse_rules

if TYPE_CHECKING:
    from lightning_fabric import Fabric

GRID = tuple(step / 10 for step in range(11))
"""What is tried where tau is to be chosen, the weights as they are first."""


def normalised(weight: Tensor, tau: float) -> Tensor:
    """Rows divided by their length to the power of ``tau``; a row of zeros stays one.

    Args:
        weight: ``(K, D)``.
        tau: 0 leaves the rows as they are, 1 makes all of them of length 1.

    Example:
        >>> normalised(torch.tensor([[3.0, 4.0], [0.0, 2.0]]), 1.0)
        tensor([[0.6000, 0.8000],
                [0.0000, 1.0000]])
    """
    length = weight.norm(dim=1, keepdim=True)
    return weight / torch.where(length > 0, length, torch.ones_like(length)) ** tau


def check(config: RunConfig, stage: TauNorm, model: FeatureModel) -> None:
    """Refuse a stage that would do nothing, or could not choose.

    Args:
        config: The whole run's.
        stage: The stage.
        model: The network.

    Raises:
        InputError: Naming the key and the cure.
    """
    if not isinstance(model.head, nn.Linear):
        raise InputError(
            "training.stages: tau_norm needs a linear classifier. Set model.head: linear, or leave "
            "the stage out"
        )
    averaging = config.training.averaging
    averaged = [SWAD] if averaging is not None and averaging.name == SWAD else []
    blind = [rule for rule in (*config.training.select, *averaged) if rule in ("last", SWAD)]
    if stage.tau is None and blind:
        raise InputError(
            f"training.stages: tau_norm chooses tau by the selection rule, but {blind[0]!r} "
            "compares nothing. Set tau, such as {name: tau_norm, tau: 1.0}, or select by "
            "val_accuracy alone"
        )


def apply(
    config: RunConfig,
    stage: TauNorm,
    data: Data,
    model: FeatureModel,
    earlier: RunFolder,
    folder: RunFolder,
    fabric: Fabric,
    fitted: FitResult,
    before: Before,
) -> FitResult:
    """Normalise the classifier of each rule's weights, and publish the result.

    Args:
        config: The whole run's.
        stage: The stage.
        data: Its images, split.
        model: The network; left with the reported rule's new weights.
        earlier: Folder of the stage before, which holds the weights.
        folder: Gets `metrics.jsonl`, `selected/` and `model.safetensors`.
        fabric: Gives precision, device and processes.
        fitted: What the stage before chose.
        before: What came before, to which one row with the new scores is added.
    """
    processes = Processes(fabric)
    splits = {split for split, rows in {**data.rows, **data.parts}.items() if len(rows)}
    rules = parse_rules(
        list(fitted.selections),
        splits,
        task=data.spec.task,
        oracle=config.evaluation.oracle,
        averaging=SWAD if SWAD in fitted.selections else None,
    )
    validation = Validation(config, data, rules, splits, fabric, processes)
    model.to(fabric.device)
    taus = GRID if stage.tau is None else (stage.tau,)
    chosen, notes = dict[str, Selection](), []
    for rule in reversed(rules):  # the reported one last, so that the network keeps its weights
        model.load_state_dict(load_tensors(earlier.selected(rule.name)))
        tau, scores = _best(model, taus, rule, validation)
        old = fitted.selections[rule.name]
        value = scores.get(rule.column) if rule.column else old.value
        chosen[rule.name] = old.model_copy(update={"value": value})
        notes.append(f"tau_norm: the classifier that {rule.name} chose has tau {tau:g}")
        if processes.first:
            save_tensors(folder.selected(rule.name), model.state_dict())
    history = History(folder.metrics, writes=processes.first)
    reported = rules[0].name
    history.rows = [dict(row) for row in before.rows]
    history.rewrite()
    place = {"epoch": chosen[reported].epoch, "step": chosen[reported].step}
    history.append({**place, "stage": before.stage, "time_s": before.seconds, **scores})
    if processes.first:
        twin(folder.selected(reported), folder.model)
    processes.wait()
    return FitResult(
        selections={rule.name: chosen[rule.name] for rule in rules},
        history=history.rows,
        steps=0,
        epochs=0,
        stopped_early=False,
        facts={},
        notes=tuple(reversed(notes)),
    )


def _best(
    model: FeatureModel, taus: Sequence[float], rule: Rule, validation: Validation
) -> tuple[float, dict[str, Any]]:
    """Normalise by the value of tau that a rule prefers, of equal ones the first.

    Returns:
        That value, and the metrics there by column.
    """
    assert isinstance(model.head, nn.Linear)  # `check` has refused any other
    weight = model.head.weight.detach().clone()
    best: tuple[float, dict[str, Any]] | None = None
    for tau in taus:
        _normalise(model.head, weight, tau)
        scores = validation.scores(model)
        if best is None or rule.better(scores.get(rule.column), best[1].get(rule.column)):
            best = tau, scores
    assert best is not None
    _normalise(model.head, weight, best[0])
    return best


@torch.no_grad()
def _normalise(head: nn.Linear, weight: Tensor, tau: float) -> None:
    """Set the classifier's weights, without a bias."""
    head.weight.copy_(normalised(weight, tau))
    if head.bias is not None:
        head.bias.zero_()
