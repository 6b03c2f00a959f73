"""FrugalML (Chen, Zaharia and Zou 2020): ask a base service; by its label and its confidence, accept it or ask another.

A strategy is a base service and, for each label it may say, a threshold on its confidence and an add-on service, whose
answer stands where it is asked. Its error and its fee are sums over labels, so the best strategies for all budgets come
label by label: of each, the hull of its (threshold, add-on) pairs, whose edges are taken in the order of what they save
for their money. That is the paper's optimum under every budget at once: it mixes two neighbours on the hull over all
base services, and so two base services at the most.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from askwho.core import each_fold
from askwho.evaluation import Point
from askwho.metrics import Frontier, area, stated_budgets
from askwho_studies.logs._base import tuning_folds
from askwho_studies.logs._committees import SkippedError
from askwho_studies.logs._split import Split

# How many thresholds a label may have, at quantiles of the confidence: more fit better, and overfit small logs.
_LEVELS = (2, 5, 10, 25)


@dataclass(frozen=True, eq=False)
class Services:
    """What came of every service on some rows.

    Args:
        said: shape (n, |A|), answers as places among the labels, −1 for none.
        sure: shape (n, |A|), confidences, below all others where none came back.
        errors: shape (n, |A|), NaN where nobody asked.
        fees: shape (n, |A|).
    """

    said: Int[np.ndarray, "n a"]
    sure: Float[np.ndarray, "n a"]
    errors: Float[np.ndarray, "n a"]
    fees: Float[np.ndarray, "n a"]

    def of(self, rows: np.ndarray) -> "Services":
        """Return those of some rows."""
        return Services(self.said[rows], self.sure[rows], self.errors[rows], self.fees[rows])


@dataclass(frozen=True)
class Strategy:
    """A base service; and by its label, below which confidence which other is asked. Labels without are accepted."""

    base: int
    add_on: dict[int, tuple[float, int]]

    def point(self, rows: Services) -> Point:
        """Return its errors and fees, shape (n,) each; an error is NaN where somebody was asked who had not been."""
        errors, fees = rows.errors[:, self.base].copy(), rows.fees[:, self.base].copy()
        for label, (least, other) in self.add_on.items():
            doubted = (rows.said[:, self.base] == label) & (rows.sure[:, self.base] < least)
            known = doubted & ~np.isnan(errors)
            errors[known] = rows.errors[known, other]
            fees[doubted] += rows.fees[doubted, other]
        return Point(errors, fees, {"base": self.base, "add-ons": len(self.add_on)})


def frugalml(split: Split) -> list[Point]:
    """The strategies on the training rows' hull, on the test rows; how fine thresholds are is tuned in training."""
    if not split.classes or split.train.answers is None:
        raise SkippedError("FrugalML goes by the label that a service says")
    if np.isnan(split.train.info).all():
        raise SkippedError("no confidence came back with any answer")
    none = float(np.nanmin(split.train.info)) - 1.0
    train, test = (
        Services(split.votes(log), np.where(np.isnan(log.info), none, log.info), log.errors, log.fees)
        for log in (split.train, split.test)
    )
    fold, budgets = tuning_folds(split), stated_budgets(split.price, float(split.price[split.best]))

    def lost(levels: int) -> float:
        return sum(_area(strategies(train.of(seen), levels), train.of(held), budgets) for seen, held in each_fold(fold))

    return [each.point(test) for each in strategies(train, min(_LEVELS, key=lost))]


def strategies(rows: Services, levels: int) -> list[Strategy]:
    """Return the strategies that are best at some price, cheapest first, of all base services."""
    # Whoever was not asked is taken to be as good as otherwise.
    filled = Services(rows.said, rows.sure, np.where(np.isnan(rows.errors), _usual(rows), rows.errors), rows.fees)
    found = [each for base in range(rows.said.shape[1]) for each in _of_base(filled, base, levels)]
    points = [each.point(filled) for each in found]
    hull = Frontier.of([each.fees.mean() for each in points], [each.errors.mean() for each in points])
    return [found[i] for i in hull.settings]


def _of_base(rows: Services, base: int, levels: int) -> list[Strategy]:
    """The strategies of one base service: each label's hull from its cheap end, steepest edge of all labels first."""
    now: dict[int, tuple[float, int]] = {}
    edges: list[tuple[float, int, tuple[float, int]]] = []
    for label in np.unique(rows.said[:, base]).tolist():
        mine = rows.of(rows.said[:, base] == label)
        sure = mine.sure[:, base]
        # Nobody is below the least confidence, everybody below what is more than the largest.
        cuts = np.unique([*np.quantile(sure, np.arange(levels) / levels, method="lower"), np.inf]).tolist()
        pairs = [(cut, other) for cut in cuts for other in range(rows.said.shape[1]) if other != base]
        fees = [float(mine.fees[sure < cut, other].sum()) for cut, other in pairs]
        errors = [
            float(np.where(sure < cut, mine.errors[:, other], mine.errors[:, base]).sum()) for cut, other in pairs
        ]
        if not pairs:
            continue
        hull = Frontier.of(fees, errors)
        now[label] = pairs[hull.settings[0]]
        slopes = np.diff(hull.errors) / np.diff(hull.fees)
        edges += [(float(slope), label, pairs[i]) for slope, i in zip(slopes, hull.settings[1:], strict=True)]
    found = [Strategy(base, dict(now))]
    for _, label, pair in sorted(edges):
        now[label] = pair
        found.append(Strategy(base, dict(now)))
    return found


def _usual(rows: Services) -> Float[np.ndarray, " a"]:
    """Each service's mean error where it was asked."""
    asked = ~np.isnan(rows.errors)
    return np.where(asked, rows.errors, 0.0).sum(axis=0) / np.maximum(asked.sum(axis=0), 1)


def _area(found: list[Strategy], rows: Services, budgets: np.ndarray) -> float:
    points = [each.point(rows) for each in found]
    return area(Frontier.of([p.fees.mean() for p in points], [float(np.nanmean(p.errors)) for p in points]), budgets)
