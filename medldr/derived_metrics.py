"""Metrics that no function of `medldr.evaluation.metrics` computes: the last rows of the table.

They come of other metrics, over domains, groups or shares of the images, or of training itself.
"""

from __future__ import annotations

from math import inf
from typing import Final

from medldr.metric import Metric

DERIVED: Final = (
    Metric(
        "error_at_coverage", "Error", "Share of the decided images classified incorrectly.",
        percent=True, better="lower", share="items", levels=(), aliases=("error",),
        tasks=("multi-class", "binary", "ordinal"),
        definition="errors among the most confident items, by their share",
    ),
    Metric(
        "worst_domain", "Worst domain accuracy",
        "Accuracy in the domain (hospital, scanner) where it is lowest.",
        percent=True, levels=(), definition="lowest accuracy of any domain",
        aliases=("worst_domain_accuracy",),
    ),
    Metric(
        "worst_group", "Worst group accuracy",
        "Accuracy in the group (slide, patient) where it is lowest. The lowest of many is low by "
        "chance alone and has no interval; look at the groups and their intervals.",
        percent=True, levels=(), aliases=("worst_group_accuracy",),
        definition="lowest accuracy of any group (slide, patient) that has items",
    ),
    Metric(
        "loss", "Loss", "The quantity that training minimises.", better="lower", levels=(),
        selects=True, range=(0.0, inf),
    ),
    Metric(
        "domain_accuracy", "Mean domain accuracy", "Unweighted mean of the domains' accuracies.",
        percent=True, levels=(), selects=True, over_domains=True,
    ),
    Metric(
        "domain_loss", "Mean domain loss", "Unweighted mean of the domains' losses.",
        better="lower", levels=(), selects=True, over_domains=True, range=(0.0, inf),
    ),
)  # fmt: skip
"""In the order of a page, after those of `medldr.metrics`."""
