"""Accuracy and loss of the parts of a split, image by image: the mean over them, and the worst."""

import numpy as np


def right(given, row):
    """Decisions of an image: one for each label that is known, or the one of its class."""
    truth, prob = given.label[row], given.prob[row]
    if given.task == "multi-label":
        return [(k, t == (p > 0.5)) for k, (t, p) in enumerate(zip(truth, prob, strict=True))
                if t == t]  # fmt: skip
    return [(0, truth == prob.argmax())]


def losses(given, row):
    truth, prob = given.label[row], given.prob[row]
    if given.task == "multi-label":
        return [(k, -np.log(p if t else 1 - p)) for k, (t, p) in
                enumerate(zip(truth, prob, strict=True)) if t == t]  # fmt: skip
    return [(0, -np.log(prob[truth]))]


def pooled(parts, given, values):
    """One mean per part over all that is known in it."""
    rows = [np.flatnonzero(parts == part) for part in np.unique(parts)]
    return [np.mean([v for row in some for _, v in values(given, row)]) for some in rows]


def mean_of(parts, given, values):
    """One mean per part, labels counting alike within each."""
    found = []
    for part in np.unique(parts):
        by_label = {}
        for row in np.flatnonzero(parts == part):
            for label, value in values(given, row):
                by_label.setdefault(label, []).append(value)
        found.append(np.mean([np.mean(each) for each in by_label.values()]))
    return found


def worst_domain(given):
    return min(mean_of(given.domain, given, right))


def worst_group(given):
    return min(pooled(given.group, given, right))


def domain_accuracy(given):
    return np.mean(mean_of(given.domain, given, right))


def domain_loss(given):
    return np.mean(mean_of(given.domain, given, losses))
