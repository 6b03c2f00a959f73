"""With what probability those who were asked were asked, where nothing says: learned from the log's own rows."""

from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from scipy.stats import rankdata

from askwho.core import Answers, Cell, folds
from askwho.policy._being_asked import LEAST, being_asked, better, logistic
from askwho.policy._chances import Chances, symmetric

# Folds that the chances are cross-fitted in: a row's own asking must not have a say in its weight.
_FOLDS = 5
# Somebody who was asked about nearly everything is asked always: weights would add noise, and take nothing away.
_NEARLY_ALL = 0.99
# Answers of more kinds than this are no categories that asking could go by.
_MOST_KINDS = 20
# Numbers are told by their rank, and by whether they are above so many cuts between equal parts: whoever is asked where
# a confidence is low is asked below a threshold, which a line does not tell, and ten parts come near to any.
_PARTS = 10
# Every two of so many are compared: 45 columns, of which trees and lines find the one that matters.
_MOST_COMPARED = 10
# What was said matters where it moves the chances so far: where the others settle who is asked last, as in three a row,
# any richer account is closer to that by a hair, on every row alike.
_LEAST_MOVED = 0.01
# Rounds of raking; the chances move by less than a thousandth after a dozen (Deming and Stephan 1940).
_ROUNDS = 15
# Chances of an entity that differ by more than this over rows go by the features; folds alone move them by less.
_SPREAD = 0.05
# Deviations at which the numbers asked a row are taken not to be those of independent draws.
_DEVIATIONS = 4.0


