"""Plug-ins: the file name is the name.

`names("algorithms")` lists the files of `medldr/algorithms` without importing any of them;
`load("algorithms", "latentdr")` imports `medldr.algorithms.latentdr`. A dotted name
(`mylab.methods.foo`) is a module of an outside package, imported only where `allowing` says so: a
configuration or a run may come from anybody. `base.py` and `_x.py` are not plug-ins.

What a plug-in module offers, by kind:

================  =========================================================
kind              module-level names
================  =========================================================
``datasets``      ``Config``, ``load(config) -> ImageTable``,
                  ``present(config) -> str`` (where its files are, for the user);
                  if it has files: ``require(config)`` (raises if they are missing);
                  if checking every file takes long:
                  ``load_again(config, bad_files)`` (as ``load``, without checking);
                  if counts were published: ``examine(config, seen)``, ``submission``
``transforms``    ``Config``, ``build(config, shape) -> PixelRule``
``losses``        ``Config``, ``LOSS``, a ``Loss`` class
``models``        ``Config``, ``build(config, spec) -> FeatureModel``; if it does not work
                  in both 2D and 3D: ``SPATIAL_DIMS``; if published weights need special
                  loading: ``load_published(model, path)``
``algorithms``    ``Config``, ``ALGORITHM``, an ``Algorithm`` class
================  =========================================================

What a report or a test needs to know about a plug-in is also stated in its module, as literals that
`facts` reads without importing anything:

===================  ======================================================
name                 meaning
===================  ======================================================
``TITLE``            its name in print; without it, the file name is printed
``TITLE_BY``         settings that the title names: key -> value -> word
``FORMS``            algorithms: settings with their own published id, each
                     ``{"id": ..., "when": {key: value}}``; other settings use
                     the file name
``PLAIN``            algorithms: settings that every form shares unless its entry
                     says otherwise, and what a missing key means
``PUBLISHED``        losses: the published value of each of its keys; other values are
                     part of a method's title and id
``AUGMENTATION``     transforms: the published augmentation that it implements
``CONTRACT_CASES``   algorithms: how the contract tests train it, besides its defaults
``CONTRACT_KEYS``    datasets, models: keys with which the contract tests build a small
                     one
``COLOUR_ONLY``      transforms: whether grey images and volumes are refused
``TAKES_FLOAT``      transforms: whether images may be float32 in [0, 1]
``ANY_SIZE``         transforms: whether pictures of any size become one of ``size``
===================  ======================================================
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final, Literal, ParamSpec, TypeVar

from medldr.errors import InputError, did_you_mean, some

Kind = Literal["algorithms", "datasets", "losses", "models", "transforms"]

SINGULAR: dict[Kind, str] = {
    "algorithms": "algorithm",
    "datasets": "dataset",
    "losses": "loss",
    "models": "model",
    "transforms": "transform",
}


ALLOWED: Final = "MEDLDR_PLUGINS"
"""Environment variable with the allowed outside packages, joined by commas.

