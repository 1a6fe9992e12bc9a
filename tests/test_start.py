"""What has to be quick, quiet and closed: importing, `--help`, and typos at the command line."""

import subprocess
import sys
from pathlib import Path

import pytest

import medldr
from medldr import cli

SWEEP = Path(__file__).parent / "frozen" / "leave_one_out" / "folder"


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("train nowhere", 2),
        ("train retinamnist_erm training.epoch=5", 2),
        ("train retinamnist_latentdr_pool algorithm.kepe=0.3 training.epochs=five", 2),
        ("new nowhere", 2),
        ("sweep nowhere", 2),
        ("sweep medmnist_table training.epoch=5", 2),
        ("sweep status nowhere", 2),
        (f"sweep status {SWEEP}", 0),
        ("compare nowhere", 2),
        ("report nowhere", 2),
        ("verify nowhere", 2),
        ("predict nowhere scan.png", 2),
        ("evaluate nowhere", 2),
        ("data check nowhere", 2),
        ("data stats nowhere", 2),
        ("plan --patients 240 --accuracy 0.75", 2),
        ("plan --patients 240 --accuracy 75", 0),
        ("data list", 0),
        ("data card", 0),
        ("schema", 0),
        ("doctor", 0),
        ("list", 0),
    ],
)
def test_a_command_starts_without_torch(typed, code, tmp_path):
    words = repr(["medldr", *typed.split()])
    program = (
        f"import sys; sys.argv = {words}\n"
        "from medldr import cli\n"
        "try:\n cli.main()\nexcept SystemExit as end:\n print('ended', end.code)\n"
        "print('loaded', *sorted({'torch', 'monai'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert ran.stdout.endswith(f"ended {code}\nloaded\n"), ran.stdout[-500:] + ran.stderr[-500:]


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
