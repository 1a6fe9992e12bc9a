"""Which images linear probes see, and in which order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from medldr.evaluation.representation.options import Options
from medldr.folders.latents_record import Latents


def not_trained_on(latents: Latents) -> Latents:
    """The images that training has not used; all, where these lack a class or a domain of them.

    A network may know its training images by heart, and then tells them better than new ones.
    """
    new = latents.split != "train"
    for column in (latents.label, latents.domain):
        for name in np.unique(column) if column.ndim == 1 else ():
            if len(np.unique(latents.units[new & (column == name)])) < 2:
                return latents
    return latents.select(new)


def in_order(latents: Latents) -> Latents:
    """By rows of the dataset's table, with groups numbered in that order.

    Runs that hold out other domains keep the same images in another order; they can be compared
    only if the same images are drawn, dealt into folds and drawn again for intervals.
    """
    latents = latents.select(np.argsort(latents.row, kind="stable"))
    known, place, number = np.unique(latents.group, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(place[known >= 0]))
    return replace(latents, group=np.concatenate([np.full((known < 0).sum(), -1), rank])[number])


def sampled(latents: Latents, options: Options) -> Latents:
    """At most ``options.items`` rows, evenly from every class in every domain."""
    if len(latents) <= options.items:
        return latents
    order = np.random.default_rng(options.seed).permutation(len(latents))
    labels = np.zeros(len(order)) if latents.spec.multi_label else latents.label[order]
    order = order[np.lexsort((labels, latents.domain[order]))]
    places = np.arange(options.items) * len(order) // options.items
    return latents.select(np.sort(order[places]))
