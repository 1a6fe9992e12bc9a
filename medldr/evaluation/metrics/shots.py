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

import numpy as np
from scipy.sparse import vstack

from medldr.evaluation.metrics.counts import decide
from medldr.evaluation.metrics.items import BUCKETS, Items
from medldr.evaluation.metrics.sums import Array, Sums, mean_defined, one_hot, ratio


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
