"""``hld summarize``: a table as sums, where its rows may not leave their site."""

from __future__ import annotations

import os
from typing import Any

from pcircuit.files.whole_file import replace_file


def summarize(args: Any) -> int:
    """Write the summary of a table."""
    from hld.command.console.output import check_output, print_text
    from hld.command.console.reading import load_model, reading_options
    from hld.summaries.of_tables import summarize_chunks
    from hld.table_files import files

    detector, path = load_model(args.model), check_output(args.output, (args.model, args.table))
    options = reading_options(args, detector.encoder_)
    chunks = files.read_chunks(args.table, detector.encoder_, options)
    found = summarize_chunks(detector, chunks)
    with replace_file(path) as file:
        file.write(found.to_json().encode())
    print_text(f"wrote {path}: {found.num_rows} rows as {len(found.sums)} sums")
    return 0


def read_summaries(paths: Any) -> Any:
    """The sum of the summaries of some files, each of which counts once."""
    from hld.summaries.summary import BatchSummary

    total, known = None, [os.path.realpath(path) for path in paths]
    for i, path in enumerate(paths):
        if known[i] in known[:i]:
            raise ValueError(
                f"--summary names the file {path!r} twice, and its rows would count twice: name each "
                "file once"
            )
    for path in paths:
        with open(path, encoding="utf-8-sig") as file:
            try:
                found = BatchSummary.from_json(file.read())
            except ValueError as error:
                raise ValueError(f"cannot read {path!r}: {error}") from error
        try:
            total = found if total is None else total + found
        except ValueError as error:  # the first file and this one are not of one kind
            raise ValueError(str(error).replace("`other`", repr(path), 1)) from None
    return total
