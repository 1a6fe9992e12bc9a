"""Recalibration of predicted probabilities by one number, fitted on the validation split.

Temperature scaling divides the logits of every image by the same temperature. Softmax ignores a
constant that is added to all logits of an image, so the logarithms of the probabilities serve as
logits, and the predictions are all that is needed: ``p_T`` is proportional to ``p ** (1 / T)``;
with several labels per image, the logit of each probability is divided by ``T``. Log-odds are taken
where they are known, because a probability that is rounded to 1 has lost its logit. The temperature
minimises the log loss (NLL) of the validation split as `evaluation.json` reports it, which is
convex in ``1 / T``.

The order of the classes of an image does not change, so every decision stays the same, nor does the
order of the images of a binary task.

A temperature is used only where the validation split determines it. There is none without a
validation split, with outputs that are not finite, with labels that are all one class, or where the
loss has no minimum between `LOWEST` and `HIGHEST`: it falls without end towards zero where every
validation image is classified correctly, which would turn all probabilities into 0 and 1, and
towards infinity where the probabilities say nothing about the labels. Below `FEWEST` validation
units there is one only if `evaluation.temperature_forced` asks for it.

Source:
    Guo et al. 2017. Our choice: the bounds, `FEWEST`, and to leave probabilities as they are there;
    the interval, which is made of the bootstrap draws in which the validation split is scored
    (groups where there are any): the temperature of each draw, on the log scale, as percentiles, or
    as Student's t over groups. A draw without a minimum between the bounds counts at its bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit  # scipy.stats takes a second to load

from medldr.evaluation.intervals import bootstrap
from medldr.evaluation.intervals.single_run import Sample, number
from medldr.evaluation.metrics import score as metrics
from medldr.evaluation.metrics.calibration import SMALLEST
from medldr.evaluation.metrics.items import Items
from medldr.evaluation.metrics.sums import Array, Sums, ratio, rows
from medldr.evaluation.predictions.log_odds import log_odds
from medldr.evaluation.split_scores import positive_class
from medldr.folders.evaluation_parts import Recalibration, Worsened
from medldr.metric import Metric
from medldr.metrics import METRICS
from medldr.types import Predictions, Task

if TYPE_CHECKING:
    from medldr.config import EvaluationConfig

LOWEST: Final = 0.1
HIGHEST: Final = 100.0
VALIDATION: Final = ("val", "id_val")
"""Splits that a temperature may come from, the first one that was predicted."""
FEWEST: Final = 50
"""Validation images (groups, where there are any) that a temperature needs."""
NOTICED: Final = 0.001
"""A metric that rises by less than three decimals show is not called worse."""
_STEPS: Final = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Distances from the fitted temperature, on the log scale, at which draws are evaluated."""
_LOG: Final = Metric("log", "Log temperature", "", range=(np.log(LOWEST), np.log(HIGHEST)))


def recalibrated(
    tables: Mapping[str, Predictions], config: EvaluationConfig
) -> tuple[dict[str, Predictions], Recalibration | None]:
    """The predictions of one set of weights as they are to be scored and written.

    Args:
        tables: One table per split.
        config: Whether to recalibrate.

    Returns:
        The tables, unchanged where there is no temperature, and how they were made; None where no
        recalibration was asked for.
    """
    if config.recalibrate == "none":
        return dict(tables), None
    made = find(tables, config)
    if made.temperature is None:
        return dict(tables), made
    return {split: tempered(t, made.temperature) for split, t in tables.items()}, made


def find(tables: Mapping[str, Predictions], config: EvaluationConfig) -> Recalibration:
    """The temperature of some predictions, and how well their validation split determines it.

    Args:
        tables: One table per split.
        config: Draws and their seed, and whether few units may do.
    """
    split = next((name for name in VALIDATION if name in tables and len(tables[name])), None)
    if split is None:
        return Recalibration(method="temperature", reason="no validation split was scored")
    table, units = tables[split], bootstrap.units(tables[split])
    groups = units.count if units.grouped else None
    made = Recalibration(method="temperature", split=split, n=len(table), n_groups=groups)
    if units.count < FEWEST and not config.temperature_forced:
        reason = (
            f"{split} has {made.size}, fewer than the {FEWEST} {units.kind}s that determine a "
            "temperature (evaluation.temperature_forced=true fits one all the same)"
        )
        return made.model_copy(update={"reason": reason})
    found = temperature(table.label, table.prob, table.task, table.log_odds)
    if isinstance(found, str):
        return made.model_copy(update={"reason": f"{split} gives no temperature: {found}"})
    sums = _around(found, table).by_group(units.number, units.count)
    stream = bootstrap.stream(config.bootstrap_seed, split)
    drawn = bootstrap.resample([("", sums)], units, draws=config.draws, generator=stream)
    sample = Sample(units.count, units.grouped, 0)
    of = number(_LOG, np.log(found), drawn["log"], sample, None)
    ends = {end: None if of[end] is None else float(np.exp(of[end])) for end in ("low", "high")}
    return made.model_copy(update={"temperature": found, "reason": of["reason"], **ends})


