"""Where a run happens: device, precision, threads and processes, as one Fabric."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import torch

from medldr.config.automatic import PrecisionName, resolve_device, resolve_precision
from medldr.config.schema import MachineConfig, RunConfig, TrainingConfig
from medldr.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Launcher = Literal["script", "spawn"]

NAMES: Final[dict[str, PrecisionName]] = {
    "32-true": "float32",
    "bf16-mixed": "bfloat16",
    "16-mixed": "float16",
}


def make_fabric(
    machine: MachineConfig, training: TrainingConfig, *, launcher: Launcher = "script"
) -> Fabric:
    """The Fabric of a run; with several processes, start them by its `launch`.

    Args:
        machine: Device, processes and threads.
        training: Its key ``precision``.
        launcher: How further processes on this machine are started: ``script`` runs the command
            line again for each, ``spawn`` starts them from a Python program.

    Raises:
        InputError: If the device, the number of devices or the precision is not available.
    """
    # Fabric imports torch's compiler, which takes seconds that only a run should cost.
    from lightning_fabric import Fabric
    from lightning_fabric.plugins import Precision

    from medldr.training.machine.fabric_parts import Autocast, DataParallel

    device = resolve_device(machine.device)
    precision = resolve_precision(training.precision, device)
    world = machine.devices * machine.nodes
    if device == "cuda" and machine.devices > torch.cuda.device_count():
        raise InputError(
            f"machine.devices: {machine.devices} is more than the CUDA devices of this machine, "
            f"{torch.cuda.device_count()}"
        )
    if device == "mps" and world > 1:
        raise InputError("machine.devices: mps supports a single device; set machine.devices: 1")
    use_threads(machine)
    if device == "cuda":
        repeat_exactly()
    strategy: Any = "auto"
    if world > 1:
        strategy = DataParallel(
            start_method="spawn" if launcher == "spawn" else "popen",
            process_group_backend="gloo" if device == "cpu" else None,
        )
    plugin = (
        Precision()
        if precision == "float32"
        else Autocast("bf16-mixed" if precision == "bfloat16" else "16-mixed", device)
    )
    return Fabric(
        accelerator=device,
        devices=machine.devices,
        num_nodes=machine.nodes,
        strategy=strategy,
        plugins=[plugin],
    )


def make_single_fabric(
    config: RunConfig, *, precision: str | None = None, device: str | None = None
) -> Fabric:
    """The Fabric of one process that works with a trained run.

    Args:
        config: The run.
        precision: The one that it was trained in and recorded, whatever ``auto`` means on this
            machine, or another; unset: its key ``training.precision``.
        device: Device to use; unset: the run's own ``machine.device``.

    Raises:
        InputError: As `make_fabric`, and if the precision is unknown.
    """
    known = get_args(PrecisionName)
    if precision is not None and precision not in known:
        raise InputError(
            f"--precision: {precision!r} is unknown.{did_you_mean(precision, known)} Known: "
            f"{', '.join(known)}"
        )
    here = {"devices": 1, "nodes": 1, "device": device or config.machine.device}
    chosen = {"precision": precision or config.training.precision}
    return make_fabric(
        config.machine.model_copy(update=here), config.training.model_copy(update=chosen)
    )


def precision_name(fabric: Fabric) -> PrecisionName:
    """The precision that a Fabric works in."""
    return NAMES[str(fabric.strategy.precision.precision)]


def computed_in(fabric: Fabric, trained_in: str | None) -> str:
    """That a trained run is computed in another precision than it was trained in; else empty."""
    used = precision_name(fabric)
    if trained_in in (None, used):
        return ""
    return f"computed in {used}; the precision of training is {trained_in}"


def use_threads(machine: MachineConfig) -> int:
    """Apply ``machine.threads`` to this process.

    Returns:
        The number of CPU threads in use, which is the same whether it was set or is torch's choice.
    """
    if machine.threads is not None:
        torch.set_num_threads(machine.threads)
    return torch.get_num_threads()


def repeat_exactly() -> None:
    """Have CUDA choose kernels that are reproducible bit for bit; torch warns without one."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True, warn_only=True)
    # Our code never reads memory before writing it; filling it would only cost time.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


def is_first_process() -> bool:
    """Whether this process is the one that writes and prints; true where there is only one."""
    from lightning_fabric.utilities.rank_zero import rank_zero_only

    return getattr(rank_zero_only, "rank", 0) == 0
