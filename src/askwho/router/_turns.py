"""Asking in turn, inside the router: learning it from held-out rows, and the next step of a query."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho.answers import Answers, Cell
from askwho.beliefs import NEVER, Asking, Beliefs, Case, Pool, in_turn, random_masks, worth_asking
from askwho.learners import each_fold
from askwho.panel import Panel
from askwho.router._scoring import Scoring, price_grid

_PRICES = 14


@dataclass(frozen=True, eq=False)
class Step:
    """Whom to ask next about each query, or nobody.

    Args:
        panel: who can be asked.
        entity: shape (n,), an index into the panel; −1 where it is time to decide.
        expected_error: shape (n,), of deciding now.
        fee: shape (n,), what the next question is expected to cost; 0 where there is none.
    """

    panel: Panel
    entity: Int[np.ndarray, " n"]
    expected_error: Float[np.ndarray, " n"]
    fee: Float[np.ndarray, " n"]

    @property
    def names(self) -> list[str | None]:
        """Who is asked next, one name a query; None where it is time to decide."""
        return [None if j < 0 else self.panel.names[j] for j in self.entity]


def learn_turns(
    score: Scoring, fold: Int[np.ndarray, " n"], *, random_state: int
) -> tuple[Asking, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Return the rule, and prices with what it got, paid and asked on rows that it had not seen, as in `Rows`."""
    assert score.believed is not None and score.answers is not None and score.truth is not None  # noqa: S101, PT018
    beliefs, case = score.believed
    prices = price_grid(score.fees, case.expected, _PRICES)
    asked = score.answers.states != Cell.NOT_ASKED
    right = beliefs.right(score.answers, case.codes, score.truth)
    entities = worth_asking(beliefs.pool, case, right, asked=asked, fees=score.fees, prices=prices)
    # A base answers whether it is worth asking or not, and is heard with the others.
    base = np.flatnonzero(score.panel.is_kind("base") & ~beliefs.evidence.silent & (case.codes >= 0).any(axis=0))
    entities = np.union1d(entities, base)
    everybody = len(entities) == np.any(case.codes >= 0, axis=0).sum()

    def pool(rows: np.ndarray) -> Pool:
        # Weights learned from a whole large panel are about its weak members, and too sure of the good ones together.
        if everybody:
            return beliefs.pool.only(entities)
        masks = random_masks(asked[rows][:, entities], random_state=random_state)
        return Pool.fit(case.rows(rows).only(entities), right[rows], masks)

    def rule(rows: np.ndarray) -> Asking:
        return Asking.fit(
            pool(rows),
            case.rows(rows),
            asked=asked[rows],
            fees=score.foreseen[rows],
            prices=prices,
            entities=entities,
            free_start=bool(beliefs.evidence.silent.any()),
            random_state=random_state,
        )

    # Between two prices the rule is a mixture of theirs: more of them cost little, and a budget is met more closely.
    tried = np.sort(np.concatenate([prices, np.sqrt(prices[1:-1] * prices[2:])]))
    n = len(case)
    got, paid, sizes = np.empty((len(tried), n)), np.empty((len(tried), n)), np.empty((len(tried), n), dtype=np.intp)
    # Two halves suffice: what is learned here has few parameters.
    for seen, held in each_fold(fold % 2):
        got[:, held], paid[:, held], sizes[:, held] = taken_turns(rule(seen), score, tried, held)
    return rule(np.arange(n)), (tried, got, paid, sizes)


def taken_turns(
    asking: Asking, score: Scoring, prices: Float[np.ndarray, " p"], rows: Int[np.ndarray, " m"]
) -> tuple[Float[np.ndarray, "p m"], Float[np.ndarray, "p m"], Int[np.ndarray, "p m"]]:
    """Return what asking in turn gets, pays and asks on some rows, at each price."""
    assert score.believed is not None and score.answers is not None  # noqa: S101, PT018 - the caller has seen to it
    beliefs, whole = score.believed
    case, truth = whole.rows(rows), np.asarray(score.truth)[rows]
    answers = Answers(score.answers.values[rows], score.answers.states[rows])
    asked, fees = answers.states != Cell.NOT_ASKED, score.foreseen[rows]
    got, paid = np.empty((len(prices), len(rows))), np.empty((len(prices), len(rows)))
    sizes = np.empty((len(prices), len(rows)), dtype=np.intp)
    for p, price in enumerate(prices):
        turns = in_turn(asking, case, fees=fees, fee_weight=float(price), asked=asked)
        decided, sure = beliefs.decide(case, turns.believed, answers, turns.members(asked.shape[1]))
        got[p] = np.where(turns.known, ((decided != truth) | (sure == 0)).astype(np.float64), np.nan)
        # What would have been paid beyond an answer that the log does not have is not known either.
        paid[p], sizes[p] = np.where(turns.known, turns.paid(score.charged[rows]), np.nan), turns.asked
    return got, paid, sizes


def next_step(
    asking: Asking,
    beliefs: Beliefs,
    case: Case,
    panel: Panel,
    *,
    asked: Bool[np.ndarray, "n a"],
    fees: Float[np.ndarray, "n a"],
    fee_weights: Float[np.ndarray, " n"],
) -> Step:
    """Return the next question of each query, from what was asked so far and what came back; stateless."""
    small = case.only(asking.entities)
    price = fees[:, asking.entities]
    entity = np.full(len(case), -1)
    believed = asking.believe(beliefs.pool, case, asked)
    unsaid = Answers(np.zeros(asked.shape), np.zeros(asked.shape, dtype=np.int8))
    _, sure = beliefs.decide(case, believed, unsaid, asked)
    inside = asked[:, asking.entities]
    count = inside.sum(axis=1)
    nobody = np.logical_not(np.any(asked & ~beliefs.evidence.silent, axis=1))
    heard = asking.pool.hear_all(small, inside)
    for level, rate in _alike(count, fee_weights) if len(asking.entities) else ():
        rows = np.flatnonzero((count == level) & (fee_weights == rate))
        change, _ = asking.changes(small, heard.some(rows), price[rows], rate)
        best = change.argmin(axis=1)
        least = change[np.arange(len(rows)), best]
        go = (least < 0) | (np.take(nobody, rows) & (not asking.free_start) & (least < NEVER))
        entity[rows[go]] = asking.entities[best[go]]
    due = np.where(entity >= 0, fees[np.arange(len(case)), np.maximum(entity, 0)], 0.0)
    return Step(panel, entity, 1.0 - sure.astype(np.float64), due)


def _alike(count: Int[np.ndarray, " n"], rates: Float[np.ndarray, " n"]) -> list[tuple[int, float]]:
    """Every pair of a number asked so far and a price that some query has."""
    return sorted(set(zip(count.tolist(), rates.tolist(), strict=True)))
