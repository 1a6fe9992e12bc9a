"""Functions take what the commands of their name take, and messages name it as the caller does."""

import inspect

import pytest
from typer.main import get_command

import medldr as package
from medldr.cli import app
from medldr.errors import OTHERWISE, SWITCHES, InputError

EMPTY, MISSING = inspect.Parameter.empty, object()

FUNCTIONS = {
    "train": package.train,
    "evaluate": package.evaluate,
    "compare": package.compare,
    "sweep": package.sweep,
    "report": package.report,
    "analyze": package.analyze,
    "validate": package.validate,
    "export": package.export,
    "verify": package.verify,
    "plan": package.plan,
    "data check": package.data_check,
    "predict": package.explain,  # takes what `predict` takes, and the options of --explain
}
OPTIONS_ALONE = {
    "--json": "what is returned holds the numbers",
    "evaluate --run": "the folder of one run is given",
    "validate --run": "the folder of one run is given",
    "export --run": "the folder of one run is given",
    "predict --run": "the folder of one run is given",
    "predict --ensemble": "several folders are given",
    "predict --item": "an item of several images is a tuple",
    "predict --explain": "this is the function",
    "compare --out": "nothing is written",
    "sweep --dry-run": "for reading",
}
PARAMETERS_ALONE = {
    "compare reference": "of a command the first folder",
    "predict spacing": "of arrays, which no command takes",
    "predict keep": "heat maps as arrays, which no command gives",
}
OTHER_DEFAULTS = {"predict --out": "a table, and not the folder of heat maps"}


def command(name):
    found = get_command(app)
    for word in name.split():
        found = found.commands[word]
    return found


def options(name):
    """Option by the name that a parameter would have."""
    of = {one.opts[0]: one for one in command(name).params if one.param_type_name == "option"}
    renamed = {option: OTHERWISE.get(option.removeprefix("--")) for option in of}
    names = {
        o: (to or o.removeprefix("--")).rstrip("=").replace("-", "_") for o, to in renamed.items()
    }
    return {names[option]: one for option, one in of.items()}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_the_options_of_its_command(name):
    taken = inspect.signature(FUNCTIONS[name]).parameters
    there = options(name)
    for parameter, option in there.items():
        word = option.opts[0]
        alone = word in OPTIONS_ALONE or f"{name} {word}" in OPTIONS_ALONE
        default = taken[parameter].default if parameter in taken else MISSING
        # `run` of some functions is what is an argument of the command.
        assert (default is MISSING or (default is EMPTY and not option.required)) == alone, word
        if alone or f"{name} {word}" in OTHER_DEFAULTS:
            continue
        assert option.required == (default is EMPTY), word
        assert option.required or str(option.default or None) == str(default or None)
    arguments = {one.name for one in command(name).params} - {one.name for one in there.values()}
    for parameter, taken_as in taken.items():
        given = parameter in there or parameter in arguments
        required = taken_as.default is EMPTY
        assert given or required or f"{name} {parameter}" in PARAMETERS_ALONE, parameter


def test_every_exception_is_one():
    every = {f"{name} {one.opts[0]}" for name in FUNCTIONS for one in options(name).values()}
    listed = {*OPTIONS_ALONE, *OTHER_DEFAULTS} - {"--json"}
    assert listed <= every
    for name, parameter in map(str.split, PARAMETERS_ALONE):
        assert parameter in inspect.signature(FUNCTIONS[name]).parameters


def test_switches_are_those_that_functions_share_with_commands():
    shared = {
        one.opts[0].removeprefix("--")
        for name, function in FUNCTIONS.items()
        for parameter, one in options(name).items()
        if one.is_flag and parameter in inspect.signature(function).parameters
    }
    assert shared == set(SWITCHES)


@pytest.mark.parametrize(
    ("words", "call", "typed", "argument"),
    [
        ("plan --patients 240", lambda: package.plan(240),
         "--accuracy or --auc", "accuracy= or auc="),
        ("plan --patients 9 --auc 0.8 --seed-sd 60", lambda: package.plan(90, auc=0.8, seed_sd=60),
         "--patients should", "seed_sd= should"),
        ("sweep retina_small --jobs 0", lambda: package.sweep("retina_small", jobs=0),
         "--jobs=0: it", "jobs=0: it"),
        ("export nowhere --format onx", lambda: package.export("nowhere", "onx"),
         "nowhere", "format: 'onx'"),
    ],
)  # fmt: skip
def test_a_message_names_options_at_the_command_line_and_arguments_in_python(
    medldr, words, call, typed, argument
):
    assert typed in medldr(*words.split()).err
    with pytest.raises(InputError) as refused:
        call()
    assert argument in str(refused.value)
    assert "--" not in str(refused.value)
