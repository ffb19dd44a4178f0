"""Seven jobs with hld and with five other libraries.

python -m benchmarks.peers_tables install FOLDER     an environment for each library, with pip or uv
python -m benchmarks.peers_tables tables FOLDER      writes the tables (HLD_DATA)
python -m benchmarks.peers_tables run FOLDER [NAME]  runs the jobs of all libraries, or of one
python -m benchmarks.peers_tables page FOLDER        prints the tables of docs/peers.md
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

from . import page, tables

HERE = pathlib.Path(__file__).parent
# what is installed; where the newest release does not import with the newest releases of what it needs, older ones
PACKAGES = {
    "hld": [str(HERE.parents[1]) + "[cli]"],
    "evidently": ["evidently", "pandas<3"],
    "alibi-detect": ["alibi-detect"],
    "frouros": ["frouros", "pandas"],
    "nannyml": ["nannyml", "statsmodels"],
    "deepchecks": [
        "deepchecks",
        "anywidget",
        "fastparquet",
        "setuptools<81",
        "scikit-learn<1.6",
        "category_encoders<2.7",
        "numpy<2",
        "pandas<3",
    ],
}
# no telemetry, one thread
SETTINGS = {
    "DO_NOT_TRACK": "1",
    "NML_DISABLE_USAGE_LOGGING": "1",
    "DEEPCHECKS_DISABLE_LATEST": "true",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


def main(argv: list) -> None:
    """One of the lines above."""
    command, folder = argv[0], pathlib.Path(argv[1]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if command == "install":
        for name in argv[2:] or PACKAGES:
            install(folder / name, PACKAGES[name])
    elif command == "tables":
        tables.write(folder)
    elif command == "run":
        for name in argv[2:] or PACKAGES:
            run(folder, name)
    else:
        print(
            page.text(
                {
                    name: json.loads((folder / f"{name}.json").read_text())
                    for name in PACKAGES
                    if (folder / f"{name}.json").exists()
                }
            )
        )


def install(folder: pathlib.Path, packages: list) -> None:
    """A new environment with some packages; by uv where it is there, which is faster."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    tool = [shutil.which("uv"), "pip", "install", "-q", "--python", str(folder / "bin/python")]
    if tool[0] is None:
        tool = [str(folder / "bin/python"), "-m", "pip", "install", "-q"]
    subprocess.run([*tool, *packages], check=True)


def run(folder: pathlib.Path, name: str) -> None:
    """The jobs of one library, in its environment; what was found goes to NAME.json."""
    python, module = folder / name / "bin/python", "with_" + name.replace("-", "_")
    done = subprocess.run(
        [str(python), "-W", "ignore", str(HERE / "jobs.py"), module, str(folder)],
        capture_output=True,
        text=True,
        env={**os.environ, **SETTINGS},
        check=False,
    )
    lines = [line for line in done.stdout.split("\n") if line.startswith("RESULT ")]
    found = (
        json.loads(lines[-1].removeprefix("RESULT "))
        if lines
        else {"error": done.stderr.strip()[-400:]}
    )
    found |= {"version": version(python, name), "installed_bytes": installed(folder / name)}
    (folder / f"{name}.json").write_text(json.dumps(found, indent=1))
    print(name, json.dumps(found))


def version(python: pathlib.Path, name: str) -> str:
    """The version of a library in an environment."""
    code = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"
    return subprocess.run(
        [str(python), "-c", code, name], capture_output=True, text=True, check=True
    ).stdout.strip()


def installed(folder: pathlib.Path) -> int:
    """Bytes of the packages of an environment, without pip's own and compiled caches of Python."""
    return sum(
        file.stat().st_size
        for file in (folder / "lib").rglob("*")
        if file.is_file()
        and not file.is_symlink()
        and "__pycache__" not in file.parts
        and not {"pip", "setuptools"} & set(file.parts)
    )


if __name__ == "__main__":
    main(sys.argv[1:])
