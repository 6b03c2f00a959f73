"""The decision log: from files and data frames to arrays aligned by query."""

from askwho.data._columns import Columns, Resolved, resolve
from askwho.data._encoder import FeatureEncoder
from askwho.data._log import DecisionLog, read_log
from askwho.data._tables import Table, read_table
from askwho.data._text import TextEncoder

__all__ = [
    "Columns",
    "DecisionLog",
    "FeatureEncoder",
    "Resolved",
    "Table",
    "TextEncoder",
    "read_log",
    "read_table",
    "resolve",
]
