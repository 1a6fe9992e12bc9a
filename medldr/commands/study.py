"""A sweep file, as `medldr new` writes it, where a command takes a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from medldr.config import RunConfig, load_config
from medldr.config.changes import Changes, change_texts
from medldr.config.load import is_sweep
from medldr.errors import InputError
from medldr.folders.one_run import named


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
            raise InputError(f"--run={name}: {source} is one run, not a sweep: leave out --run")
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
            f"first run is {known[0].label}-s{sweep.seeds[0]}; --run=NAME picks one, "
            f"and `medldr sweep {source} --dry-run` lists them"
        )
    folder = Path(out or Path("runs") / sweep.name)
    planned = {one.member.run: one.config for one in expand(sweep, folder)}
    return planned[named(name, list(planned), str(source))], folder
