"""What is asked of SLURM, seen from the script that a played `sbatch` is given."""

import re
import sys
import time

import pytest

from medldr.errors import InputError, MissingExtraError
from medldr.folders.sweep_record import SweepFolder
from medldr.sweeps.launchers import slurm
from medldr.sweeps.launchers.base import Job


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A folder with SLURM's commands in front of the PATH; their arguments are kept there."""
    where = tmp_path / "bin"
    where.mkdir()
    scripts = {
        "srun": "",
        "sbatch": f'n=$(ls {where} | grep -c script); cp "$1" {where}/script$n; '
        'echo "Submitted batch job 7$n"',
        "sacct": "echo 'JobID|State|NodeList'; for n in 0 1; do "
        'echo "70_$n|$(cat ' + str(where) + '/state)|node1"; done',
        "scancel": f'echo "$1" >> {where}/cancelled; echo "CANCELLED by 0" > {where}/state',
    }
    for name, text in scripts.items():
        (where / name).write_text(f"#!/bin/sh\n{text}\n")
        (where / name).chmod(0o755)
    (where / "state").write_text("RUNNING\n")
    monkeypatch.setenv("PATH", str(where), prepend=":")
    return where


def _jobs(tmp_path, names="ab", **facts):
    return [Job(name, ("train", name), tmp_path / f"{name}.log", **facts) for name in names]


def _options(script):
    return dict(re.findall(r"^#SBATCH --([\w-]+)=(.*)$", script.read_text(), re.MULTILINE))


def test_members_are_one_array_with_the_settings_of_the_sweep_file(tmp_path, cluster):
    settings = {"partition": "gpu", "time": 90, "mem_gb": 16}
    launcher = slurm.slurm_launcher(SweepFolder(tmp_path / "S"), settings, jobs=2)
    assert launcher.slots is None
    launcher.start(_jobs(tmp_path, devices=1, cores=3))
    options = _options(cluster / "script0")
    assert options["partition"] == "gpu"
    assert options["time"] == "90"
    assert options["mem"] == "16GB"
    assert options["cpus-per-task"] == "3"
    assert options["gpus-per-node"] == "1"
    assert options["array"] == "0-1%2"
    assert options["signal"].startswith("USR2@")
    assert (tmp_path / "S" / "logs" / "slurm").is_dir()


def test_what_the_file_asks_for_wins_over_the_machine_section(tmp_path, cluster):
    settings = {"cpus_per_task": 8, "gpus_per_node": 2}
    launcher = slurm.slurm_launcher(SweepFolder(tmp_path / "S"), settings)
    assert launcher.cores == 8
    launcher.start(_jobs(tmp_path, "a", devices=1, cores=3))
    options = _options(cluster / "script0")
    assert (options["cpus-per-task"], options["gpus-per-node"]) == ("8", "2")
    assert options["time"] == "240"


def test_members_that_ask_for_different_things_are_different_jobs(tmp_path, cluster):
    launcher = slurm.slurm_launcher(SweepFolder(tmp_path / "S"), {})
    cpu, gpu = _jobs(tmp_path, "a"), _jobs(tmp_path, "b", devices=1)
    assert len(launcher.start(cpu + gpu)) == 2
    assert "gpus-per-node" not in _options(cluster / "script0")
    assert _options(cluster / "script1")["gpus-per-node"] == "1"


def test_stopping_cancels_the_job(tmp_path, cluster):
    launcher = slurm.slurm_launcher(SweepFolder(tmp_path / "S"), {})
    handles = launcher.start(_jobs(tmp_path))
    assert [handle.poll() for handle in handles] == [None, None]
    handles[1].stop()
    assert (cluster / "cancelled").read_text() == "70_1\n"
    assert handles[1].poll() == -15


def test_without_srun_it_runs_on_this_machine_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    launcher = slurm.slurm_launcher(SweepFolder(tmp_path / "S"), {"partition": "gpu"}, jobs=3)
    assert launcher.slots == 3
    assert "srun not found" in launcher.note
    code = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    job = Job("a", (sys.executable, "-c", code), tmp_path / "a.log")
    (handle,) = launcher.start([job])
    while handle.poll() is None:
        time.sleep(0.05)
    assert handle.poll() == 0
    assert (tmp_path / "a.log").read_text() == "True\n"  # the keyboard does not reach it


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"partitoin": "gpu"}, ["slurm.partitoin", "partition"]),
        ({"time": "4:00:00"}, ["slurm.time", "minutes"]),
        ({"time": 0}, ["slurm.time"]),
        ({"cpus_per_task": "many"}, ["slurm.cpus_per_task", "many"]),
        ({"nodes": 2}, ["slurm.nodes"]),
        ({"map_count": 2}, ["slurm.map_count"]),
    ],
)
def test_a_setting_that_is_none_is_refused(tmp_path, settings, words):
    with pytest.raises(InputError) as refusal:
        slurm.slurm_launcher(SweepFolder(tmp_path), settings)
    for word in words:
        assert word in str(refusal.value)


def test_a_value_that_submitit_refuses_is_the_users_mistake_and_nothing_starts(tmp_path, cluster):
    with pytest.raises(InputError, match="slurm: submitit rejected"):
        slurm.slurm_launcher(SweepFolder(tmp_path / "S"), {"additional_parameters": 3})
    assert not (cluster / "script0").exists()


def test_what_sbatch_says_when_it_refuses_is_passed_on(tmp_path, cluster):
    (cluster / "sbatch").write_text(
        "#!/bin/sh\necho invalid partition specified: gpu >&2; exit 1\n"
    )
    launcher = slurm.slurm_launcher(SweepFolder(tmp_path / "S"), {"partition": "gpu"})
    with pytest.raises(InputError, match="invalid partition specified"):
        launcher.start(_jobs(tmp_path))


def test_without_submitit_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(MissingExtraError, match=r"medldr\[slurm\]"):
        slurm.slurm_launcher(SweepFolder(tmp_path), {})
