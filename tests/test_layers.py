"""The order of the source: who may import whom and when, what is private, and what no file contains."""

import ast
import functools
import pathlib
import re
import subprocess
import sys

import pytest

import hld
import pcircuit

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGES = {"pcircuit": pcircuit, "hld": hld}
HEAVY = {
    "numba",
    "scipy",
    "pandas",
    "rich",
    "matplotlib",
    "sklearn",
    "pooch",
    "starlette",
    "uvicorn",
    "prometheus_client",
    "pyarrow",
    "dask",
    "distributed",
    "duckdb",
    "ibis",
    "psycopg",
}
UNSAFE = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
PATHS = [
    path.relative_to(ROOT)
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
]
# a room may import the rooms above it only; "core" is what lies beside the folders, "laws.ranks" the folder
# hld/laws/ranks
CORE = "core"
ROOMS = {  # as in docs/architecture.md
    "pcircuit": [
        "core",
        "leaves",
        "kernels",
        "inference",
        "operations",
        "learning",
        "moments",
        "io",
        "pictures",
        "learning.choosing",
    ],
    "hld": [
        "tables",
        "features",
        "gchi2",
        "references",
        "witnesses.metrics",
        "laws.ranks",
        "laws",
        "answers",
        "testing.summaries",
        "witnesses",
        "testing.planning",
        "testing",
        "testing.variation",
        "testing.conditional",
        "testing.sequential",
        "baselines",
        "detector",
        "dask",
        "sql",
        "apps",
        "apps.export",
        "apps.serve",
        "apps.command",
        "__main__",
    ],
}
# modules beside the folders that are a floor of their own
TOP = {"hld.__main__"}
NUMBA = {"pcircuit/kernels"}
PUBLIC = [f"{package}.{name}" for package, module in PACKAGES.items() for name in module.__all__]


# -- imports -------------------------------------------------------------------------------------------------


def module_name(path):
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in PATHS}


@functools.cache
def tree(path):
    """The syntax tree of a file, parsed when a test first asks for it."""
    return ast.parse((ROOT / path).read_text(encoding="utf-8"), str(path))


@functools.cache
def nodes(path):
    """All nodes of the tree of a file."""
    return list(ast.walk(tree(path)))


@functools.cache
def imports(path, *, at_import_only=False):
    """(line, dotted name) of what a file imports, ``from a import b`` as a.b, relative names absolute."""
    package = [*module_name(path).split("."), ""][: len(path.parts) - 1]

    def visit(node):
        if at_import_only and (
            isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
        ):
            return
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = [*base, *([node.module] if node.module else [])]
            yield from ((node.lineno, ".".join([*stem, alias.name])) for alias in node.names)
        for child in ast.iter_child_nodes(node):
            yield from visit(child)

    return list(visit(tree(path)))


def imported_modules(path, **options):
    """Modules of its own package that a file imports; a public name counts as the module that defines it."""
    package = path.parts[0]
    found = set()
    for _, name in imports(path, **options):
        owner, _, attribute = name.partition(".")
        name = (
            PACKAGES[package]._HOME.get(attribute, f"{owner}.{attribute}")
            if owner == package
            else ""
        )
        while name and name not in MODULES:
            name = name.rpartition(".")[0]
        found |= {name} & set(MODULES)
    return found - {module_name(path), package}


@functools.cache
def is_kernel(path):
    """Whether a file imports Numba at its top, so that it may be imported only when first called."""
    if not re.search("numba|compile_kernel", (ROOT / path).read_text(encoding="utf-8")):
        return False  # without parsing it
    return any(
        name.partition(".")[0] == "numba" for _, name in imports(path, at_import_only=True)
    ) or any(
        isinstance(node, ast.FunctionDef)
        and "compile_kernel" in {ast.unparse(d) for d in node.decorator_list}
        for node in nodes(path)
    )


def test_numba_is_imported_in_the_compiled_rooms_only():
    for path in PATHS:
        if is_kernel(path):
            assert path.parent.as_posix() in NUMBA or path.as_posix() in NUMBA, path


def test_imports_follow_one_direction():
    # also those inside functions: postponing an import hides a cycle, it does not remove it
    rest = {name: imported_modules(path) for name, path in MODULES.items()}
    while True:
        done = {name for name, needs in rest.items() if not needs & set(rest)}
        if not done:
            break
        rest = {name: needs for name, needs in rest.items() if name not in done}
    cycles = {name: sorted(needs & set(rest)) for name, needs in rest.items()}
    assert not cycles, f"each of these modules needs, in the end, itself: {cycles}"


def room(name):
    """Package and room of a module."""
    package, *rest = name.split(".")
    if name in TOP:
        return package, rest[0]
    if ".".join(rest[:2]) in ROOMS[package]:
        return package, ".".join(rest[:2])
    return package, rest[0] if len(rest) > 1 or (ROOT / package / ".".join(rest)).is_dir() else CORE


def test_rooms_import_only_the_rooms_below():
    wrong = []
    for name in MODULES.keys() - PACKAGES.keys():
        package, own = room(name)
        for other in imported_modules(MODULES[name]):
            below = ROOMS[package][: ROOMS[package].index(own) + 1]
            if room(other)[1] not in below:
                wrong.append(f"{name} (room {own}) imports {other}")
    assert wrong == []


