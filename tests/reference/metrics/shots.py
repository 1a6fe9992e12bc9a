"""Accuracy on frequent and rare classes: recall by scikit-learn, then a plain mean."""

import numpy as np
from sklearn import metrics as sk


def mean_recall(given, belongs):
    recall = sk.recall_score(given.label, given.prob.argmax(1), average=None)
    return np.mean([r for r, n in zip(recall, given.trained_on, strict=True) if belongs(n)])


def many_shot_accuracy(given):
    return mean_recall(given, lambda n: n > given.shots[0])


def medium_shot_accuracy(given):
    return mean_recall(given, lambda n: given.shots[1] <= n <= given.shots[0])


def few_shot_accuracy(given):
    return mean_recall(given, lambda n: n < given.shots[1])
