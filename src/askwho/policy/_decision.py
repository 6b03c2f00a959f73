"""Decisions: whom to ask about each query, at what fee, with what probability, and what came of it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from askwho import _validation as check
from askwho._types import Order
from askwho._unit import Unit
from askwho.core import Answers, Cell, Panel, Selection, column, in_order, is_null, summed
from askwho.data import Table, lists
from askwho.exceptions import InvalidInputError
from askwho.policy._columns import Column, Known, Names, plain, written
from askwho.policy._ids import checked_ids
from askwho.policy._seen import Judgement, Seen

# The columns without which decisions cannot be combined, or told from another policy's.
_NEEDED = ("id", "order", "k", "fees", "expected_errors", "expected_error", "propensity", "propensities", "base_answer")
ROUTES = (*_NEEDED, "scores", "there", "base_shares")
"""The columns of routes that are ever read back."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of decisions, query by query.

    Args:
        values: shape (n,), the verdicts; whatever stands where `decided` is false is to be ignored.
        decided: shape (n,), whether there is one.
        probability: shape (n,), that the verdict is right; NaN where it is a number or there is none.
        paid: shape (n,), what was charged.
        heard: shape (n, |A|), whose usable answers there are.
        low: shape (n,), where the interval around each verdict begins; NaN where there is none. None unless asked for.
        high: shape (n,), where it ends.
    """

    values: Shaped[np.ndarray, " n"]
    decided: Bool[np.ndarray, " n"]
    probability: Float[np.ndarray, " n"]
    paid: Float[np.ndarray, " n"]
    heard: Bool[np.ndarray, "n a"]
    low: Float[np.ndarray, " n"] | None = None
    high: Float[np.ndarray, " n"] | None = None


@dataclass(frozen=True)
class Decision:
    """One query's decision.

    Args:
        id: of the query.
        ask: whom to ask, best first; who answers for itself is left out.
        fee: what they are expected to charge.
        expected_error: of the committee, or of deciding now where questions are asked in turn.
        propensity: the probability with which these were chosen: 1, unless it explores.
        verdict: what was decided; None until there is a decision.
        probability: that it is right; None for numbers.
        paid: what was charged; None until answers came.
        heard: whose usable answers there are.
        ask_next: whom to ask in the place of those who gave none.
        interval: around a verdict that is a number, where one was asked for.
    """

    id: str
    ask: tuple[str, ...]
    fee: float
    expected_error: float
    propensity: float
    verdict: Any = None
    probability: float | None = None
    paid: float | None = None
    heard: tuple[str, ...] = ()
    ask_next: tuple[str, ...] = ()
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Decisions:
    """What was decided about queries: they carry all that combining the answers takes, and nothing is computed again.

    Args:
        panel: who can be asked.
        ids: shape (n,), text: what each query is called.
        unit: how errors are shown.
        seen: the queries, with the fees that the decisions were made with.
        order: shape (n, K), indices into the panel, best first.
        k: shape (n,), how many of the order are asked; 0 where questions are asked in turn and it is time to decide.
        expected_error: shape (n,), as it is shown.
        propensity: shape (n,), the probability with which this very set was chosen.
        propensities: shape (n, K), with which each of the order was chosen to be asked.
        outcome: what came of it; None before answers came.
        there: shape (n,), how many of the order can be asked at all, the first ones; None where everybody can.
    """

    panel: Panel
    ids: Shaped[np.ndarray, " n"]
    unit: Unit
    seen: Seen
    order: Order
    k: Int[np.ndarray, " n"]
    expected_error: Float[np.ndarray, " n"]
    propensity: Float[np.ndarray, " n"]
    propensities: Float[np.ndarray, "n K"]
    outcome: Outcome | None = None
    there: Int[np.ndarray, " n"] | None = None

    def __len__(self) -> int:
        return len(self.k)

    def __iter__(self) -> Iterator[Decision]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> Decision:
        if not -len(self) <= i < len(self):
            raise IndexError(f"`i` must be a query between 0 and {len(self) - 1}, got {i}.")
        asked = np.arange(self.order.shape[1]) < self.k[i]
        made = (
            str(self.ids[i]),
            self.ask(i),
            # Of this row alone: of all of them, one after another, it would be the square of their number.
            float(np.where(asked, self.seen.fees[i].take(self.order[i]), 0.0).sum()),
            float(self.expected_error[i]),
            float(self.propensity[i]),
        )
        if self.outcome is None:
            return Decision(*made)
        known = bool(self.outcome.decided[i])
        sure = float(self.outcome.probability[i])
        return Decision(
            *made,
            verdict=plain(self.outcome.values[[i]])[0] if known else None,
            probability=sure if known and not np.isnan(sure) else None,
            paid=float(self.outcome.paid[i]),
            # The order of a step holds the next alone: those heard before it follow, in the panel's order.
            heard=tuple(
                self.panel.names[j]
                for j in dict.fromkeys((*self.order[i].tolist(), *range(len(self.panel))))
                if self.outcome.heard[i, j]
            ),
            ask_next=self.ask_next(i),
            interval=self._interval(self.outcome, i),
        )

    def _interval(self, outcome: Outcome, i: int) -> tuple[float, float] | None:
        if outcome.low is None or outcome.high is None or not outcome.decided[i]:
            return None
        return float(outcome.low[i]), float(outcome.high[i])

    # What is asked of many rows, and more than once: found once.
    @cached_property
    def within(self) -> Bool[np.ndarray, "n K"]:
        """Which ranks are asked, shape (n, K)."""
        return np.arange(self.order.shape[1]) < self.k[:, None]

    @property
    def members(self) -> Bool[np.ndarray, "n a"]:
        """Which entities are in the committee, shape (n, |A|)."""
        asked = np.zeros((len(self), len(self.panel)), dtype=bool)
        np.put_along_axis(asked, self.order, self.within, axis=1)
        return asked

    @cached_property
    def fee(self) -> Float[np.ndarray, " n"]:
        """What each query's committee is expected to charge, shape (n,)."""
        return summed(np.where(self.within, self._fees, 0.0))

    @cached_property
    def _fees(self) -> Float[np.ndarray, "n K"]:
        """What each of the order is expected to charge, shape (n, K)."""
        return in_order(self.seen.fees, self.order)

    @property
    def selection(self) -> Selection:
        """The same in the paper's words: Π_k(x), ranked by what is thought and charged."""
        if not (self.k > 0).all():
            raise InvalidInputError("`k` must be 1 at the least for a selection: these are steps of asking in turn.")
        fees = np.array(self.seen.fees)
        return Selection(self.panel, np.array(self.order), np.array(self.k), np.array(self.seen.judged.ranking), fees)

    def ask(self, i: int) -> tuple[str, ...]:
        """Return whom to ask about query i, best first; who answers for itself is left out."""
        names, own = self.panel.names, self.panel.own
        return tuple(names[j] for j in self.order[i, : self.k[i]] if not own[j])

    def ask_next(self, i: int) -> tuple[str, ...]:
        """Return whom to ask in the place of those who gave no usable answer: the next in the order, as many."""
        if self.outcome is None:
            return ()
        k = int(self.k[i])
        missing = k - int(self.outcome.heard[i, self.order[i, :k]].sum())
        most = self.order.shape[1] if self.there is None else int(self.there[i])
        return tuple(self.panel.names[j] for j in self.order[i, k : min(k + missing, most)])

    def to_columns(self, *, arrow: bool = False, coded: bool = False) -> dict[str, Any]:
        """Return one row a query, as plain lists that any table library takes and `Policy.read` reads back.

        Args:
            arrow: whether as Arrow's arrays instead, which take a fraction of the time where there are many queries.
            coded: whether lists of names are codes into all names there, which are written in half the time.
        """
        expected = self.unit.all_shown(in_order(self.seen.expected, self.order))
        said, shares, scores = self.seen.said, self.seen.shares, self.seen.judged.scores
        columns: dict[str, Column] = {
            "id": self.ids,
            "ask": Names(self.panel.names, self.order, self.within & ~self.panel.own[self.order]),
            "k": self.k,
            "expected_fee": self.fee,
            "expected_error": self.expected_error,
            "propensity": self.propensity,
            "order": Names(self.panel.names, self.order, np.ones(self.order.shape, dtype=bool)),
            "fees": self._fees,
            "expected_errors": expected,
            "propensities": self.propensities,
            "base_answer": np.full(len(self), None) if said is None else said,
        }
        if scores is not None:
            columns["scores"] = in_order(scores, self.order)
        if self.there is not None:
            columns["there"] = self.there
        if shares is not None:
            # Six digits tell probabilities apart, and take a third of the room.
            columns["base_shares"] = np.round(shares, 6)
        whole = columns if self.outcome is None else columns | self._came(self.outcome)
        return written(whole, arrow=arrow, coded=coded)

    def outcome_columns(self, *, arrow: bool = False) -> dict[str, Any]:
        """Return what came of the decisions, one row a query; the argument as in `to_columns`."""
        return written(self._came(self._outcome()), arrow=arrow)

    def next_columns(self, *, arrow: bool = False) -> dict[str, Any]:
        """Return whom to ask next, one row a query, null where it is time to decide; and what is believed so far.

        The argument as in `to_columns`.
        """
        outcome = self._outcome()
        came, everybody = self._came(outcome), np.broadcast_to(np.arange(len(self.panel)), outcome.heard.shape)
        columns: dict[str, Column] = {
            "id": self.ids,
            "ask": Known(np.array(self.panel.names)[self.order[:, 0]], self.k > 0),
            "fee": self.fee,
            "prediction": came["prediction"],
            "probability": came["probability"],
            "expected_error": self.expected_error,
            "heard": Names(self.panel.names, everybody, outcome.heard & ~self.panel.own),
            "propensity": self.propensity,
            **self._ends(outcome),
        }
        return written(columns, arrow=arrow)

    def _outcome(self) -> Outcome:
        if self.outcome is None:
            raise InvalidInputError("`decisions` must hold what came of them: combine them with answers first.")
        return self.outcome

    def _came(self, outcome: Outcome) -> dict[str, Column]:
        heard = in_order(outcome.heard, self.order) & self.within
        return {
            "id": self.ids,
            "prediction": Known(outcome.values, outcome.decided),
            "probability": Known(outcome.probability, ~np.isnan(outcome.probability)),
            "fee": outcome.paid,
            "heard": Names(self.panel.names, self.order, heard),
            "ask_next": Names(self.panel.names, self.order, self._in_their_place(heard)),
            "propensity": self.propensity,
            **self._ends(outcome),
        }

    def _ends(self, outcome: Outcome) -> dict[str, Column]:
        """The ends of the intervals, where some were asked for."""
        if outcome.low is None or outcome.high is None:
            return {}
        return {"low": Known(outcome.low, outcome.decided), "high": Known(outcome.high, outcome.decided)}

    def _in_their_place(self, heard: Bool[np.ndarray, "n K"]) -> Bool[np.ndarray, "n K"]:
        """Which ranks are to be asked in the place of those who gave no usable answer: the next, as many."""
        ranks, k = np.arange(self.order.shape[1]), self.k[:, None]
        most = len(ranks) if self.there is None else self.there[:, None]
        return (ranks >= k) & (ranks < np.minimum(2 * k - heard.sum(axis=1, keepdims=True), most))

    def to_json(self) -> str:
        """Return the columns as JSON, which `Policy.read` reads back after `json.loads`."""
        return json.dumps(self.to_columns(), ensure_ascii=False, default=str)


