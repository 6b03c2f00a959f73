"""With what probability those who were asked were asked: what weighs the rows on which a committee can be scored."""

from abc import ABC, abstractmethod

import numpy as np
from jaxtyping import Bool, Float, Int


class Chances(ABC):
    """What rows weigh for a committee: one by the probability that all of it could be heard, and scored."""

    asked: Bool[np.ndarray, "n a"]

    @abstractmethod
    def rows(self, chosen: Int[np.ndarray, " m"]) -> "Chances":
        """Return the chances of some of the rows."""

    @abstractmethod
    def chance(self, members: Bool[np.ndarray, "n a"]) -> Float[np.ndarray, " n"]:
        """Return the probability that all members were asked, shape (n,); of rows where one was not it may be anything.

        Args:
            members: shape (n, |A|), who is in each row's committee.
        """

    @abstractmethod
    def full(self, members: Bool[np.ndarray, "n a"]) -> Bool[np.ndarray, " n"]:
        """Return about which queries nobody else than was could have been asked beside the members, shape (n,).

        Args:
            members: shape (n, |A|), who is in each row's committee.
        """

    def weights(self, members: Bool[np.ndarray, "n a"]) -> Float[np.ndarray, " n"]:
        """Return what each row weighs for its committee, shape (n,): 0 where a member was not asked.

        It is one by the probability that all of them were asked (Horvitz and Thompson 1952).

        Args:
            members: shape (n, |A|), who is in each row's committee.
        """
        seen = ~(members & ~self.asked).any(axis=1)
        chance = self.chance(members)
        return np.where(seen, 1.0 / np.maximum(chance, 1e-12), 0.0) * (chance > 0)

    @property
    @abstractmethod
    def cells(self) -> Float[np.ndarray, "n a"]:
        """What each single answer weighs, shape (n, |A|): one by the probability that it was asked for; else 0."""

    @property
    def of_asking(self) -> Float[np.ndarray, "n a"]:
        """What each answer weighs among the rows that tell anything, shape (n, |A|): by how likely it was asked for.

        Whether a row's truth was looked up, and so how many others it stands for, has no say. Where both are told in
        one, all weigh the same.
        """
        return self.stabilised

    @property
    def stabilised(self) -> Float[np.ndarray, "n a"]:
        """What each answer weighs beside its row's features, shape (n, |A|): 1 where nothing else had a say in asking.

        By how much likelier an answer was asked for, as far as its row's features tell, than by all that was known
        (stabilised weights: Robins, Hernán and Brumback 2000). 0 where there is none. For whatever is expected of a row
        by its features; weighing by those as well would only take rows away.
        """
        return self.asked.astype(np.float64)

    def prefixes(self, order: Int[np.ndarray, "n K"]) -> Float[np.ndarray, "n K"]:
        """Return what each row weighs for the committee of the first k, shape (n, K)."""
        found = np.empty(order.shape)
        members = np.zeros(self.asked.shape, dtype=bool)
        for k in range(order.shape[1]):
            np.put_along_axis(members, order[:, k : k + 1], values=True, axis=1)
            found[:, k] = self.weights(members)
        return found


def effective(weights: Float[np.ndarray, " n"], groups: Int[np.ndarray, " n"] | None = None) -> float:
    """Return how many rows, or groups, of equal weight would say as much (Kish 1965)."""
    total = weights if groups is None else np.bincount(groups, weights)
    squares = float(np.square(total).sum())
    return float(total.sum()) ** 2 / squares if squares > 0 else 0.0


def symmetric(
    odds: Float[np.ndarray, "n u"], without: Bool[np.ndarray, "n u"], most: int | None = None
) -> Float[np.ndarray, "n m"]:
    """Return elementary symmetric polynomials of a row's odds, by degree, shape (n, u + 1) or (n, most + 1).

    Args:
        odds: shape (n, u).
        without: shape (n, u), which of them are left out.
        most: the largest degree that is wanted; all, unless said.
    """
    n, units = odds.shape
    sums = np.zeros((n, (units if most is None else most) + 1))
    sums[:, 0] = 1.0
    for u in range(units):
        value = np.where(without[:, u], 0.0, odds[:, u])[:, None]
        sums[:, 1:] += value * sums[:, :-1]
    return sums
