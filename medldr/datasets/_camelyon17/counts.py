"""What was published of Camelyon17-WILDS: hospitals, their roles, and patches of each.

Source:
    Koh et al., "WILDS: A Benchmark of in-the-Wild Distribution Shifts", ICML 2021, appendix E.2,
    and the constants of the `wilds` package. Hospitals count from 0 here and in `wilds`, and from
    1 in the paper.
"""

from __future__ import annotations

from typing import Final

SIZE: Final = (96, 96)
"""Height and width of a patch in pixels."""

CLASS_NAMES: Final = ("normal", "tumor")

VAL_HOSPITAL: Final = 1
TEST_HOSPITAL: Final = 2
TRAIN_HOSPITALS: Final = (0, 3, 4)
HOSPITALS: Final = (0, 1, 2, 3, 4)

MOVED_SLIDE: Final = 23
"""Slide of the test hospital that the mixed-to-test scheme trains on."""

COUNTS: Final = {
    ("train", 0): 53_425,
    ("train", 3): 116_959,
    ("train", 4): 132_052,
    ("id_val", 0): 6_011,
    ("id_val", 3): 12_879,
    ("id_val", 4): 14_670,
    ("val", VAL_HOSPITAL): 34_904,
    ("test", TEST_HOSPITAL): 85_054,
}
"""Patches per split and hospital of the official scheme."""

TOTAL: Final = 455_954


def domain(hospital: int) -> str:
    """Name of a hospital as a domain.

    Example:
        >>> domain(2)
        'hospital_2'
    """
    return f"hospital_{hospital}"


def group(slide: int) -> str:
    """Name of a slide as a group.

    Example:
        >>> group(3)
        'slide_03'
    """
    return f"slide_{slide:02d}"
