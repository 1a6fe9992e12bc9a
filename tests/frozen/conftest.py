import sys
from pathlib import Path

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)

collect_ignore_glob = ["frozen*.py"]
"""Imported under their own names; collecting doctests would import them a second time."""
