"""A table of what somebody said once: it answers again, with what came along, at its fee, and after as long."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from askwho import _validation as check
from askwho._money import nanos
from askwho.core import is_null
from askwho.data import id_texts, table_of
from askwho.exceptions import InvalidInputError
from askwho.experts._expert import ExpertError, Limits, Question, Reply


@dataclass(frozen=True, eq=False)
class Row:
    """What was recorded about one query.

    Args:
        answer: None where nothing usable came.
        info: what came with it.
        fee: in nanos.
        seconds: how long it took.
    """

    answer: Any
    info: float | None
    fee: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Recorded:
    """An expert who says what he said before.

    Args:
        name: who it is in the policy's panel.
        rows: by the query's id.
        limits: what he can bear.
        speed: how much faster than he was; infinity for at once.
    """

    name: str
    rows: Mapping[str, Row]
    limits: Limits = field(default_factory=Limits)
    speed: float = 1.0

    @classmethod
    def of(
        cls,
        name: str,
        table: Any,  # noqa: ANN401 - a file, a frame, columns
        *,
        id: str = "id",  # noqa: A002 - what the column is called everywhere
        answer: str,
        fee: float | str = 0.0,
        info: str | None = None,
        latency: str | None = None,
        limits: Limits | None = None,
        speed: float = 1.0,
    ) -> "Recorded":
        """Return the expert of a table's columns.

        Args:
            name: who it is in the policy's panel.
            table: as `read_log` takes it.
            id: the column that names queries.
            answer: the column of answers; an empty cell is no usable one.
            fee: what each call charged, or the column that tells.
            info: the column of what came with the answers.
            latency: the column of how long each took, in seconds.
            limits: what he can bear.
            speed: how much faster than he was.
        """
        columns = table_of(table, "table", texts=(id,))
        named = {"id": id, "answer": answer, "info": info, "latency": latency}
        named["fee"] = fee if isinstance(fee, str) else None
        absent = [column for column in named.values() if column is not None and column not in columns]
        if absent:
            raise InvalidInputError(f"`table` must have the columns {absent}, got {list(columns)}.")
        ids = id_texts(np.asarray(columns[id])).tolist()
        if len(set(ids)) < len(ids):
            raise InvalidInputError(f"`{id}` must name each row once, got one of them twice.")
        n, said = len(ids), columns[answer]
        empty = is_null(said).tolist()
        told = _numbers(columns, info, n)
        took = _numbers(columns, latency, n)
        fees = (
            [nanos(0.0 if np.isnan(each) else each) for each in _numbers(columns, fee, n)]
            if isinstance(fee, str)
            else [nanos(fee)] * n
        )
        rows = {
            each: Row(
                None if empty[i] else said[i].item() if isinstance(said[i], np.generic) else said[i],
                None if np.isnan(told[i]) else float(told[i]),
                fees[i],
                0.0 if np.isnan(took[i]) else max(float(took[i]), 0.0),
            )
            for i, each in enumerate(ids)
        }
        return cls(name, rows, Limits() if limits is None else limits, speed)

    @property
    def worst(self) -> int:
        """The most that one call charges, in nanos."""
        return max((row.fee for row in self.rows.values()), default=0)

    async def ask(self, question: Question) -> Reply:
        """Return what he said, after as long as it took him."""
        row = self.rows.get(question.id)
        if row is None:
            raise ExpertError(f"nothing is recorded about {question.id!r}", charged="no")
        seconds = row.seconds / self.speed
        if seconds:
            await asyncio.sleep(seconds)
        why = "nothing usable is recorded" if row.answer is None else ""
        return Reply(row.answer, row.info, row.fee, why)

    async def close(self) -> None:
        """Nothing is held."""


def _numbers(columns: Mapping[str, np.ndarray], name: str | None, n: int) -> np.ndarray:
    return np.full(n, np.nan) if name is None else check.finite_or_nan(columns[name], name)
