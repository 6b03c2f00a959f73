"""A fake for tests: it answers from a function, a table or a list of turns, as fast and as badly as it is told to."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from askwho._money import nanos
from askwho.experts._expert import ExpertError, Limits, Question, Reply

Said = (
    Callable[[Question], Any] | Mapping[str, Any] | Sequence[Any] | Reply | Exception | str | int | float | bool | None
)
"""One answer or failure for everything; answers by the query's id; a list, one for each call; or a function."""


class Fake:
    """An expert who says what he is told to, and remembers what he was asked.

    An answer may be a `Reply`, which is passed on as it is, or an exception, which is raised.

    Args:
        name: who it is in the policy's panel.
        says: what he answers; of a list, the last from there on.
        fee: what a call charges.
        seconds: how long he takes.
        limits: what he can bear.

    >>> import asyncio
    >>> expert = Fake("cheap", says={"q1": "cat"}, fee=0.1)
    >>> asyncio.run(expert.ask(Question("q1", {}, "key", 1.0))).answer
    'cat'
    """

    def __init__(
        self,
        name: str,
        says: Said = None,
        *,
        fee: float = 0.0,
        seconds: float = 0.0,
        limits: Limits | None = None,
    ) -> None:
        self.name = name
        self.says = says
        self.fee = nanos(fee)
        self.seconds = seconds
        self.limits = Limits() if limits is None else limits
        self.asked: list[Question] = []
        self.closed = False

    @property
    def worst(self) -> int:
        """The most that one call charges, in nanos."""
        return self.fee

    async def ask(self, question: Question) -> Reply:
        """Return what he was told to say, after as long as he was told to take."""
        turn = len(self.asked)
        self.asked.append(question)
        if self.seconds:
            await asyncio.sleep(self.seconds)
        said = self._said(question, turn)
        if isinstance(said, BaseException):
            raise said
        return said if isinstance(said, Reply) else Reply(said, charged=self.fee)

    async def close(self) -> None:
        """Remember that he was let go."""
        self.closed = True

    def _said(self, question: Question, turn: int) -> Any:  # noqa: ANN401 - an answer, a reply or an exception
        if callable(self.says):
            return self.says(question)
        if isinstance(self.says, Mapping):
            if question.id not in self.says:
                return ExpertError(f"{self.name} was told nothing about {question.id!r}.", charged="no")
            return self.says[question.id]
        if isinstance(self.says, Sequence) and not isinstance(self.says, str):
            return self.says[min(turn, len(self.says) - 1)]
        return self.says

    def __repr__(self) -> str:
        return f"Fake({self.name!r})"
