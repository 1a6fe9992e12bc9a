"""What is asked of SLURM, seen from the script that a played `sbatch` is given; and its jobs.

A job is run by submitit's local executor: its exit code, its end of time, its being stopped.
"""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
import submitit

from medldr.errors import InputError, MissingExtraError
from medldr.folders.sweep_record import SweepFolder
from medldr.sweeps.launchers import slurm
from medldr.sweeps.launchers.base import Job
from medldr.sweeps.launchers.slurm import ClusterJob, Command

SAVES = (
    "import os, signal, sys, time\n"
    "def save(*_):\n"
    "    print('saved', flush=True)\n"
    "    sys.exit(143)\n"
    "signal.signal(signal.SIGTERM, save)\n"
    "print('ready', os.getppid(), flush=True)\n"
)
WAITS = SAVES + "time.sleep(60)"


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


@pytest.mark.slow
def test_without_srun_it_runs_on_this_machine_and_says_so(tmp_path, monkeypatch, end_of):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    launcher = slurm.slurm_launcher(SweepFolder(tmp_path / "S"), {"partition": "gpu"}, jobs=3)
    assert launcher.slots == 3
    assert "srun not found" in launcher.note
    code = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    job = Job("a", (sys.executable, "-c", code), tmp_path / "a.log")
    (handle,) = launcher.start([job])
    assert end_of(handle) == 0
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


@pytest.fixture
def submit(tmp_path):
    ended = []

    def submit(code, log=None):
        executor = submitit.LocalExecutor(tmp_path / "slurm", max_num_timeout=5)
        executor.update_parameters(timeout_min=5)
        log = log or tmp_path / "a.log"
        job = executor.submit(Command((sys.executable, "-c", code), str(log)))
        return ClusterJob(job, tmp_path / "a.log", lambda: ended.append(1))

    yield submit
    assert ended == [1]


@pytest.mark.slow
def test_it_gives_the_exit_code_of_its_run_and_logs_what_that_prints(submit, end_of, tmp_path):
    assert end_of(submit("print('hello'); raise SystemExit(3)")) == 3
    assert (tmp_path / "a.log").read_text() == "hello\n"


@pytest.mark.slow
def test_when_its_time_is_over_the_run_saves_and_is_started_again(submit, says, end_of, tmp_path):
    log = tmp_path / "a.log"
    mark = tmp_path / "mark"
    code = (
        SAVES
        + f"if os.path.exists({str(mark)!r}): sys.exit(0)\n"
        + f"open({str(mark)!r}, 'w').close()\n"
        + "print('now', flush=True)\ntime.sleep(60)"
    )
    handle = submit(code)
    says(log, "now")
    assert handle.poll() is None
    # What submitit's controller and SLURM send to the job shortly before its time is over.
    os.kill(int(log.read_text().split()[1]), signal.SIGUSR2)
    assert end_of(handle) == 0
    assert [line.split()[0] for line in log.read_text().splitlines()] == [
        "ready", "now", "saved", "ready",
    ]  # fmt: skip


@pytest.mark.slow
def test_stopping_lets_the_run_save(submit, says, end_of, tmp_path):
    log = tmp_path / "a.log"
    handle = submit(WAITS)
    says(log, "ready")
    handle.stop()
    assert end_of(handle) == 143
    assert "saved" in log.read_text()
    handle.kill()  # nothing is left


@pytest.mark.slow
def test_a_fault_of_the_job_itself_is_told_in_the_log(submit, end_of, tmp_path):
    handle = submit("pass", log=tmp_path / "nowhere" / "a.log")
    assert end_of(handle) == 1
    assert "error: the job failed" in (tmp_path / "a.log").read_text()


def test_the_end_of_its_time_waits_until_the_run_has_saved(tmp_path, says):
    with (tmp_path / "a.log").open("w") as log:
        child = subprocess.Popen([sys.executable, "-c", WAITS], stdout=log)
    says(tmp_path / "a.log", "ready")
    command = Command(("train",), "a.log", devices="0", process=child.pid)
    again = command.checkpoint()
    assert (tmp_path / "a.log").read_text().endswith("saved\n")
    assert child.wait() == 143
    assert again.function == Command(("train",), "a.log", devices="0")
    command.checkpoint()  # one that has ended by itself is no problem


@pytest.mark.slow
def test_on_a_cluster_it_hides_srun_from_the_run_and_waits_for_what_follows_a_stop(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(slurm, "_GRACE_S", 0.3)
    before = signal.getsignal(signal.SIGTERM)
    code = "import os, sys; print(os.environ['SLURM_JOB_NAME'], os.environ['CUDA_VISIBLE_DEVICES'])"
    command = Command((sys.executable, "-c", code), str(tmp_path / "a.log"), devices="5")
    assert command() == 0
    assert (tmp_path / "a.log").read_text() == "interactive 5\n"
    assert signal.getsignal(signal.SIGTERM) is before
    waits = Command((sys.executable, "-c", "raise SystemExit(143)"), str(tmp_path / "a.log"))
    began = time.monotonic()
    assert waits() == 143
    assert time.monotonic() - began >= 0.3


class Told:
    """A job of which only the state is known."""

    job_id = "7"

    def __init__(self, state, path):
        self.state = state
        self.paths = type("Paths", (), {"result_pickle": path / "absent"})

    def done(self, force_check):
        return self.state != "RUNNING"


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("RUNNING", None),
        ("CANCELLED by 1000", -signal.SIGTERM),
        ("PREEMPTED", -signal.SIGTERM),
        ("TIMEOUT", -signal.SIGKILL),
        ("NODE_FAIL", -signal.SIGKILL),
        ("OUT_OF_MEMORY", -signal.SIGKILL),
        ("FAILED", 1),
    ],
)
def test_a_job_without_a_result_is_told_by_its_state(tmp_path, state, code):
    log = tmp_path / "a.log"
    assert ClusterJob(Told(state, tmp_path), log).poll() == code
    if code in (1, -signal.SIGKILL):
        assert f"ended as {state}" in log.read_text()