def read_decisions(
    columns: Table, *, panel: Panel, unit: Unit, classes: Shaped[np.ndarray, " t"] | None, priced: bool
) -> Decisions:
    """Return the decisions that `Decisions.to_columns` wrote, without what came of them.

    Args:
        columns: as `table_of` reads them.
        panel: of the policy that made them.
        unit: of that policy.
        classes: what its own base knows, shape (T,); None where it has none, or answers in numbers.
        priced: whether a price is baked into its ranking.
    """
    needed = [*_NEEDED, *(["scores"] if priced else []), *(["base_shares"] if classes is not None else [])]
    absent = [name for name in needed if name not in columns]
    if absent:
        raise InvalidInputError(f"`routes` must be what `askwho route` wrote, missing: {absent}.")
    n, size = len(columns["k"]), len(panel)
    order = _indices(lists(columns["order"], "order"), panel.names, n)
    k = check.cardinalities(columns["k"], n, order.shape[1])

    def ranked(name: str) -> np.ndarray:
        cells = _numbers(columns[name], name)
        check.same_shape(cells, name, order.shape, "one for each entity in the order")
        return cells

    errors = check.nonnegative(ranked("expected_errors"), "expected_errors")
    expected, fees = np.ones((n, size)), np.zeros((n, size))
    np.put_along_axis(expected, order, unit.losses(errors), axis=1)
    np.put_along_axis(fees, order, check.nonnegative(ranked("fees"), "fees"), axis=1)
    scores = None
    if priced:
        given = ranked("scores")
        scores = np.full((n, size), given.min())
        np.put_along_axis(scores, order, given, axis=1)
    said = _base_answers(columns["base_answer"], classes) if any(entity.own for entity in panel.entities) else None
    seen = Seen(
        np.zeros((n, 0), dtype=np.float32),
        Judgement(expected, panel.error_weights, scores),
        fees,
        said,
        None if classes is None else _shares(columns["base_shares"], n, len(classes)),
    )
    ids = checked_ids(columns["id"], n)
    error, chance = (check.numeric(columns[name], name) for name in ("expected_error", "propensity"))
    there = check.cardinalities(columns["there"], n, order.shape[1], "there") if "there" in columns else None
    return Decisions(panel, ids, unit, seen, order, k, error, chance, ranked("propensities"), there=there)