@dataclass(frozen=True, eq=False)
class LearnedChances(Chances):
    """The probability that a set was asked, as the rows of a log tell it.

    By what the features say of each entity, and, where asking went by answers already there, by those too: propensity
    scores (Rosenbaum and Rubin 1983). How entities go together is told by how many a row has: independently of each
    other, or as many as there are by design, each with its own odds (conditional Poisson sampling, Hájek 1964).
    Entities that are always asked together are one.

    Args:
        asked: shape (n, |A|), whom the log has.
        each: shape (n, u), the probability that each unit was asked.
        unit: shape (|A|,), the unit of each entity; −1 for those always asked.
        odds: shape (n, u), of each unit where the number asked is by design; None where they are independent.
        sizes: shape (u + 1,), how the numbers asked are tilted; None likewise.
        looked_up: shape (n,), the probability that the truth was looked up; None where it is known of every row.
        single: shape (n, u), the probability of a unit's own answer, whoever was asked before it; None where `each` is
            that.
        plain: shape (n, u), the same by the features alone; None where those tell all.
    """

    asked: Bool[np.ndarray, "n a"]
    each: Float[np.ndarray, "n u"]
    unit: Int[np.ndarray, " a"]
    odds: Float[np.ndarray, "n u"] | None = None
    sizes: Float[np.ndarray, " s"] | None = None
    looked_up: Float[np.ndarray, " n"] | None = None
    single: Float[np.ndarray, "n u"] | None = None
    plain: Float[np.ndarray, "n u"] | None = None

    @classmethod
    def learn(
        cls,
        X: Float[np.ndarray, "n d"],
        asked: Bool[np.ndarray, "n a"],
        groups: Shaped[np.ndarray, " n"],
        *,
        answers: Answers | None = None,
        info: Float[np.ndarray, "n a"] | None = None,
        own: Bool[np.ndarray, " a"] | None = None,
        looked_up: Float[np.ndarray, " n"] | None = None,
        random_state: int = 0,
    ) -> "LearnedChances | None":
        """Return the chances that a log's own rows teach, cross-fitted by group; None where everybody was asked.

        Args:
            X: shape (n, d), what was known before asking.
            asked: shape (n, |A|).
            groups: shape (n,), which rows stay together.
            answers: what was answered: asking may have gone by it.
            info: shape (n, |A|), what came back with the answers, by which it may have gone as well; NaN where nothing
                did.
            own: shape (|A|,), who answers without being asked.
            looked_up: shape (n,), the probability that the truth was looked up, of rows of which it was; None where it
                is known of all.
            random_state: the seed of folds and trees.
        """
        if asked.all() and looked_up is None:
            return None
        share = asked.mean(axis=0)
        always = share >= _NEARLY_ALL
        unit = np.full(asked.shape[1], -1)
        if always.all():
            return cls(asked, np.ones((len(X), 0)), unit, looked_up=looked_up)
        columns, place = np.unique(asked[:, ~always], axis=1, return_inverse=True)
        unit[~always] = place.reshape(-1)
        fold = _folds(groups, random_state)
        known = _heard(answers, info, always if own is None else always & ~own)
        plain = each = np.clip(being_asked(X, columns.astype(np.float64), fold, random_state), LEAST, 1.0)
        if known is not None:
            design = np.hstack([X, known])
            each = np.clip(being_asked(design, columns.astype(np.float64), fold, random_state), LEAST, 1.0)
        by_answers = None if answers is None else _successive(each, columns, unit, answers, info, fold)
        if by_answers is not None:
            found, single = (np.clip(table, LEAST, 1.0) for table in by_answers)
            return cls(asked, found, unit, looked_up=looked_up, single=single, plain=plain)
        odds, sizes = _coupled(each, columns) or (None, None)
        return cls(asked, each, unit, odds, sizes, looked_up, plain=None if known is None else plain)

    def where(self, audited: Bool[np.ndarray, " n"]) -> "LearnedChances":
        """Return the chances of the same rows, of which those alone tell anything whose truth was looked up."""
        return replace(self, asked=self.asked & audited[:, None])

    def behind(self, first: int) -> "LearnedChances":
        """Return the chances with so many in front who answer without being asked."""
        asked = np.hstack([np.ones((len(self.asked), first), dtype=bool), self.asked])
        return replace(self, asked=asked, unit=np.concatenate([np.full(first, -1), self.unit]))

    def rows(self, chosen: Int[np.ndarray, " m"]) -> "LearnedChances":
        """Return the chances of some of the rows."""
        odds = None if self.odds is None else self.odds[chosen]
        looked_up = None if self.looked_up is None else self.looked_up[chosen]
        single = None if self.single is None else self.single[chosen]
        plain = None if self.plain is None else self.plain[chosen]
        asked, each = self.asked[chosen], self.each[chosen]
        return LearnedChances(asked, each, self.unit, odds, self.sizes, looked_up, single, plain)

    @property
    def cells(self) -> Float[np.ndarray, "n a"]:
        """What each single answer weighs, shape (n, |A|): one by the probability that it was asked for; else 0."""
        return self.of_asking if self.looked_up is None else self.of_asking / self.looked_up[:, None]

    @property
    def of_asking(self) -> Float[np.ndarray, "n a"]:
        """What each answer weighs among the rows that tell anything, shape (n, |A|): by how likely it was asked for."""
        units, found = self.unit >= 0, self.asked.astype(np.float64)
        found[:, units] /= (self.each if self.single is None else self.single)[:, self.unit[units]]
        return found

    @property
    def stabilised(self) -> Float[np.ndarray, "n a"]:
        """What each answer weighs beside its row's features, shape (n, |A|)."""
        if self.plain is None:
            return super().stabilised
        units, found = self.unit >= 0, self.asked.astype(np.float64)
        found[:, units] *= (self.plain / (self.each if self.single is None else self.single))[:, self.unit[units]]
        return found

    def full(self, members: Bool[np.ndarray, "n a"]) -> Bool[np.ndarray, " n"]:
        """Return about which queries nobody else could have been asked: members are as many as ever are, shape (n,)."""
        if self.sizes is None:
            return np.zeros(len(members), dtype=bool)
        return self._units(members).sum(axis=1) >= np.flatnonzero(self.sizes).max(initial=0)

    def _units(self, members: np.ndarray) -> np.ndarray:
        """Of which units a row has a member, shape (n, u)."""
        inside = np.zeros(self.each.shape, dtype=bool)
        for j in np.flatnonzero(self.unit >= 0):
            inside[:, self.unit[j]] |= members[:, j]
        return inside

    def chance(self, members: Bool[np.ndarray, "n a"]) -> Float[np.ndarray, " n"]:
        """Return the probability that all members were asked, shape (n,)."""
        inside = self._units(members)
        if self.odds is None or self.sizes is None:
            found = np.where(inside, self.each, 1.0).prod(axis=1)
        else:
            found = _joint(self.odds, self.sizes, inside)
        return found if self.looked_up is None else found * self.looked_up


