"""Columns of a body that no answer needs: what their cells are does not matter."""

from __future__ import annotations

from typing import Any


def is_needed(encoder: Any, name: str) -> bool:
    """Whether a model looks at a column of this name.

    Parameters
    ----------
    encoder : hld.TableEncoder
    name : str

    Returns
    -------
    bool
        True of all where columns are known by their position.

    Examples
    --------
    >>> import hld
    >>> encoder = hld.fit_encoder({"a": [1, 2, 1], "b": ["x", "y", "x"]})
    >>> is_needed(encoder, "a"), is_needed(encoder, "tags")
    (True, False)
    """
    known = {*encoder.table_names, *encoder.names, *(one.source for one in encoder.derived)}
    return not encoder.by_name or name in known
