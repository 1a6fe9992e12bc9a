"""Which data are meant by a name: a data part, a run, a sweep, or the file of one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from medldr.config import RunConfig, find_config, load_config, load_part, packaged_names
from medldr.config.load import is_sweep
from medldr.data.config import DatasetConfig
from medldr.errors import InputError, did_you_mean_beside, some


def require_data(name: str) -> None:
    """Refuse what is neither a data set, a run nor a study; imports nothing that takes long.

    Raises:
        InputError: With the nearest name; or, of a folder, with what to do first.
    """
    known = packaged_names("data")
    if name in known or is_sweep(name):
        return
    try:
        find_config(name)
    except InputError as error:
        if Path(name).expanduser().is_file():
            raise
        if Path(name).expanduser().is_dir():
            raise InputError(
                f"{name} is a folder. For scans of your own, `medldr new {name}` writes a study "
                "file first, which this command takes; a known data set is named before its "
                f"folder, for example pacs {name} (`medldr data list`)"
            ) from error
        raise InputError(
            f"no data set or run is named {name!r}.{did_you_mean_beside(Path(name), known)} "
            f"Data sets: {some(known, listed='medldr data list')}"
        ) from error


def find_data(
    name: str, overrides: Sequence[str]
) -> tuple[tuple[DatasetConfig, ...], RunConfig | None]:
    """The data of a data part, a run or a sweep.

    Returns:
        Sections `data` of one data set that differ in how they divide it; and a run that uses it,
        None where only a data part is named.

    Raises:
        InputError: If there is none of that name, or a sweep has several data sets.
    """
    if name in packaged_names("data"):
        return (data_section(name, overrides),), None
    if is_sweep(name):
        return data_of_study(name, data_changes(overrides))
    section = data_section(name, overrides)  # says what there is, where nothing is of this name
    return (section,), load_config(name, data_changes(overrides))


def data_section(name: str, overrides: Sequence[str]) -> DatasetConfig:
    """The `data` section of a data part, a run, a run folder, or the file of a run or a sweep.

    Args:
        name: For example ``retinamnist`` (a part), ``retinamnist_erm`` (a run) or a YAML file. A
            sweep's data are those that its runs divide, without a domain held out.
        overrides: ``data.KEY=VALUE`` texts; the ``data.`` may be left out. A first one without
            ``=`` is the folder of the files, `data.root`.
    """
    known, changes = packaged_names("data"), data_changes(overrides)
    if is_sweep(name):
        return undivided(data_of_study(name, changes)[0][0])
    if name not in known:
        require_data(name)
        return cast(DatasetConfig, load_config(name, changes).data)
    values = load_part("data", name)["data"]
    # Check a whole configuration: a wrong key gets the same message as in a run.
    mapping = {"data": values, "transform": "none", "model": "resnet18", "algorithm": "erm"}
    return cast(DatasetConfig, load_config(mapping, changes).data)


def data_changes(overrides: Sequence[str]) -> list[str]:
    """Changes as a run takes them; a first one without ``=`` is the folder of the files."""
    if overrides and "=" not in overrides[0]:
        # Quoted, because a path may contain characters that YAML would interpret.
        overrides = [f"root={json.dumps(overrides[0], ensure_ascii=False)}", *overrides[1:]]
    return [text if text.startswith("data.") else f"data.{text}" for text in overrides]


def data_of_study(
    source: str, overrides: Sequence[str]
) -> tuple[tuple[DatasetConfig, ...], RunConfig]:
    """The data of a sweep: sections that differ in how they divide it; and its first run.

    Raises:
        InputError: If its runs use several data sets.
    """
    from medldr.sweeps.plan.expand import expand
    from medldr.sweeps.plan.file import load_sweep

    planned = expand(load_sweep(source, overrides), "runs")
    sections: dict[str, DatasetConfig] = {}
    sets: dict[str, str] = {}
    for one in planned:
        section = cast(DatasetConfig, one.config.data).with_seed(one.config.seed)
        plain = {"split_seed": 0, "imbalance": None}
        whole = undivided(section).model_copy(update=plain)
        sets.setdefault(whole.model_dump_json(), section.name)
        sections.setdefault(section.model_dump_json(), section)
    if len(sets) > 1:
        raise InputError(
            f"{source} has several data sets or readings of one ({', '.join(sets.values())}): name "
            "them one by one, medldr data ... NAME"
        )
    return tuple(sections.values()), planned[0].config


def undivided(section: DatasetConfig) -> DatasetConfig:
    """The same data without the domain or fold that a run of a sweep leaves out."""
    return section.model_copy(update={"held_out": (), "fold": None})
