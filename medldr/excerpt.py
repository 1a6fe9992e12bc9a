"""Names of a plug-in's module, made without the rest of it, which would load torch.

A wrong key is reported in under a second: the keys of an algorithm are a class of a few lines in a
module that also holds networks, so only the statements that the class needs are executed, there and
in the modules of plug-ins that it imports, with a stand-in for torch. What they make is for
messages and lists. A run imports the modules themselves, whose classes are others.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

_PACKAGE: Final = Path(__file__).parent
_HOLD_PLUGINS: Final = ("algorithms", "datasets", "latent", "losses", "models", "transforms")


def excerpt(module: str, name: str) -> Any:
    """The value of a name of a module.

    Args:
        module: Its dotted name. One that is in no folder of plug-ins is imported.
        name: A class, function or constant of it, or a module of a package.

    Raises:
        AttributeError: If the module has no such name.

    Example:
        >>> excerpt("medldr.algorithms.erm", "Config")().lr_scale
        1.0
    """
    package, *below = module.split(".")
    if package == "torch":
        return _Absent
    if package == "medldr" and below and below[0] in _HOLD_PLUGINS:
        return getattr(_part(module), name)
    return getattr(importlib.import_module(module), name)


class _AnyName(type):
    def __getattr__(cls, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls


class _Absent(metaclass=_AnyName):
    """Stands for all of torch: networks may be derived from it, and nothing is computed with it."""


class _Part:
    """What has been made of one module, under another name than its own.

    Args:
        module: Its dotted name.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        # Found without `importlib`, which would import the package around it.
        self._folder = _PACKAGE.joinpath(*module.split(".")[1:])
        is_package = self._folder.is_dir()
        file = self._folder / "__init__.py" if is_package else self._folder.with_suffix(".py")
        self._statements = ast.parse(file.read_text(encoding="utf-8")).body
        self._binding = {name: node for node in self._statements for name in _bound(node)}
        # Where pydantic looks for the names of annotations.
        self._space = sys.modules[f"medldr.excerpt.{module}"] = ModuleType(
            f"medldr.excerpt.{module}"
        )

    def __getattr__(self, name: str) -> Any:
        """Make a name, if it has not been made."""
        self._make(name)
        if name in self._space.__dict__:
            return self._space.__dict__[name]
        if (self._folder / f"{name}.py").is_file():
            return _part(f"{self._module}.{name}")
        raise AttributeError(f"{self._module} has no {name}")

    def _make(self, name: str) -> None:
        """Execute the statement that binds a name, after those that bind the names in it."""
        node = self._binding.pop(name, None)
        if isinstance(node, ast.ImportFrom):
            (imported,) = (one.name for one in node.names if (one.asname or one.name) == name)
            self._space.__dict__[name] = excerpt(str(node.module), imported)
        elif isinstance(node, ast.Import) and name == "torch":
            self._space.__dict__[name] = _Absent
        elif node is not None:
            for used in _used(node):
                self._make(used)
            # Annotations are texts there, as they are here: `compile` goes by this file.
            code = compile(ast.Module([node], []), self._space.__name__, "exec")
            exec(code, self._space.__dict__)


_part = cache(_Part)


def _bound(node: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module binds."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    found = (of for target in targets if target for of in ast.walk(target))
    return [of.id for of in found if isinstance(of, ast.Name)]


def _used(node: ast.AST) -> Iterator[str]:
    """The names that a statement reads, but for the bodies of methods that no decorator registers.

    Such a method belongs to the run, not to the keys: nothing that checks keys calls it.
    """
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.FunctionDef) and isinstance(node, ast.ClassDef):
            yield from _used(part if part.decorator_list else part.args)
        else:
            yield from _used(part)
