"""Metrics of decisions by scikit-learn, label by label where an image has several."""

import numpy as np
from sklearn import metrics as sk


def decided(given):
    if given.task == "binary":
        return (given.prob[:, 1] > 0.5).astype(int)
    return given.prob.argmax(1)


def labels_of(given):
    """(truth, decision) of each label, without the missing ones."""
    for truth, prob in zip(given.label.T, given.prob.T, strict=True):
        known = ~np.isnan(truth)
        yield truth[known].astype(int), (prob[known] > 0.5).astype(int)


def over_labels(function, given, **options):
    if given.task == "multi-label":
        return np.mean([function(*pair) for pair in labels_of(given)])
    return function(given.label, decided(given), **options)


def accuracy(given):
    return over_labels(sk.accuracy_score, given)


def balanced_accuracy(given):
    return over_labels(sk.balanced_accuracy_score, given)


def macro_f1(given):
    if given.task == "multi-label":
        return over_labels(sk.f1_score, given)
    return sk.f1_score(given.label, decided(given), average="macro")


def exact_match(given):
    rows = zip(given.label, given.prob > 0.5, strict=True)
    known = [(truth[~np.isnan(truth)], said[~np.isnan(truth)]) for truth, said in rows]
    return np.mean([np.array_equal(truth, said) for truth, said in known if len(truth)])


def sensitivity(given):
    return sk.recall_score(given.label, decided(given), pos_label=given.positive)


def specificity(given):
    return sk.recall_score(given.label, decided(given), pos_label=1 - given.positive)


def of_classes(function, given):
    if given.task == "multi-label":
        return [function(*pair) for pair in labels_of(given)]
    return function(given.label, decided(given), average=None)


def recall(given):
    return of_classes(sk.recall_score, given)


def precision(given):
    return of_classes(sk.precision_score, given)


def f1(given):
    return of_classes(sk.f1_score, given)