def _around(temperature: float, table: Predictions) -> Sums:
    """The log of the temperature with the lowest loss, of any draw of the items.

    The slope of the loss is known at some temperatures and interpolated between them; with several
    labels it is the mean over labels, whose known items vary from draw to draw.
    """
    middle, steps = -np.log(temperature), np.array(_STEPS)
    inner = np.concatenate([middle - steps, [middle], middle + steps])
    ends = -np.log([HIGHEST, LOWEST])
    grid = np.unique(np.clip(np.concatenate([ends, inner]), *ends))  # log of 1 / T
    given = _logits(table.prob, table.task, table.log_odds)
    logits, truth, weight = _entries(table.label, given, table.task)
    several = table.task == "multi-label"
    known = (weight > 0).astype(np.float64).T if several else np.ones((1, len(truth)))
    slopes = []
    for inverse in np.exp(grid):
        each = (_probabilities(inverse * logits, table.task) - truth) * logits
        slopes.append(each.T * known if several else each.sum(axis=1)[None])

    def finish(sums: Array) -> dict[str, Array]:
        parts = sums.reshape(len(grid) + 1, len(known), -1)
        slope = np.nan_to_num(ratio(parts[1:], parts[:1])).sum(axis=1)
        above = np.clip((slope <= 0).sum(axis=0), 1, len(grid) - 1)  # the slope rises along it
        draw = np.arange(slope.shape[1])
        low, high = slope[above - 1, draw], slope[above, draw]
        share = np.clip(np.nan_to_num(ratio(-low, high - low)), 0, 1)
        return {"log": -(grid[above - 1] + share * (grid[above] - grid[above - 1]))}

    return Sums(rows(np.concatenate([known, *slopes])), finish)


def temperature(
    label: NDArray[np.int64] | Array, prob: Array, task: Task, odds: Array | None = None
) -> float | str:
    """The temperature with the lowest log loss.

    Args:
        label: ``(N,)`` class numbers, or multi-label ``(N, L)`` of 0, 1 and NaN (left out).
        prob: ``(N, K)`` probabilities. One of zero counts as the smallest normal float64, as in the
            log loss; so does one minus a probability of one, for several labels.
        task: Kind of labels.
        odds: ``(N, K)`` their log-odds, which are taken in their place where they are known.

    Returns:
        The temperature, or why there is none.

    Example:
        >>> sure = np.array([[0.9, 0.1]] * 10)
        >>> right = np.array([0] * 7 + [1] * 3)  # 90% sure, 70% right
        >>> round(temperature(right, sure, "binary"), 4)  # the ratio of the two logits
        2.5932
    """
    from scipy.optimize import brentq

    why = metrics.unusable(label, prob)
    if why is not None:
        return why
    logits, truth, weight = _entries(label, _logits(prob, task, odds), task)
    if not any(len(np.unique(truth[weight[:, k] > 0, k])) > 1 for k in range(truth.shape[1])):
        return "its labels are all one class"

    def slope(inverse: float) -> float:
        """Derivative of the log loss by 1 / T, which increases with it."""
        guess = _probabilities(inverse * logits, task)
        return float((weight * (guess - truth) * logits).sum())

    ends = 1 / HIGHEST, 1 / LOWEST
    if slope(ends[1]) <= 0:
        return "its images are classified so well that the loss falls towards temperature 0"
    if slope(ends[0]) >= 0:
        return "its probabilities say nothing about its labels"
    return float(1 / brentq(slope, *ends, xtol=1e-14, rtol=1e-14))


