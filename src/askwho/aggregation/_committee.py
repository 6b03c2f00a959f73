"""A committee: what its members said, in rank order, and what is known of each."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int, Int8, Shaped
from numpy.typing import ArrayLike

from askwho import _validation as check
from askwho._types import BoolRanks, Order
from askwho.core import Answers, Cell, Panel, Selection, in_order
from askwho.exceptions import InvalidInputError


@dataclass(frozen=True, eq=False)
class Committee:
    """The members of every query's committee in rank order, so that the first k columns are the committee of k.

    Args:
        panel: who can be asked.
        order: shape (n, K), the members, best first; the committee of k is its first k columns.
        said: what every entity of the panel answered.
        ranked_by: shape (n, |A|), the scores of all entities.
        expected_errors: shape (n, K), the members' expected errors, where something estimated them.
        n_classes: how many answers can occur, where it is known; a single query shows but a few of them.
    """

    panel: Panel
    order: Order
    said: Answers
    ranked_by: Float[np.ndarray, "n a"]
    expected_errors: Float[np.ndarray, "n K"] | None = None
    n_classes: int | None = None

    @classmethod
    def of(
        cls,
        selection: Selection,
        answers: Answers,
        *,
        expected_errors: ArrayLike | None = None,
        n_classes: int | None = None,
    ) -> "Committee":
        """Return the members that a selection ranks, with their answers.

        Args:
            selection: whom to ask; all its ranks become members, also those beyond a query's own k.
            answers: what every entity of the panel said.
            expected_errors: shape (n, |A|), for the aggregations that weigh members by them.
            n_classes: how many answers can occur; those of `answers`, unless said.
        """
        shape, why = (
            (len(selection), len(selection.panel)),
            "the selection's queries and its panel's entities",
        )
        check.same_shape(answers.values, "answers", shape, why)
        expected = None
        if expected_errors is not None:
            given = check.table(expected_errors, "expected_errors", entities=selection.panel.names)
            check.same_shape(given, "expected_errors", shape, why)
            expected = in_order(check.nonnegative(given, "expected_errors"), selection.order)
        return cls(
            panel=selection.panel,
            order=selection.order,
            said=answers,
            ranked_by=selection.scores,
            expected_errors=expected,
            n_classes=n_classes,
        )

    @cached_property
    def answers(self) -> Shaped[np.ndarray, "n K"]:
        """What the members said, shape (n, K); whatever stands where nobody voted is to be ignored."""
        return in_order(self.said.values, self.order)

    @cached_property
    def scores(self) -> Float[np.ndarray, "n K"]:
        """The members' scores, shape (n, K)."""
        return in_order(self.ranked_by, self.order)

    @cached_property
    def codes(self) -> Int[np.ndarray, "n K"]:
        """The members' answers as indices into `classes`, shape (n, K)."""
        return in_order(self.said.encoded[0], self.order)

    @property
    def classes(self) -> Shaped[np.ndarray, " C"]:
        """The different answers that anybody gave, sorted, shape (C,)."""
        return self.said.encoded[1]

    @cached_property
    def states(self) -> Int8[np.ndarray, "n K"]:
        """The members' `Cell` numbers, shape (n, K)."""
        return in_order(self.said.states, self.order)

    @cached_property
    def voted(self) -> BoolRanks:
        """Which members gave a usable answer, shape (n, K)."""
        return self._everywhere if self.said.complete else self.states == Cell.ANSWERED

    @cached_property
    def decided(self) -> BoolRanks:
        """Which prefixes have a member that gave a usable answer, shape (n, K)."""
        return self._everywhere if self.said.complete else np.logical_or.accumulate(self.voted, axis=1)

    @cached_property
    def scorable(self) -> BoolRanks:
        """Which prefixes can be scored, shape (n, K): those whose every member was asked."""
        if self.said.complete:
            return self._everywhere
        return np.logical_and.accumulate(self.states != Cell.NOT_ASKED, axis=1)

    @cached_property
    def may_abstain(self) -> BoolRanks:
        """Which prefixes hold a reject entity, shape (n, K): they abstain where nobody votes."""
        return np.logical_or.accumulate(self.panel.is_kind("reject")[self.order], axis=1)

    @property
    def _everywhere(self) -> BoolRanks:
        return np.broadcast_to(np.True_, self.order.shape)

    def numbers(self) -> Float[np.ndarray, "n K"]:
        """Return the answers as numbers, shape (n, K), 0 where there is none, or say that they are no numbers."""
        return self.voices(check.numeric(self.answers, "answers"), silent=0.0)

    def voices(self, values: Float[np.ndarray, "n K"], *, silent: float) -> Float[np.ndarray, "n K"]:
        """Return `values` with `silent` in the place of members that gave no usable answer, shape (n, K)."""
        return values if self.said.complete else np.where(self.voted, values, silent)

    def known_errors(self) -> Float[np.ndarray, "n K"]:
        """Return the members' expected errors, shape (n, K), or say that this aggregation needs them."""
        if self.expected_errors is None:
            raise InvalidInputError(
                "`expected_errors` must be given to this aggregation: it weighs members by them. "
                "Pass them to `Committee.of`, or use a vote that weighs by scores."
            )
        return self.expected_errors


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What committees of every size decide: column k − 1 is the committee of the k best.

    Args:
        values: shape (n, K), the decisions; whatever stands where `decided` is false is to be ignored.
        decided: shape (n, K), false where no member gave a usable answer.
    """

    values: Shaped[np.ndarray, "n K"]
    decided: BoolRanks

    def at(self, k: Int[np.ndarray, " n"]) -> "tuple[Shaped[np.ndarray, ' n'], Shaped[np.ndarray, ' n']]":
        """Return values and `decided` of each query's own k, two arrays (n,)."""
        column = (np.asarray(k) - 1)[:, None]
        return in_order(self.values, column)[:, 0], in_order(self.decided, column)[:, 0]
