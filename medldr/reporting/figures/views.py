"""How the latents z, z_d and z_r look in every figure, as in the paper's."""

from __future__ import annotations

from typing import Any, Final

from medldr.folders.latents_record import DEGRADED, ORIGINAL, RESTORED
from medldr.reporting.figures.drawing import BLUE, GREEN, RED

VIEW_TITLES: Final = {ORIGINAL: "original", DEGRADED: "degraded", RESTORED: "restored"}
VIEW_LOOKS: Final[dict[str, dict[str, Any]]] = {
    ORIGINAL: {"color": RED, "marker": "*"},
    DEGRADED: {"color": BLUE, "marker": "x"},
    RESTORED: {"color": GREEN, "marker": "v"},
}
"""Colour and marker of each: a red star, a blue cross and a green triangle."""
