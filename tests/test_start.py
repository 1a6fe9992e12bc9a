"""What has to be quick, quiet and closed: importing, `--help`, and typos at the command line."""

import os
import subprocess
import sys

import pytest

import medldr
from medldr import cli


def test_importing_loads_nothing_heavy():
    code = (
        "import sys, medldr; heavy = {'torch', 'numpy', 'pydantic', 'typer', 'rich', 'monai'}; "
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_help_loads_nothing_heavy():
    code = (
        "import sys; sys.argv = ['medldr', '--help']\n"
        "from medldr import cli\n"
        "try:\n cli.main()\nexcept SystemExit as end:\n assert end.code == 0\n"
        "assert not {'torch', 'numpy', 'pydantic', 'monai'} & set(sys.modules), sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.slow
def test_a_sweep_is_expanded_without_what_only_its_report_needs():
    code = (
        "import sys, medldr.sweeps.launch; "
        "print(*{'medldr.reporting', 'scipy', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


@pytest.mark.slow
def test_importing_a_run_loads_only_what_every_run_needs():
    heavy = [
        "IPython", "PIL.Image", "jinja2", "lightning_fabric", "matplotlib", "medldr.cli",
        "medldr.reporting", "medldr.sweeps", "medmnist", "monai", "nibabel", "pandas", "pydicom",
        "scipy.ndimage", "scipy.stats", "sklearn", "submitit", "timm", "torch._dynamo",
        "torch.utils.tensorboard", "torchmetrics", "torchvision", "wilds",
    ]  # fmt: skip
    code = f"import sys, medldr.run; print(*sorted(set({heavy!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


def test_every_public_name_is_there():
    for name in medldr.__all__:
        assert getattr(medldr, name) is not None
    assert set(medldr.__all__) <= set(dir(medldr))
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = medldr.nothing_here


def test_the_version_is_printed():
    command = [sys.executable, "-m", "medldr.cli", "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.strip() == f"medldr {medldr.__version__}"


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [("medldr tr", "train"), ("medldr data ch", "check"), ("medldr train --restar", "--restart")],
)
def test_the_shell_completes_commands_and_options(typed, suggested):
    place = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    ended = subprocess.run(
        [sys.executable, "-c", "from medldr import cli; cli.app(prog_name='medldr')"],
        env={**os.environ, **place, "_MEDLDR_COMPLETE": "complete_bash"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ended.stdout.split() == [suggested]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["trian"], "train"),
        (["train", "retinamnist_latendr_pool"], "retinamnist_latentdr_pool"),
        (["train", "retinamnist_erm", "training.epoch=2"], "training.epochs"),
        (["list", "algorithm"], "algorithms"),
        (["data", "check", "retinamnst"], "retinamnist"),
        (["evaluate", "nowhere"], "does not exist"),
        (["compare", "nowhere"], "nowhere"),
    ],
)
def test_a_typo_is_answered_with_the_nearest_name_and_exit_code_2(
    words, said, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["medldr", *words])
    with pytest.raises(SystemExit) as end:
        cli.main()
    printed = capsys.readouterr()
    assert end.value.code == 2
    assert said in printed.err + printed.out
    assert "Traceback" not in printed.err
    assert not any(tmp_path.iterdir())


def test_ctrl_c_before_training_ends_with_130(monkeypatch):
    def interrupt(kind):
        raise KeyboardInterrupt

    monkeypatch.setattr("medldr.commands.list.print_catalogue", interrupt)
    monkeypatch.setattr(sys, "argv", ["medldr", "list"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 130
