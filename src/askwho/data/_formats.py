"""Files that hold tables: Parquet, CSV, JSON by lines, Arrow; whole or in pieces."""

import contextlib
import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as pa_feather
import pyarrow.json as pa_json
import pyarrow.parquet as pa_parquet

from askwho.exceptions import InvalidInputError

_FORMATS = {
    ".parquet": "Parquet",
    ".csv": "CSV",
    ".tsv": "CSV",
    ".jsonl": "JSON-lines",
    ".ndjson": "JSON-lines",
    ".feather": "Arrow",
    ".arrow": "Arrow",
}
# Formats of text, which are often compressed as a whole.
_TEXT = ("CSV", "JSON-lines")
# Bytes of text that are read at a time. The types of a file in pieces are those of its first, which is therefore large.
_BLOCK = 1 << 26
# Bytes that tell how a CSV file is written: its header, and some rows with decimals.
_HEAD = 1 << 20
# A cell that is a number with a comma, or a point, in a row of cells between semicolons.
_COMMA, _POINT = (
    re.compile(rb"(?:^|;)-?\d+" + mark + rb"\d+(?:[eE][-+]?\d+)?(?=;|\r?$)", re.MULTILINE) for mark in (b",", rb"\.")
)


def format_of(path: Path, name: str) -> str:
    """Return which format a file's ending says."""
    found = _FORMATS.get(_ending(path))
    if found is None or (path.suffix.lower() == ".gz" and found not in _TEXT):
        *most, last = _FORMATS
        raise InvalidInputError(
            f"`{name}` must end in {', '.join(most)} or {last}, text also in .gz after that, got {str(path)!r}."
        )
    return found


def _ending(path: Path) -> str:
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


@contextlib.contextmanager
def reading(path: Path, name: str) -> Generator[None]:
    """One clear line for a file that is not there or is no table."""
    if not path.is_file():
        raise InvalidInputError(f"`{name}` must be a file, got {str(path)!r}: it is not there.")
    kind = format_of(path, name)
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidInputError(f"`{name}` must be a {kind} file, got {str(path)!r}: {reason}") from None


def read_file(path: Path, name: str) -> pa.Table:
    """Return the table in a file."""
    kind = format_of(path, name)
    if kind == "Parquet":
        return pa_parquet.read_table(path)
    if kind == "CSV":
        return pa_csv.read_csv(path, **_csv_options(path))
    if kind == "JSON-lines":
        return pa_json.read_json(path, read_options=pa_json.ReadOptions(block_size=_BLOCK))
    return pa.concat_tables(_arrow(path))


def pieces(path: Path, rows: int, name: str) -> Iterator[pa.Table]:
    """Yield the table in a file in pieces of any size, all of one schema."""
    kind = format_of(path, name)
    if kind == "Parquet":
        with pa_parquet.ParquetFile(path) as file:
            yield from (pa.Table.from_batches([batch]) for batch in file.iter_batches(rows))
    elif kind == "CSV":
        blocks = pa_csv.ReadOptions(block_size=_BLOCK)
        with pa_csv.open_csv(path, read_options=blocks, **_csv_options(path)) as reader:
            yield from (pa.Table.from_batches([batch]) for batch in reader)
    elif kind == "JSON-lines":
        yield from _json(path)
    else:
        yield from _arrow(path)


def _csv_options(path: Path) -> dict[str, Any]:
    """How a CSV file is written: many programs, and many countries, part cells by semicolons or tabs."""
    with pa.input_stream(str(path)) as stream:
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
            strings_can_be_null=True, quoted_strings_can_be_null=False, decimal_point="," if decimals else "."
        ),
    }


def _json(path: Path) -> Iterator[pa.Table]:
    """Blocks of whole lines, each read as the first was: JSON knows no line feed inside a value."""
    schema: pa.Schema | None = None
    rest = b""
    with pa.input_stream(str(path)) as stream:
        while block := stream.read(_BLOCK):
            lines, feed, rest = (rest + block).rpartition(b"\n")
            if lines.strip():
                table = _json_block(lines + feed, schema)
                schema = table.schema if schema is None else schema
                yield table
    if rest.strip() or schema is None:
        yield _json_block(rest, schema)


def _json_block(lines: bytes, schema: pa.Schema | None) -> pa.Table:
    return pa_json.read_json(
        pa.BufferReader(lines),
        read_options=pa_json.ReadOptions(block_size=len(lines) + 1),
        parse_options=pa_json.ParseOptions(
            explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else "error"
        ),
    )


def _arrow(path: Path) -> Iterator[pa.Table]:
    """Arrow's file, its stream, or the first version of Feather: the endings do not tell."""
    with pa.OSFile(str(path)) as file:
        magic = file.read(6)
        file.seek(0)
        if magic.startswith(b"FEA1"):
            yield pa_feather.read_table(path, memory_map=False)
            return
        reader = pa.ipc.open_file(file) if magic == b"ARROW1" else pa.ipc.open_stream(file)
        yield reader.schema.empty_table()
        count = reader.num_record_batches if magic == b"ARROW1" else None
        batches = reader if count is None else (reader.get_batch(i) for i in range(count))
        for batch in batches:
            # Nothing else looks whether a broken file points outside of itself.
            batch.validate(full=True)
            yield pa.Table.from_batches([batch])
