"""Errors of the encoder, which calls what it reads `table`, under the name that the caller's argument has."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def table_called(name: str) -> Iterator[None]:
    """Errors about a `table` speak of the argument that it was given as.

    Parameters
    ----------
    name : str
        What the caller calls it.

    Examples
    --------
    >>> from hld.schemas.encoder import fit_encoder
    >>> encoder = fit_encoder([["a"], ["b"]])
    >>> with table_called("batch"):
    ...     encoder.encode([["a", "b"]])
    Traceback (most recent call last):
    ValueError: `batch` has 2 columns, expected 1 in the fitted order (x0)
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        said = str(error)
        if type(error) not in (TypeError, ValueError) or not said.startswith("`table`"):
            raise
        raise type(error)(said.replace("`table`", f"`{name}`", 1)) from None
