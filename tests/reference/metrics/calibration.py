"""Calibration error bin by bin in a loop; log loss and Brier score by scikit-learn."""

import numpy as np
from sklearn import metrics as sk


def error(confidence, outcome, bins):
    total = 0.0
    for b in range(bins):
        low, high = b / bins, (b + 1) / bins
        inside = (confidence > low) & (confidence <= high) | ((b == 0) & (confidence == 0))
        if inside.any():
            total += inside.mean() * abs(confidence[inside].mean() - outcome[inside].mean())
    return total


def over_labels(function, given):
    pairs = zip(given.label.T, given.prob.T, strict=True)
    known = [(truth[~np.isnan(truth)], prob[~np.isnan(truth)]) for truth, prob in pairs]
    return np.mean([function(truth, prob) for truth, prob in known])


def ece(given):
    if given.task == "multi-label":
        return over_labels(lambda truth, prob: error(prob, truth, given.bins), given)
    return error(given.prob.max(1), given.prob.argmax(1) == given.label, given.bins)


def ece_positive(given):
    return error(given.prob[:, given.positive], given.label == given.positive, given.bins)


def brier(given):
    if given.task == "multi-label":
        return over_labels(sk.brier_score_loss, given)
    return sk.brier_score_loss(given.label, given.prob, labels=range(given.prob.shape[1]))


def nll(given):
    if given.task == "multi-label":
        return over_labels(sk.log_loss, given)
    return sk.log_loss(given.label, given.prob, labels=range(given.prob.shape[1]))


def loss(given):
    return nll(given)
