"""Logs and queries: from files, data frames and dicts to arrays aligned by query."""

from askwho.core import Nulls
from askwho.data._charged import Charged
from askwho.data._check import describe
from askwho.data._columns import Columns, Resolved, named, resolve
from askwho.data._costs_file import read_costs
from askwho.data._drawn import MAX_ROWS
from askwho.data._drift import Moved, OverTime
from askwho.data._encoder import FeatureEncoder
from askwho.data._encoding import EncoderLike, TextEncoding, TextFunction
from askwho.data._entities import column_of, with_entity, without_entity
from askwho.data._formats import files_of
from askwho.data._ids import id_texts
from askwho.data._log import Log, log_of, read_log, read_logs, scored_by
from askwho.data._outputs import Folder, folder_at
from askwho.data._problem import Description, Problem
from askwho.data._same import EXACT, SAME, as_texts, commonest, is_own, keyed, keys_of
from askwho.data._sampling import Sampling, moment
from askwho.data._sentences import SentenceEncoder
from askwho.data._stores import StoredFile, seekable, whole
from askwho.data._tables import Table, count_rows, lists, read_batches, read_table, table_of
from askwho.data._text import TextEncoder, fingerprints
from askwho.data._writing import decoded, write_batches, write_table

__all__ = [
    "EXACT",
    "MAX_ROWS",
    "SAME",
    "Charged",
    "Columns",
    "Description",
    "EncoderLike",
    "FeatureEncoder",
    "Folder",
    "Log",
    "Moved",
    "Nulls",
    "OverTime",
    "Problem",
    "Resolved",
    "Sampling",
    "SentenceEncoder",
    "StoredFile",
    "Table",
    "TextEncoder",
    "TextEncoding",
    "TextFunction",
    "as_texts",
    "column_of",
    "commonest",
    "count_rows",
    "decoded",
    "describe",
    "files_of",
    "fingerprints",
    "folder_at",
    "id_texts",
    "is_own",
    "keyed",
    "keys_of",
    "lists",
    "log_of",
    "moment",
    "named",
    "read_batches",
    "read_costs",
    "read_log",
    "read_logs",
    "read_table",
    "resolve",
    "scored_by",
    "seekable",
    "table_of",
    "whole",
    "with_entity",
    "without_entity",
    "write_batches",
    "write_table",
]
