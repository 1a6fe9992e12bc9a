"""Narrow networks on large pictures: torch's CPU kernels must not write beyond their memory.

In channels last, the gradient of a 1x1 convolution with stride 2 and few channels does, from about
48 pixels on. Whether that is noticed depends on what lies there, so each trial has a process of its
own, in which glibc checks its heap where it can.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from medldr.models.base import NARROW

HEAP_CHECKS = Path("/lib/x86_64-linux-gnu/libc_malloc_debug.so.0")

CONVOLUTIONS = """
import itertools, torch
for bfloat16, channels in itertools.product((False, True), range({narrow}, 2 * {narrow}, 3)):
    for size in (48, 64, 112):
        convolution = torch.nn.Conv2d(channels, 2 * channels, 1, stride=2, bias=False)
        convolution = convolution.to(memory_format=torch.channels_last)
        image = torch.ones(16, channels, size, size).to(memory_format=torch.channels_last)
        for _ in range(3):
            with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
                output = convolution(image.requires_grad_())
            output.float().square().sum().backward()
print("whole")
"""

NETWORK = """
import torch
from medldr.models import build_model
from medldr.models.resnet18 import Config
from medldr.types import DataSpec
spec = DataSpec("multi-class", ("a", "b"), (8, 8), 3, (128, 128), (), ())
model = build_model(Config(name="resnet18", width=0.125, pretrained=None), spec, 0).to_fast_memory()
for bfloat16 in 3 * (False,) + 3 * (True,):
    image = model.arrange(torch.ones(16, 3, 128, 128))
    with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
        logits = model.classify(model.features(image))
    logits.float().square().sum().backward()
print("whole")
"""


@pytest.mark.slow
@pytest.mark.parametrize("trial", [CONVOLUTIONS, NETWORK], ids=["convolutions", "resnet18"])
def test_networks_that_are_channels_last_are_wide_enough_for_torch(trial):
    """In float32 and in bfloat16."""
    checks = {"GLIBC_TUNABLES": "glibc.malloc.check=3", "LD_PRELOAD": str(HEAP_CHECKS)}
    ended = subprocess.run(
        [sys.executable, "-c", trial.format(narrow=NARROW)],
        env={**os.environ, "OMP_NUM_THREADS": "1", **(checks if HEAP_CHECKS.exists() else {})},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (0, "whole\n"), ended.stderr[-2000:]
