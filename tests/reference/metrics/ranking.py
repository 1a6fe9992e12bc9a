"""Area under the ROC curve by comparing every positive with every negative."""

import numpy as np


def area(truth, score):
    positive, negative = score[truth == 1], score[truth == 0]
    above = positive[:, None] > negative[None, :]
    level = positive[:, None] == negative[None, :]
    return (above + level / 2).mean()


def auc(given):
    if given.task == "multi-label":
        columns = [
            area(truth[~np.isnan(truth)], score[~np.isnan(truth)])
            for truth, score in zip(given.label.T, given.prob.T, strict=True)
        ]
    else:
        columns = [area(given.label == k, score) for k, score in enumerate(given.prob.T)]
    return columns[-1] if given.task == "binary" else np.mean(columns)
