"""Arguments and options that several commands have."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from medldr.plugins import allowing

Config = Annotated[
    str,
    typer.Argument(help="A packaged run (`medldr list runs`) or a YAML file; with --run, a sweep."),
]
DataName = Annotated[
    str,
    typer.Argument(help="A data part, a run or a study, for example camelyon17 or study.yaml."),
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(help="Changes: KEY=VALUE, for example training.epochs=2.", metavar="KEY=VALUE"),
]
Run = Annotated[
    Path, typer.Argument(help="A finished run folder; with --run, the folder of a sweep.")
]
PickedRun = Annotated[
    str | None,
    typer.Option(
        "--run",
        help="Which run of a sweep: its name, its label and seed such as erm-s0, or a part of it.",
        metavar="NAME",
    ),
]
PICK = ", or pick it with --run NAME: its label and seed, or a part of them"
"""What to do with a folder of several runs."""
RunsBelow = Annotated[Path, typer.Option("--out", help="Parent folder of the run folders.")]
OutFolder = Annotated[Path, typer.Option("--out", help="The folder to write.")]
Device = Annotated[str | None, typer.Option(help="auto, cpu, cuda or mps; unset: as in the run.")]
Precision = Annotated[
    str | None,
    typer.Option(
        "--precision",
        help="float32, bfloat16 or float16; unset: the one that each run was trained in.",
    ),
]
Encoder = Annotated[
    Path | None,
    typer.Option(
        "--encoder",
        help="Of a run on stored latents that is given images: the folder of latents, or the run "
        "whose network made them (unset: where the latents of training were).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the numbers as JSON, and nothing else.")]
Plugins = Annotated[
    list[str] | None,
    typer.Option(
        "--plugins",
        help="A package of your own whose plug-ins may be imported; may be repeated.",
        metavar="NAME",
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace what an earlier call wrote under that name.")
]
FolderAndOverrides = Annotated[
    list[str] | None,
    typer.Argument(
        help="The folder with the files, if it is not the usual one, and changes: KEY=VALUE, for "
        "example data.size=64.",
        metavar="[DIR] [KEY=VALUE]",
    ),
]


def with_plugins(command: Callable[..., None]) -> Callable[..., None]:
    """The command with one more option, `Plugins`, for all that it reads and starts."""

    @functools.wraps(command)
    def run(*args: Any, plugins: list[str] | None = None, **kwargs: Any) -> None:
        with allowing(plugins or ()):
            command(*args, **kwargs)

    plain = inspect.signature(command, eval_str=True)
    option = inspect.Parameter(
        "plugins", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Plugins
    )
    given = [*plain.parameters.values(), option]
    run.__signature__ = plain.replace(parameters=given)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in given}
    return run


def print_json(value: Any) -> None:
    """Print plain values; a path or a date as its text."""
    typer.echo(json.dumps(value, indent=1, ensure_ascii=False, default=str))
