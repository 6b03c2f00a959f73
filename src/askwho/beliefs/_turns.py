"""Asking in turn over logged queries, at many prices together: what has been heard is heard once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho._fast import loops
from askwho.beliefs._asking import NEVER, Asking
from askwho.beliefs._cascade import Cascade
from askwho.beliefs._pooled import World
from askwho.beliefs._stacked import Stacked, Told


@dataclass(frozen=True, eq=False)
class Turns:
    """What asking in turn came to, on queries whose every answer is known.

    Prices at which the same was asked of a query come to the same end, and an end is there once. m is how many there
    are, of n queries at p prices.

    Args:
        rows: shape (m,), which query it is.
        order: shape (m, depth), whom was asked, as indices into the panel, −1 after the last.
        believed: shape (m, C), what is believed in the end.
        known: shape (m,), false where somebody was to be asked whose answer the log does not have.
        place: shape (p, n), to which end each query comes at each price.
    """

    rows: Int[np.ndarray, " m"]
    order: Int[np.ndarray, "m d"]
    believed: Float[np.ndarray, "m c"]
    known: Bool[np.ndarray, " m"]
    place: Int[np.ndarray, "p n"]

    @property
    def asked(self) -> Int[np.ndarray, " m"]:
        """How many were asked, shape (m,)."""
        return (self.order >= 0).sum(axis=1)

    def at(self, p: int) -> "Turns":
        """Return the same of one price, a row for each query."""
        chosen = self.place[p]
        every = np.arange(len(chosen))
        return Turns(every, self.order[chosen], self.believed[chosen], self.known[chosen], every[None])

    def members(self, size: int) -> Bool[np.ndarray, "m a"]:
        """Return who was asked of a panel of `size`, shape (m, size)."""
        return _members(self.order, size)

    def paid(self, fees: Float[np.ndarray, "n a"]) -> Float[np.ndarray, " m"]:
        """Return what was charged in all, shape (m,)."""
        charged = fees[self.rows[:, None], np.maximum(self.order, 0)]
        return np.where(self.order >= 0, charged, 0.0).sum(axis=1)


def in_turn(
    asking: Asking,
    case: World,
    *,
    fees: Float[np.ndarray, "n a"],
    fee_weights: Sequence[float],
    asked: Bool[np.ndarray, "n a"],
    own: Bool[np.ndarray, " a"] | None = None,
) -> Turns:
    """Return what asking in turn comes to at each of some prices.

    Args:
        asking: the rule.
        case: queries with all their answers.
        fees: shape (n, |A|), expected.
        fee_weights: λ, shape (p,).
        asked: shape (n, |A|), whose answers are known.
        own: shape (|A|,), who answers without being asked, and so is heard before the first question.
    """
    rules = [asking.at(price) for price in fee_weights]
    found: list[tuple[list[int], Turns]] = []
    for rule in (asking, asking.cascade):
        chosen = [p for p, one in enumerate(rules) if one is rule]
        if rule is not None and (chosen or not rules):
            found.append((chosen, _walked(rule, case, fees, [fee_weights[p] for p in chosen], asked, own)))
    return found[0][1] if len(found) == 1 else _together(found, len(case))


def _walked(
    rule: Asking | Cascade,
    case: World,
    fees: Float[np.ndarray, "n a"],
    fee_weights: Sequence[float],
    asked: Bool[np.ndarray, "n a"],
    own: Bool[np.ndarray, " a"] | None,
) -> Turns:
    """What one rule comes to at some prices."""
    first = np.flatnonzero(own[rule.entities])[: rule.depth] if own is not None else np.arange(0)
    small, few = case.only(rule.entities), rule.pool
    if isinstance(few, Stacked):
        small = few.laid_out(small)
    paid, there = fees[:, rule.entities], asked[:, rule.entities]
    walk = _Walk(rule, small, paid, there, fee_weights, first)
    members = _members(walk.order, asked.shape[1])[:, rule.entities]
    if isinstance(few, Stacked):
        believed = few.probabilities(small, Told(walk.rows, members))
    else:
        some = small.rows(walk.rows)
        believed = few.probabilities(some, few.hear_all(some, members))
    return Turns(walk.rows, walk.order, believed, walk.known, walk.place)


def _together(found: Sequence[tuple[list[int], Turns]], n: int) -> Turns:
    """The ends of several rules, each at its own prices."""
    depth, count = max(turns.order.shape[1] for _, turns in found), 0
    place = np.empty((sum(len(chosen) for chosen, _ in found), n), dtype=np.intp)
    for chosen, turns in found:
        place[chosen] = turns.place + count
        count += len(turns.rows)
    every = [turns for _, turns in found]
    orders = [np.pad(each.order, ((0, 0), (0, depth - each.order.shape[1])), constant_values=-1) for each in every]
    rows, believed, known = (
        np.concatenate([getattr(each, name) for each in every]) for name in ("rows", "believed", "known")
    )
    return Turns(rows, np.concatenate(orders), believed, known, place)


class _Walk:
    """The ends of queries: prices that have asked the same of one go on together until they part.

    Args:
        asking: the rule.
        case: all queries, as its entities see them.
        fees: shape (n, e), expected.
        there: shape (n, e), whose answers are known.
        fee_weights: λ, shape (p,).
        first: who is heard before the first question, as indices into the rule's entities.
    """

    def __init__(
        self,
        asking: Asking | Cascade,
        case: Any,  # noqa: ANN401 - of the kind that the rule is of
        fees: Float[np.ndarray, "n e"],
        there: Bool[np.ndarray, "n e"],
        fee_weights: Sequence[float],
        first: Int[np.ndarray, " f"],
    ) -> None:
        size, few, n = len(asking.entities), asking.pool, len(case)
        state, order = few.nothing(case, np.arange(n)), np.full((n, max(1, asking.depth)), -1)
        for level, j in enumerate(first.tolist()):
            order[:, level] = asking.entities[j]
            state = few.hear(case, state, j)
        rows, orders, count = [state.rows], [order], 0
        # In which state each query is at each price, of those at this depth; and where it came to its end, twice the
        # number of the state and one more where an answer was missing.
        at = np.tile(np.arange(n), len(fee_weights))
        price, end = np.repeat(np.arange(len(fee_weights)), n), np.zeros(len(at), dtype=np.intp)
        under_way = np.arange(len(at))
        for level in range(len(first), asking.depth):
            wanted = np.full((len(fee_weights), len(state.rows)), level == len(first))
            if level > len(first):
                wanted[price, at] = True
            best, least = asking.steps(case, state, fees[state.rows], fee_weights, wanted)
            # Nobody is left to ask first where nobody is there.
            below = 0.0 if level or asking.free_start else NEVER
            found = np.zeros(len(state.rows) * size, dtype=bool)
            fast = loops(len(at))
            if fast is not None:
                after = np.empty_like(at)
                left = fast.advanced(
                    under_way, price, at, best, least, below, there, state.rows, count, end, after, found
                )
                under_way, price, after = under_way[:left], price[:left], after[:left]
            else:
                entity, goes = best[price, at], least[price, at] < below
                heard = goes & there[state.rows[at], entity]
                stops = ~heard
                end[under_way[stops]] = 2 * (count + at[stops]) + goes[stops]
                under_way, price, after = under_way[heard], price[heard], at[heard] * size + entity[heard]
                found[after] = True
            new = np.flatnonzero(found)
            at = _numbers(found, after)
            count += len(state.rows)
            state, order = few.hear(case, state.some(new // size), new % size), order[new // size]
            order[:, level] = asking.entities[new % size]
            rows.append(state.rows)
            orders.append(order)
            if not len(new):
                break
        end[under_way] = 2 * (count + at)
        met = np.zeros(2 * (count + len(state.rows)), dtype=bool)
        met[end] = True
        ends = np.flatnonzero(met)
        self.rows, self.order = np.concatenate(rows)[ends // 2], np.concatenate(orders)[ends // 2]
        self.known, self.place = ends % 2 == 0, _numbers(met, end).reshape(len(fee_weights), n)


def _numbers(found: Bool[np.ndarray, " s"], places: Int[np.ndarray, " q"]) -> Int[np.ndarray, " q"]:
    """The number of each place among those that were found, shape (q,)."""
    fast = loops(len(places))
    if fast is None:
        return (np.cumsum(found) - 1)[places]
    numbers = np.empty_like(places)
    fast.numbered(found, places, numbers)
    return numbers


def _members(order: Int[np.ndarray, "n d"], size: int) -> Bool[np.ndarray, "n a"]:
    """Who is in an order that ends with −1, as a table."""
    members = np.zeros((len(order), size + 1), dtype=bool)
    np.put_along_axis(members, order, np.bool_(1), axis=1)
    return members[:, :-1]
