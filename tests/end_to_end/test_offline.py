"""Nothing asks the network: not importing, not `wilds`, not a run on Camelyon17."""

import importlib.util
import re
import shutil
import subprocess
import sys

import pytest

SCRIPT = """
import importlib, pkgutil, socket, sys, threading

asked = []

def refuse(event, details):
    # A socket by itself asks nobody: urllib3, which pydicom may import, binds one to this computer
    # to see whether it speaks IPv6.
    sends = event in ("socket.connect", "socket.sendto", "socket.sendmsg")
    internet = sends and details[0].family in (socket.AF_INET, socket.AF_INET6)
    if internet or event in ("socket.getaddrinfo", "socket.gethostbyname", "urllib.Request"):
        asked.append((event, details[1:]))
        raise OSError("no network here")

sys.addaudithook(refuse)
for attempt in (
    lambda: socket.socket(socket.AF_INET).connect(("127.0.0.1", 9)),
    lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"", ("127.0.0.1", 9)),
    lambda: socket.getaddrinfo("localhost", 9),
):
    try:
        attempt()
    except OSError as error:
        assert "no network here" in str(error)  # the guard works
    else:
        raise SystemExit("the guard lets requests through")
asked.clear()

import medldr

for name in medldr.__all__:
    getattr(medldr, name)
for module in pkgutil.walk_packages(medldr.__path__, "medldr."):
    importlib.import_module(module.name)
overrides = [
    f"data.root={sys.argv[1]}", "data.packed=off", "model.width=0.125", "training.epochs=1",
    "training.batch_size=8", "training.precision=float32", "evaluation.draws=100",
    "machine.workers=1", "machine.device=cpu", "machine.report=false",
]
result = medldr.train("camelyon17_erm", overrides=overrides, out=sys.argv[2])
assert result.metrics["test/accuracy"] is not None
assert "wilds" in sys.modules
assert "outdated" not in sys.modules
assert not [thread for thread in threading.enumerate() if "check" in thread.name.lower()]
assert not asked, asked
print("nothing was asked")
"""


@pytest.mark.slow
def test_importing_everything_and_training_on_camelyon17_asks_no_network(
    camelyon17_folder, tmp_path
):
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(camelyon17_folder), str(tmp_path / "runs")],
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.endswith("nothing was asked\n")


COMMANDS = """
import sys
from pathlib import Path
from medldr import cli

out, *small = sys.argv[1:]
run = "@"  # the run, once it is there
for words in (
    ["doctor"], ["list"], ["data", "list"],
    ["data", "check", "retinamnist", *small[:2], "--no-page"],
    ["train", "retinamnist_erm", *small, "training.epochs=1", "machine.device=cpu", "--out", out],
    ["evaluate", run], ["report", run], ["verify", run], ["compare", run, run],
    ["analyze", run, "--out", f"{out}/analysis"], ["share", run, f"{out}/x.zip"],
    ["sweep", "retina_small", *small, "--dry-run", "--out", f"{out}/s"],
    *(["export", run, "--format", kind] for kind in FORMATS),
):
    (folder,) = [str(path.parent) for path in Path(out).glob("*/run.json")] or [""]
    sys.argv = ["medldr", *(folder if word == run else word for word in words)]
    try:
        cli.main()
    except SystemExit as end:
        print(words[0], "ended with", end.code)
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_no_command_speaks_to_another_machine(small, tmp_path):
    formats = ["torch", *(["onnx"] if importlib.util.find_spec("onnxruntime") else [])]
    script = f"FORMATS = {formats!r}\n{COMMANDS}"
    traced = ["strace", "-f", "-qq", "-e", "trace=%network", "-o", str(tmp_path / "log")]
    ended = subprocess.run(
        [*traced, sys.executable, "-c", script, str(tmp_path / "runs"), *small],
        capture_output=True,
        text=True,
        timeout=500,
        cwd=tmp_path,
    )
    assert "train ended with 0" in ended.stdout, ended.stderr
    assert ended.stdout.count("ended with 0") >= 10, ended.stdout[-2000:] + ended.stderr[-2000:]
    log = (tmp_path / "log").read_text()
    places = re.findall(r'inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"', log)
    assert {one or other for one, other in places} <= {"127.0.0.1", "::1"}
