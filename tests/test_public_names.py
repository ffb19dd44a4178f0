"""What every public name owes its reader: a docstring, its parameters in order, an example that runs."""

import inspect
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
        try:
            thing = resolve(name)
        except (ImportError, AttributeError):
            continue  # test_public_names_exist says it
        if isinstance(thing, types.ModuleType):
            found |= {
                f"{name}.{key}": value
                for key, value in vars(thing).items()
                if inspect.isfunction(value)
                and value.__module__.startswith(thing.__name__)
                and key[0] != "_"
            }
        elif inspect.isfunction(thing):
            found[name] = thing
    return found


FUNCTIONS = public_functions()


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_exist(name):
    thing = resolve(name)
    assert inspect.getdoc(thing), "a docstring"
    assert name.partition(".")[2] in dir(PACKAGES[name.partition(".")[0]])


@pytest.mark.parametrize("package", PACKAGES)
def test_unknown_names_are_refused(package):
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nonsense'"):
        PACKAGES[package].nonsense  # noqa: B018


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_not_names_of_modules(name):
    # else the module, once imported, would take the place of the function in its package
    package, _, attribute = name.partition(".")
    assert (name in MODULES) == (attribute in getattr(PACKAGES[package], "_MODULES", ()))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_have_examples(name):
    examples = section(FUNCTIONS[name].__doc__, "Examples")
    assert examples is not None, "no section Examples"
    assert any(line.lstrip().startswith(">>> ") for line in examples), "an example that can be run"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstrings_list_the_parameters_of_the_signature(name):
    documented = documented_parameters(FUNCTIONS[name].__doc__)
    assert (documented or []) == parameters(FUNCTIONS[name])


@pytest.mark.parametrize("name", PUBLIC)
def test_docstrings_of_classes_list_the_parameters_of_the_signature(name):
    thing = resolve(name)
    if not inspect.isclass(thing) or issubclass(thing, Exception):
        return
    documented = documented_parameters(thing.__doc__)
    assert documented is None or documented == parameters(thing)
    own = [cls for cls in thing.__mro__ if cls.__module__.partition(".")[0] in PACKAGES]
    for key, method in [pair for cls in own for pair in vars(cls).items()]:
        function = inspect.unwrap(getattr(method, "__func__", method))
        if key[0] != "_" and inspect.isfunction(function):
            assert inspect.getdoc(function), f"{key} has no docstring"
            documented = documented_parameters(function.__doc__)
            assert documented is None or documented == parameters(function), key


@pytest.mark.parametrize("name", PUBLIC)
def test_attributes_of_classes_are_described(name):
    lines = (
        section(resolve(name).__doc__, "Attributes") or [] if inspect.isclass(resolve(name)) else []
    )
    heads = [i for i, line in enumerate(lines) if line and not line.startswith(" ")]
    assert [
        lines[i] for i in heads if not lines[i + 1 : i + 2] or not lines[i + 1].startswith(" ")
    ] == []


@pytest.mark.parametrize(
    "key",
    sorted(
        key
        for key in vars(resolve("hld.HLDTest")(pcircuit.rat_spn([2] * 4, rng=0)))
        if key[0] != "_"
    ),
)
def test_what_a_test_keeps_is_described(key):
    heads = [
        line.partition(" :")[0] for line in section(resolve("hld.HLDTest").__doc__, "Attributes")
    ]
    assert key in [name.strip() for head in heads for name in head.split(",")]


def test_sections_of_docstrings_are_understood():
    text = """One line.

    Parameters
    ----------
    a, b : int
        Two numbers: first and second.
    *rest
        More.

    Examples
    --------
    >>> 1
    1
    """
    assert documented_parameters(text) == ["a", "b", "rest"]
    assert section(text, "Examples") == [">>> 1", "1"]
    assert section(text, "Raises") is None
