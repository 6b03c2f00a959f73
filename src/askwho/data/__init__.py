"""The decision log: from files and data frames to arrays aligned by query."""

from askwho.data._columns import Columns, Resolved, resolve
from askwho.data._log import DecisionLog, read_log
from askwho.data._tables import Table, read_table

__all__ = ["Columns", "DecisionLog", "Resolved", "Table", "read_log", "read_table", "resolve"]
