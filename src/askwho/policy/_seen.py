"""What is seen of queries before anybody is asked: computed once, and passed on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Shaped, UInt64
from numpy.typing import ArrayLike

from askwho import _validation as check
from askwho._splitmix import mixed, uniform
from askwho._types import Order
from askwho.core import Answers, Cell, Panel, argsorted, distinct_orders, fees_table, orders_by_price
from askwho.exceptions import InvalidInputError
from askwho.policy._overlap import by_marginal_gain

Charges = ArrayLike | Mapping[str, ArrayLike]
"""What everybody charges today: by place, or some of them by name."""
FAR = 1e9
"""Finite, so that scores stay numbers; far above any cost, so that the absent come last."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """What is thought of each entity for each query.

    Args:
        expected: expected errors, shape (n, |A|).
        error_weights: α, what an error of each entity weighs, shape (|A|,).
        scores: shape (n, |A|), higher asked earlier, where a price is baked into the ranking; else None.
        overlap: shape (|A|, |A|), how much entities repeat each other, where that counts; else None.
        covered: shape (n, |A|), whom the log knows on such queries; None where everybody.
    """

    expected: Float[np.ndarray, "n a"]
    error_weights: Float[np.ndarray, " a"]
    scores: Float[np.ndarray, "n a"] | None = None
    overlap: Float[np.ndarray, "a a"] | None = None
    covered: Bool[np.ndarray, "n a"] | None = None

    def costs(
        self, fees: Float[np.ndarray, "n a"], price: float | Float[np.ndarray, "n 1"]
    ) -> Float[np.ndarray, "n a"]:
        """Return what ranks the entities, lower first, shape (n, |A|); who is not known there comes last."""
        costs = self.error_weights * self.expected + price * fees if self.scores is None else -self.scores
        return costs if self.covered is None else np.where(self.covered, costs, costs + FAR)

    def rows(self, chosen: Int[np.ndarray, " m"]) -> "Judgement":
        """Return the judgement of some of the queries."""
        scores = None if self.scores is None else self.scores[chosen]
        covered = None if self.covered is None else self.covered[chosen]
        return Judgement(self.expected[chosen], self.error_weights, scores, self.overlap, covered)

    def order(
        self, fees: Float[np.ndarray, "n a"], price: float, width: int, there: Bool[np.ndarray, "n a"] | None = None
    ) -> Order:
        """Return whom to ask, best first, shape (n, width); who is not there comes last."""
        costs = self.costs(fees, price)
        return self.ordered(costs if there is None else np.where(there, costs, costs + 2 * FAR), width)

    def orders(
        self, fees: Float[np.ndarray, "n a"], prices: Sequence[float], width: int
    ) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, "m K"], Int[np.ndarray, "p n"]]:
        """Return the orders at several prices, shape (m, K), each once while it stays so: see `distinct_orders`."""
        if self.scores is not None:
            order = self.order(fees, prices[0], width)
            return distinct_orders([order] * len(prices))
        if self.overlap is not None:
            return distinct_orders([self.order(fees, price, width) for price in prices])
        absent = None if self.covered is None else np.where(self.covered, 0.0, FAR)
        return orders_by_price(self.error_weights * self.expected, fees, absent, prices, width)

    def ordered(self, costs: Float[np.ndarray, "n a"], width: int) -> Order:
        """Return the order that costs give, shape (n, width): by what each adds, where entities repeat each other."""
        if self.overlap is None:
            return argsorted(costs)[:, :width]
        # A mere copy comes after the worst of the others.
        worth = np.broadcast_to((self.error_weights * self.expected).max(axis=1, keepdims=True), costs.shape)
        return by_marginal_gain(costs, worth, self.overlap, width)

    @property
    def ranking(self) -> Float[np.ndarray, "n a"]:
        """Scores that rank by what is thought alone, whatever anybody charges, shape (n, |A|)."""
        return -self.expected if self.scores is None else self.scores


@dataclass(frozen=True, eq=False)
class Seen:
    """Queries as the policy sees them before anybody is asked.

    Args:
        X: shape (n, d), encoded; without columns where decisions were read back from a table.
        judged: what is thought of each entity.
        fees: shape (n, |A|), what each is expected to charge.
        said: shape (n,), what our own base answers; None where there is none.
        shares: shape (n, T), its probabilities of the classes; None where it has none.
    """

    X: Float32[np.ndarray, "n d"]
    judged: Judgement
    fees: Float[np.ndarray, "n a"]
    said: Shaped[np.ndarray, " n"] | None = None
    shares: Float[np.ndarray, "n t"] | None = None

    def __len__(self) -> int:
        return len(self.X)

    @property
    def expected(self) -> Float[np.ndarray, "n a"]:
        """Expected errors, shape (n, |A|)."""
        return self.judged.expected

    @property
    def coins(self) -> Float[np.ndarray, " n"]:
        """A number in [0, 1) for each query, shape (n,): see `coins_of`."""
        return coins_of(self.X)

    def rows(self, chosen: Int[np.ndarray, " m"]) -> "Seen":
        """Return some of the queries."""
        return Seen(
            self.X[chosen],
            self.judged.rows(chosen),
            self.fees[chosen],
            None if self.said is None else self.said[chosen],
            None if self.shares is None else self.shares[chosen],
        )

    def with_scores(self, scores: Float[np.ndarray, "n a"]) -> "Seen":
        """Return the same queries, ranked by somebody else's scores, shape (n, |A|), higher asked earlier."""
        return replace(self, judged=replace(self.judged, scores=scores, overlap=None, covered=None))

    def at_fees(self, panel: Panel, fees: "Charges") -> "Seen":
        """Return the same queries at other fees: of shape (|A|,) or (n, |A|), or by name, others as they were."""
        if not isinstance(fees, Mapping):
            return replace(self, fees=fees_table(fees, panel, len(self)))
        table = np.array(self.fees)
        for name, charged in fees.items():
            if name not in panel.names:
                raise InvalidInputError(f"`fees` must name entities of {list(panel.names)}, got {name!r}.")
            one = check.numeric(charged, f"fees[{name!r}]")
            if one.shape not in ((), (len(self),)):
                raise InvalidInputError(
                    f"`fees[{name!r}]` must be a number, or one for each of {len(self)} queries, got shape {one.shape}."
                )
            table[:, panel.index(name)] = one
        return replace(self, fees=fees_table(table, panel, len(self)))

    def answers(self, panel: Panel, given: Answers | None = None) -> Answers:
        """Return what is known to be said, shape (n, |A|): what the panel answers for itself, and what was given.

        Args:
            panel: who can be asked.
            given: of the whole panel, or of those alone who do not answer for themselves.
        """
        return answers_of_all(panel, len(self), said=self.said, given=given)


