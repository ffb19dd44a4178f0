"""What a detector keeps of its training table beside the circuit (counts, quantiles), and what of a batch."""
from __future__ import annotations

import numpy as np

from hld.answers.evidence import Evidence
from hld.answers.profile import profile_of, tree_edges
from hld.synthetic.values import is_binned, value_tables
from hld.tables.cells import as_numbers
from hld.tables.factored import whole_cells
from hld.tables.times import TIMES, as_seconds


def table_facts(encoder, columns, rows, learned, reference, pseudocount) -> dict:
    """Counts of the reference rows ("profile") and quantiles of the rows learned from ("values").

    Parameters
    ----------
    encoder : TableEncoder
    columns : hld.tables.cells.Columns
        The training table.
    rows : (n,) int array
        Positions of the rows learned from.
    learned, reference : (n, V), (k, V) int arrays
        Codes of the rows learned from, and of those that batches are compared with.
    pseudocount : float
        Of the tree.
    """
    edges = tree_edges(learned, encoder.num_categories, pseudocount)
    by_name = dict(zip(columns.names or encoder.names, columns.arrays, strict=False))
    numbers = [numbers_of(column, by_name[column.name])[rows] if is_binned(column) else None
               for column in encoder.columns]
    return {"profile": profile_of(reference, encoder.num_categories, edges),
            "values": value_tables(encoder.columns, numbers)}


def numbers_of(column, cells) -> np.ndarray:
    """(N,) the cells of a column with bins as numbers, NaN where missing; times in seconds."""
    cells = whole_cells(cells)
    return as_seconds(cells, column.kind)[0] if column.kind in TIMES else as_numbers(cells, column.name)


def evidence_of(detector, codes, odd=None) -> Evidence | None:
    """Counts of an encoded batch (T, V) beside those of the reference; None for model files without counts."""
    if detector.profile_ is None:
        return None
    encoder, none = detector.encoder_, np.zeros(codes.shape[1], dtype=np.int64)
    batch = profile_of(codes, encoder.num_categories, detector.profile_.edges)
    return Evidence(encoder.columns, detector.profile_, batch, none if odd is None else odd.num_unseen,
                    none if odd is None else odd.num_out_of_range, detector.test_.settings.seed)