def learn_looked_up(
    X: Float[np.ndarray, "n d"],
    audited: Bool[np.ndarray, " n"],
    groups: Shaped[np.ndarray, " n"],
    *,
    answers: Answers | None = None,
    info: Float[np.ndarray, "n a"] | None = None,
    random_state: int = 0,
) -> Float[np.ndarray, " n"]:
    """Return how likely the truth of each row was looked up, cross-fitted by group, shape (n,).

    By its features, and, where those say more, by who was asked and what they said: mostly one looks where they differ.
    One looks when all have answered, so that this is the last of the conditional chances whose product a row is weighed
    by; that of asking is then learned from all rows, looked up or not.

    Args:
        X: shape (n, d), what was known before asking.
        audited: shape (n,), of which rows it was.
        groups: shape (n,), which rows stay together.
        answers: what was answered.
        info: shape (n, |A|), what came back with the answers; NaN where nothing did.
        random_state: the seed of folds and trees.
    """
    fold, looked = _folds(groups, random_state), audited[:, None].astype(np.float64)
    found = being_asked(X, looked, fold, random_state)
    if answers is not None:
        asked = answers.states != Cell.NOT_ASKED
        everybody, votes = range(asked.shape[1]), _votes(answers)
        said = [_where_asked(answers, info, j) for j in everybody if asked[:, j].any()]
        design = [
            X,
            asked.astype(np.float64),
            _differ(answers, asked.any(axis=0)),
            _pairs(votes),
            *filter(_is_told, said),
        ]
        richer = being_asked(np.hstack(design), looked, fold, random_state)
        if better(np.square(richer - looked), np.square(found - looked))[0]:
            found = richer
    return np.clip(found[:, 0], LEAST, 1.0)


def _folds(groups: np.ndarray, random_state: int) -> np.ndarray:
    count = min(_FOLDS, len(np.unique(groups)))
    return folds(groups, count, random_state=random_state) if count > 1 else np.zeros(len(groups), dtype=np.intp)


def _heard(answers: Answers | None, info: np.ndarray | None, always: np.ndarray) -> np.ndarray | None:
    """What those said who are always asked, and what came back with it, as columns; None where neither tells."""
    if answers is None or not always.any():
        return None
    found = [_told(answers, info, j) for j in np.flatnonzero(always).tolist()]
    there = [each for each in found if each is not None]
    if np.count_nonzero(always) > 1:
        # Of free words, too: whether two differ is told of any.
        there.append(_differ(answers, always))
    return np.hstack(there) if there else None


def _told(answers: Answers, info: np.ndarray | None, j: int) -> np.ndarray | None:
    """What an entity said, of few kinds or a number, and what came back with it, as columns; None where neither is."""
    kinds = _kinds(answers, j)
    if kinds is None and _numbers(answers):
        spoke = answers.states[:, j] == Cell.ANSWERED
        kinds = _steps(np.where(spoke, answers.values[:, j].astype(np.float64), np.nan))
    found = [kinds, None if info is None else _steps(info[:, j])]
    there = [each for each in found if each is not None]
    return np.hstack(there) if there else None


def _where_asked(answers: Answers, info: np.ndarray | None, j: int) -> np.ndarray | None:
    """What an entity said, and not that it spoke: 0 in the mean of those rows where it was asked, and in all others."""
    told, there = _told(answers, info, j), answers.states[:, j] != Cell.NOT_ASKED
    return None if told is None else np.where(there[:, None], told - told[there].mean(axis=0), 0.0)


def _is_told(columns: np.ndarray | None) -> TypeGuard[np.ndarray]:
    return columns is not None