It is in the environment, and in no configuration, so that processes started by this one inherit it
and no file that somebody sent can set it.
"""

P = ParamSpec("P")
R = TypeVar("R")


def allowed() -> list[str]:
    """The outside packages whose modules may be plug-ins."""
    return [name for name in map(str.strip, os.environ.get(ALLOWED, "").split(",")) if name]


@contextlib.contextmanager
def allowing(packages: str | Sequence[str]) -> Iterator[None]:
    """Allow plug-ins of outside packages, besides those already allowed, while the block runs.

    Args:
        packages: Their names; ``mylab`` allows ``mylab.methods.foo``.

    Example:
        >>> with allowing(["theirs"]):
        ...     "theirs" in allowed()
        True
        >>> "theirs" in allowed()
        False
    """
    before = os.environ.get(ALLOWED)
    if packages:
        more = [packages] if isinstance(packages, str) else packages
        os.environ[ALLOWED] = ",".join(dict.fromkeys([*allowed(), *more]))
    try:
        yield
    finally:
        if packages:
            os.environ.pop(ALLOWED)
            os.environ.update({} if before is None else {ALLOWED: before})


def takes_plugins(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose argument `plugins` names the outside packages that it may import."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        with allowing(kwargs.get("plugins") or ()):  # type: ignore[arg-type]
            return function(*args, **kwargs)

    return called


def names(kind: Kind) -> list[str]:
    """Names of the plug-ins of a kind, sorted, found by listing the folder.

    Example:
        >>> "latentdr" in names("algorithms"), "base" in names("algorithms")
        (True, False)
    """
    return list(_listed(kind))


@cache
def _listed(kind: Kind) -> tuple[str, ...]:
    # Listed once: planning a sweep asks for every section of each of its runs.
    files = (p.stem for p in (Path(__file__).parent / kind).glob("*.py"))
    return tuple(sorted(n for n in files if n != "base" and not n.startswith("_")))


def load(kind: Kind, name: str) -> ModuleType:
    """Import the module behind a plug-in name.

    Raises:
        InputError: If the name is unknown (with the nearest known one), or if an outside
            module is not allowed or cannot be imported.
    """
    if "." in name:
        if not any(name == known or name.startswith(f"{known}.") for known in allowed()):
            package = name.partition(".")[0]
            raise InputError(
                f"{SINGULAR[kind]} {name!r} is an outside plug-in, and importing it runs its code. "
                f"If you trust the package {package}, allow it: `--plugins {package}`, "
                f"plugins=[{package!r}] in Python, or {ALLOWED}={package} in the environment"
            )
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise InputError(
                f"{SINGULAR[kind]} {name!r} is an outside plug-in, but it cannot be imported: "
                f"{error}. Install the package it comes from, or put its folder on PYTHONPATH."
            ) from error
    known = names(kind)
    if name not in known:
        raise InputError(
            f"there is no {SINGULAR[kind]} named {name!r}.{did_you_mean(name, known)} "
            f"Known: {some(known, listed=f'medldr list {kind}')}"
        )
    return importlib.import_module(f"medldr.{kind}.{name}")


def facts(kind: Kind, name: str) -> Mapping[str, Any]:
    """The literal constants of a plug-in's module, read from its text.

    Nothing is imported: a report must start quickly, and must not run a module just because a
    folder from someone else names it. An outside or unknown plug-in has no facts.

    Example:
        >>> facts("algorithms", "coral")["TITLE"], dict(facts("algorithms", "mylab.methods.foo"))
        ('CORAL', {})
    """
    return _read(kind, name)[1] if name in names(kind) else MappingProxyType({})


def summary(kind: Kind, name: str) -> str:
    """First line of a plug-in's docstring, read without importing it.

    Example:
        >>> summary("algorithms", "erm")
        'ERM: the mean classification loss and nothing else.'
    """
    return _read(kind, name)[0].strip().split("\n", 1)[0].replace("`", "")


def stated(source: str) -> tuple[str, dict[str, Any]]:
    r"""Docstring and literal constants of a module's text.

    Example:
        >>> stated("'A method.'\nTITLE = 'Foo'\nWIDTH = compute()")
        ('A method.', {'TITLE': 'Foo'})
    """
    tree = ast.parse(source)
    literals = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
        elif isinstance(node, ast.AnnAssign):
            target = node.target
        else:
            continue
        if isinstance(target, ast.Name) and target.id.isupper() and node.value is not None:
            try:
                literals[target.id] = ast.literal_eval(node.value)
            except ValueError:  # computed, so it cannot be read as a literal
                continue
    return ast.get_docstring(tree) or "", literals


@cache
def _read(kind: Kind, name: str) -> tuple[str, Mapping[str, Any]]:
    path = Path(__file__).parent / kind / f"{name}.py"
    text, literals = stated(path.read_text(encoding="utf-8"))
    return text, MappingProxyType(literals)
