"""Metrics of ordered classes by scikit-learn."""

from sklearn import metrics as sk


def quadratic_kappa(given):
    return sk.cohen_kappa_score(given.label, given.prob.argmax(1), weights="quadratic")


def mae(given):
    return sk.mean_absolute_error(given.label, given.prob.argmax(1))
