"""Tables in partitions: what they are made of, their rows, and what is refused."""
import sys

import pytest

pytest.importorskip("dask.dataframe")

import hld.dask


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"tables on a cluster need Dask: pip install 'hld\[dask\]'"):
        hld.dask.fit(None)