@lru_cache(maxsize=256)
def certain(k: int, width: int) -> tuple[Int[np.ndarray, " 1"], Float[np.ndarray, " 1"], Float[np.ndarray, "1 K"]]:
    """Return k, its propensity and the propensities of one query that does not explore, (1,), (1,) and (1, width).

    They are the same for all such queries: made once, and to be read only.
    """
    found = np.array([k]), np.ones(1), (np.arange(width) < k).astype(np.float64)[None]
    for each in found:
        each.setflags(write=False)
    return found


def heard_of(answers: Answers, members: Bool[np.ndarray, "n a"]) -> Answers:
    """Return the answers of the members alone: whoever is beyond a query's committee is not heard."""
    return replace(answers, states=np.where(members, answers.states, np.int8(Cell.NOT_ASKED)).astype(np.int8))


def _base_answers(given: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
    said = column(given, "base_answer")
    if is_null(said).any():
        raise InvalidInputError("`base_answer` must hold an answer of each row, got an empty one: route again.")
    if said.dtype.kind == "O":
        raise InvalidInputError("`base_answer` must hold single answers of one type, got something else: route again.")
    if classes is None or classes.dtype.kind != "M":
        return said
    try:
        # JSON has no dates: they come back as text.
        return said.astype(classes.dtype)
    except (TypeError, ValueError):
        raise InvalidInputError("`base_answer` must hold dates, got something else: route again.") from None


def _numbers(given: np.ndarray, name: str) -> np.ndarray:
    """A column of lists of numbers: an array already, where they are of one length and no text of a CSV file."""
    return check.table(given if given.ndim == 2 else lists(given, name), name)


def _shares(given: np.ndarray, n: int, classes: int) -> np.ndarray:
    shares = check.nonnegative(_numbers(given, "base_shares"), "base_shares")
    check.same_shape(shares, "base_shares", (n, classes), "one for each class")
    if not shares.any(axis=1).all():
        raise InvalidInputError("`base_shares` must be above zero for some class of each row: route again.")
    return shares


def _indices(named: list[list[Any]], names: tuple[str, ...], n: int) -> np.ndarray:
    place = {name: j for j, name in enumerate(names)}
    try:
        order = np.array([[place[name] for name in row] for row in named], dtype=np.intp)
    except (KeyError, TypeError, ValueError):
        raise InvalidInputError("`routes` must name entities of this policy, the same number in each row.") from None
    if order.ndim != 2 or len(order) != n:
        raise InvalidInputError("`routes` must have one order a row.")
    if (np.diff(np.sort(order, axis=1), axis=1) == 0).any():
        raise InvalidInputError("`routes` must name each entity once in a row: route again.")
    return order
