"""How good somebody is of whom little is known: a normal around the panel's average, moved by what he answered."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from askwho.policy import Newcomers, Policy

# Beside the panel's own spread one more is counted who is off by half of the mean error, by hand: colleagues who are
# all alike do not prove that a stranger is like them.
_OFF = 0.5
# How much of what tells queries apart for the others does so for him: as likely anything from nothing to all of it.
_SHARED, _SHARED_VARIES = 1 / 2, 1 / 12
# An error that is further from what was expected than so many deviations counts as if it were no further: of squared
# errors a single one must not decide.
_FARTHEST = 3.0
# The noise of an error is never below this part of what it would be if nothing but chance were in it: the normal only
# stands in for shares of wrong answers, and near 0 and 1 it is far from them.
_LEAST_NOISE = 0.25
# Errors are expected within this of 0 and 1 when their noise is told: at the ends they would have none.
_ENDS = 0.02


@dataclass(frozen=True, eq=False)
class Skill:
    """What is thought of somebody's error on queries: a line in what is expected of the L learned, with normal weights.

    Bayesian linear regression in the space that the panel spans. With e_j(x) what is expected of the learned, ē(x)
    their mean, ē that of all queries, and d_j = e_j − ē(x), a newcomer's error is (1 + γ) m(x) + Σ_j β_j d_j(x), where
    β_j ~ N(0, 1/(L − 1)): so that the panel itself could have been drawn from it; and γ ~ N(0, τ²) for what so few
    cannot tell of the others' mean and spread. It is a part of m(x) and no constant, because errors are never below 0:
    who is better than all errs less everywhere in proportion. And m(x) = s ē(x) + (1 − s) ē lies between what the
    others err on a query and the same on all: what they find hard he may not, and s is anything from 0 to 1. The
    posterior is the best linear prediction (Bühlmann 1967).

    Args:
        mean: shape (1 + L,), of the weights of a constant and of each e_j.
        covariance: shape (1 + L, 1 + L).
        beside: the variance of what no such line tells of him: as much as the others leave of each of the panel.
        noise: by how much errors vary: in parts of e(most − e), of e² where they are numbers.
        most: the largest error that can be; infinite where nothing says.
    """

    mean: Float[np.ndarray, " f"]
    covariance: Float[np.ndarray, "f f"]
    beside: float
    noise: float
    most: float

    @classmethod
    def of_a_stranger(cls, policy: Policy) -> "Skill":
        """Return what is thought of somebody of whom nothing is known: the panel's average, as far off as its spread.

        Labels and the option to abstain say the same of every query: nobody is like them.
        """
        learned = policy.judge.learned(policy.past.queries)
        most = policy.unit.most
        size = learned.shape[1]
        newcomers = policy.judge.newcomers or Newcomers.nobody(size, most=most)
        fixed = policy.panel.is_kind("label", "reject")
        peers = np.setdiff1d(np.arange(size), newcomers.places[fixed])
        peers = peers if len(peers) else np.arange(size)
        count = len(peers)
        average = np.zeros(1 + size)
        average[1 + peers] = 1.0 / count
        levels = learned.mean(axis=0)[peers]
        centre, apart = float(levels.mean()), float(np.square(levels - levels.mean()).sum())
        between = apart / (count - 1) if count > 1 else 0.0
        spread = (apart + (_OFF * centre) ** 2) / count
        # The others' mean is itself of so few; and what their spread leaves out, were they all alike.
        tau = spread / count + max(0.0, spread - between)
        # From what they err on all queries to what they err on each.
        apart_by_query = average.copy()
        apart_by_query[0] = -centre
        average = average - (1.0 - _SHARED) * apart_by_query
        covariance = _SHARED_VARIES * np.outer(apart_by_query, apart_by_query)
        if centre > 0:
            covariance += tau / centre**2 * np.outer(average, average)
        if count > 1:
            # d = (I − 11ᵀ/L) e, which is its own square.
            away = np.eye(count) - 1.0 / count
            covariance[np.ix_(1 + peers, 1 + peers)] += away / (count - 1)
        beside = _beside(learned[:, peers])
        return cls(average, covariance, beside, _noise(policy.past.errors[:, ~fixed], most=most), most)

    @classmethod
    def of(cls, policy: Policy, j: int) -> "Skill":
        """Return what is thought of somebody in the panel: what was learned, or what his answers since have told.

        Who was learned has no covariance of his own.
        """
        stranger = cls.of_a_stranger(policy)
        newcomers = policy.judge.newcomers or Newcomers.nobody(len(policy.panel), most=stranger.most)
        weights, covariance, beside = (
            each[j] for each in (newcomers.coefficients, newcomers.covariance, newcomers.beside)
        )
        return replace(stranger, mean=weights, covariance=covariance, beside=float(beside))

    def told(self, learned: Float[np.ndarray, "n l"], errors: Float[np.ndarray, " n"]) -> "Skill":
        """Return what is thought of him after some answers.

        Args:
            learned: shape (n, L), what was expected of the learned about the queries.
            errors: shape (n,), his.
        """
        return self.update(learned, errors)[0]

    def told_anew(
        self, old: Float[np.ndarray, " f"], learned: Float[np.ndarray, "n l"], errors: Float[np.ndarray, " n"]
    ) -> "Skill":
        """Return what is thought of somebody who may have changed: he is as he was, or as far from it as a stranger.

        Either is as likely as the other before his answers; after them by how likely each makes them (a mixture, kept
        as the normal with its mean and variance).

        Args:
            old: shape (1 + L,), the weights of who he was.
            learned: shape (n, L), what was expected of the learned about the queries.
            errors: shape (n,), his.
        """
        moved, evidence = replace(self, mean=old).update(learned, errors)
        changed = 1.0 / (1.0 + np.exp(-np.clip(evidence, -50.0, 50.0)))
        step = moved.mean - old
        covariance = changed * (moved.covariance + (1.0 - changed) * np.outer(step, step))
        return replace(self, mean=old + changed * step, covariance=covariance, beside=changed * self.beside)

    def update(self, learned: Float[np.ndarray, "n l"], errors: Float[np.ndarray, " n"]) -> tuple["Skill", float]:
        """Return the same after some answers, and how much likelier than by the mean alone they are (a log)."""
        root, scaled = self.roots(learned)
        noise = self.noises(learned)
        beyond = errors - _with_constant(learned) @ self.mean
        if self.most == np.inf:
            beyond = np.minimum(beyond, _FARTHEST * np.sqrt(noise))
        precision = np.eye(root.shape[1]) + scaled.T @ (scaled / noise[:, None])
        moved = scaled.T @ (beyond / noise)
        step = np.linalg.solve(precision, moved)
        covariance = root @ np.linalg.solve(precision, root.T)
        likelier = 0.5 * float(moved @ step - np.linalg.slogdet(precision)[1])
        mean = self.mean + root @ step
        return replace(self, mean=mean, covariance=(covariance + covariance.T) / 2), likelier

    def roots(self, learned: Float[np.ndarray, "n l"]) -> tuple[Float[np.ndarray, "f q"], Float[np.ndarray, "n q"]]:
        """Return a square root of the covariance, and the queries in its terms: of independent weights."""
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return root, _with_constant(learned) @ root

    def noises(self, learned: Float[np.ndarray, "n l"]) -> Float[np.ndarray, " n"]:
        """Return the variance of an error about its mean on each query, shape (n,)."""
        design = _with_constant(learned)
        mean = design @ self.mean
        if self.most == np.inf:
            return self.noise * np.square(np.maximum(mean, _ENDS * float(np.abs(learned).mean()))) + 1e-12
        mean = np.clip(mean, _ENDS * self.most, (1.0 - _ENDS) * self.most)
        uncertain = np.einsum("nf,fg,ng->n", design, self.covariance, design) + self.beside
        alone = mean * (self.most - mean)
        # A share of mean m and variance v leaves m(1 − m) − v to chance; what mistakes cost is one of the worst.
        return self.noise * np.maximum(alone - uncertain, _LEAST_NOISE * alone)


def _with_constant(learned: np.ndarray) -> np.ndarray:
    return np.hstack([np.ones((len(learned), 1)), learned])


def _noise(errors: Float[np.ndarray, "m a"], *, most: float) -> float:
    """How much errors vary within entities, in the terms of `Skill.noise`."""
    known = ~np.isnan(errors)
    count = np.maximum(known.sum(axis=0), 1)
    filled = np.where(known, errors, 0.0)
    means = filled.sum(axis=0) / count
    varies = np.where(known, np.square(filled - means), 0.0).sum(axis=0) / count
    by_chance = means * (most - means) if most < np.inf else np.square(means)
    total = float(by_chance.sum())
    if total <= 0:
        return 1.0
    return float(np.clip(varies.sum() / total, 0.05, 1.0 if most < np.inf else np.inf))


def _beside(learned: Float[np.ndarray, "m l"]) -> float:
    """How much of what is expected of each no line in the others tells: a mean of variances."""
    left: list[float] = []
    for j in range(learned.shape[1]):
        others = _with_constant(np.delete(learned, j, axis=1))
        line = np.linalg.lstsq(others, learned[:, j], rcond=None)[0]
        left.append(float(np.square(learned[:, j] - others @ line).mean()))
    return float(np.mean(left))
