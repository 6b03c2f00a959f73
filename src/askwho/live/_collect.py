"""Where a log comes from: everybody is asked about past questions, once; or some of them, by a stated design."""

import asyncio
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from askwho import _validation as check
from askwho._money import amount
from askwho.exceptions import InvalidInputError
from askwho.experts import Expert, worst_of
from askwho.ledger import Call
from askwho.live._answered import Asked
from askwho.live._behind import Behind
from askwho.live._books import NoBooks
from askwho.live._breaker import Breaker
from askwho.live._call import Calling
from askwho.live._desk import Desk
from askwho.live._journal import Journal

PATIENCE = 3600.0
"""Seconds that a call may wait for its turn: nobody waits for a verdict, and each attempt has its own timeout."""
COOLDOWN = 5.0
"""Seconds that an expert who fails is left alone: nobody else can answer for him, and so he is tried sooner."""
GIVEN_UP = 20
"""So many calls that fail in a row end it for an expert: the rest is left for the next start."""


@dataclass(frozen=True)
class Design:
    """Who is asked about which question.

    Args:
        questions: by id, what is known of each.
        experts: by name.
        asked: by the question's id, who is to be asked about it.
        propensity: the probability with which just these were drawn, the same for every question.
    """

    questions: Mapping[str, Mapping[str, Any]]
    experts: Mapping[str, Expert]
    asked: Mapping[str, tuple[str, ...]]
    propensity: float

    @classmethod
    def draw(
        cls,
        questions: Sequence[Mapping[str, Any]],
        experts: Mapping[str, Expert],
        *,
        id_column: str = "id",
        share: float = 1.0,
        seed: int = 0,
    ) -> "Design":
        """Return the design in which each question goes to a share of the experts, any so many of them alike.

        Args:
            questions: one mapping each, with its id.
            experts: by name.
            id_column: the column that names them.
            share: how many of the experts, at least one.
            seed: of the draw: a question has the same experts whenever it is drawn.
        """
        if not 0.0 < check.finite_number(share, "share") <= 1.0:
            raise InvalidInputError(f"`share` must be above 0 and at most 1, got {share!r}: it is of the experts.")
        absent = [i for i, row in enumerate(questions) if row.get(id_column) is None]
        if absent or not questions:
            raise InvalidInputError(f"`{id_column}` must name each question, got none in row {(absent or [0])[0]}.")
        named = check.once([(str(row[id_column]), row) for row in questions], id_column)
        names = list(experts)
        size = max(1, round(share * len(names)))
        asked: dict[str, tuple[str, ...]] = {}
        for i, name in enumerate(named):
            picked = np.random.default_rng([seed, i]).permutation(len(names))[:size]
            asked[name] = tuple(names[j] for j in sorted(picked.tolist()))
        return cls(named, experts, asked, 1.0 / math.comb(len(names), size))

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Every call that is to be made: a question's id and an expert's name."""
        return [(query, name) for query, names in self.asked.items() for name in names]

    def worst(self, calls: Sequence[tuple[str, str]]) -> int:
        """Return the most that some calls can charge, in nanos."""
        return sum(worst_of(self.experts[name], self.questions[query]) for query, name in calls)

    def told(self) -> dict[str, Any]:
        """Return what tells this design from any other, as JSON."""
        text = json.dumps([self.asked, self.questions], sort_keys=True, default=str)
        return {"experts": list(self.experts), "digest": hashlib.sha256(text.encode()).hexdigest()}


@dataclass(frozen=True)
class Collected:
    """What was collected.

    Args:
        answers: by the question's id and the expert's name; what failed is not there.
        booked: in nanos, all that was paid, earlier starts included.
        left: calls that were not made, or failed.
    """

    answers: Mapping[tuple[str, str], Asked]
    booked: int
    left: int

    @property
    def paid(self) -> float:
        """What was paid, in the user's unit."""
        return amount(self.booked)


async def collect(
    design: Design,
    out: Path,
    *,
    spend: int | None = None,
    at_a_time: int = 64,
    progress: Callable[[int, int, int], None] | None = None,
) -> Collected:
    """Make every call of a design that was not made yet, within a limit, and return everything that came.

    Args:
        design: who is asked about what.
        out: the file that the answers are for: its journal stands beside it.
        spend: the most that all starts together may spend, in nanos; a call is made only if its worst case is left.
        at_a_time: calls to one expert that are under way at a time.
        progress: called with the calls made, all calls, and what was spent so far, in nanos.
    """
    journal = Journal.beside(out, design.told())
    todo = [call for call in design.calls if call not in journal.done]
    run = _Run(design, journal, spend, progress)
    try:
        async with asyncio.TaskGroup() as group:
            for name in design.experts:
                queue = iter([query for query, each in todo if each == name])
                for _ in range(min(at_a_time, len(todo))):
                    group.create_task(run.work(name, queue))
    finally:
        journal.close()
        await run.behind.wait(1.0)
        await asyncio.gather(*(expert.close() for expert in design.experts.values()))
    left = [call for call in design.calls if call not in journal.done]
    return Collected(journal.done, journal.booked, len(left))


class _Run:
    """One start of a collection: who is asked next, and who is given up.

    Args:
        design: who is asked about what.
        journal: where every call is written down.
        spend: the most that may be booked, in nanos.
        progress: who is told.
    """

    def __init__(
        self, design: Design, journal: Journal, spend: int | None, progress: Callable[[int, int, int], None] | None
    ) -> None:
        self.behind = Behind()
        self._design = design
        self._journal = journal
        self._spend = spend
        self._progress = progress
        self._desks = {name: Desk(each, Breaker(cooldown=COOLDOWN)) for name, each in design.experts.items()}
        self._failed = dict.fromkeys(design.experts, 0)
        self._random = np.random.default_rng().random

    async def work(self, name: str, queue: Iterator[str]) -> None:
        """Ask one expert about what waits for him, one question after another, until he is given up."""
        for query in queue:
            worst = worst_of(self._design.experts[name], self._design.questions[query])
            if self._spend is not None and self._journal.booked + worst > self._spend:
                continue
            came = "not asked"
            # Whoever is left alone for a while is waited for; whoever fails on and on is not.
            while came == "not asked" and self._failed[name] < GIVEN_UP:
                if not self._desks[name].breaker.allows():
                    await asyncio.sleep(COOLDOWN / 10)
                    continue
                came = (await self._call(query, name, worst)).came

    async def _call(self, query: str, name: str, worst: int) -> Asked:
        """Make one call, and write it down before and after."""
        key, known, journal = self._journal.key(query, name), self._design.questions[query], self._journal
        hold = Call(key, query, name, key, worst, until=0.0)
        desk = self._desks[name]
        # What is under way is booked at its worst case: so much is held.
        journal.began(query, name, worst, once=desk.limits.idempotent)
        calling = Calling(self._desks[name], hold, known, query, NoBooks(), self.behind.run, lambda _: "", self._random)
        call = await calling.run(asyncio.get_running_loop().time() + PATIENCE)
        journal.ended(query, call)
        fine = call.came in ("answered", "unusable")
        self._failed[name] = 0 if fine else self._failed[name] + (call.came != "not asked")
        if self._progress is not None and fine:
            self._progress(len(journal.done), len(self._design.calls), journal.booked)
        return call
