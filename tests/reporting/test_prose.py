"""The fixed words of pages: each one that is asked for is there, with its values, and is used."""

import ast
import string
from pathlib import Path

import pytest

import medldr
from medldr.reporting import prose
from medldr.reporting.figures.drawing import figure_words

ROOT = Path(medldr.__file__).parent
FILES = [path for part in ("reporting", "evaluation") for path in (ROOT / part).rglob("*.py")]
TREES = {path: ast.parse(path.read_text("utf-8")) for path in FILES}
NODES = [(path, node) for path, tree in TREES.items() for node in ast.walk(tree)]
FILE = prose._words()


def places(*texts):
    return {name for text in texts for _, name, *_ in string.Formatter().parse(text) if name}


def calls(function):
    """Where it is called with plain names: place, names, and keywords (None: not known)."""
    for path, node in NODES:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == function:
            names = [a.value for a in node.args if isinstance(a, ast.Constant)]
            given = [keyword.arg for keyword in node.keywords]
            yield f"{path.name}:{node.lineno}", names, None if None in given else set(given)


def test_every_sentence_that_is_asked_for_is_there_and_gets_its_values():
    wrong = []
    for where, names, given in calls("sentence"):
        if not names:
            continue
        if names[0] not in FILE["sentences"]:
            wrong.append(f"{where}: no sentence {names[0]}")
        elif given is not None and not places(FILE["sentences"][names[0]]) <= given:
            wrong.append(f"{where}: {names[0]} lacks a value")
    assert wrong == []


def test_every_section_that_is_asked_for_is_there_and_gets_its_values():
    wrong = []
    for where, names, given in calls("section"):
        if len(names) < 2 or names[0] not in FILE:
            continue
        said = FILE[names[0]].get(names[1])
        if said is None:
            wrong.append(f"{where}: no section {names[:2]}")
        elif given is not None and not places(said.title, *said.text, said.remark) <= given:
            wrong.append(f"{where}: {names[:2]} lacks a value")
    assert wrong == []


@pytest.mark.parametrize("kind", FILE)
def test_every_entry_is_used(kind):
    if kind in ("endings", "aggregates"):  # by keys of records
        return
    named = {node.value for _, node in NODES if isinstance(node, ast.Constant)}
    begun = tuple(text for text in named if isinstance(text, str) and text.endswith("_"))
    assert {name for name in set(FILE[kind]) - named if not name.startswith(begun)} == set()


def test_what_is_missing_is_named_with_the_nearest_entry():
    with pytest.raises(LookupError, match=r"sections.json has no sentences.no_curve.*no_curves"):
        prose.sentence("no_curve")
    with pytest.raises(LookupError, match=r"no run.domain.*domains"):
        prose.section("run", "domain")


def test_a_wrong_entry_is_refused_when_it_is_read(tmp_path, monkeypatch):
    file = tmp_path / "sections.json"
    file.write_text('{"run": {"notes": {"title": "Notes", "short": "Notes", "txt": []}}}')
    monkeypatch.setattr(prose, "FILE", file)
    with pytest.raises(ValueError, match=r"run\.notes.*txt"):
        prose._words.__wrapped__()


def test_a_figure_without_words_is_named_with_the_one_that_is_meant():
    with pytest.raises(LookupError, match=r"figures.json has no words.reliabilty.*reliability"):
        figure_words("reliabilty")
