"""Accuracy on frequent and rare classes, grouped by their number of training images.

A network trained on few images of a class may never predict it, and its overall accuracy hardly
shows that. Classes are therefore grouped by their training images: many, medium and few.

Source:
    The protocol of the long-tail literature (Liu et al. 2019; the released code of Balanced
    Softmax and of BCL): more than 100 training images are many, fewer than 20 are few, and the
    rest are medium. A group's score is the unweighted mean of its classes' accuracies.
    Our choice: classes without an item in the split are left out of that mean, and a group without
    a class has no number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import vstack

from medldr.evaluation.metrics.counts import decide
from medldr.evaluation.metrics.items import Items
from medldr.evaluation.metrics.sums import Array, Sums, mean_defined, one_hot, ratio

BUCKETS = ("many", "medium", "few")
"""Names of the groups of classes, the most frequent first."""


@dataclass(frozen=True)
class Shots:
    """How frequent each class is among the training images, and where the limits lie.

    Attributes:
        counts: Training images of each class.
        many: A class with more than this is in ``many``.
        few: A class with fewer than this is in ``few``.
    """

    counts: tuple[int, ...]
    many: int = 100
    few: int = 20

    def bucket(self, count: int) -> str:
        """The group of a class with so many training images.

        Example:
            >>> [Shots(()).bucket(count) for count in (101, 100, 20, 19)]
            ['many', 'medium', 'medium', 'few']
        """
        if count > self.many:
            return "many"
        return "few" if count < self.few else "medium"

    def members(self, bucket: str) -> list[int]:
        """Numbers of the classes of a group.

        Example:
            >>> Shots((500, 60, 5)).members("medium")
            [1]
        """
        return [k for k, count in enumerate(self.counts) if self.bucket(count) == bucket]


def accuracies(items: Items) -> Sums:
    """Mean recall of the classes of each group; NaN where it has none, or none of them occurs.

    Raises:
        ValueError: If it is not known how many training images the classes have.
    """
    if items.shots is None:
        raise ValueError("the training images of each class are not known")
    shots, classes = items.shots, items.prob.shape[1]
    hit = np.where(decide(items.prob, items.task) == items.number, items.number, -1)
    per_item = vstack([one_hot(column, classes) for column in (items.number, hit)])

    def finish(sums: Array) -> dict[str, Array]:
        true, right = np.split(sums, 2)
        recall = ratio(right, true)
        return {
            f"{bucket}_shot_accuracy": mean_defined(recall[shots.members(bucket)])
            for bucket in BUCKETS
        }

    return Sums(per_item, finish)
