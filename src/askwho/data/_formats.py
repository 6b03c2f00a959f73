"""Files that hold tables: Parquet, CSV, JSON by lines, Arrow; whole or in pieces."""

import contextlib
import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as pa_feather
import pyarrow.parquet as pa_parquet

from askwho.data._stores import File, StoredFile, is_uri, lines_of, seekable, stored_files, streamed
from askwho.exceptions import InvalidInputError

# What a message calls a file of each format.
_PARQUET, _CSV, _JSON, _ARROW = "a Parquet file", "a CSV file", "a file of JSON lines", "an Arrow file"
# The endings that are read.
_FORMATS = {
    ".parquet": _PARQUET,
    ".csv": _CSV,
    ".tsv": _CSV,
    ".jsonl": _JSON,
    ".ndjson": _JSON,
    ".feather": _ARROW,
    ".arrow": _ARROW,
}
Chosen = Callable[[Sequence[str]], Sequence[str]]
"""From the columns that are there to those that are needed, in their order."""
# Bytes of CSV that are read at a time. The types of a file in pieces are those of its first, which is therefore large.
_BLOCK = 1 << 26
# Bytes that tell how a CSV file is written: its header, and some rows with decimals.
_HEAD = 1 << 20
# A cell that is a number with a comma, or a point, in a row of cells between semicolons.
_COMMA, _POINT = (
    re.compile(rb"(?:^|;)-?\d+" + mark + rb"\d+(?:[eE][-+]?\d+)?(?=;|\r?$)", re.MULTILINE) for mark in (b",", rb"\.")
)


def _format(path: File, name: str) -> str:
    """Return which format a file's ending says."""
    found = _FORMATS.get(_ending(path))
    if found is None or (_is_packed(path) and found not in (_CSV, _JSON)):
        *most, last = _FORMATS
        raise InvalidInputError(
            f"`{name}` must end in {', '.join(most)} or {last}, text also in .gz after that, got {str(path)!r}."
        )
    return found


def _ending(path: File) -> str:
    return PurePath(PurePath(path.name).stem if _is_packed(path) else path.name).suffix.lower()


def _is_packed(path: File) -> bool:
    return PurePath(path.name).suffix.lower() == ".gz"


def files_of(source: str | Path, name: str) -> Sequence[File]:
    """Return the files of a table, sorted: one, those of a folder, or those that a pattern such as day-*.csv matches.

    On this machine, or in a store that a URI leads to. Names that begin with a dot or an underscore are no part of a
    table, as other programs have it too.
    """
    path = Path(source)
    if is_uri(source):
        return stored_files(source, name)
    if path.is_file():
        return [path]
    if path.is_dir():
        inside, what = path.iterdir(), "a folder of files"
    elif any(mark in path.name for mark in "*?["):
        inside, what = path.parent.glob(path.name), "a pattern of files"
    else:
        return [path]
    found = sorted(each for each in inside if each.is_file() and not each.name.startswith((".", "_")))
    if not found:
        raise InvalidInputError(f"`{name}` must be {what}, got {str(path)!r}: there is none.")
    return found


@contextlib.contextmanager
def reading(path: File, name: str) -> Generator[None]:
    """One clear line for a file that is not there or is no table."""
    if not path.is_file():
        raise InvalidInputError(f"`{name}` must be a file, got {str(path)!r}: it is not there.")
    kind = _format(path, name)
    try:
        yield
    except (pa.ArrowException, EOFError, OSError, UnicodeDecodeError, zlib.error) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidInputError(f"`{name}` must be {kind}, got {str(path)!r}: {reason}") from None


def holds_json(path: File) -> bool:
    """Return whether a file holds rows of JSON, by its ending: `json_rows` reads them, for they need not be a table."""
    return _FORMATS.get(_ending(path)) == _JSON


def read_file(path: File, name: str, texts: Collection[str]) -> pa.Table:
    """Return the table in a file of any other format."""
    kind = _format(path, name)
    if kind == _PARQUET:
        return pa_parquet.read_table(seekable(path))
    if kind == _CSV:
        return pa_csv.read_csv(streamed(path), **_csv_options(path, texts))
    return pa.concat_tables(_arrow(path))


def pieces(
    path: File, rows: int, name: str, texts: Collection[str], *, only: Chosen | None = None, start: int = 0
) -> Iterator[pa.Table]:
    """Yield the table in a file of any other format, in pieces of any size, all of one schema.

    Args:
        path: of the file.
        rows: about how many a piece has.
        name: what a message calls the table.
        texts: columns of a CSV file that are texts even where they look like numbers.
        only: which columns are needed; of others Parquet reads nothing.
        start: so many rows of a Parquet file are left out, and hardly read.
    """
    kind = _format(path, name)
    if kind == _PARQUET:
        yield from _parquet(path, rows, only, start)
        return
    if kind == _CSV:
        blocks = pa_csv.ReadOptions(block_size=_BLOCK)
        with pa_csv.open_csv(streamed(path), read_options=blocks, **_csv_options(path, texts)) as reader:
            yield from (_narrow(pa.Table.from_batches([batch]), only) for batch in reader)
    else:
        yield from (_narrow(piece, only) for piece in _arrow(path))


