"""Batches tested where they are stored: a database counts, and sends counts, never rows (`pip install 'hld[sql]'`)."""

from hld.sql.judging import judge as judge
from hld.sql.judging import judge as test
from hld.sql.tables import count as count

__all__ = ["count", "judge", "test"]
