"""The two ways of asking: all at once with substitutes, or in turn."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from askwho._money import amount
from askwho.live._committee import heard, ranked, verdict
from askwho.live._foreseen import MOMENT, Foreseen
from askwho.live._round import GRACE, Round
from askwho.policy import Decision, Decisions, Seen, Target


async def at_once(round_: Round, decisions: Decisions, target: Target) -> Decision:
    """Ask a committee all at once, substitutes in the place of who fails; return the decision, filled in.

    Args:
        round_: the calls about the query.
        decisions: of the one query.
        target: that they were made for.
    """
    office = round_.office
    policy, panel = office.policy, office.policy.panel
    names = panel.names
    k = int(decisions.k[0])
    line = ranked(policy, decisions, target)
    queue = iter(line)
    taken: list[int] = []

    def heard_so_far() -> int:
        return sum(bool(panel.own[j]) or _answered(round_, names[j]) for j in taken)

    def seats() -> list[int]:
        # Whoever was given up, or was never reached, is in no committee.
        absent = {name for name, call in round_.calls.items() if call.came in ("withdrawn", "not asked")}
        return sorted((j for j in taken if names[j] not in absent), key=line.index)

    hedges, foreseen = _Hedges(round_), Foreseen(policy, decisions)
    while True:
        need = k - heard_so_far() - len(round_.running) + hedges.due()
        asked = _next(round_, queue, need, taken, first=line[:k]) if round_.now < round_.until else []
        if asked:
            begun = await round_.begin([names[j] for j in asked])
            taken += [j for j in asked if names[j] in begun]
            hedges.began(begun)
            if len(begun) < len(asked):
                # Whom no budget covers is replaced at once.
                continue
        if not round_.running:
            break
        if heard_so_far() >= k:
            round_.leave("enough of the others had answered")
            break
        if round_.now >= round_.until + GRACE:
            round_.leave("he did not answer in time")
            break
        if len(round_.running) == 1 and heard_so_far() == k - 1 and foreseen.wants(members := seats()):
            await round_.wait(min(hedges.until(), round_.now + MOMENT))
            for call in round_.running.values():
                foreseen.work_out(members, round_.calls, call.hold.expert)
            continue
        await round_.wait(hedges.until())
    # They ended in any order: they are told in that in which they are ranked.
    round_.calls = {names[j]: round_.calls[names[j]] for j in line if names[j] in round_.calls}
    committee = seats()
    known = foreseen.decision(committee, round_.calls)
    return verdict(policy, decisions, committee, round_.calls)[0] if known is None else known


def _answered(round_: Round, name: str) -> bool:
    call = round_.calls.get(name)
    return call is not None and call.came == "answered"


def _next(round_: Round, queue: Iterator[int], need: int, taken: list[int], first: list[int]) -> list[int]:
    """Whom to ask next, so many; who answers for himself is taken without being asked."""
    panel, asked = round_.office.policy.panel, list[int]()
    while need > 0 and (j := next(queue, None)) is not None:
        if panel.own[j]:
            # Nobody stands in for another by abstaining.
            if j in first or panel.entities[j].kind != "reject":
                taken.append(j)
                need -= 1
        elif not round_.refuses(panel.names[j]):
            asked.append(j)
            need -= 1
    return asked


class _Hedges:
    """When whoever is silent is hedged against: once, after a share of the time that was left when he was asked."""

    def __init__(self, round_: Round) -> None:
        self._round = round_
        self._when: dict[str, float] = {}

    def began(self, names: list[str]) -> None:
        """These were asked just now."""
        share, now = self._round.office.hedge, self._round.now
        if share is not None:
            self._when |= dict.fromkeys(names, now + share * (self._round.until - now))

    def due(self) -> int:
        """How many are silent for so long that somebody else is to be asked beside them."""
        running = {call.hold.expert for call in self._round.running.values()}
        return sum(self._when.get(name, np.inf) <= self._round.now for name in running)

    def until(self) -> float:
        """When to look again, if nobody ends before."""
        last, now = self._round.until + GRACE, self._round.now
        return min([last, *(when for when in self._when.values() if when > now)])


async def in_turn(round_: Round, seen: Seen, target: Target, step: Decisions) -> tuple[Decisions, float]:
    """Ask one after another as the rule says; return the last step, and the probability of the whole way.

    Whoever fails, is late or cannot be asked counts as asked without a usable answer, and the rule goes on.

    Args:
        round_: the calls about the query.
        seen: the query.
        target: what is aimed at.
        step: the first step, nobody having been asked yet.
    """
    office, chance = round_.office, float(step.propensity[0])
    names = office.policy.panel.names
    while step.k[0] and round_.now < round_.until:
        name = names[int(step.order[0, 0])]
        if not round_.refuses(name) and await round_.begin([name]):
            while round_.running and round_.now < round_.until + GRACE:
                await round_.wait(round_.until + GRACE)
            if round_.running:
                round_.leave("he did not answer in time")
        answers, info = heard(office.policy, round_.calls)
        step = office.policy.next(
            seen,
            answers,
            target,
            info=info,
            ids=step.ids,
            explore=office.explore,
            random_state=office.rng,
        )
        chance *= float(step.propensity[0])
    return step, chance


def at_once_told(round_: Round, made: Decision) -> Decision:
    """Return the one decision, with what was really booked and everybody who was asked."""
    return replace(made, ask=_asked(round_), paid=amount(round_.booked), ask_next=())


def in_turn_told(round_: Round, last: Decisions, chance: float) -> Decision:
    """Return the same of the last step of asking in turn; nobody having been heard, nothing is decided."""
    made, panel = last[0], round_.office.policy.panel
    asked = _asked(round_)
    fee = float(sum(last.seen.fees[0, panel.index(name)] for name in asked))
    told: dict[str, Any] = {"ask": asked, "fee": fee, "propensity": chance, "ask_next": ()}
    told["paid"] = amount(round_.booked)
    if not made.heard:
        told |= {"verdict": None, "probability": None}
    return replace(made, **told)


def _asked(round_: Round) -> tuple[str, ...]:
    return tuple(name for name, call in round_.calls.items() if call.came != "not asked")
