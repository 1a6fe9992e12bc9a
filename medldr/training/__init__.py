"""The loop, on Lightning Fabric."""

from medldr.training.finite_loss import NonFiniteError
from medldr.training.fit import fit
from medldr.training.fit_result import FitResult
from medldr.training.machine.fabric import make_fabric, make_single_fabric
from medldr.training.step import Stepper, TrainStep
from medldr.training.weights.selection import Selection

__all__ = [
    "FitResult",
    "NonFiniteError",
    "Selection",
    "Stepper",
    "TrainStep",
    "fit",
    "make_fabric",
    "make_single_fabric",
]
