"""Where a run happens: device, precision, threads and processes, as one Fabric."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import torch

from medldr.config.schema import MachineConfig, RunConfig, TrainingConfig
from medldr.errors import InputError

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Launcher = Literal["script", "spawn"]
PrecisionName = Literal["float32", "bfloat16", "float16"]

AUTO_PRECISION: Final = "MEDLDR_AUTO_PRECISION"
"""Environment variable that says what ``precision: auto`` means, whatever the processor."""

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
            machine; unset: its key ``training.precision``.
        device: Device to use; unset: the run's own ``machine.device``.

    Raises:
        InputError: As `make_fabric`.
    """
    here = {"devices": 1, "nodes": 1, "device": device or config.machine.device}
    chosen = {"precision": precision or config.training.precision}
    return make_fabric(
        config.machine.model_copy(update=here), config.training.model_copy(update=chosen)
    )


def resolve_device(asked: str) -> str:
    """``cpu``, ``cuda`` or ``mps``; ``auto`` is the first accelerator available.

    Raises:
        InputError: If the requested device is absent.
    """
    available = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    names = [name for name, present in available.items() if present]
    if asked == "auto":
        return names[0]
    if asked not in names:
        raise InputError(
            f"machine.device: this machine has no {asked} device, only {', '.join(names)}"
        )
    return asked


def resolve_precision(asked: str, device: str) -> PrecisionName:
    """What ``auto`` means on this device: bfloat16 where the hardware is faster with it.

    The environment variable ``MEDLDR_AUTO_PRECISION`` (``float32`` or ``bfloat16``) decides
    instead where it is set, so that machines with different processors work alike.

    Raises:
        InputError: If float16 is requested on a device that cannot train in it, or the variable
            names another precision.
    """
    if asked == "auto":
        stated = os.environ.get(AUTO_PRECISION)
        if stated:
            if stated not in ("float32", "bfloat16"):
                raise InputError(
                    f"{AUTO_PRECISION}={stated}: this environment variable is float32 or bfloat16"
                )
            return stated  # type: ignore[return-value]
        return "bfloat16" if has_fast_bfloat16(device) else "float32"
    if asked == "float16" and device != "cuda":
        raise InputError(
            f"training.precision: float16 needs a CUDA device, but this run uses {device}. "
            "Use bfloat16 or float32"
        )
    return asked  # type: ignore[return-value]


def has_fast_bfloat16(device: str, cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether the hardware multiplies bfloat16 natively, and faster than float32.

    CUDA devices do from sm_80 on, as do CPUs with AMX. AVX512-BF16 alone is enough on AMD and on
    Cooper Lake; Intel's later cores, recognised by AVX512-FP16, run it at half the rate of float32
    because AMX is meant to do the work. A hypervisor that hides AMX leaves only this slow path
    (measured on such a Xeon: 82 GFLOP/s in bfloat16, 140 in float32).
    """
    if device == "cuda":
        return torch.cuda.get_device_capability() >= (8, 0)
    if device == "cpu" and cpuinfo.exists():
        flags = set(cpuinfo.read_text(errors="replace").split())
        return "amx_bf16" in flags or ("avx512_bf16" in flags and "avx512_fp16" not in flags)
    return False


def precision_name(fabric: Fabric) -> PrecisionName:
    """The precision that a Fabric works in."""
    return NAMES[str(fabric.strategy.precision.precision)]


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
