"""Labels, splits, hospitals and slides of Camelyon17: metadata.csv, checked, as `wilds` reads it.

`wilds` trusts its file. One that was edited, cut off or opened in a spreadsheet would give wrong
splits, or an error far from its cause.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from medldr.datasets._camelyon17.published import HOSPITALS
from medldr.datasets._camelyon17.wilds import open_camelyon17
from medldr.errors import InputError

_PLACE: Final = ["patient", "node", "x_coord", "y_coord"]
"""Columns that no two patches share."""
_NUMBER: Final = r"[0-9]{1,9}"
_ALLOWED: Final = {
    "patient": (_NUMBER, "a number with its zeros, as in 004"),
    **dict.fromkeys(("node", "x_coord", "y_coord", "slide"), (_NUMBER, "a whole number")),
    **dict.fromkeys(("tumor", "split"), ("[01]", "0 or 1")),
    "center": (f"[{HOSPITALS[0]}-{HOSPITALS[-1]}]", "0 to 4"),
}
"""Pattern of the values of each column, and what it means."""
_EXAMPLES: Final = 3
_CURE: Final = "Use the metadata.csv of the published archive"


def read_rows(folder: Path, split_scheme: str) -> pd.DataFrame:
    """What `wilds` says of each patch, row by row of metadata.csv.

    Args:
        folder: The folder that holds metadata.csv.
        split_scheme: ``official`` or ``mixed-to-test``.

    Returns:
        Columns ``path``, ``id`` (name of the file without its ending: unique), ``label``,
        ``split``, ``hospital``, ``slide``.

    Raises:
        InputError: If metadata.csv is broken.
    """
    check_metadata(folder / "metadata.csv")
    dataset = open_camelyon17(folder, split_scheme)
    fields = dataset.metadata_fields
    metadata = dataset.metadata_array.numpy()
    rows = pd.DataFrame(
        {
            "path": list(dataset._input_array),
            "label": dataset.y_array.numpy().astype(np.int64),
            "hospital": metadata[:, fields.index("hospital")].astype(np.int64),
            "slide": metadata[:, fields.index("slide")].astype(np.int64),
        }
    )
    codes = {code: name for name, code in dataset.split_dict.items()}
    rows["split"] = pd.Series(np.asarray(dataset.split_array)).map(codes).fillna("")
    rows["id"] = rows["path"].str.rpartition("/")[2].str.removesuffix(".png")
    return rows


def check_metadata(path: Path) -> None:
    """Look at every value of metadata.csv.

    Raises:
        InputError: If it cannot be read, lacks a column, has an invalid value, or lists a
            patch twice; says where, how often, and what is expected.
    """
    try:
        table = pd.read_csv(
            path, dtype=str, keep_default_na=False, encoding="utf-8-sig", index_col=False
        ).fillna("")  # what a short row lacks
    except (OSError, ValueError) as error:  # what pandas cannot parse is a ValueError
        raise InputError(f"{path} cannot be read as a CSV file: {error}. {_CURE}") from error
    missing = [name for name in _ALLOWED if name not in table]
    if missing or table.columns[0] in _ALLOWED:
        lacks = f"the column{'s' if missing[1:] else ''} {', '.join(missing)}"
        raise InputError(
            f"{path} lacks {lacks if missing else 'the first column'}. It has "
            f"{', '.join(table.columns)}; expected: an unnamed column that counts the rows, "
            f"{', '.join(_ALLOWED)}. {_CURE}"
        )
    if table.empty:
        raise InputError(f"{path} has a header but no rows. {_CURE}")
    for name, (pattern, meaning) in _ALLOWED.items():
        broken = table.loc[~table[name].str.fullmatch(pattern), name]
        if len(broken):
            examples = ", ".join(
                f"{text!r} (row {row})" for row, text in broken[:_EXAMPLES].items()
            )
            raise InputError(
                f"{path}: column {name} holds {len(broken)} invalid value(s), for example "
                f"{examples}; expected: {meaning}. {_CURE}"
            )
    twice = table.index[table.duplicated(_PLACE)]
    if len(twice):
        patch = table.loc[twice[0], _PLACE]
        first = table.index[(table[_PLACE] == patch).all(axis=1)][0]
        patient, node, x, y = patch
        raise InputError(
            f"{path}: rows {first} and {twice[0]} list the same patch (patient {patient}, node "
            f"{node}, x {x}, y {y}). {_CURE}"
        )
