"""Benchmarks are run by hand, and rarely: what they take from the packages must not be gone when somebody runs one."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).parents[1]
PROGRAMS = sorted(path.relative_to(ROOT) for path in (ROOT / "benchmarks").rglob("*.py"))
OURS = ("pcircuit", "hld", "benchmarks", "tests")


def test_what_benchmarks_import_of_us_is_there():
    missing = [
        f"{program}: {module}.{name}"
        for program in PROGRAMS
        for module, name in imports_of(ROOT / program, ".".join(program.parent.parts))
        if not there(module, name)
    ]
    assert missing == []


def test_functions_that_the_benchmark_of_fitting_times_are_there():
    from benchmarks.bench_fit import STAGES, resolve

    assert all(callable(getattr(*resolve(name))) for names in STAGES.values() for name in names)


def imports_of(path, package):
    """(module, name) of every import of our own packages in a file, also inside functions; name None for a module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (
                (alias.name, None) for alias in node.names if alias.name.split(".")[0] in OURS
            )
        if isinstance(node, ast.ImportFrom):
            module = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            if module.split(".")[0] in OURS:
                yield from ((module, alias.name) for alias in node.names)


def there(module, name):
    """Whether a module has a name; benchmarks, which may need what is not installed, are looked up without running."""
    if module.startswith("benchmarks"):
        return is_written(module, name)
    if name and hasattr(importlib.import_module(module), name):
        return True
    return importlib.util.find_spec(f"{module}.{name}" if name else module) is not None


def is_written(module, name):
    """Whether a file of benchmarks defines a name at its top, or a folder of them has it as a file."""
    path = ROOT.joinpath(*module.split("."))
    if path.is_dir():
        if name is None or (path / name).is_dir() or (path / f"{name}.py").exists():
            return True
        path = path / "__init__"
    file = path.with_suffix(".py")
    return file.exists() and (name is None or name in names_at_top(ast.parse(file.read_text())))


def names_at_top(tree):
    """Names that the statements of a module bind, nested ones too."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name for alias in node.names)
