"""The tests mirror the packages: each module has a file of tests with its name, in the folder of its room."""

import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGES = "pcircuit", "hld"
NO_MODULES = "__init__.py", "__main__.py"  # which only hand names on, and start the command


def modules():
    """Every module of both packages, as a path from the root."""
    files = (file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py")))
    return [file.relative_to(ROOT) for file in files if file.name not in NO_MODULES]


@pytest.mark.parametrize("package", PACKAGES)
def test_each_module_has_a_file_of_tests_with_its_name(package):
    own = [module for module in modules() if module.parts[0] == package]
    missing = [str(module) for module in own if not mirrored(module).is_file()]
    assert len(own) > 100
    assert not missing, f"no tests/<folder>/test_<module>.py for {', '.join(missing)}"


def test_a_file_of_tests_with_the_name_of_a_module_stands_in_its_room():
    rooms = {module.parent for module in modules()}
    folders = {
        file.parent.relative_to(ROOT / "tests") for file in (ROOT / "tests").rglob("test_*.py")
    }
    assert folders - {pathlib.Path()} <= rooms


def mirrored(module):
    """The file of tests of a module."""
    return ROOT / "tests" / module.parent / f"test_{module.name}"
