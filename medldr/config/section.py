"""Sections of a configuration: only known keys are allowed, including those of its plug-in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SerializeAsAny,
    ValidatorFunctionWrapHandler,
    field_serializer,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from medldr import plugins
from medldr.errors import InputError, did_you_mean, some
from medldr.excerpt import excerpt


class Section(BaseModel):
    """A part of a configuration: unknown keys are errors, values are immutable."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, coerce_numbers_to_str=True, allow_inf_nan=False
    )

    @model_validator(mode="before")
    @classmethod
    def _true_is_no_number(cls, values: Any) -> Any:
        """Keep pydantic from accepting true as 1 where a number belongs."""
        if not isinstance(values, dict):
            return values
        return {
            key: _spelt(value)
            if key in cls.model_fields and _only_numbers(cls.model_fields[key].annotation)
            else value
            for key, value in values.items()
        }


def _only_numbers(annotation: Any) -> bool:
    """Whether a field accepts only numbers."""
    if get_origin(annotation) not in (tuple, list, Union, UnionType):
        return annotation in (int, float)
    options = (option for option in get_args(annotation) if option not in (type(None), Ellipsis))
    return all(map(_only_numbers, options))


def _spelt(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_spelt(item) for item in value]
    return str(value).lower() if isinstance(value, bool) else value


def one_of(
    kinds: Mapping[str, type[Section]], what: str, key: str = "name", default: str = ""
) -> Callable[[Any], Any]:
    """Validator of a field that holds one of several sections; one of its keys says which.

    Args:
        kinds: The sections, by the value of that key.
        what: What the value names, for the message about an unknown one.
        key: The key. A bare word for the field counts as the key ``name`` alone.
        default: Its value where a mapping does not state it; empty if it must.
    """

    def choose(value: Any) -> Any:
        if isinstance(value, str) and key == "name":
            value = {key: value}
        if not isinstance(value, dict):
            return value
        word = str(value.get(key, default))
        if word not in kinds:
            fault = f"unknown {what} {word!r}" if word else f"needs a key {key!r}"
            text = f"{fault}.{did_you_mean(word, kinds)} Known: {some(kinds)}"
            raise PydanticCustomError("plugin_unknown", "{text}", {"text": text})
        return kinds[word].model_validate({key: word, **value})

    return choose


class PluginSection(Section):
    """A section that names a plug-in; the plug-in's `Config` adds its keys."""

    name: str

    @field_validator("name", mode="wrap")
    @classmethod
    def _dotted_name(cls, value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        # A plug-in's file states its own short name; an outside plug-in goes by its dotted name.
        outside = not cls.__module__.startswith("medldr.")
        return value if outside and isinstance(value, str) and "." in value else handler(value)

    @field_serializer("name")
    def _name_as_given(self, name: str) -> str:
        return name


PLUGIN_MARK: Final = "x-medldr-plugin"
"""Key in a field's JSON Schema that takes the place of the choice of plug-ins."""

_PLUGIN_NAME: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


_IN_EXCERPTS: Final = ContextVar("in excerpts", default=False)


@contextmanager
def excerpts() -> Iterator[None]:
    """Within, keys of plug-ins are checked without importing their modules, and so torch.

    What is made within is for messages alone: its classes are not those of the modules.
    """
    token = _IN_EXCERPTS.set(True)
    try:
        yield
    finally:
        _IN_EXCERPTS.reset(token)


def load_plugin_config(kind: plugins.Kind, name: str) -> type[PluginSection]:
    """The `Config` of a plug-in.

    Raises:
        InputError: If the plug-in does not exist, or is not a medldr plug-in.
    """
    if not _PLUGIN_NAME.fullmatch(name):
        known = some(plugins.names(kind), listed=f"medldr list {kind}")
        raise InputError(f"{name!r} is not a valid {plugins.SINGULAR[kind]} name. Known: {known}")
    if _IN_EXCERPTS.get() and name in plugins.names(kind):
        config = excerpt(f"medldr.{kind}.{name}", "Config")
    else:
        config = getattr(plugins.load(kind, name), "Config", None)
    if not (isinstance(config, type) and issubclass(config, PluginSection)):
        raise InputError(
            f"the module {name!r} is not a plug-in for {kind}: it has no class Config "
            "derived from medldr.config.PluginSection"
        )
    return config


@dataclass(frozen=True)
class Plugin:
    """Annotation of a field that holds the `Config` of the plug-in it names."""

    kind: plugins.Kind
    prefix: str = ""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Validate with the plug-in's own `Config`."""
        return core_schema.no_info_before_validator_function(self.resolve, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Mark the choice of plug-ins; `medldr schema` fills in their keys."""
        return {PLUGIN_MARK: self.kind}

    def resolve(self, value: Any) -> Any:
        """Turn a mapping (or a bare name) into the plug-in's `Config`."""
        if value is None or isinstance(value, Section):
            return value
        if isinstance(value, str):
            value = {"name": value}
        name = value.get("name") if isinstance(value, dict) else None
        if not isinstance(name, str):
            text = "should be a mapping with a key 'name', one of: {known}"
            known = ", ".join(plugins.names(self.kind))
            raise PydanticCustomError("plugin_name", text, {"known": known})
        try:
            config = load_plugin_config(self.kind, name)
        except InputError as error:
            raise PydanticCustomError("plugin_unknown", "{text}", {"text": str(error)}) from error
        return config.model_validate(value)


LossSection = Annotated[SerializeAsAny[PluginSection], Plugin("losses")]
AlgorithmSection = Annotated[SerializeAsAny[PluginSection], Plugin("algorithms")]

PLUGIN_SECTIONS: dict[str, plugins.Kind] = {
    "data": "datasets",
    "transform": "transforms",
    "model": "models",
    "algorithm": "algorithms",
}
