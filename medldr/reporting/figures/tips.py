"""Numbers of single points, shown under the pointer; imported only while a figure is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes

RADIUS = 5
"""How near the pointer must come, in points."""


class Tips(Artist):
    """Transparent circles over points of axes, each with a title that browsers show.

    They are written straight into the SVG, because no artist of matplotlib can carry a text.
    """

    def __init__(self, within: Axes, points: Sequence[tuple[float, float, str]]) -> None:
        super().__init__()
        self.within = within
        self.points = points
        self.set_in_layout(False)
        self.set_zorder(10)  # above every line, which would catch the pointer

    def draw(self, renderer: Any) -> None:
        """Write the circles at their places on the finished figure; in an SVG for a page alone."""
        if not hasattr(renderer, "writer") or rcParams["svg.fonttype"] != "none":
            return
        places = np.array([point[:2] for point in self.points], dtype=float).reshape(-1, 2)
        where = self.within.transData.transform(places)
        for (x, y), (_, _, text) in zip(where, self.points, strict=True):
            if not np.isfinite((x, y)).all():
                continue
            place = {"cx": f"{x:.1f}", "cy": f"{renderer.height - y:.1f}", "r": str(RADIUS)}
            renderer.writer.start("circle", {"class": "tip"} | place)
            renderer.writer.element("title", text)
            renderer.writer.end("circle")