def coins_of(X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
    """Return a number in [0, 1) for each query, shape (n,): uniform over queries, and always the same for the same one.

    It is a hash of the features. So a mixture of two prices is a fixed rule, alone or in company, today or tomorrow;
    queries with the same features fall on the same side.
    """
    # Adding zero turns -0.0 into 0.0: equal features must have equal bits.
    bits = (X.astype(np.float32) + np.float32(0)).view(np.uint32).astype(np.uint64)
    return uniform(mixed(bits @ _factors(X.shape[1])))


@lru_cache(maxsize=64)
def _factors(d: int) -> UInt64[np.ndarray, " d"]:
    """What each feature's bits are multiplied with, made once: for one query it takes as long as all the rest."""
    factors = mixed(np.arange(1, d + 1, dtype=np.uint64)) | np.uint64(1)
    factors.setflags(write=False)
    return factors


def answers_of_all(
    panel: Panel, n: int, *, said: Shaped[np.ndarray, " n"] | None, given: Answers | None = None
) -> Answers:
    """Return what is known to be said about n queries, shape (n, |A|).

    Args:
        panel: who can be asked.
        n: how many queries there are.
        said: what our own base answers, shape (n,); None where there is none.
        given: of the whole panel, or of those alone who do not answer for themselves.
    """
    own = panel.own
    if given is not None and not own.any():
        return given
    states = np.full((n, len(panel)), Cell.NOT_ASKED, dtype=np.int8)
    columns: dict[int, np.ndarray] = {}
    for j in np.flatnonzero(own).tolist():
        entity = panel.entities[j]
        states[:, j] = Cell.NO_ANSWER if entity.kind == "reject" else Cell.ANSWERED
        if entity.kind == "label":
            columns[j] = np.full(n, entity.label)
        elif entity.kind == "base":
            assert said is not None  # noqa: S101 - who has a base of its own hears it whenever it sees
            columns[j] = said
    kinds, heard, spelled = [cells.dtype for cells in columns.values()], None, None
    if given is not None:
        others = ~own if given.values.shape[1] == len(panel) else slice(None)
        states[:, ~own] = given.states[:, others]
        # Where nobody else answered, whatever type the cells have is not that of an answer.
        if (given.states[:, others] == Cell.ANSWERED).any():
            heard = given.values[:, others]
            kinds.append(heard.dtype)
        if given.spelled is not None:
            # Who answers for itself has learned keys, and knows no spelling but these.
            spelled = np.full(states.shape, "", dtype=object)
            spelled[:, ~own] = given.spelled[:, others]
    values = np.zeros((n, len(panel)), dtype=np.result_type(*kinds) if kinds else np.float64)
    if heard is not None:
        values[:, ~own] = heard
    for j, cells in columns.items():
        values[:, j] = cells
        if spelled is not None:
            spelled[:, j] = cells
    return Answers(values, states, spelled)
