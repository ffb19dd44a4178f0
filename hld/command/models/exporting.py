"""``hld export``: a test as a program that needs no Python."""

from __future__ import annotations

from typing import Any

from pcircuit.files.whole_file import replace_file


def export(args: Any) -> int:
    """Write the file, or both."""
    from hld.command.console.output import check_outputs, print_text
    from hld.command.console.reading import load_model
    from hld.command.console.steps import step

    if args.c is None and args.onnx is None:
        raise ValueError("nothing to write: give --c FILE.c, --onnx FILE.onnx, or both")
    targets = check_outputs(
        [path for path in (args.c, args.onnx) if path is not None], [args.model]
    )
    detector, contents = load_model(args.model), []
    if args.c is not None:
        from hld.export.c_source import c_source

        with step("writing C"):
            contents.append(c_source(detector).encode("ascii"))
    if args.onnx is not None:
        from hld.export.onnx_graph import onnx_model

        with step("building the ONNX graph"):
            contents.append(onnx_model(detector).SerializeToString())
    for path, content in zip(targets, contents, strict=True):
        with replace_file(path) as file:
            file.write(content)
        print_text(f"wrote {path}: {len(content):,} bytes")
    return 0