def _numbers(answers: Answers) -> bool:
    return answers.values.dtype.kind in "iuf"


def _steps(values: np.ndarray) -> np.ndarray | None:
    """A column of numbers by rank, and by cuts between equal parts; 0 where there is none. None where all are alike."""
    known = np.isfinite(values)
    cuts = np.unique(np.quantile(values[known], np.arange(1, _PARTS) / _PARTS)) if known.any() else np.empty(0)
    if not known.any() or np.ptp(values[known]) <= 0:
        return None
    rank = np.zeros(len(values))
    rank[known] = rankdata(values[known]) / known.sum() - 0.5
    return np.column_stack([rank, known[:, None] & (values[:, None] > cuts)]).astype(np.float64)


def _differ(answers: Answers, some: np.ndarray) -> np.ndarray:
    """How far those disagree who are among some: of numbers how far they lie apart."""
    if _numbers(answers) and len(np.unique(answers.values)) > _MOST_KINDS:
        spoke = (answers.states == Cell.ANSWERED)[:, some]
        values = answers.values[:, some].astype(np.float64)
        span = np.where(spoke, values, -np.inf).max(axis=1) - np.where(spoke, values, np.inf).min(axis=1)
        found = _steps(np.where(spoke.sum(axis=1) > 1, span, np.nan))
        return np.zeros((len(span), 0)) if found is None else found
    return _doubt(_votes(answers)[:, some])


def _kinds(answers: Answers, j: int) -> np.ndarray | None:
    """An entity's answers as columns of 0 and 1; None where there are too many kinds."""
    spoke = answers.states[:, j] == Cell.ANSWERED
    kinds = np.unique(answers.values[spoke, j])
    if not 1 < len(kinds) <= _MOST_KINDS:
        return None
    return ((answers.values[:, j, None] == kinds) & spoke[:, None]).astype(np.float64)


def _votes(answers: Answers) -> np.ndarray:
    """Answers as numbers of kinds, −1 where there is none, shape (n, |A|)."""
    spoke = answers.states == Cell.ANSWERED
    found = np.full(spoke.shape, -1)
    found[spoke] = np.unique(answers.values[spoke], return_inverse=True)[1].reshape(-1)
    return found


def _doubt(votes: np.ndarray) -> np.ndarray:
    """How far those disagree who spoke, shape (n, 3): what they share, and whether two or three of them differ.

    Whoever asks in turn asks on where answers differ, which no sum of single answers tells.
    """
    spoke = votes >= 0
    most = np.stack([(votes == votes[:, [j]]).sum(axis=1) * spoke[:, j] for j in range(votes.shape[1])], axis=1)
    count, largest = spoke.sum(axis=1), most.max(axis=1, initial=0)
    apart = (count - largest) / np.maximum(count, 1)
    return np.column_stack([apart, count > largest, count > largest + 1]).astype(np.float64)


def _pairs(votes: np.ndarray) -> np.ndarray:
    """Which two of those who spoke most often differ, a column for each two."""
    most = np.argsort(-(votes >= 0).sum(axis=0), kind="stable")[:_MOST_COMPARED]
    one, other = (votes[:, most[each]] for each in np.triu_indices(len(most), 1))
    return ((one != other) & (one >= 0) & (other >= 0)).astype(np.float64)


