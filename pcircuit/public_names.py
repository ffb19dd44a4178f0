"""Names of a package that are loaded when they are first used.

They are listed once, as imports in the stub beside the ``__init__`` file, where editors and type checkers look, too.
"""

import ast
import importlib
import pathlib


def homes_of(init_file: str) -> dict[str, str]:
    """Public name -> the module that the stub beside an ``__init__`` file imports it from."""
    tree = ast.parse(pathlib.Path(init_file).with_suffix(".pyi").read_text(encoding="utf-8"))
    return {
        alias.name: node.module or ""
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def loaded(package: str, name: str, homes: dict[str, str], modules: tuple[str, ...]) -> object:
    """The thing, or the module, of a public name."""
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    if name in modules:
        return importlib.import_module(f"{homes[name]}.{name}")
    return getattr(importlib.import_module(homes[name]), name)
