"""Sensitivity and specificity at a threshold that is found by trying every one."""

import numpy as np


def threshold(given):
    negative = given.val_prob[given.val_label != given.positive, given.positive]
    tried = [t for t in np.unique(negative) if (negative <= t).mean() >= given.specificity]
    return min(tried)


def called(given):
    return given.prob[:, given.positive] > threshold(given)


def sensitivity_at_specificity(given):
    return called(given)[given.label == given.positive].mean()


def specificity_at_threshold(given):
    return 1 - called(given)[given.label != given.positive].mean()