def _successive(
    each: np.ndarray,
    columns: np.ndarray,
    unit: np.ndarray,
    answers: Answers,
    info: np.ndarray | None,
    fold: np.ndarray,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Chances given whom was asked before and what they said, and of each alone; None where that does not matter.

    Those asked most often are taken to be asked first. Conditioning on whom was asked, and never on who follows, keeps
    the product of the chances an honest weight, and so is what a unit's own answer weighs: one by how likely it was
    asked, times how much likelier what was asked up to there is without what was said, than with it, which is a
    stabilised weight (Robins, Hernán and Brumback 2000).
    """
    if len(np.unique(fold)) < 2:
        return None
    order = np.argsort(-columns.mean(axis=0), kind="stable")
    found, single, matters = each.copy(), each.copy(), False
    likelier = np.ones(len(each))
    before: list[np.ndarray] = []
    said: list[np.ndarray] = []
    heard = unit < 0
    for u in order:
        here = columns[:, u]
        logit = np.log(each[:, u : u + 1] / np.maximum(1.0 - each[:, u : u + 1], 1e-3))
        if said or np.count_nonzero(heard) > 1:
            plain = logistic(np.hstack([logit, *before]), here, fold)
            richer = logistic(np.hstack([logit, *before, *said, _differ(answers, heard)]), here, fold)
            won = better(np.square(richer - here)[:, None], np.minimum(np.square(plain - here), np.inf)[:, None])
            if won[0] and np.std(richer - plain) > _LEAST_MOVED:
                found[:, u], matters = richer, True
                likelier *= _came(richer, here) / _came(plain, here)
        single[:, u] = each[:, u] * likelier
        before.append(here[:, None].astype(np.float64))
        heard = heard | (unit == u)
        for j in np.flatnonzero(unit == u).tolist():
            told = _where_asked(answers, info, j)
            if told is not None:
                said.append(told)
    return (found, single) if matters else None


def _came(chances: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """How likely it was what came: that somebody was asked, or was not."""
    return np.clip(np.where(asked, chances, 1.0 - chances), LEAST, 1.0)


def _coupled(each: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Odds and a tilt of sizes by which as many are asked a row as the log has; None where draws are independent.

    The joint law with the given chances and numbers a row that is otherwise as random as can be.
    """
    if columns.shape[1] < 2:
        # One goes together with nobody, however sure it is whether he is asked.
        return None
    size = columns.sum(axis=1)
    beyond = np.square(size - each.sum(axis=1))
    expected = (each * (1.0 - each)).sum(axis=1)
    gap = beyond - expected
    chance = _DEVIATIONS * gap.std() / np.sqrt(len(gap)) + 1e-9
    # Numbers that vary more than independent draws would, although the features have a say, are features not told
    # well enough: to tilt sizes by them would weigh a handful of rows for all.
    if abs(gap.mean()) <= chance or (gap.mean() > 0 and bool(np.ptp(each, axis=0).max() > _SPREAD)):
        return None
    units = each.shape[1]
    wanted = np.bincount(size, minlength=units + 1) / len(size)
    sizes = (wanted > 0).astype(np.float64)
    odds = np.clip(each, LEAST, 1.0 - 1e-6)
    odds = odds / (1.0 - odds)
    none = np.zeros(each.shape, dtype=bool)
    for _ in range(_ROUNDS):
        # The overall scale of odds is the tilt's own: kept from drifting, or both would run away together.
        odds /= np.exp(np.log(odds).mean(axis=1, keepdims=True))
        sums = symmetric(odds, none)
        law = sums * sizes
        law /= law.sum(axis=1, keepdims=True)
        sizes = np.where(wanted > 0, sizes * wanted / np.maximum(law.mean(axis=0), 1e-12), 0.0)
        total = (sums * sizes).sum(axis=1)
        inclusion = np.empty_like(each)
        for u in range(units):
            inside = none.copy()
            inside[:, u] = True
            inclusion[:, u] = odds[:, u] * (symmetric(odds, inside)[:, :-1] * sizes[1:]).sum(axis=1) / total
        odds *= each / np.maximum(inclusion, 1e-9)
    return odds, sizes


def _joint(odds: np.ndarray, sizes: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """The probability that at least the units inside were asked, shape (n,)."""
    total = (symmetric(odds, np.zeros(inside.shape, dtype=bool)) * sizes).sum(axis=1)
    rest = symmetric(odds, inside)
    count = inside.sum(axis=1)
    degree = np.arange(len(sizes)) + count[:, None]
    tilt = np.where(degree < len(sizes), sizes[np.minimum(degree, len(sizes) - 1)], 0.0)
    return np.where(inside, odds, 1.0).prod(axis=1) * (rest * tilt).sum(axis=1) / total
