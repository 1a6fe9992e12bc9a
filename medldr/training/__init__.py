"""The loop, on Lightning Fabric."""

from medldr.training.finite_loss import NonFiniteError
from medldr.training.fit import fit
from medldr.training.fit_result import FitResult
from medldr.training.machine.fabric import make_fabric, make_single_fabric
from medldr.training.step import Stepper, TrainStep

__all__ = [
    "FitResult",
    "NonFiniteError",
    "Stepper",
    "TrainStep",
    "fit",
    "make_fabric",
    "make_single_fabric",
]
