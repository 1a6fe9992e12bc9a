"""What ``auto`` means on this machine; torch is imported only to ask for an accelerator."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Literal

from medldr.errors import InputError

PrecisionName = Literal["float32", "bfloat16", "float16"]
AUTO_PRECISION: Final = "MEDLDR_AUTO_PRECISION"
"""Environment variable that says what ``precision: auto`` means, whatever the processor."""


def resolve_device(asked: str) -> str:
    """``cpu``, ``cuda`` or ``mps``; ``auto`` is the first accelerator available.

    Raises:
        InputError: If the requested device is absent.
    """
    import torch

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
            "Use bfloat16 or float32 (of a trained run: --precision of predict and evaluate)"
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
        import torch

        return torch.cuda.get_device_capability() >= (8, 0)
    if device == "cpu" and cpuinfo.exists():
        flags = set(cpuinfo.read_text(errors="replace").split())
        return "amx_bf16" in flags or ("avx512_bf16" in flags and "avx512_fp16" not in flags)
    return False