def test_every_room_says_what_it_is_for():
    for package, rooms_of_it in ROOMS.items():
        files = (ROOT / package).glob("*/__init__.py")
        folders = {path.parent.relative_to(ROOT / package) for path in files}
        rooms = set(rooms_of_it) - {CORE} - {name.partition(".")[2] for name in TOP}
        assert folders == {pathlib.Path(room) for room in rooms if "." not in room}
        for room in rooms:
            folder = pathlib.Path(package, *room.split("."))
            is_folder = (ROOT / folder).is_dir()
            path = folder / "__init__.py" if is_folder else folder.with_suffix(".py")
            assert ast.get_docstring(tree(path)), path


def test_pcircuit_does_not_know_hld():
    for path in PATHS:
        if path.parts[0] == "pcircuit":
            assert not [name for _, name in imports(path) if name.partition(".")[0] == "hld"], path
            code = ast.unparse(without_docstrings(tree(path)))
            assert not re.search(r"\bhld\.|import_module\(.*hld", code), path


def test_hld_uses_public_names_of_pcircuit_only():
    names = {"__version__", *pcircuit.__all__}
    wrong = []
    for path in [path for path in PATHS if path.parts[0] == "hld"]:
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pcircuit."):
                found = [alias.name for alias in node.names if alias.name.startswith("_")]
                found += [node.module] if re.search(r"kernels\.(?!engine)|\._", node.module) else []
                wrong += [(path, node.lineno, name) for name in found]
            if (
                isinstance(node, ast.Attribute)
                and getattr(node.value, "id", "") == "pcircuit"
                and node.attr not in names
            ):
                wrong.append((path, node.lineno, f"pcircuit.{node.attr}"))
    assert wrong == []


def private_uses(path):
    """Private functions and constants of other modules that a file uses: (line, name)."""
    found = [
        (line, name)
        for line, name in imports(path)
        if re.match("_[^_]", name.rpartition(".")[2]) and name.partition(".")[0] in PACKAGES
    ]
    modules = {
        alias.asname or alias.name
        for node in nodes(path)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
        if f"{getattr(node, 'module', '')}.{alias.name}" in MODULES or alias.name in MODULES
    }
    for node in nodes(path):
        if not isinstance(node, ast.Attribute) or not re.match("_[^_]", node.attr):
            continue
        if ast.unparse(node.value) in modules:
            found.append((node.lineno, ast.unparse(node)))
    return found


def test_private_names_stay_in_their_module():
    # of functions and constants: a class may keep state in private fields that its module's functions read
    assert [(path, use) for path in PATHS for use in private_uses(path)] == []


# -- what an import costs ------------------------------------------------------------------------------------


def test_nothing_heavy_is_imported_at_module_level():
    """But by the service, which no other module imports at its own import, of what it is built on."""
    wrong, service = [], {"starlette", "uvicorn", "prometheus_client"}
    for path in PATHS:
        is_service = path.is_relative_to("hld/apps/serve")
        heavy = HEAVY - service if is_service else HEAVY
        heavy = heavy - {"numba", "scipy"} if is_kernel(path) else heavy
        for line, name in imports(path, at_import_only=True):
            is_late = name.startswith("hld.apps.serve.") and not is_service
            if name.partition(".")[0] in heavy or is_late:
                wrong.append(f"{path}:{line}: {name}")
    assert wrong == []


def test_kernel_modules_are_imported_when_first_used():
    wrong = [
        f"{path}: {name}"
        for path in PATHS
        if not is_kernel(path)
        for name in imported_modules(path, at_import_only=True)
        if is_kernel(MODULES[name])
    ]
    assert wrong == []


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_both_packages_imports_nothing_heavy(package):
    script = f"""
import pcircuit, hld, sys
[getattr({package}, name) for name in {package}.__all__]
print(*sorted({HEAVY!r} & set(sys.modules)))
"""
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (run.stdout.split(), run.stderr, run.returncode) == ([], "", 0)


# -- what no file contains -----------------------------------------------------------------------------------


def without_docstrings(given):
    """A copy of the tree in which docstrings are empty."""
    copy = ast.parse(ast.unparse(given))
    for node in ast.walk(copy):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = ""
    return copy


def offences(path):
    """Calls and imports that no file of the packages may contain: (line, what)."""
    yield from (use for use in imports(path) if use[1].partition(".")[0] in UNSAFE)
    for node in nodes(path):
        if not isinstance(node, ast.Call):
            continue
        options = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
        name = ast.unparse(node.func)
        if name in {"eval", "exec"} or options.get("allow_pickle", "False") != "False":
            yield node.lineno, name
        if name in {"np.load", "numpy.load"} and "allow_pickle" not in options:
            yield node.lineno, f"{name} without allow_pickle"
        if name == "print" and path.parts[1] not in ("apps", "__main__.py"):
            yield node.lineno, name


def test_nothing_is_printed_pickled_or_evaluated():
    assert [(path, *offence) for path in PATHS for offence in offences(path)] == []
