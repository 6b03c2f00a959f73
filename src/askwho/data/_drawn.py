"""A log longer than learning needs: a stratified sample of its rows, the same however it is read."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from askwho import _validation as check
from askwho._splitmix import mixed
from askwho.core import is_null
from askwho.data._columns import Columns, resolve
from askwho.data._formats import files_of
from askwho.data._sample import joined
from askwho.data._stores import size_of
from askwho.data._tables import Table, count_rows, read_batches, read_table

MAX_ROWS = 50_000
"""Rows that a policy is learned from at the most. Of numbers, 50,000 in place of 20,000 took less than a hundredth off
the area under the frontier (`benchmarks/large_fit.py`), and time and memory grow with the rows. Texts teach more for
longer: there it is a bound of time, which `max_rows` lifts."""
# Groups that must be in a sample as a whole: with fewer neither folds nor intervals tell much, and rows are drawn.
_FEWEST_GROUPS = 50


def rows_drawn(
    strata: Shaped[np.ndarray, " n"], groups: Shaped[np.ndarray, " n"] | None, most: int
) -> Int[np.ndarray, " rows"]:
    """Return which rows to learn from, in order: all of them, or `most` of many.

    Rows are laid out by stratum, in an order within it that a hash of their number gives, and taken at even steps: each
    stratum has its share to within one row, be it a class or a stretch of numbers (systematic sampling from an ordered
    list; Cochran, Sampling Techniques, 1977, chapter 8). Where rows come in groups, whole groups are drawn by a hash
    until the next would be too many; where fewer than fifty would fit, each group is a stratum.

    Args:
        strata: shape (n,), a class, or a number.
        groups: shape (n,), what must stay together; None where every row is by itself.
        most: how many; 0 for all.
    """
    n = len(strata)
    if most == 0 or n <= most:
        return np.arange(n)
    keys = mixed(np.arange(n, dtype=np.uint64))
    apart = np.zeros(n, dtype=np.int64)
    if groups is not None:
        _, first, apart, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
        # Hashed by the row where each begins: names are of any kind.
        order = np.argsort(mixed(first.astype(np.uint64)))
        fits = int(np.searchsorted(np.cumsum(sizes[order]), most, side="right"))
        if fits >= min(_FEWEST_GROUPS, len(order)):
            return np.flatnonzero(np.isin(apart, order[:fits]))
    laid_out = np.lexsort((keys, strata, apart))
    return np.sort(laid_out[((np.arange(most) + 0.5) * (n / most)).astype(np.int64)])


def read_drawn(source: Any, columns: Columns, most: int, *, optional: Collection[str] = ()) -> tuple[Table, int]:  # noqa: ANN401
    """Return the rows of a log to learn from, by column, and how many rows it has.

    A file that is longer is read twice, a batch at a time: for what rows are drawn by, and for those that are.

    Args:
        source: as in `read_log`.
        columns: which column is what.
        most: how many rows; 0 for all.
        optional: as in `read_log`.
    """
    check.whole_number(most, "max_rows", minimum=0)
    inside = not isinstance(source, str | Path)
    if most == 0 or inside or _surely_short(source, most):
        source = read_table(source, texts=columns.texts)
        n = len(next(iter(source.values())))
        if most == 0 or n <= most or not inside:
            return source, n
    strata, groups = _design(source, columns)
    if len(strata) <= most:
        return read_table(source, texts=columns.texts), len(strata)
    return _picked(source, columns, rows_drawn(strata, groups, most), optional), len(strata)


def strata_of(truth: Shaped[np.ndarray, " n"] | None, n: int) -> Float[np.ndarray, " n"]:
    """Return the stratum of each row as a number, shape (n,): a number is its own; of grades all rows are of one."""
    return np.zeros(n) if truth is None else _coded(truth, {})


def _surely_short(source: str | Path, most: int) -> bool:
    """Whether files are of few rows, by what they say, or by their bytes: a row of text has two at the least."""
    files = files_of(source, "log")
    for file in files:
        if not file.is_file():
            # Whoever reads it says so.
            return True
    text = [file for file in files if file.name.lower().endswith((".csv", ".tsv", ".jsonl", ".ndjson"))]
    if len(text) == len(files):
        return sum(size_of(file) for file in files) <= 2 * most
    if all(file.name.lower().endswith(".parquet") for file in files):
        return count_rows(source, "log") <= most
    return False


def _design(source: Any, columns: Columns) -> tuple[np.ndarray, np.ndarray | None]:  # noqa: ANN401 - as above
    """What rows are drawn by: a stratum each, and a group where there are any; a column that is missing is empty."""
    needed = [name for name in (columns.truth, columns.groups) if name is not None]
    seen: dict[str | None, dict[str, int]] = {name: {} for name in needed}
    found: dict[str | None, list[np.ndarray]] = {columns.truth: [], columns.groups: []}

    def only(present: Sequence[str]) -> list[str]:
        # A table has a column: any tells how many rows there are.
        return [name for name in present if name in needed] or list(present[:1])

    for table in read_batches(source, texts=columns.texts, only=only):
        n = len(next(iter(table.values())))
        for name, parts in found.items():
            here = None if name is None else table.get(name)
            parts.append(np.zeros(n) if name is None or here is None else _coded(here, seen[name]))
    groups = None if columns.groups is None else np.concatenate(found[columns.groups])
    return np.concatenate(found[columns.truth]), groups


def _coded(values: np.ndarray, seen: dict[str, int]) -> Float[np.ndarray, " n"]:
    """Numbers as they are, anything else by when it was first seen; empty cells are alike."""
    if values.dtype.kind in "fiub" and values.ndim == 1:
        return values.astype(np.float64)
    codes = np.array([seen.setdefault(str(each), len(seen)) for each in values.tolist()], dtype=np.float64)
    return np.where(is_null(values), np.nan, codes)


def _picked(source: Any, columns: Columns, rows: np.ndarray, optional: Collection[str]) -> Table:  # noqa: ANN401
    """Some rows of a table, read a batch at a time, and only the columns that are a log's."""
    parts: dict[str, list[np.ndarray]] = {}
    counts: list[int] = []
    start = 0

    def used(present: Sequence[str]) -> list[str]:
        found = resolve(columns, present, optional=optional)
        single = (columns.truth, columns.text, columns.groups, columns.id, columns.time, columns.propensity)
        wanted = {*single, *found.entities.values(), *found.features, *found.info.values(), *found.fees.values()}
        return [name for name in present if name in wanted]

    for table in read_batches(source, texts=columns.texts, only=used):
        n = len(next(iter(table.values())))
        here = rows[np.searchsorted(rows, start) : np.searchsorted(rows, start + n)] - start
        start += n
        for name, values in table.items():
            # A key of JSON that earlier rows had not: their cells are empty.
            parts.setdefault(name, [np.full(count, None, dtype=object) for count in counts]).append(values[here])
        counts.append(len(here))
    return {name: joined(found) for name, found in parts.items()}
