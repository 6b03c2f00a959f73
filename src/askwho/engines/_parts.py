"""A table in parts: which are left to do, and the work of making some of them wherever a worker runs."""

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pyarrow as pa

from askwho.data import Table, read_batches
from askwho.engines._shards import is_there, write_part
from askwho.engines._work import Made, Next, Route
from askwho.policy import Policy

# A worker reads about so many rows on end, the usual size of a group of rows in Parquet: where it begins within one,
# those before are decoded for nothing.
_READ_ON_END = 1 << 20
# Each worker gets about so many stretches, so that none waits long for the last.
_STRETCHES = 4
# What a worker is given, and what it says when it is done: an engine moves tables alone.
_PLAN = pa.schema([("first", pa.int64()), ("parts", pa.int64())])
# Likewise.
_SAID = pa.schema([("part", pa.int64()), ("queries", pa.int64())])


@dataclass(frozen=True)
class Parts:
    """The work of writing parts: of stretches of a table, each told by its first part and how many there are.

    A part is made of its rows, its number and the seed alone: whoever makes it again makes the same bytes, and puts
    them where they are already. So every row is in the output once, however often a worker was killed.

    Args:
        work: on the rows of a part.
        queries: a file, a folder, or a pattern; every worker must see it.
        folder: of the parts; every worker must see it.
        rows: of a part.
    """

    work: Route | Next
    queries: str
    folder: str
    rows: int

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Write the parts of some stretches; return their numbers and how many queries each holds."""
        said: list[tuple[int, int]] = []
        for stretch in batch.to_pylist():
            for number, table in islice(self.batches(stretch["first"]), stretch["parts"]):
                if not is_there(self.folder, number):
                    self.write(number, self.made(number, table))
                said.append((number, len(next(iter(table.values())))))
        return pa.RecordBatch.from_pylist([dict(zip(_SAID.names, row, strict=True)) for row in said], schema=_SAID)

    def load(self) -> Policy:
        """Return the policy, read when it is first asked for."""
        return self.work.load()

    def schema(self, given: pa.Schema) -> pa.Schema:  # noqa: ARG002 - there is one plan
        """Return what is told of parts."""
        return _SAID

    def batches(self, first: int) -> Iterator[tuple[int, Table]]:
        """Yield the columns of each part, of shape (rows,) or (rows, numbers), with its number, from a part on."""
        read = read_batches(
            self.queries,
            rows=self.rows,
            name="queries",
            texts=self.load().texts,
            only=self.work.columns,
            skip=first,
        )
        return enumerate(read, first)

    def made(self, number: int, table: Table) -> Made:
        """Return the columns of a part and their sums."""
        n, first = len(next(iter(table.values()))), number * self.rows
        ids = None if self.load().id_column in table else [str(first + i) for i in range(n)]
        seed = self.work.seed
        return self.work.made(table, np.random.default_rng(None if seed is None else [seed, number]), ids)

    def write(self, number: int, made: Made) -> None:
        """Write a part."""
        write_part(self.folder, number, *made, types=self.work.types)


def plan_of(parts: int, done: Collection[int], *, rows: int, workers: int) -> pa.RecordBatch:
    """Return the stretches of parts that are left to do.

    Args:
        parts: how many there are in all.
        done: those that are there.
        rows: of a part.
        workers: among whom they are shared out.
    """
    left = [number for number in range(parts) if number not in done]
    most = max(1, min(_READ_ON_END // rows, math.ceil(len(left) / (_STRETCHES * workers))))
    stretches: list[dict[str, int]] = []
    for number in left:
        last = stretches[-1] if stretches else {"first": -1, "parts": 0}
        if last["first"] + last["parts"] == number and last["parts"] < most:
            last["parts"] += 1
        else:
            stretches.append({"first": number, "parts": 1})
    return pa.RecordBatch.from_pylist(stretches, schema=_PLAN)
