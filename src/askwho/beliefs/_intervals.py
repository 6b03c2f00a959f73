"""Intervals around verdicts that are numbers, with a stated coverage: conformal, on rows that taught nothing."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho._parts import State, part
from askwho.exceptions import InvalidInputError

# Scores of one part that are kept: a thousand tell a tail of 5% to less than a hundredth.
_MOST = 1000
# Queries are told apart by how far off their verdicts may be, into so many parts at the most.
_PARTS = 8
# A part has so many groups in it at the least: with fewer what it tells is mostly chance.
_FEWEST = 100


@part("intervals")
@dataclass(frozen=True, eq=False)
class Intervals:
    """How far truths lay from verdicts on held-out rows, in parts of how far off each may be.

    Split conformal prediction with locally weighed, signed residuals (Lei et al. 2018; Romano et al. 2019): an interval
    reaches from a low to a high quantile of them, taken as if the new query were one row more, times its own scale. If
    rows are exchangeable, or their groups, of which each then weighs the same, it holds the truth as often as is
    said, whatever the verdicts are worth. Queries are taken in parts (Vovk et al. 2005), by whether one answered or
    several and by their scale, because at another price others are asked: what dear committees taught says little of
    cheap ones.

    Args:
        alone: shape (b,), whether a part is of verdicts that one answer made.
        starts: shape (b,), from which scale on; parts are in this order, each kind's first from 0.
        scores: shape (b, m), rising in each row, NaN after the last: of the verdicts of each part.
        masses: shape (b, m), what each weighs, 1 in all; 0 after the last.
        groups: shape (b,), how many groups of equal weight say as much.
    """

    alone: Bool[np.ndarray, " b"]
    starts: Float[np.ndarray, " b"]
    scores: Float[np.ndarray, "b m"]
    masses: Float[np.ndarray, "b m"]
    groups: Float[np.ndarray, " b"]

    @classmethod
    def of(
        cls,
        scores: Float[np.ndarray, " n"],
        scales: Float[np.ndarray, " n"],
        sizes: Int[np.ndarray, " n"],
        groups: Int[np.ndarray, " n"],
        weights: Float[np.ndarray, " n"] | None = None,
    ) -> "Intervals | None":
        """Return the intervals that some decisions teach; None where there are none.

        Args:
            scores: shape (n,), truth less verdict in parts of its scale; NaN where unknown.
            scales: shape (n,), how far off each may be.
            sizes: shape (n,), how many answered.
            groups: shape (n,), which rows belong together; a row may come more than once.
            weights: shape (n,), what each row stands for, where not everybody was asked.
        """
        known = np.flatnonzero(~np.isnan(scores))
        if not known.size:
            return None
        share = np.ones(len(known)) if weights is None else weights[known]
        scores, scales, sizes, groups = scores[known], scales[known], sizes[known], groups[known]
        kinds = [(one, np.flatnonzero((sizes == 1) == one)) for one in (False, True)]
        if min(len(np.unique(groups[rows])) for _, rows in kinds) < _FEWEST:
            # Too few of one kind to tell of it: all are taken together.
            kinds = [(bool((sizes == 1).all()), np.arange(len(scores)))]
        bins: list[np.ndarray] = []
        alone: list[bool] = []
        starts: list[float] = []
        for one, rows in kinds:
            count = int(np.clip(len(np.unique(groups[rows])) // _FEWEST, 1, _PARTS))
            edges = [0.0, *np.unique(np.quantile(scales[rows], np.arange(1, count) / count)).tolist()]
            place = np.searchsorted(edges, scales[rows], side="right") - 1
            for part_, start in enumerate(edges):
                if (place == part_).any():
                    bins.append(rows[place == part_])
                    alone.append(one)
                    starts.append(start if alone.count(one) > 1 else 0.0)
        made = [_sorted(scores[rows], groups[rows], share[rows]) for rows in bins]
        width = max(len(each) for each, _, _ in made)
        table, masses = np.full((len(made), width), np.nan), np.zeros((len(made), width))
        for row, (each, mass, _) in enumerate(made):
            table[row, : len(each)], masses[row, : len(mass)] = each, mass
        return cls(np.array(alone), np.array(starts), table, masses, np.array([count for _, _, count in made]))

    def bounds(
        self, scales: Float[np.ndarray, " n"], sizes: Int[np.ndarray, " n"], coverage: float
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Return how far intervals reach below and above a verdict, in parts of its scale, each of shape (n,).

        Args:
            scales: shape (n,), how far off each may be.
            sizes: shape (n,), how many answered.
            coverage: how often the truth is to be within.
        """
        least = float(self.groups.min())
        if least < 2.0 / (1.0 - coverage) - 1.0 - 1e-9:
            raise InvalidInputError(
                f"`coverage` must be at most {1.0 - 2.0 / (least + 1.0):.3g}, got {coverage:g}: {least:.0f} rows that "
                "are alike, or groups of them, cannot tell more. Calibrate on more rows."
            )
        ends = np.array([self._ends(row, (1.0 - coverage) / 2.0) for row in range(len(self.groups))])
        row = np.zeros(len(scales), dtype=np.intp)
        for one in (False, True):
            own = np.flatnonzero(self.alone == one) if (self.alone == one).any() else np.arange(len(self.alone))
            mine = np.flatnonzero((sizes == 1) == one)
            row[mine] = own[np.maximum(np.searchsorted(self.starts[own], scales[mine], side="right") - 1, 0)]
        return ends[row, 0], ends[row, 1]

    def _ends(self, row: int, tail: float) -> tuple[float, float]:
        kept = self.masses[row] > 0
        scores, masses, count = self.scores[row, kept], self.masses[row, kept], self.groups[row]
        # One more row, which may lie anywhere, weighs as much as each of the others.
        target = (1.0 - tail) * (1.0 + 1.0 / count) - 1e-12
        above = min(int(np.searchsorted(masses.cumsum(), target)), len(scores) - 1)
        below = min(int(np.searchsorted(masses[::-1].cumsum(), target)), len(scores) - 1)
        return float(scores[::-1][below]), float(scores[above])

    def to_state(self) -> State:
        """Return the scores as arrays."""
        return State(
            arrays={
                "alone": self.alone,
                "starts": self.starts,
                "scores": self.scores,
                "masses": self.masses,
                "groups": self.groups,
            }
        )

    @classmethod
    def from_state(cls, state: State) -> "Intervals":
        """Return the intervals that `to_state` wrote."""
        alone, starts, scores, masses, groups = state.pick(
            alone="b", starts="b", scores="b m", masses="b m", groups="b", gaps=("scores",)
        )
        there = masses > 0
        inside = np.where(there, scores, np.inf)
        if (
            not scores.size
            or not there.any(axis=1).all()
            or any((np.diff(starts[alone == one]) < 0).any() for one in (False, True))
            or (masses < 0).any()
            or np.isnan(scores[there]).any()
            or (np.diff(there.astype(np.int8), axis=1) > 0).any()
            or (inside[:, 1:] < inside[:, :-1]).any()
        ):
            raise InvalidInputError("`scores` must rise, each with a mass, got others: the artefact is damaged.")
        return cls(alone.astype(bool), starts, scores, masses, groups)


def _sorted(scores: np.ndarray, groups: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Scores in order, what each weighs, and how many groups of equal weight say as much."""
    if not len(scores):
        return scores, share, 0.0
    _, place, count = np.unique(groups, return_inverse=True, return_counts=True)
    mass = share / count[place.reshape(-1)]
    whole = np.bincount(place.reshape(-1), mass)
    effective = float(whole.sum() ** 2 / np.square(whole).sum()) if whole.any() else 0.0
    order = np.argsort(scores, kind="stable")
    scores, mass = scores[order], mass[order] / max(float(mass.sum()), 1e-300)
    if len(scores) <= _MOST:
        return scores, mass, effective
    # Outwards, so that fewer scores cover no less: the lower half by what lies below, the upper by what lies above.
    total = mass.cumsum()
    levels = (np.arange(_MOST) + 0.5) / _MOST
    down = np.searchsorted(total, np.floor(levels * _MOST) / _MOST + 1e-12)
    up = np.searchsorted(total, np.ceil(levels * _MOST) / _MOST - 1e-12)
    place = np.minimum(np.where(levels < 0.5, down, up), len(scores) - 1)
    return scores[place], np.full(_MOST, 1.0 / _MOST), effective
