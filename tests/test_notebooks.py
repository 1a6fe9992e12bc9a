"""The notebooks run from top to bottom, print what their prose says, and are stored lightly."""

import re
import resource
import runpy
import sys
from pathlib import Path

import nbformat
import pytest

import medldr

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
MOST_BYTES = 150_000
MOST_SECONDS = 60

OWN_PATH = re.compile(r"(?<![\w.])/(?:\w[\w.-]*/)+|[A-Z]:\\|file://|~/")
"""A path from the root: tags of HTML and relative paths have none with two slashes."""


def stored(name):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(cell):
    """What a cell prints and shows, without pictures."""
    for output in cell.outputs:
        yield output.get("text", "")
        for kind, content in output.get("data", {}).items():
            if kind.startswith("text/"):
                yield content


def printed(notebook, cell_id):
    (cell,) = [cell for cell in notebook.cells if cell.id == cell_id]
    return "".join(output.get("text", "") for output in cell.outputs)


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", text)]


def check_own_loop(notebook):
    original, degraded, restored = numbers(printed(notebook, "loop"))
    assert original > 75
    assert degraded + 3 < restored <= original
    views = printed(notebook, "views")
    assert re.findall(r"^(\w+) +\(64, 64\)$", views, re.MULTILINE) == ["z", "degraded", "restored"]
    assert "sum of the three terms: True" in views
    right, kept, dropped = numbers(printed(notebook, "predict").replace(",", ""))
    assert right > 75
    assert kept > dropped > 0
    wrong, good = printed(notebook, "mistake").splitlines()
    assert wrong.endswith("(4, 1, 1), largest 1.00")
    assert "(1, 4, 4)" in good
    assert numbers(good)[-1] < 0.9
    whole, single = printed(notebook, "alone").splitlines()
    assert whole.endswith("True")
    assert single.endswith("False")


def check_run_folder(notebook):
    assert "missing" not in printed(notebook, "folder")
    assert printed(notebook, "folder").count("there") == 8
    config = printed(notebook, "config")
    assert "Same folder: True" in config
    assert "Anything left to do: False" in config
    assert "protocol phantom+modified" in printed(notebook, "record")
    assert re.fullmatch(r"\d+ evaluations, \d+ columns\n", printed(notebook, "log"))
    by_hand, ours = printed(notebook, "predictions").splitlines()
    by_hand, ours = numbers(by_hand), numbers(ours)
    assert by_hand[0] == ours[0]
    # value, 95, low, high: other draws move the ends a little
    assert by_hand[2:4] == pytest.approx(ours[2:4], abs=1.5)
    latents = printed(notebook, "latents")
    assert "latents: original, degraded, restored" in latents
    assert "Same probabilities as predictions.csv: True" in latents
    assert numbers(latents.splitlines()[3])[0] == pytest.approx(ours[0], abs=0.06)
    lines = printed(notebook, "geometry").splitlines()
    assert [line.split()[0] for line in lines] == ["original", "degraded", "restored"]
    for line in lines:
        align, uniform = numbers(line)
        assert 0 <= align <= 4
        assert -8 <= uniform <= 0


def shown(notebook, cell_id):
    (cell,) = [cell for cell in notebook.cells if cell.id == cell_id]
    return "".join(output.get("data", {}).get("text/plain", "") for output in cell.outputs)


def check_case(notebook):
    assert "Same answer for the array: True" in printed(notebook, "answer")
    assert "new_patient.nii.gz" in shown(notebook, "answer")
    (heat,) = [cell for cell in notebook.cells if cell.id == "heat"]
    assert ["image/png" in output.data for output in heat.outputs] == [True]
    assert len(numbers(printed(notebook, "truth"))) == 2
    assert "it looks unlike the training images" in shown(notebook, "unusual")
    known, unseen = (numbers(line) for line in printed(notebook, "both").splitlines())
    assert known[0] <= 20
    assert unseen[0] >= 80
    assert unseen[2] > known[2] - 15  # the probabilities alone would not have told


