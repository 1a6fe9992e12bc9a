"""The loop, on Lightning Fabric."""

from medldr.training.fit import fit
from medldr.training.fitted import Fitted
from medldr.training.guard import NonFiniteError
from medldr.training.runtime import make_fabric
from medldr.training.selection import Selection
from medldr.training.step import Stepper, TrainStep

__all__ = [
    "Fitted",
    "NonFiniteError",
    "Selection",
    "Stepper",
    "TrainStep",
    "fit",
    "make_fabric",
]
