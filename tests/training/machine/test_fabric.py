"""Device, precision and threads: what `auto` means, and what is refused."""

import pytest
import torch

from medldr.config import automatic
from medldr.config.schema import MachineConfig, TrainingConfig
from medldr.errors import InputError
from medldr.training.machine import fabric as runtime
from medldr.training.machine import fabric_parts


@pytest.mark.parametrize(
    ("flags", "fast"),
    [
        ("flags\t: fpu avx512f avx512_bf16 sse", True),
        ("flags : fpu avx512_bf16 avx512_fp16 amx_bf16", True),
        ("flags : fpu avx512_bf16 avx512_fp16", False),
        ("flags : not_avx512_bf16_at_all", False),
    ],
)
def test_fast_bfloat16_is_read_from_the_processor_flags(tmp_path, flags, fast):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(flags)
    assert automatic.has_fast_bfloat16("cpu", cpuinfo) is fast
    assert automatic.has_fast_bfloat16("cpu", tmp_path / "absent") is False


@pytest.mark.parametrize(("capability", "native"), [((7, 5), False), ((8, 0), True)])
def test_cuda_multiplies_bfloat16_from_sm_80_on(monkeypatch, capability, native):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    assert automatic.has_fast_bfloat16("cuda") is native


def test_auto_precision_follows_the_hardware_and_words_are_taken_as_they_are(monkeypatch):
    monkeypatch.delenv(automatic.AUTO_PRECISION, raising=False)
    for native, expected in ((True, "bfloat16"), (False, "float32")):
        monkeypatch.setattr(automatic, "has_fast_bfloat16", lambda device, n=native: n)
        assert automatic.resolve_precision("auto", "cpu") == expected
    assert automatic.resolve_precision("bfloat16", "cpu") == "bfloat16"
    assert automatic.resolve_precision("float16", "cuda") == "float16"
    with pytest.raises(InputError, match=r"training\.precision: float16 needs a CUDA device"):
        automatic.resolve_precision("float16", "cpu")


def test_the_environment_may_say_what_auto_precision_is(monkeypatch):
    for stated in ("float32", "bfloat16"):
        monkeypatch.setenv("MEDLDR_AUTO_PRECISION", stated)
        assert automatic.resolve_precision("auto", "cpu") == stated
        assert automatic.resolve_precision("float32", "cpu") == "float32"
    monkeypatch.setenv("MEDLDR_AUTO_PRECISION", "half")
    with pytest.raises(InputError, match=r"MEDLDR_AUTO_PRECISION=half: .* float32 or bfloat16"):
        automatic.resolve_precision("auto", "cpu")


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_fabric_says_its_precision(precision, capsys):
    fabric = runtime.make_fabric(
        MachineConfig(device="cpu", threads=1), TrainingConfig(epochs=1, precision=precision)
    )
    assert runtime.precision_name(fabric) == precision
    assert (fabric.world_size, fabric.device.type) == (1, "cpu")
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is there")
def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(InputError, match=r"machine\.device: this machine has no cuda device.*cpu"):
        automatic.resolve_device("cuda")


def test_threads_are_applied_and_reported():
    assert runtime.use_threads(MachineConfig(threads=1)) == 1
    assert runtime.use_threads(MachineConfig()) == 1  # as they are


@pytest.mark.parametrize(("launcher", "method"), [("script", "popen"), ("spawn", "spawn")])
def test_several_processes_use_ddp_over_gloo_and_the_asked_launcher(launcher, method):
    machine = MachineConfig(device="cpu", devices=2, threads=1)
    fabric = runtime.make_fabric(machine, TrainingConfig(epochs=1), launcher=launcher)
    strategy = fabric.strategy
    assert isinstance(strategy, fabric_parts.DataParallel)
    assert strategy._start_method == method
    assert strategy.process_group_backend == "gloo"
    assert fabric.world_size == 2
