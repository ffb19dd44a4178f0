"""Results on disk: one JSON file per cell, ``results/<group>/<cell>.json``, so that an interrupted study goes on.

A file is used again if its settings are those that are asked for; otherwise the cell is run anew.  A setting that an
older file does not have has its default there.
"""

import json
import os
import pathlib
import tempfile

from .settings import Settings

FOLDER = pathlib.Path(__file__).parent.parent / "results"


def path_of(cell, folder=None) -> pathlib.Path:
    """Where the result of a cell is kept."""
    return (FOLDER if folder is None else pathlib.Path(folder)) / cell.group / f"{cell.name}.json"


def read(cell, folder=None):
    """The stored result of a cell, or None if there is none for its settings."""
    path = path_of(cell, folder)
    if not path.is_file():
        return None
    result = json.loads(path.read_text())
    wanted, defaults = json.loads(json.dumps([cell.settings.to_dict(), Settings().to_dict()]))
    return result if {**defaults, **result["settings"]} == wanted else None


def write(cell, result, folder=None) -> pathlib.Path:
    """Keep a result: written under another name, then renamed."""
    path = path_of(cell, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.stem}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            json.dump(result, file, separators=(",", ":"))
            file.write("\n")
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path


def read_group(group, folder=None) -> list:
    """All results of a group, in the order of their names, later runs after the first."""
    folder = (FOLDER if folder is None else pathlib.Path(folder)) / group
    return [
        json.loads(path.read_text())
        for path in sorted(folder.glob("*.json"), key=lambda path: path.stem)
    ]
