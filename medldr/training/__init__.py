"""The loop, on Lightning Fabric."""

from medldr.training.finite_loss import NonFiniteError as NonFiniteError
from medldr.training.fit import fit as fit
from medldr.training.fit_result import FitResult as FitResult
from medldr.training.machine.fabric import make_fabric as make_fabric
from medldr.training.machine.fabric import make_single_fabric as make_single_fabric
from medldr.training.step import Stepper as Stepper
from medldr.training.step import TrainStep as TrainStep
