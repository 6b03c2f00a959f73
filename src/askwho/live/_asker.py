"""The Asker: a policy that asks real experts, within a deadline and a budget."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np

from askwho import _validation as check
from askwho.exceptions import InvalidInputError
from askwho.experts import Expert
from askwho.live._answered import Answered
from askwho.live._behind import Behind
from askwho.live._books import Books, NoBooks
from askwho.live._breaker import State
from askwho.live._committee import sense_of
from askwho.live._desk import Desk
from askwho.live._office import Office
from askwho.live._round import Round
from askwho.live._ways import at_once, at_once_told, in_turn, in_turn_told
from askwho.policy import Decision, Decisions, Policy, Seen, Target

Mode = Literal["at-once", "sequential"]
"""All of a committee at once, or one after another as the answers tell."""

DEADLINE = 2.0
"""Seconds from a question to its verdict, unless said: about as long as somebody waits before a screen."""
CLOSING = 10.0
"""Seconds to wait at the end for what is being booked: an expert who does not let himself be cancelled may hang."""


class Asker:
    """A policy that asks: whom it decides to, within one deadline, and books what they charge.

    An expert who fails, is late or answers garbage is replaced by the next-ranked one whom budget and deadline allow;
    the verdict is taken from those who answered. Answers are taken whole: streaming is out of scope.

    Args:
        policy: who is to be asked about what.
        experts: one for each entity of the panel that does not answer for itself; by name or in any order.
        ledger: where decisions, holds, answers and fees are written; None for nowhere.
        budgets: names of the ledger's budgets that must cover every call.
        mode: whether a committee is asked all at once, or one after another.
        explore: the share of queries that ask somebody else, at random; with what probability is written down.
        hedge: at once, the share of the time left after which somebody else is asked beside whoever is still silent;
            whoever of them answers last is given up, and paid. None for never.
        random_state: the seed of exploring and of the waits between retries.
        digest: which policy it is, for the ledger.
        again: whether a query may be in the ledger already, from a run that was stopped: it is then decided anew.
    """

    def __init__(
        self,
        policy: Policy,
        experts: Mapping[str, Expert] | Iterable[Expert],
        *,
        ledger: Books | None = None,
        budgets: Sequence[str] = (),
        mode: Mode = "at-once",
        explore: float = 0.0,
        hedge: float | None = None,
        random_state: int | None = None,
        digest: str = "",
        again: bool = False,
    ) -> None:
        check.one_of(mode, "mode", ("at-once", "sequential"))
        if hedge is not None and not 0.0 < check.finite_number(hedge, "hedge") < 1.0:
            raise InvalidInputError(f"`hedge` must be above 0 and below 1, got {hedge!r}: it is a share of the time.")
        if isinstance(budgets, str):
            raise InvalidInputError(f"`budgets` must be a list of names, got the text {budgets!r}.")
        if budgets and ledger is None:
            raise InvalidInputError("`budgets` must come with a `ledger`, got none: nobody else keeps them.")
        self._mode: Mode = mode
        self._again = again
        self._experts = _by_name(policy, experts)
        self._office = Office(
            policy=policy,
            desks={name: Desk(expert) for name, expert in self._experts.items()},
            books=NoBooks() if ledger is None else ledger,
            budgets=tuple(budgets),
            explore=check.finite_number(explore, "explore", minimum=0.0),
            hedge=hedge,
            digest=digest,
            rng=np.random.default_rng(random_state),
            behind=Behind(),
            sense=sense_of(policy),
            wall=time.time,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Wait until everything is booked, and let the experts go; the ledger stays open for who opened it."""
        await self._office.behind.wait(CLOSING)
        await asyncio.gather(*(expert.close() for expert in self._experts.values()))

    @property
    def breakers(self) -> dict[str, State]:
        """The state of each expert's circuit breaker."""
        return {name: desk.breaker.state for name, desk in self._office.desks.items()}

    async def ask(self, query: Mapping[str, Any], target: Target, *, deadline: float = DEADLINE) -> Answered:
        """Return what is decided about one query, by the deadline, whoever fails.

        Args:
            query: what is known of it, by column; the policy's id column names it, where there is one.
            target: how much an error is worth, or what must be met.
            deadline: seconds from now that all of it may take, every queue, retry and substitute included.
        """
        loop, office = asyncio.get_running_loop(), self._office
        began = loop.time()
        if check.finite_number(deadline, "deadline", minimum=0.0) == 0.0:
            raise InvalidInputError("`deadline` must be above 0 seconds, got 0: nobody answers at once.")
        policy = office.policy
        given = query.get(policy.id_column)
        seen = policy.see(_row(policy, query))
        ids = None if given is None else [given]
        options: dict[str, Any] = {"ids": ids, "explore": office.explore, "random_state": office.rng}
        if self._mode == "at-once":
            made = policy.decide(seen, target, **options)
        else:
            made = policy.next(seen, None, target, **options)
        known = dict(query)
        round_ = Round(office, str(made.ids[0]), known, began + deadline)
        round_.first = lambda: office.books.decided(
            round_.query, query=known, decision=self._written(made, target), again=self._again
        )
        try:
            decision = await self._asked(round_, seen, made, target)
        except BaseException:
            round_.leave("nobody waited for him any longer")
            raise
        if round_.first is not None:
            # Nobody was to be asked: the decision is written down only now.
            round_.book(round_.first)
        told = {"verdict": decision.verdict, "probability": decision.probability, "paid": round_.booked}
        round_.book(partial(office.books.closed, round_.query, **told))
        await round_.settled()
        answer = decision.verdict
        if policy.columns.answers is None and answer in round_.calls:
            answer = round_.calls[answer].answer
        return Answered(decision, tuple(round_.calls.values()), round_.booked, loop.time() - began, answer)

    async def outcome(self, decision_id: str, truth: Any) -> None:  # noqa: ANN401 - of any type
        """Write down what turned out to be right about a query."""
        await self._office.books.outcome(decision_id, truth)

    async def _asked(self, round_: Round, seen: Seen, made: Decisions, target: Target) -> Decision:
        if self._mode == "at-once":
            return at_once_told(round_, await at_once(round_, made, target))
        last, chance = await in_turn(round_, seen, target, made)
        return in_turn_told(round_, last, chance)

    def _written(self, made: Decisions, target: Target) -> dict[str, Any]:
        """A decision as the ledger keeps it."""
        names = self._office.policy.panel.names
        order = made.order[0].tolist()
        return {
            "ask": list(made.ask(0)),
            # In turn the way goes by the answers: its probability is known at its end, and not that of its set.
            "propensity": float(made.propensity[0]) if self._mode == "at-once" else None,
            "propensities": {names[j]: p for j, p in zip(order, made.propensities[0].tolist(), strict=True)},
            "target": str(target),
            "mode": self._mode,
            "policy": self._office.digest,
        }


def _by_name(policy: Policy, experts: Mapping[str, Expert] | Iterable[Expert]) -> dict[str, Expert]:
    """The experts of the panel, by name; more than these may be given."""
    listed: Any = experts.items() if isinstance(experts, Mapping) else ((expert.name, expert) for expert in experts)
    given: dict[str, Expert] = check.once(list(listed), "experts")
    panel = policy.panel
    needed = [name for name, own in zip(panel.names, panel.own, strict=True) if not own]
    absent = [name for name in needed if name not in given]
    if absent:
        raise InvalidInputError(
            f"`experts` must have one for each of {needed}, missing: {absent}. Whoever has left is taken out by "
            "`policy.without(name)`."
        )
    return {name: given[name] for name in needed}


def _row(policy: Policy, query: Mapping[str, Any]) -> Any:  # noqa: ANN401 - one query, as the policy takes it
    """What the policy knows of a query, and no more: other columns are the experts' alone."""
    known = {name: query[name] for name in policy.encoder.columns if name in query}
    plain = not any(isinstance(value, list | tuple | np.ndarray) for value in known.values())
    return known if plain else [known]
