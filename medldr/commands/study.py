"""A sweep file, as `medldr new` writes it, where a command takes a run or a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from medldr.config import RunConfig, find_config, load_config, packaged_names
from medldr.config.changes import Changes, change_texts
from medldr.config.load import is_sweep
from medldr.data.config import DatasetConfig
from medldr.errors import InputError, did_you_mean_beside, some
from medldr.folders.one_run import named


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


def run_config(
    source: str | Path | Mapping[str, Any],
    overrides: Changes,
    name: str | None,
    out: str | Path | None,
) -> tuple[RunConfig, Path]:
    """The configuration of one run, also of one in a sweep, and the folder that its folder is in.

    Args:
        source: A packaged name, a YAML file, a mapping with its content; or a sweep.
        overrides: Changes, as `medldr train` or, for a sweep, `medldr sweep` takes them.
        name: Which run of a sweep, as `medldr.folders.one_run.named` takes it.
        out: The folder; unset: ``runs``, and of a sweep its usual one.

    Raises:
        InputError: If no run of a sweep is named, with the first one's name; or none is of that
            name.
    """
    if isinstance(source, Mapping) or not is_sweep(source):
        if name is not None:
            raise InputError(f"--run {name}: {source} is one run, not a sweep: leave out --run")
        return load_config(source, overrides), Path(out or "runs")
    from medldr.sweeps.plan.combinations import cases
    from medldr.sweeps.plan.expand import expand
    from medldr.sweeps.plan.file import load_sweep

    sweep = load_sweep(source, change_texts(overrides))
    if name is None:
        known = cases(sweep)
        count = len(known) * len(sweep.seeds)
        raise InputError(
            f"{source} is a sweep of {count} runs: `medldr sweep {source}` starts them all. Its "
            f"first run is {known[0].label}-s{sweep.seeds[0]}; --run NAME (in Python run=NAME) "
            f"picks one, and `medldr sweep {source} --dry-run` lists them"
        )
    folder = Path(out or Path("runs") / sweep.name)
    planned = {one.member.run: one.config for one in expand(sweep, folder)}
    return planned[named(name, list(planned), str(source))], folder


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
