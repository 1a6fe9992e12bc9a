"""Every run and sweep that the guides name is one that can be started: its name and its keys."""

import re
import shlex
from pathlib import Path

import pytest

from medldr.config import load_config

ROOT = Path(__file__).parents[2]
GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = re.compile(r"medldr (train|sweep) [^`\n]+")
OWN = re.compile(r"[A-Z]+|.*\.ya?ml|runs/.*|status|show")
"""Names of the reader's own files, and commands about a folder; a loop's ``$seed`` is no value."""


def documented():
    """Kind, name and keys of each command, once."""
    found = {}
    for guide in GUIDES:
        for match in COMMAND.finditer(guide.read_text(encoding="utf-8")):
            _, kind, name, *rest = shlex.split(match[0], comments=True)
            keys = tuple(word for word in rest if re.match(r"[a-z_.]+=[^$]*$", word))
            if not OWN.fullmatch(name):
                found.setdefault((kind, name, keys), guide.name)
    return [pytest.param(*command, id=f"{guide}: {command[1]}") for command, guide in found.items()]


def test_the_guides_have_commands():
    assert len(documented()) > 10
    assert {command.values[0] for command in documented()} == {"train", "sweep"}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name", "keys"), documented())
def test_a_command_names_a_packaged_run_or_sweep_and_its_keys(kind, name, keys, planned):
    if kind == "train":
        assert load_config(name, list(keys)).label.startswith(name)
    else:
        assert planned(name, keys)[1]


def test_the_stages_of_the_guide_are_stages():
    text = (ROOT / "docs" / "rare_classes.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(training:\n.*?)```", text, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        (line,) = re.findall(r"(\{name: .*\})", block)
        (stage,) = load_config("retinamnist_erm", [f"training.stages=[{line}]"]).training.stages
        assert stage.name in ("retrain_head", "tau_norm")
