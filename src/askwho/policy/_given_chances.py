"""With what probability those who were asked were asked, where the log says it: of the set that was asked alone."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho.policy._chances import Chances, symmetric

# No row stands for more than a million others: beyond, a probability is a slip of the pen, and squares of weights
# leave the range of numbers.
_LEAST = 1e-6
# Entities are one where they were asked together so often, and never apart; of fewer rows that may be chance.
_TOGETHER = 8


@dataclass(frozen=True, eq=False)
class GivenChances(Chances):
    """What rows weigh by the probability, told by the log, that just those were asked who were.

    Of other sets nothing is told. So a committee S is weighed by importance: of the sets of s units that hold S, each
    with a mass q in the product of odds that do not depend on the row, the one that was asked weighs q(A | S) / p(A).
    The masses sum to one over those sets, so that the weighed mean is unbiased whatever the odds are, if each of the
    sets could have been asked about the query: as `explore` draws them, as many as the policy asks, any alike. Odds
    near those by which asking went make it precise. A set that was certain (p = 1) leaves nothing to weigh.

    Args:
        asked: shape (n, |A|), whom the log has.
        propensity: shape (n,), of the set that was asked; 1 where nobody was asked and nothing is told.
        unit: shape (|A|,), the unit of each entity; −1 for those always asked, or who answer without being asked.
        odds: shape (u,), of each unit.
        looked_up: whether the probabilities are also that the truth was looked up; else it is known of every row, and
            so is what those get who answer without being asked.
    """

    asked: Bool[np.ndarray, "n a"]
    propensity: Float[np.ndarray, " n"]
    unit: Int[np.ndarray, " a"]
    odds: Float[np.ndarray, " u"]
    looked_up: bool = False

    @classmethod
    def of(
        cls,
        asked: Bool[np.ndarray, "n a"],
        propensity: Float[np.ndarray, " n"],
        *,
        own: Bool[np.ndarray, " a"],
        looked_up: bool = False,
    ) -> "GivenChances | None":
        """Return the chances of a log's rows; None where everybody was asked, and was certain to be.

        Args:
            asked: shape (n, |A|).
            propensity: shape (n,), NaN where nothing is told.
            own: shape (|A|,), who answers without being asked.
            looked_up: whether the probabilities are also that the truth was looked up.
        """
        chance = np.where(np.isnan(propensity), 1.0, np.maximum(propensity, _LEAST))
        if asked.all() and (chance == 1.0).all() and not looked_up:
            return None
        # What was certain, such as a first log of everybody, says nothing of how sets are drawn.
        drawn = asked[(chance < 1.0) & (asked & ~own).any(axis=1)]
        sometimes = np.flatnonzero(~own & ~drawn.all(axis=0))
        if not len(sometimes):
            return cls(asked, chance, np.full(len(own), -1), np.ones(0), looked_up)
        _, place = np.unique(drawn[:, sometimes], axis=1, return_inverse=True)
        rare = drawn[:, sometimes].sum(axis=0) < _TOGETHER
        place = np.where(rare, len(sometimes) + np.arange(len(sometimes)), place.reshape(-1))
        unit = np.full(len(own), -1)
        _, first, unit[sometimes] = np.unique(place, return_index=True, return_inverse=True)
        count = drawn[:, sometimes[first]].sum(axis=0)
        return cls(asked, chance, unit, (count + 0.5) / (len(drawn) - count + 0.5), looked_up)

    def rows(self, chosen: Int[np.ndarray, " m"]) -> "GivenChances":
        """Return the chances of some of the rows."""
        return GivenChances(self.asked[chosen], self.propensity[chosen], self.unit, self.odds, self.looked_up)

    @property
    def cells(self) -> Float[np.ndarray, "n a"]:
        """What each single answer weighs, shape (n, |A|): one by the probability that it was asked for; else 0."""
        alone = np.eye(len(self.unit), dtype=bool)
        return np.column_stack([self.weights(np.broadcast_to(one, self.asked.shape)) for one in alone])

    def chance(self, members: Bool[np.ndarray, "n a"]) -> Float[np.ndarray, " n"]:
        """Return p(A) / q(A | S), shape (n,); of rows where a member was not asked it may be anything."""
        there, inside = self._units(self.asked), self._units(members)
        beside = there & ~inside
        degree = beside.sum(axis=1)
        odds = np.broadcast_to(self.odds, there.shape)
        all_of_that_size = symmetric(odds, inside, int(degree.max(initial=0)))[np.arange(len(degree)), degree]
        mass = np.where(beside, odds, 1.0).prod(axis=1)
        found = self.propensity * all_of_that_size / mass
        certain = self.propensity == 1.0
        # Whoever is heard in any case is so whatever set was drawn; where none was, the probability is of the row.
        if len(self.odds) and not self.looked_up:
            certain = certain | ~(members & (self.unit >= 0)).any(axis=1)
        return np.where(certain, 1.0, found)

    def full(self, members: Bool[np.ndarray, "n a"]) -> Bool[np.ndarray, " n"]:
        """Return about which queries nobody else could have been asked beside the members, shape (n,).

        No more than were; and where it was certain who is asked, nobody else.
        """
        most = self._units(members).sum(axis=1) >= self._units(self.asked).sum(axis=1)
        return most | (self.propensity == 1.0)

    def _units(self, table: np.ndarray) -> np.ndarray:
        """Of which units a row has a member, shape (n, u)."""
        found = np.zeros((len(table), len(self.odds)), dtype=bool)
        for j in np.flatnonzero(self.unit >= 0):
            found[:, self.unit[j]] |= table[:, j]
        return found
