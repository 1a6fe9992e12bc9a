"""Simulated hospitals: how tissue becomes colours.

`HOSPITALS` is the whole truth about the domains of the histology phantom: they share anatomy,
tumours and label balance, and differ in these numbers only. Each hospital has dyes of its own
colour, a staining strength, a white point, stray light, optics, a tone curve, noise and rounding of
its colours. Three train; `hospital_2`, the one to test on, stains darker, its eosin is bluish and
its glass is pink; `hospital_1` is intermediate between it and the three.

Stain jitter scales and shifts the coordinates of an image in one fixed basis of stain colours.
The hospitals are not made by that formula: their dyes have different colours, which scaling in a
fixed basis does not turn into each other, and stray light, white point, tone curve and rounding act
behind the dyes. Otherwise a comparison of methods with and without it would be circular.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from medldr.datasets._phantoms.tissue import FIELD_UM, Map, Scene

Colour = tuple[float, float, float]
"""Red, green, blue."""


@dataclass(frozen=True)
class Hospital:
    """One hospital's laboratory and scanner.

    Attributes:
        name: Name of the domain.
        haematoxylin: Colour of the dye: its optical density in red, green and blue; the length of
            this vector does not matter.
        eosin: The same of the other dye.
        strengths: Optical density (natural logarithm, length over the colours) of haematoxylin and
            eosin where the tissue binds 1.
        white: What the scanner makes of bare glass, part of full scale.
        glare: Stray light, relative to the light through bare glass.
        blur: Optics: Gaussian sigma, um.
        gamma: Exponent of the tone curve, before the white point.
        noise: Standard deviation of the noise, grey levels.
        chroma: Step to which differences of colour are rounded, grey levels; 0 for none.
    """

    name: str
    haematoxylin: Colour
    eosin: Colour
    strengths: tuple[float, float]
    white: Colour
    glare: float
    blur: float
    gamma: float
    noise: float
    chroma: int


# fmt: off
HOSPITALS: Final = (
    #                      haematoxylin     eosin            strengths
    Hospital("hospital_0", (.58, .76, .30), (.10, .96, .26), (1.8, 0.75),
             white=(.96, .95, .96), glare=.03, blur=1.0, gamma=1.00, noise=3.0, chroma=0),
    Hospital("hospital_1", (.64, .70, .29), (.14, .95, .27), (1.9, 0.82),
             white=(.95, .93, .95), glare=.04, blur=1.1, gamma=1.00, noise=3.5, chroma=4),
    Hospital("hospital_2", (.69, .66, .27), (.20, .93, .29), (2.0, 0.92),
             white=(.95, .91, .95), glare=.05, blur=1.1, gamma=1.03, noise=3.0, chroma=4),
    Hospital("hospital_3", (.63, .70, .34), (.06, .97, .23), (1.6, 0.90),
             white=(.94, .94, .92), glare=.02, blur=1.3, gamma=0.95, noise=4.0, chroma=2),
    Hospital("hospital_4", (.55, .77, .33), (.15, .93, .34), (2.0, 0.70),
             white=(.97, .96, .95), glare=.04, blur=0.8, gamma=1.05, noise=2.5, chroma=4),
)
# fmt: on


@dataclass(frozen=True)
class Slide:
    """A hospital's process on one day: what all tiles of a slide have in common.

    Attributes:
        hospital: The hospital.
        dyes: ``(2, 3)`` optical density of haematoxylin and eosin where the tissue binds 1.
        white: ``(3,)`` what the scanner makes of bare glass.
    """

    hospital: Hospital
    dyes: Map
    white: Map

    @staticmethod
    def draw(hospital: Hospital, rng: np.random.Generator) -> Slide:
        """Draw a slide: dyes vary by about 10% in strength and 2% in colour, white by 1%."""
        colours = np.array([hospital.haematoxylin, hospital.eosin])
        colours = (colours + rng.normal(0, 0.02, size=(2, 3))).clip(0.01)
        colours /= np.linalg.norm(colours, axis=1, keepdims=True)
        strengths = np.array(hospital.strengths) * np.exp(rng.normal(0, 0.1, size=2))
        white = np.array(hospital.white) * (1 + rng.normal(0, 0.01, size=3))
        return Slide(hospital, colours * strengths[:, None], white)


def photograph(scene: Scene, slide: Slide, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Stain and scan a tile.

    Args:
        scene: ``(size, size)`` densities of what the dyes bind to.
        slide: The slide it is on.
        rng: Source of the noise.

    Returns:
        ``(3, size, size)`` uint8, red, green and blue.
    """
    place, size = slide.hospital, len(scene.eosin)
    bound = np.stack([scene.haematoxylin, scene.eosin])
    light = np.exp(-np.tensordot(slide.dyes.T, bound, 1))
    sigma = place.blur / FIELD_UM * size
    light = gaussian_filter(light, (0, sigma, sigma), truncate=3)
    light = (light + place.glare) / (1 + place.glare)
    colours = 255 * light**place.gamma * slide.white[:, None, None]
    colours += rng.normal(0, place.noise, size=colours.shape)
    if place.chroma:
        grey = colours.mean(0)
        colours = grey + np.rint((colours - grey) / place.chroma) * place.chroma
    pixels: NDArray[np.uint8] = np.rint(colours.clip(0, 255)).astype(np.uint8)
    return pixels