def check_own_table(notebook):
    assert "DataCheck(nodules, 0 wrong" in shown(notebook, "study")
    count, runs = numbers(printed(notebook, "results").replace(",", ""))
    assert count > 500
    assert runs == 6
    assert "mixstyle" in shown(notebook, "pivot")
    assert shown(notebook, "compare") == "Compared(study+mixstyle with study+erm)"
    (compared,) = [cell for cell in notebook.cells if cell.id == "compare"]
    assert "<table" in compared.outputs[0].data["text/html"]
    assert "difference_low" in shown(notebook, "difference")
    assert shown(notebook, "new").count(".png") == 2


CHECKS = {
    "a_3d_case": check_case,
    "latentdr_in_your_own_loop": check_own_loop,
    "own_table_to_results": check_own_table,
    "reading_a_run_folder": check_run_folder,
}


def test_every_notebook_has_its_check():
    assert list(CHECKS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_what_is_stored_says_what_the_prose_says(name):
    CHECKS[name](stored(name))


@pytest.mark.slow  # trains, in a process of its own
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_from_top_to_bottom(name):
    execute = runpy.run_path(str(FOLDER / "execute.py"))["execute"]
    # Processor time of the kernel: another program on the machine cannot make it longer.
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    notebook = execute(FOLDER / f"{name}.ipynb")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert 0 < seconds < MOST_SECONDS
    CHECKS[name](notebook)
    check_outputs(notebook)
    assert [output_kinds(cell) for cell in notebook.cells] == [
        output_kinds(cell) for cell in stored(name).cells
    ]


def output_kinds(cell):
    return [
        (o.output_type, o.get("name"), sorted(o.get("data", ()))) for o in cell.get("outputs", ())
    ]


def check_outputs(notebook):
    """No standard error, no warning, and nothing of the machine."""
    for cell in code_cells(notebook):
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name", "stdout") == "stdout"
        for text in texts(cell):
            assert "Warning" not in text
            assert not OWN_PATH.search(text), OWN_PATH.search(text)


@pytest.mark.parametrize("name", NAMES)
def test_stored_outputs_are_light(name):
    notebook = stored(name)
    nbformat.validate(notebook)
    check_outputs(notebook)
    assert (FOLDER / f"{name}.ipynb").stat().st_size < MOST_BYTES
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
    assert any(cell.outputs for cell in cells)
    assert all(cell.metadata == {} for cell in notebook.cells)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.language_info == {"name": "python"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/home/jane/runs/a", True),
        ("see C:\\runs", True),
        ("~/runs", True),
        ("runs/phantom-1234-s0", False),
        ("<td>1</td></tr>", False),
        ("1/2", False),
    ],
)
def test_a_path_of_a_machine_is_recognised(text, found):
    assert bool(OWN_PATH.search(text)) == found


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_needs_public_names_alone(name):
    code = "\n".join(cell.source for cell in code_cells(stored(name)))
    assert not re.findall(r"(?:from|import) medldr\.\S+", code)
    used = set(re.findall(r"\bmedldr\.(\w+)", code))
    used |= set(re.findall(r"from medldr import (\w+)", code))
    assert used <= set(medldr.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_the_readme_links_a_notebook(name):
    assert f"](notebooks/{name}.ipynb)" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_links_of_a_notebook_lead_somewhere(name):
    for cell in stored(name).cells:
        for target in re.findall(
            r"\]\(([^)#]+)\)", cell.source if cell.cell_type == "markdown" else ""
        ):
            assert target.startswith("https://") or (FOLDER / target).is_file()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is part of Python 3.11 and later")
def test_jupyter_is_for_tests_only():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    jupyter = re.compile(r"nbclient|nbformat|ipykernel|jupyter|notebook|ipython", re.IGNORECASE)
    assert not [one for one in project["dependencies"] if jupyter.match(one)]
    assert len([one for one in project["optional-dependencies"]["test"] if jupyter.match(one)]) == 3
