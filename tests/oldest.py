"""The oldest versions of all that setup.cfg promises to work with, as constraints for pip.

    python tests/oldest.py > oldest.txt; pip install -e ".[test]" -c oldest.txt

The lower bounds of the packages and of all their extras; where a bound leaves patches open (1.26), the newest one.
Programs that only look at the code (the linter, types) are left as they come.
"""

from __future__ import annotations

import argparse
import configparser
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
ANY = {"ruff", "mypy"}
ALSO = ("pyparsing<3.3",)  # later ones warn of what matplotlib 3.8 calls, and warnings fail tests
BOUND = re.compile(r"([\w-]+)(?:\[.*\])?>=([\d.]+)")


def main() -> None:
    """Print one constraint a line."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    print(
        "\n".join(
            [
                *(
                    f"{name}=={version}"
                    for name, version in sorted(oldest(ROOT / "setup.cfg").items())
                ),
                *ALSO,
            ]
        )
    )


def oldest(path: pathlib.Path) -> dict[str, str]:
    """Package -> what stands for its smallest version; ValueError where extras have different ones."""
    config = configparser.ConfigParser()
    config.read(path, encoding="utf-8")
    texts = [config["options"]["install_requires"], *config["options.extras_require"].values()]
    found: dict[str, str] = {}
    for name, bound in BOUND.findall("\n".join(texts)):
        version = ".".join([*bound.split("."), "0"][:2]) + ".*" if bound.count(".") < 2 else bound
        if found.setdefault(name, version) != version:
            raise ValueError(
                f"{path.name} promises {name} {found[name]} and {version}, expected one smallest version"
            )
    return {name: version for name, version in found.items() if name not in ANY}


if __name__ == "__main__":
    main()