def parquet_rows(path: File, name: str) -> int | None:
    """Return how many rows a Parquet file says that it has; None of other formats, which must be read to know."""
    return pa_parquet.read_metadata(seekable(path)).num_rows if _format(path, name) == _PARQUET else None


def _parquet(path: File, rows: int, only: Chosen | None, start: int) -> Iterator[pa.Table]:
    # Read ahead, Arrow would hold all that it has read until the file is closed.
    with pa_parquet.ParquetFile(seekable(path), pre_buffer=False) as file:
        whole = file.schema_arrow
        names = None if only is None or len(set(whole.names)) < len(whole.names) else list(only(whole.names))
        # Where all rows are left out, the types of the columns still count for the files after this one.
        yield _narrow(whole.empty_table(), None if names is None else only)
        groups, before = 0, start
        while groups < file.num_row_groups and (inside := file.metadata.row_group(groups).num_rows) <= before:
            groups, before = groups + 1, before - inside
        needed = list(range(groups, file.num_row_groups))
        # From a store columns come together, for each waits. On this machine whoever reads is fast enough alone: with
        # threads of Arrow's own, each with memory of its own, a row took half as long again.
        threads = isinstance(path, StoredFile)
        read = file.iter_batches(rows, row_groups=needed, columns=names, use_threads=threads) if needed else ()
        for batch in read:
            drop = min(before, batch.num_rows)
            before -= drop
            piece = pa.Table.from_batches([batch.slice(drop)])
            # A prefix of a path means what lies below it, too: `x` would bring a column `x.y`.
            yield piece if names is None else piece.select(names)


def _narrow(table: pa.Table, only: Chosen | None) -> pa.Table:
    """The needed columns of a table; all of them where two have one name, which somebody else refuses."""
    if only is None or len(set(table.column_names)) < table.num_columns:
        return table
    return table.select(list(only(table.column_names)))


def _csv_options(path: File, texts: Collection[str]) -> dict[str, Any]:
    """How a CSV file is written: many programs, and many countries, part cells by semicolons or tabs."""
    with pa.input_stream(streamed(path)) as stream:
        head = stream.read(_HEAD)
    header, *rows = re.split(rb"[\r\n]+", head, maxsplit=1)
    named = re.sub(rb'"[^"]*"', b"", header)
    marks = [mark for mark in (b";", b"\t") if mark in named and b"," not in named]
    delimiter = "\t" if _ending(path) == ".tsv" else marks[0].decode() if marks else ","
    decimals = delimiter == ";" and rows and _COMMA.search(rows[0]) and not _POINT.search(rows[0])
    return {
        "parse_options": pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        # An empty cell is a null, also in a column of text; only a quoted "" is the empty text.
        "convert_options": pa_csv.ConvertOptions(
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            decimal_point="," if decimals else ".",
            # A name such as 007 is no number, whatever it looks like.
            column_types=dict.fromkeys(texts, pa.string()),
        ),
    }


def json_rows(path: File, name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file of JSON lines. Arrow's own reader can be crashed by a file, and makes dates of texts."""
    with _lines_of(path) as stream:
        for number, line in enumerate(stream, 1):
            if line.isspace():
                continue
            try:
                row = json.loads(line)
                if "\\ud" in line or "\\uD" in line:
                    # Half of a pair of surrogates is no text, and nobody could write it down again.
                    json.dumps(row, ensure_ascii=False).encode()
            except (RecursionError, ValueError) as error:
                row = str(error).splitlines()[0]
            if not isinstance(row, dict):
                got = row if isinstance(row, str) else f"{type(row).__name__} for an object"
                raise InvalidInputError(f"`{name}` must be {_JSON}, got {str(path)!r}: line {number}: {got}")
            yield row


def _lines_of(path: File) -> io.TextIOWrapper:
    if isinstance(path, StoredFile):
        return lines_of(path)
    stream = gzip.open(path, "rb") if _is_packed(path) else path.open("rb")  # noqa: SIM115 - whoever reads closes it
    return io.TextIOWrapper(stream, encoding="utf-8-sig", newline="\n")


def _arrow(path: File) -> Iterator[pa.Table]:
    """Arrow's file, its stream, or the first version of Feather: the endings do not tell."""
    with seekable(path) if isinstance(path, StoredFile) else pa.OSFile(str(path)) as file:
        magic = file.read(6)
        file.seek(0)
        if magic.startswith(b"FEA1"):
            yield pa_feather.read_table(file)
            return
        reader = pa.ipc.open_file(file) if magic == b"ARROW1" else pa.ipc.open_stream(file)
        yield reader.schema.empty_table()
        count = reader.num_record_batches if magic == b"ARROW1" else None
        batches = reader if count is None else (reader.get_batch(i) for i in range(count))
        for batch in batches:
            # Nothing else looks whether a broken file points outside of itself.
            batch.validate(full=True)
            yield pa.Table.from_batches([batch])
