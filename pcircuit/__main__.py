"""``python -m pcircuit convert A B``: convert circuits between file formats, recognised by their extensions."""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

FORMATS = "formats: .pc (ours), .psdd (with --vtree), .jpc, .spn; to read only: .jlc, .uai; to write only: .dot, .vtree"
WITH_VTREE = (".psdd", ".jpc", ".jlc")  # what can be read with a v-tree file


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status: 0 done, 2 error."""
    try:
        arguments = _parser().parse_args(argv)
        read, written = _trees(arguments.source, arguments.target, arguments.vtree)
        circuit = _read(arguments.source, read)
        _write(circuit, arguments.target, written)
        print(f"{circuit!r} -> {arguments.target}", flush=True)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    """The command and its arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m pcircuit", description="Circuits as files of several programs."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    text = "read a circuit in one format and write it in another"
    convert = commands.add_parser(
        "convert", epilog=FORMATS, help=text, description=f"{text.capitalize()}."
    )
    convert.add_argument(
        "source", type=pathlib.Path, help="file to read; its extension names the format"
    )
    convert.add_argument(
        "target", type=pathlib.Path, help="file to write; its extension names the format"
    )
    convert.add_argument(
        "--vtree",
        type=pathlib.Path,
        help="the .vtree file that belongs to the source; if there is "
        "none yet, or the source has none, that of a target that is a .psdd file (by default the "
        "target with the ending .vtree)",
    )
    return parser


def _trees(
    source: pathlib.Path, target: pathlib.Path, vtree: pathlib.Path | None
) -> tuple[pathlib.Path | None, pathlib.Path]:
    """The .vtree file to read the source with, if any, and the one to write with a target that is a .psdd file.

    Never the same: other ids in the file would part it from the source.
    """
    beside, is_pair = target.with_suffix(".vtree"), target.suffix == ".psdd"
    if vtree is None or source.suffix not in WITH_VTREE or (is_pair and not vtree.exists()):
        return None, vtree or beside
    in_place = target.exists() and source.exists() and target.samefile(source)
    if (
        is_pair
        and source.suffix == ".psdd"
        and not in_place
        and beside.exists()
        and beside.samefile(vtree)
    ):
        raise ValueError(
            f"{str(vtree)!r} is the v-tree file of the source and would be replaced by the target's: "
            "give the target another name"
        )
    return vtree, beside


def _read(path: pathlib.Path, vtree: pathlib.Path | None) -> Any:
    """The circuit of a file."""
    import pcircuit

    readers: dict[str, Callable[..., Any]] = {
        ".pc": pcircuit.load,
        ".psdd": pcircuit.read_psdd,
        ".jpc": pcircuit.read_jpc,
        ".spn": pcircuit.read_spn,
        ".jlc": pcircuit.read_jlc,
        ".uai": pcircuit.read_uai,
    }
    return _of_format(path, readers)(path, *([] if vtree is None else [vtree]))


def _write(circuit: Any, path: pathlib.Path, vtree: pathlib.Path) -> None:
    """The file of a circuit."""
    import pcircuit

    writers: dict[str, Callable[..., Any]] = {
        ".pc": pcircuit.save,
        ".jpc": pcircuit.write_jpc,
        ".spn": pcircuit.write_spn,
        ".dot": pcircuit.write_dot,
        ".vtree": lambda circuit, path: pcircuit.write_vtree(circuit.vtree, path),
        ".psdd": lambda circuit, path: pcircuit.write_psdd(circuit, path, vtree),
    }
    _of_format(path, writers)(circuit, path)


def _of_format(path: pathlib.Path, functions: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    """The function for the ending of a file."""
    if path.suffix not in functions:
        raise ValueError(
            f"{str(path)!r} has the ending {path.suffix!r}, expected one of {', '.join(functions)}"
        )
    return functions[path.suffix]


if __name__ == "__main__":
    sys.exit(main())
