"""What would have come back with answers that nobody asked for: a confidence, say, beside who errs."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtr, ndtri

from askwho.replay._weighed import quantiles, ranks

# Fewer rows of an entity do not tell a line: what came back is then borrowed from another query as it stands.
_FEWEST_ROWS = 20
# A line is drawn to a level as if by so many rows, and so are a class and the spread of those who err: a score of rows
# knows none of them well.
_PRIOR_ROWS = 10.0
# Scores are kept so far from what no row had: the least of ten thousand lies there.
_FARTHEST = 3.7


@dataclass(frozen=True, eq=False)
class Told:
    """What comes back with each answer, as a normal number: a line in how hard the query is, moved by who errs.

    The rank of what came back, among all that an entity's answers brought, as a normal score (van der Waerden 1952).

    Args:
        entities: shape (t,), with whose answers something comes back, on enough rows.
        beyond: shape (n, t), how far it lies from the line, in parts of its spread; NaN where nothing came back.
        line: shape (n, t, 2), where the line is of the right and of the wrong.
        spread: shape (t, 2), how far those lie from it.
        came: all that came back, in order, one array an entity.
    """

    entities: Int[np.ndarray, " t"]
    beyond: Float[np.ndarray, "n t"]
    line: Float[np.ndarray, "n t 2"]
    spread: Float[np.ndarray, "t 2"]
    came: tuple[Float[np.ndarray, " m"], ...]

    @classmethod
    def of(
        cls,
        info: Float[np.ndarray, "n a"],
        likely: Float[np.ndarray, "n a"],
        wrong: Bool[np.ndarray, "n a"],
        counted: Float[np.ndarray, "n a"],
        classes: Int[np.ndarray, " n"],
    ) -> "Told":
        """Return what the rows tell of it.

        Args:
            info: shape (n, |A|), what came back; NaN where nothing did.
            likely: shape (n, |A|), how likely each errs.
            wrong: shape (n, |A|), who erred, where somebody was asked.
            counted: shape (n, |A|), as how many rows each answer counts; 0 where nobody was asked.
            classes: shape (n,), what is true, as a number.
        """
        there = (counted > 0) & np.isfinite(info)
        entities = np.flatnonzero((there.sum(axis=0) >= _FEWEST_ROWS) & _varies(info, there))
        beyond = np.full((len(info), len(entities)), np.nan)
        line, spread = np.zeros((len(info), len(entities), 2)), np.ones((len(entities), 2))
        came: list[np.ndarray] = []
        for t, j in enumerate(entities):
            rows, hard = np.flatnonzero(there[:, j]), ndtri(likely[:, j])
            erred, weights = wrong[rows, j], counted[rows, j]
            score = ndtri(ranks(info[rows, j], weights))
            often, middle = np.average(erred, weights=weights), np.average(hard[rows], weights=weights)
            design = np.column_stack([np.ones(len(rows)), erred - often, hard[rows] - middle])
            weighed = design * weights[:, None]
            apart = np.average(np.square(design - np.average(design, axis=0, weights=weights)), axis=0, weights=weights)
            system = weighed.T @ design + _PRIOR_ROWS * np.diag([0.0, 1.0, 1.0]) * apart
            level, fall, slope = np.linalg.solve(system + 1e-9 * np.eye(3), weighed.T @ score)
            off = score - design @ [level, fall, slope]
            count = np.bincount(classes[rows], weights, minlength=classes.max() + 1)
            moved = np.bincount(classes[rows], weights * off, minlength=len(count)) / (count + _PRIOR_ROWS)
            off = off - moved[classes[rows]]
            squares = weights * np.square(off)
            all_alike = squares.sum() / weights.sum()
            for one in (False, True):
                some = erred == one
                spread[t, int(one)] = np.sqrt(
                    (squares[some].sum() + _PRIOR_ROWS * all_alike) / (weights[some].sum() + _PRIOR_ROWS)
                )
                line[:, t, int(one)] = level + fall * (one - often) + slope * (hard - middle) + moved[classes]
            beyond[rows, t] = off / np.maximum(spread[t, erred.astype(np.intp)], 1e-9)
            came.append(quantiles(info[rows, j], weights))
        return cls(entities, np.clip(beyond, -_FARTHEST, _FARTHEST), line, spread, tuple(came))

    def drawn(self, beyond: Float[np.ndarray, "n t"], erred: Bool[np.ndarray, "n a"]) -> Float[np.ndarray, "n t"]:
        """Return what comes back so far from the line, where those err, or not: something that came back before."""
        found = np.empty(beyond.shape)
        for t, j in enumerate(self.entities):
            side = erred[:, j].astype(np.intp)
            score = self.line[np.arange(len(beyond)), t, side] + self.spread[t, side] * beyond[:, t]
            place = np.minimum((ndtr(score) * len(self.came[t])).astype(np.intp), len(self.came[t]) - 1)
            found[:, t] = self.came[t][place]
        return found


def _varies(info: np.ndarray, there: np.ndarray) -> Bool[np.ndarray, " a"]:
    low, high = np.where(there, info, np.inf).min(axis=0), np.where(there, info, -np.inf).max(axis=0)
    return high > low
