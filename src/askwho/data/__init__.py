"""The decision log: from files and data frames to arrays aligned by query."""

from askwho.data._check import Description, Problem, describe
from askwho.data._columns import Columns, Resolved, named, resolve
from askwho.data._encoder import FeatureEncoder
from askwho.data._encoding import EncoderLike, TextEncoding, TextFunction
from askwho.data._log import DecisionLog, read_log, read_logs
from askwho.data._sentences import SentenceEncoder
from askwho.data._tables import Table, lists, read_batches, read_table, write_batches, write_table
from askwho.data._text import TextEncoder, fingerprints

__all__ = [
    "Columns",
    "DecisionLog",
    "Description",
    "EncoderLike",
    "FeatureEncoder",
    "Problem",
    "Resolved",
    "SentenceEncoder",
    "Table",
    "TextEncoder",
    "TextEncoding",
    "TextFunction",
    "describe",
    "fingerprints",
    "lists",
    "named",
    "read_batches",
    "read_log",
    "read_logs",
    "read_table",
    "resolve",
    "write_batches",
    "write_table",
]
