"""Answers to groups (patients, slides): one for all images of each, as the run scored its groups.

Source:
    Our choice: what a run's evaluation recorded decides, `evaluation.aggregate` and the threshold
    from validation groups. Of an ensemble, the probabilities of each image are averaged first, and
    the threshold is the mean of those of its runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from medldr.errors import InputError
from medldr.evaluation.aggregate import grouped
from medldr.folders.evaluation_parts import GroupScoring, OperatingPoint
from medldr.folders.evaluation_record import read_evaluation
from medldr.folders.files import RunFolder
from medldr.prediction.answers import Answers, mean_threshold
from medldr.types import Predictions

if TYPE_CHECKING:
    from medldr.prediction.items import Item


def group_rule(folders: Sequence[Path]) -> GroupScoring:
    """How runs scored their groups, with the mean of their thresholds.

    Raises:
        InputError: If one did not, or they did so in different ways.
    """
    made = [read_evaluation(RunFolder(folder)).by_group for folder in folders]
    ways = ["none" if how is None else how.aggregate for how in made]
    if "none" in ways or len(set(ways)) > 1:
        each = ", ".join(f"{way} in {folder}" for folder, way in zip(folders, ways, strict=True))
        raise InputError(
            f"--group: evaluation.aggregate is {each}. Set it to the same (mean, max or share) in "
            "the config.yaml of each run, and run `medldr evaluate` on it"
        )
    known = [how for how in made if how is not None]
    runs = [{"": how.operating_point, **how.operating_points} for how in known]
    points = dict[str, OperatingPoint]()
    for name, point in runs[0].items():
        each_own = [run.get(name) for run in runs]
        mean = mean_threshold(None if of is None else of.threshold for of in each_own)
        if point is not None and mean is not None:
            points[name] = point.model_copy(update={"threshold": mean})
    of_all = points.pop("", None)
    return GroupScoring(aggregate=ways[0], operating_point=of_all, operating_points=points)


def by_group(answers: Answers, items: Sequence[Item], how: GroupScoring) -> Answers:
    """The answer to each group; an item without one is a group of its own.

    Args:
        answers: To the items.
        items: All items, also those that could not be read, which their groups say.
        how: From `group_rule`.
    """
    names, groups = np.array(answers.names, np.str_), np.array(answers.groups, np.str_)
    kinds, positive = answers.class_names, answers.positive_class
    nothing = np.full(len(names), "", np.str_)
    table = Predictions(
        answers.task, kinds, names, nothing, nothing, groups, np.zeros(len(names)), answers.prob,
        log_odds=answers.log_odds,
    )  # fmt: skip
    column = 1 if positive is None else kinds.index(positive)
    found = grouped(table, how.aggregate, column, answers.threshold)
    owners = np.where(groups != "", groups, names).tolist()
    read, given = Counter(owners), Counter(item.group or item.name for item in items)
    odd = Counter(o for o, said in zip(owners, answers.warnings, strict=True) if said)
    point, ids = how.operating_point, found.id.tolist()
    notes = [f"a group's answer is of its images by evaluation.aggregate: {how.aggregate}"]
    if point is not None:
        notes.append(
            f"predicted: {positive} above {point.threshold:.3g}, chosen on "
            f"the groups of {point.split} for a specificity of {point.specificity}"
        )
    return replace(
        answers,
        names=tuple(ids),
        prob=found.prob,
        log_odds=found.ranks_by,  # a share has none and ranks as it is
        spread=None,
        threshold=None if point is None else point.threshold,
        thresholds={n: of.threshold or 0.0 for n, of in how.operating_points.items()},
        warnings=tuple(_warnings(read[of], given[of], odd[of]) for of in ids),
        unreadable=(),
        notes=(*notes, f"computed in {answers.precision}"),
        groups=(),
        images=tuple(read[of] for of in ids),
    )


def _warnings(read: int, given: int, odd: int) -> tuple[str, ...]:
    lost = f"{given - read} of {given} images could not be read" if read < given else ""
    return tuple(filter(None, [lost, f"{odd} of {read} images have warnings" if odd else ""]))
