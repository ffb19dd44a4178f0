"""Names of a package that are loaded when they are first used.

Its ``__init__`` file lists them once, as the imports that editors and type checkers see.
"""

import ast
import importlib
import pathlib


def homes_of(init_file: str) -> dict[str, str]:
    """Public name -> module, as an ``__init__`` file imports it where it says ``if TYPE_CHECKING``."""
    tree = ast.parse(pathlib.Path(init_file).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.name: node.module or ""
        for node in checked.body
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
