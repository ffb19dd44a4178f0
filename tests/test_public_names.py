"""What every public name owes its reader: a docstring, its parameters in order, an example that runs."""

import inspect
import itertools
import re
import types

import pytest
from test_layers import MODULES, PACKAGES, PUBLIC

import pcircuit


def resolve(name):
    package, _, attribute = name.partition(".")
    return getattr(PACKAGES[package], attribute)


def section(docstring, title):
    """Lines of one section of a NumPy-style docstring, None if it is not there."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    for i in range(len(lines) - 1):
        if lines[i] == title and re.fullmatch("-{3,}", lines[i + 1]):
            rest = lines[i + 2 :]
            ends = [
                j for j in range(len(rest) - 1) if rest[j] and re.fullmatch("-{3,}", rest[j + 1])
            ]
            return rest[: ends[0]] if ends else rest
    return None


def documented_parameters(docstring):
    """Parameter names in the order in which the docstring lists them, None without such a section."""
    lines = section(docstring, "Parameters")
    if lines is None:
        return None
    heads = [line.partition(" :")[0] for line in lines if line and not line.startswith(" ")]
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def parameters(thing):
    """Names of the parameters of a function or class, without self."""
    return [name for name in inspect.signature(thing).parameters if name not in ("self", "cls")]


def public_functions():
    """Dotted name -> function: all in `__all__`, and those of the modules in `__all__`."""
    found = {}
    for name in PUBLIC:
        thing = resolve(name)
        if isinstance(thing, types.ModuleType):
            found |= {
                f"{name}.{key}": value
                for key, value in vars(thing).items()
                if key in getattr(thing, "__all__", vars(thing))
                and inspect.isfunction(value)
                and value.__module__.startswith(thing.__name__)
                and key[0] != "_"
            }
        elif inspect.isfunction(thing):
            found[name] = thing
    return found


FUNCTIONS = public_functions()
THINGS = {name: resolve(name) for name in PUBLIC}
CLASSES = {
    name: thing
    for name, thing in THINGS.items()
    if inspect.isclass(thing) and not issubclass(thing, Exception)
}


def test_public_names_exist_and_are_described():
    for name in PUBLIC:
        assert inspect.getdoc(resolve(name)), f"{name} has no docstring"
        package, _, attribute = name.partition(".")
        assert attribute in dir(PACKAGES[package]), name
        # else the module, once imported, would take the place of the function in its package
        assert name not in MODULES or attribute in PACKAGES[package]._MODULES, name


def test_unknown_names_are_refused():
    for package in PACKAGES:
        with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nonsense'"):
            PACKAGES[package].nonsense  # noqa: B018


def test_public_functions_have_examples():
    wrong = [
        name
        for name, function in FUNCTIONS.items()
        if not re.search(r"^\s*>>> ", "\n".join(section(function.__doc__, "Examples") or []), re.M)
    ]
    assert wrong == []


def test_docstrings_list_the_parameters_of_the_signature():
    wrong = [
        name
        for name, function in FUNCTIONS.items()
        if (documented_parameters(function.__doc__) or []) != parameters(function)
    ]
    for name, thing in CLASSES.items():
        if documented_parameters(thing.__doc__) not in (None, parameters(thing)):
            wrong.append(name)
        own = [cls for cls in thing.__mro__ if cls.__module__.partition(".")[0] in PACKAGES]
        for key, method in [pair for cls in own for pair in vars(cls).items()]:
            function = inspect.unwrap(getattr(method, "__func__", method))
            if key[0] == "_" or not inspect.isfunction(function):
                continue
            said = documented_parameters(function.__doc__)
            if not inspect.getdoc(function) or said not in (None, parameters(function)):
                wrong.append(f"{name}.{key}")
    assert wrong == []


def test_attributes_are_described():
    wrong = []
    for name, thing in CLASSES.items():
        lines = section(thing.__doc__, "Attributes") or []
        for line, below in itertools.pairwise([*lines, ""]):
            if line and not line.startswith(" ") and not below.startswith(" "):
                wrong.append((name, line))
    assert wrong == []
    kept = vars(resolve("hld.HLDTest")(pcircuit.rat_spn([2] * 4, rng=0)))
    heads = [
        line.partition(" :")[0] for line in section(resolve("hld.HLDTest").__doc__, "Attributes")
    ]
    said = {name.strip() for head in heads for name in head.split(",")}
    assert {key for key in kept if key[0] != "_"} <= said
