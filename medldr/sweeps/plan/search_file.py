"""Reading the random search of a sweep file: its space, from parts and from the file itself.

A part (``search/domainbed``) has a ``space``, may extend other parts, and may name the protocol
whose search it is; in a run of that protocol its values do not count as modified. Keys of the space
replace those of parts; ``null`` removes one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from medldr import plugins
from medldr.config import PLUGIN_SECTIONS, RunConfig, packaged_configs, packaged_names
from medldr.config.layers import COMMAND_LINE, Merged
from medldr.config.yaml import Document, KeyPath, plain, read_yaml
from medldr.errors import InputError, did_you_mean
from medldr.sweeps.plan.distributions import distribution
from medldr.sweeps.plan.parts import Axis
from medldr.sweeps.plan.schema import SearchContent
from medldr.sweeps.plan.search import Search, Variable

KIND: Final = "search"
"""Folder of the packaged parts."""
_OF_A_PART: Final = ("extends", "protocol", "space")
_FILE_ENTRY: Final = re.compile(r"^[./~]|\.ya?ml$")
Report = Callable[[str], None]


def read_search(
    content: SearchContent, merged: Merged, folder: Path, axes: Sequence[Axis], report: Report
) -> Search:
    """The random search of a sweep file.

    Args:
        content: What the file and the command line say of it.
        merged: The sweep file under the command line.
        folder: Of the sweep file.
        axes: The axes of the sweep, whose keys cannot be drawn as well.
        report: Called with each problem, a line.
    """
    space: dict[str, tuple[Variable, ...]] = {}
    said = merged.where((KIND, "extends"))
    beside = Path.cwd() if said == COMMAND_LINE else folder
    for entry in content.extends:
        try:
            for part, place in _parts(entry, said, beside, ()):
                space |= _of_part(part, place, report)
        except InputError as error:
            report(str(error))
    for key, written in content.space.items():
        where = merged.where((KIND, "space", key))
        relative = Path.cwd() if where == COMMAND_LINE else folder
        space[key] = _variables(key, written, where, relative, "", report)
    space = {key: several for key, several in space.items() if several}
    stated = [written for written in content.space.values() if written is not None]
    if not stated and not content.extends:
        where = merged.where((KIND,))
        parts = ", ".join(f"{KIND}/{name}" for name in packaged_names(KIND))
        report(f"{KIND} ({where}): there is nothing to draw: give search.space, or extend {parts}")
    for key, several in space.items():
        for problem in _of_key(key, [*space], axes):
            report(f"{KIND}.space.{key} ({several[0].where}): {problem}")
    return Search(
        draws=int(content.draws),
        seed=int(content.seed),
        defaults_first=content.defaults_first,
        per_seed=content.per_seed,
        space=space,
    )


def _parts(
    entry: str, where: str, folder: Path, reading: tuple[Path, ...]
) -> Iterator[tuple[Document, Path]]:
    """A part after what it extends, each with its folder."""
    known = [f"{KIND}/{name}" for name in packaged_names(KIND)]
    if _FILE_ENTRY.search(entry):
        path = folder / Path(entry).expanduser()
        if not path.is_file():
            raise InputError(f"search.extends = {entry!r} ({where}): there is no file {path}")
    elif entry in known:
        path = packaged_configs() / f"{entry}.yaml"
    else:
        near = did_you_mean(entry, known)
        raise InputError(
            f"search.extends = {entry!r} ({where}): there is no such packaged part.{near} "
            f"Known: {', '.join(known)}"
        )
    real = path.resolve()
    if real in reading:
        chain = " -> ".join(map(str, [*reading[reading.index(real) :], real]))
        raise InputError(f"parts of a search extend each other in a circle: {chain}")
    part = read_yaml(path)
    extends = part.values.get("extends") or []
    for inner in [extends] if isinstance(extends, str) else extends:
        yield from _parts(str(inner), _line(part, "extends"), path.parent, (*reading, real))
    yield part, path.parent


def _of_part(part: Document, folder: Path, report: Report) -> dict[str, tuple[Variable, ...]]:
    for key in part.values:
        if key not in _OF_A_PART:
            near = did_you_mean(key, _OF_A_PART)
            known = ", ".join(_OF_A_PART)
            report(f"{key} ({_line(part, key)}): a part of a search has no such key.{near} "
                   f"Known: {known}")  # fmt: skip
    space = part.values.get("space") or {}
    if not isinstance(space, Mapping):
        report(f"space ({_line(part, 'space')}): should be a mapping")
        return {}
    protocol = str(part.values.get("protocol") or "")
    return {
        key: _variables(key, written, _line(part, "space", key), folder, protocol, report)
        for key, written in space.items()
    }


def _variables(
    key: str, written: Any, where: str, folder: Path, protocol: str, report: Report
) -> tuple[Variable, ...]:
    """What a key is drawn from: one distribution, or several of which the first that holds counts.

    Empty for ``null``, and for what is reported.
    """
    if written is None:
        return ()
    several = written if isinstance(written, list) else [written]
    found = []
    if not several:
        report(f"{KIND}.space.{key} = [] ({where}): needs at least one distribution")
    for number, one in enumerate(several):
        place = f"{KIND}.space.{key}" + (f"[{number}]" if written is several else "")
        if not isinstance(one, Mapping):
            report(f"{place} = {one!r} ({where}): should be a mapping such as "
                   "{log_uniform: [1e-5, 1e-3]} or {choice: [0, 0.1]}")  # fmt: skip
            return ()
        when = one.get("when")
        problems = list(_of_when(when))
        if when is None and number + 1 < len(several):
            problems.append("holds for every run, so that what follows it never counts: add when:")
        try:
            drawn = distribution({k: v for k, v in one.items() if k != "when"})
        except ValueError as error:
            problems.append(str(error))
        for problem in problems:
            report(f"{place} ({where}): {problem}")
        if problems:
            return ()
        allowed = {
            str(name): tuple(plain(value) if isinstance(value, list) else [plain(value)])
            for name, value in (when or {}).items()
        }
        found.append(Variable(key, drawn, allowed, where, folder, protocol))
    return tuple(found)


def _of_when(when: Any) -> Iterator[str]:
    """What is wrong with the runs that a distribution is for."""
    if when is None:
        return
    if not isinstance(when, Mapping) or not when:
        yield "when should be a mapping such as {algorithm: [dann, cdann]}"
        return
    for key, value in when.items():
        section = str(key).partition(".")[0]
        if section not in RunConfig.model_fields:
            near = did_you_mean(section, RunConfig.model_fields)
            yield f"when.{key}: a run has no key {section!r}.{near}"
        elif key in PLUGIN_SECTIONS:
            known = plugins.names(PLUGIN_SECTIONS[key])
            for name in value if isinstance(value, list) else [value]:
                if name not in known and "." not in str(name):
                    near = did_you_mean(str(name), known)
                    kind = plugins.SINGULAR[PLUGIN_SECTIONS[key]]
                    yield f"when.{key} = {name!r}: there is no such {kind}.{near} Known: " + (
                        ", ".join(known)
                    )


def _of_key(key: str, keys: Sequence[str], axes: Sequence[Axis]) -> Iterator[str]:
    """Why a key cannot be drawn."""
    section, _, rest = key.partition(".")
    if key == "seed":
        yield "seeds have their own key: seeds: [0, 1, 2]"
    elif section not in RunConfig.model_fields:
        near = did_you_mean(section, RunConfig.model_fields)
        yield f"a run has no key {section!r}.{near}"
    elif not rest or rest == "name":
        yield f"only single keys are drawn (training.lr); make it an axis: axes.{section}: [...]"
    for axis in axes:
        if axis.key == key or axis.key.startswith(f"{key}."):
            yield f"is an axis as well ({axis.where}): keep one of the two"
        elif key.startswith(f"{axis.key}."):
            steps = key.removeprefix(f"{axis.key}.").split(".")
            if any(_has(value, steps) for value in axis.values.values()):
                yield f"is set by axes.{axis.key} as well ({axis.where}): keep one of the two"
    for other in keys:
        if other.startswith(f"{key}."):
            yield f"contains {other}, which is drawn as well: keep one of the two"


def _has(value: Any, steps: Sequence[str]) -> bool:
    for step in steps:
        if not isinstance(value, Mapping) or step not in value:
            return False
        value = value[step]
    return True


def _line(document: Document, *path: str) -> str:
    """File and line of a place of a document."""
    place: KeyPath = path
    line = document.lines.get(place)
    return document.source if line is None else f"{document.source}:{line}"
