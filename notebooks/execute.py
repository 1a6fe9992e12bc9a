"""Run the notebooks from top to bottom, and store them with light outputs.

Stored notebooks hold what their cells print and draw, and nothing of the machine that ran them: no
times, no language version, no standard error. After a change of a notebook::

    python notebooks/execute.py                    # all, or those that are named
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

HERE = Path(__file__).parent
CELL_SECONDS = 300
"""A single cell that takes longer than this hangs."""


def execute(path: Path) -> NotebookNode:
    """The notebook with fresh outputs; the file is left as it is.

    Raises:
        nbclient.exceptions.CellExecutionError: If a cell fails.
    """
    # The first process to list the fonts says so on standard error: this one, not the kernel.
    importlib.import_module("matplotlib.font_manager")
    notebook = nbformat.read(path, as_version=4)
    with _fresh_settings():
        client = NotebookClient(
            notebook,
            timeout=CELL_SECONDS,
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": str(HERE)}},
        )
        return client.execute()


def light(notebook: NotebookNode) -> NotebookNode:
    """The notebook as it is stored."""
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for cell in notebook.cells:
        cell.metadata = NotebookNode()
    return notebook


@contextmanager
def _fresh_settings() -> Iterator[None]:
    """Neither the user's Jupyter and IPython settings nor a chosen backend reach the kernel."""
    with tempfile.TemporaryDirectory() as folder:
        own = dict.fromkeys(("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"), folder)
        with mock.patch.dict(os.environ, {**own, "OMP_NUM_THREADS": "1"}):
            os.environ.pop("MPLBACKEND", None)
            yield


def main(names: list[str]) -> None:
    """Run and store the named notebooks, or all."""
    for path in [Path(name) for name in names] or sorted(HERE.glob("*.ipynb")):
        nbformat.write(light(execute(path)), path)


if __name__ == "__main__":
    main(sys.argv[1:])
