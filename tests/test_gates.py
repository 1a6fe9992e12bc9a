"""Style, types and layers are part of the test command."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def _run(*command):
    tool = Path(sys.executable).with_name(command[0])
    assert tool.exists() or shutil.which(command[0]), f"{command[0]} is not installed"
    done = subprocess.run(
        [str(tool) if tool.exists() else command[0], *command[1:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_code_is_linted():
    _run("ruff", "check", ".")


def test_code_is_formatted():
    _run("ruff", "format", "--check", ".")


@pytest.mark.slow  # over ten seconds without a cache
@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="the numpy for Python 3.10 has older, other types"
)
def test_types_are_strict():
    _run("mypy")


def test_layers_hold():
    _run("lint-imports", "--no-cache")


def test_conda_and_pip_ask_for_the_same():
    import tomllib

    from ruamel.yaml import YAML

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    conda = YAML(typ="safe").load((ROOT / "environment.yml").read_text())["dependencies"]
    assert conda[-1]["pip"] == project["dependencies"]
    assert len(set(project["dependencies"])) == len(project["dependencies"])
    assert f"python{project['requires-python']}" in conda


def test_only_safe_releases_of_fabric_are_allowed():
    text = (ROOT / "pyproject.toml").read_text()
    assert re.search(r'"lightning-fabric>=2\.6\.[6-9]"', text)


def test_the_readme_holds_the_two_commands_of_a_newcomer():
    line = "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/pytest"
    assert line in (ROOT / "README.md").read_text().splitlines()
    first = "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/medldr quickstart"
    assert first in (ROOT / "README.md").read_text().splitlines()
