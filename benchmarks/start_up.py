"""The cost of starting: importing a run, and the members of a sweep.

`python benchmarks/start_up.py` prints the processor time (user and system) of `import torch` and of
`import medldr.run`, each in separate processes, in turn, and the difference of the medians. If it
is above 2 s, the exit code is 1.

`python benchmarks/start_up.py --sweep` runs a sweep of 20 runs of two tiny epochs, two at a time,
with every run as a new process and with runs forked from one process, and prints both wall and
processor times. Forked, the sweep may take half as long. `--against DIR` uses the code of another
checkout for the first of the two, such as the one before a change.

`--quick` uses fewer repeats, and a sweep of 4 runs, whose ratio is only shown.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ALLOWED_S = 2.0
ALLOWED_PART = 0.5

SWEEP = """\
title: Start-up
common:
  extends: [run/phantom_fracture_erm]
  data: {{patients: 16, size: 8}}
  model: {{width: 0.125}}
  training: {{epochs: 2, batch_size: 16}}
  machine: {{threads: 1, device: cpu}}
runs:
  - label: tiny
seeds: {seeds}
table: {{rows: run}}
"""

BY_ITSELF = """\
from medldr.sweeps.launchers.forked import ForkServer
ForkServer.takes = lambda self, job: False
from medldr.cli import main
main()
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats, fewer runs")
    parser.add_argument("--sweep", action="store_true", help="the members of a sweep")
    parser.add_argument("--against", metavar="DIR", help="checkout whose sweep is the first")
    asked = parser.parse_args()
    if asked.sweep:
        return sweeps(4 if asked.quick else 20, asked.against, scored=not asked.quick)
    return imports(1 if asked.quick else 7)


def imports(repeats: int) -> int:
    measured: dict[str, list[float]] = {"torch": [], "medldr.run": []}
    for name in measured if repeats > 1 else ():
        cost([sys.executable, "-c", f"import {name}"])  # files come into memory once
    for _ in range(repeats):
        for name, times in measured.items():
            times.append(cost([sys.executable, "-c", f"import {name}"])[1])
    for name, times in measured.items():
        print(f"import {name:11} {statistics.median(times):5.2f} s ({_list(times)})")
    torch, ours = (statistics.median(times) for times in measured.values())
    good = ours - torch <= ALLOWED_S
    print(f"difference         {ours - torch:5.2f} s, allowed {ALLOWED_S} s: {_verdict(good)}")
    return 0 if good else 1


def sweeps(runs: int, against: str | None, *, scored: bool) -> int:
    first = [sys.executable, "-c", BY_ITSELF] if against is None else _command()
    environment = {**os.environ, **({} if against is None else {"PYTHONPATH": against})}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "start_up.yaml"
        file.write_text(SWEEP.format(seeds=list(range(runs))))
        walls = []
        for title, words, where in (
            ("each by itself" if against is None else against, first, environment),
            ("forked", _command(), dict(os.environ)),
        ):
            out = Path(folder) / f"sweep{len(walls)}"
            options = ["sweep", str(file), "--jobs", "2", "--out", str(out)]
            wall, cpu = cost([*words, *options], where, folder)
            walls.append(wall)
            print(f"{runs} runs, {title}: {wall:.1f} s, processor {cpu:.1f} s", flush=True)
    part = walls[1] / walls[0]
    good = part <= ALLOWED_PART or not scored
    print(f"forked takes {part:.2f} of the time, allowed {ALLOWED_PART}: {_verdict(good)}")
    return 0 if good else 1


def cost(
    command: list[str], environment: dict[str, str] | None = None, folder: str | None = None
) -> tuple[float, float]:
    """Wall time and processor time of a command and of all that it starts, in seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _command() -> list[str]:
    return [sys.executable, "-m", "medldr.cli"]


def _list(times: list[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in times)


def _verdict(good: bool) -> str:
    return "good" if good else "TOO SLOW"


if __name__ == "__main__":
    sys.exit(main())