def tempered(table: Predictions, temperature: float) -> Predictions:
    """A table at another temperature: its probabilities, and their log-odds where it has them.

    Args:
        table: Of one split; what is not finite stays so.
        temperature: Above 1 to make them less certain, below 1 to make them more so.

    Example:
        >>> from medldr.evaluation.predictions.table import predictions_of
        >>> tempered(predictions_of("binary", [0], [[0.8, 0.2]]), 2.0).prob.round(4).tolist()
        [[0.6667, 0.3333]]
    """
    logits = _logits(table.prob, table.task, table.log_odds) / temperature
    odds = None if table.log_odds is None else log_odds(logits, table.task)
    return replace(table, prob=_probabilities(logits, table.task), log_odds=odds)


def before(
    tables: Mapping[str, Predictions], config: EvaluationConfig
) -> dict[str, dict[str, float | None]]:
    """Every calibration metric of each scored split, of probabilities as the network gave them.

    Args:
        tables: One table per split.
        config: Which splits, bins and positive class.

    Returns:
        By split and metric; None where a metric is undefined, nothing for a split without any.
    """
    names = [m.name for m in METRICS.values() if m.calibration and "split" in m.levels]
    found: dict[str, dict[str, float | None]] = {}
    for split in (split for split in config.splits if split in tables):
        measured = _measured(tables[split], config)
        each = {name: measured[name] for name in names if name in measured}
        if measured:
            found[split] = {name: None if np.isnan(of) else of for name, of in each.items()}
    return found


def worsened(
    made: Recalibration, tables: Mapping[str, Predictions], config: EvaluationConfig
) -> tuple[Worsened, ...]:
    """Where a temperature raised NLL or ECE: each domain of the tested splits.

    Args:
        made: The recalibration.
        tables: One table per split, as the network gave them.
        config: Which splits and bins.
    """
    found: list[Worsened] = []
    for split in config.splits:
        table = tables.get(split)
        if table is None or split in VALIDATION or made.temperature is None:
            continue
        for domain in np.unique(table.domain).tolist():
            part = table.select(table.domain == domain)
            old, new = (_measured(of, config) for of in (part, tempered(part, made.temperature)))
            for name in (key for key in ("nll", "ece") if old and new[key] - old[key] >= NOTICED):
                place = {"split": split, "domain": domain, "metric": name}
                found.append(Worsened(**place, before=old[name], after=new[name]))
    return tuple(found)


def _measured(table: Predictions, config: EvaluationConfig) -> dict[str, float]:
    """Every metric of a table; empty where nothing can be measured."""
    if metrics.unusable(table.label, table.prob):
        return {}
    positive = positive_class(table, config.positive_class)
    items = Items(table.label, table.prob, table.task, config.bins, positive)
    return metrics.values(metrics.measures(items))


def written(
    made: Recalibration, tables: Mapping[str, Predictions], config: EvaluationConfig
) -> dict[str, Any]:
    """What `evaluation.json` says about a recalibration.

    Args:
        made: The recalibration.
        tables: One table per split, as the network gave them.
        config: What is scored.
    """
    harm = [each.model_dump() for each in worsened(made, tables, config)]
    return {**made.model_dump(), "before": before(tables, config), "worsened": harm}


def _entries(
    label: NDArray[np.int64] | Array, logits: Array, task: Task
) -> tuple[Array, Array, Array]:
    """Logits, truth and weight of every probability, ``(N, K)`` each.

    The weights make the sum over entries the log loss: the mean over items; with several labels,
    the mean over labels of each label's mean over its known items.
    """
    if task != "multi-label":
        truth = np.zeros_like(logits)
        truth[np.arange(len(truth)), label.astype(np.int64)] = 1
        return logits, truth, np.full_like(logits, 1 / len(logits))
    known = ~np.isnan(label)
    counts = known.sum(axis=0)
    weight = np.where(known, 1 / np.maximum(counts, 1), 0.0) / np.count_nonzero(counts)
    return logits, np.where(known, label, 0.0), weight


def _logits(prob: Array, task: Task, odds: Array | None) -> Array:
    """Numbers that `_probabilities` turns into these probabilities."""
    if odds is not None:
        return odds if task == "multi-label" else np.asarray(log_expit(odds))
    log = np.log(np.maximum(prob, SMALLEST))
    if task != "multi-label":
        return log
    out: Array = log - np.log(np.maximum(1 - prob, SMALLEST))
    return out


def _probabilities(logits: Array, task: Task) -> Array:
    from scipy.special import expit, softmax

    out: Array = expit(logits) if task == "multi-label" else softmax(logits, axis=1)
    return out
