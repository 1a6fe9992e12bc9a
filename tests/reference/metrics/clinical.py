"""Average precision and MCC by scikit-learn; predictive values and errors by counting."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn import metrics as sk
from sklearn.linear_model import LogisticRegression


def auprc(given):
    if given.task == "binary":
        return sk.average_precision_score(
            given.label == given.positive, given.prob[:, given.positive]
        )
    if given.task == "multi-label":
        pairs = [(t[~np.isnan(t)], p[~np.isnan(t)]) for t, p in
                 zip(given.label.T, given.prob.T, strict=True)]  # fmt: skip
    else:
        pairs = [(given.label == k, p) for k, p in enumerate(given.prob.T)]
    return np.mean([sk.average_precision_score(*pair) for pair in pairs])


def mcc(given):
    binary = given.task == "binary"
    decided = (given.prob[:, 1] > 0.5).astype(int) if binary else given.prob.argmax(1)
    return sk.matthews_corrcoef(given.label, decided)


def cells(given):
    """True and false positives, false and true negatives, one image at a time."""
    negative = given.val_prob[given.val_label != given.positive, given.positive]
    threshold = min(t for t in negative if np.mean(negative <= t) >= given.specificity)
    found = {(a, b): 0 for a in (True, False) for b in (True, False)}
    for label, p in zip(given.label, given.prob[:, given.positive], strict=True):
        found[bool(label == given.positive), bool(p > threshold)] += 1
    return found[True, True], found[False, True], found[True, False], found[False, False]


def ppv(given):
    tp, fp, _, _ = cells(given)
    return tp / (tp + fp)


def npv(given):
    _, _, fn, tn = cells(given)
    return tn / (tn + fn)


def rates(given):
    tp, fp, fn, tn = cells(given)
    return tp / (tp + fn), tn / (tn + fp)


def lr_positive(given):
    sensitivity, specificity = rates(given)
    return sensitivity / (1 - specificity)


def lr_negative(given):
    sensitivity, specificity = rates(given)
    return (1 - sensitivity) / specificity


def population(given, called):
    """Positives and negatives among those called so, in a million people of that prevalence."""
    people, (sensitivity, specificity) = 1_000_000, rates(given)
    ill, well = people * given.prevalence, people * (1 - given.prevalence)
    if called:
        return ill * sensitivity, well * (1 - specificity)
    return ill * (1 - sensitivity), well * specificity


def ppv_at_prevalence(given):
    ill, well = population(given, called=True)
    return ill / (ill + well)


def npv_at_prevalence(given):
    ill, well = population(given, called=False)
    return well / (ill + well)


def aurc(given):
    """The mean, over images, of the error among the images at least as confident."""
    binary = given.task == "binary"
    decided = (given.prob[:, 1] > 0.5).astype(int) if binary else given.prob.argmax(1)
    confidence, wrong = given.prob[np.arange(len(decided)), decided], decided != given.label
    return np.mean([wrong[confidence >= c].mean() for c in confidence])


def one_against_rest(given):
    columns = [given.positive] if given.task == "binary" else range(given.prob.shape[1])
    for k in columns:
        if given.task == "multi-label":
            known = ~np.isnan(given.label[:, k])
            yield given.label[known, k], logit(given.prob[known, k])
        else:
            yield (given.label == k).astype(float), logit(given.prob[:, k])


def calibration_intercept(given):
    return [
        brentq(lambda a, y=y, x=x: (y - expit(a + x)).sum(), -20, 20, xtol=1e-14)
        for y, x in one_against_rest(given)
    ]


def calibration_slope(given):
    """By another optimiser, which stops at a gradient of 1e-12."""
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    return [model.fit(x[:, None], y).coef_[0, 0] for y, x in one_against_rest(given)]


def error_at_coverage(given):
    """Errors among the images that are at least as confident as the last one that is kept."""
    binary = given.task == "binary"
    decided = (given.prob[:, 1] > 0.5).astype(int) if binary else given.prob.argmax(1)
    confidence = given.prob[np.arange(len(decided)), decided]
    found = []
    for percent in (100, 90, 80, 70):
        kept = int(np.ceil(percent / 100 * len(decided) - 1e-9))
        last = np.sort(confidence)[::-1][kept - 1]
        found.append(np.mean((decided != given.label)[confidence >= last]))
    return found
