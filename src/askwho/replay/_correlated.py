"""Errors that go together: how far two entities' do, and who errs beside those who are known to."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtr, ndtri

# Correlations that are tried, in steps that some thousand rows can tell apart; nobody is another's mirror or copy.
_TRIED = np.linspace(-0.5, 0.95, 59)
# Terms of the tetrachoric series: those beyond are a thousandth of it at a correlation of 0.7, three hundredths at 0.9.
_TERMS = 12
# Sweeps of Gibbs' sampler: with correlations of 0.8 what is drawn stands from the fifth on.
_SWEEPS = 15
# Newton's steps from one correlation for all: a fourth moves none by a thousandth.
_STEPS = 3
# What two entities mostly share, and how far panels differ in it: in the mean over pairs .19 to .47 on six recorded
# logs (services, networks and people, language models), beyond what their queries' features tell; six are few, so twice
# as far. Where one was asked about each query nothing else is known, and errors taken for independent would make every
# committee too good.
_USUAL, _PANELS = 0.38, 0.24
# An eigenvalue of correlations is no less: entities that err alike are still two.
_LEAST_OWN = 0.02


def erring(
    likely: np.ndarray,
    link: np.ndarray,
    wrong: np.ndarray,
    keep: np.ndarray,
    rng: np.random.Generator,
    told: np.ndarray | None = None,
) -> tuple[Bool[np.ndarray, "n a"], Float[np.ndarray, "n t"]]:
    """Return who errs, and what comes back beyond that: known where `keep`, else drawn by Gibbs' sampler.

    Behind every error lies a normal number below the level that the entity errs at; those of a query are correlated,
    with each other and with what came back with its answers (Albert and Chib 1993).

    Args:
        likely: shape (n, |A|), how likely each errs.
        link: shape (|A| + t, |A| + t), the correlations.
        wrong: shape (n, |A|), who erred, where that is known.
        keep: shape (n, |A|), where it is, and stays.
        rng: where chance comes from.
        told: shape (n, t), what came back, as normal numbers; NaN where that is to be drawn. None where nothing does.
    """
    told = np.empty((len(likely), 0)) if told is None else told
    count, level, precision = likely.shape[1], ndtri(likely), np.linalg.inv(link)
    free, known = np.full(told.shape, np.inf), ~np.isnan(told)
    # Of a number between two levels the place between their quantiles is uniform.
    low = np.hstack([np.where(keep & ~wrong, level, -np.inf), -free])
    high = np.hstack([np.where(keep & wrong, level, np.inf), free])
    behind = _between(low, high, rng)
    if not keep.any() and not known.any():
        # Nothing to be beside: they are drawn together.
        behind = behind @ np.linalg.cholesky(link).T
        return behind[:, :count] < level, behind[:, count:]
    behind[:, count:][known] = told[known]
    for _ in range(_SWEEPS):
        for j, own in enumerate(np.diag(precision)):
            deviation = own**-0.5
            mean = behind[:, j] - behind @ precision[:, j] / own
            drawn = mean + deviation * _between((low[:, j] - mean) / deviation, (high[:, j] - mean) / deviation, rng)
            behind[:, j] = drawn if j < count else np.where(known[:, j - count], told[:, j - count], drawn)
    return np.where(keep, wrong, behind[:, :count] < level), behind[:, count:]


def _between(low: np.ndarray, high: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Normal numbers between two levels."""
    first, last = ndtr(low), ndtr(high)
    return ndtri(np.clip(first + rng.random(first.shape) * (last - first), 1e-12, 1 - 1e-12))


def correlations(likely: np.ndarray, wrong: np.ndarray, counted: np.ndarray) -> Float[np.ndarray, "a a"]:
    """Return tetrachoric correlations of who errs, shape (|A|, |A|), each drawn to its like as far as its rows say.

    Two who err often together are seen by the sum of products of what came beyond what was expected, which is a power
    series in their correlation. Those of like skill mostly share more: pairs are drawn to a line in the sum and in the
    difference of their levels, that to one correlation for all (empirical Bayes, at both steps), and that to what other
    panels have: which stands where no two were asked about one query.

    Args:
        likely: shape (n, |A|), how likely each errs, between 0 and 1.
        wrong: shape (n, |A|), who erred, where somebody was asked.
        counted: shape (n, |A|), as how many rows each answer counts; 0 where nobody was asked.
    """
    count = likely.shape[1]
    if count == 1:
        return np.ones((1, 1))
    level = ndtri(likely)
    # Hermite's polynomials times the density, each from the two before it (Abramowitz and Stegun 1964, 22.7.14).
    part = counted * np.exp(-0.5 * np.square(level)) / math.sqrt(2.0 * math.pi)
    series, before = [part.T @ part], np.zeros_like(part)
    for k in range(1, _TERMS):
        part, before = level * part - (k - 1) * before, part
        series.append(part.T @ part / math.factorial(k + 1))
    beyond, spread = counted * (wrong - likely), np.square(counted) * likely * (1.0 - likely)
    together, chance = beyond.T @ beyond, spread.T @ spread
    apart = np.triu_indices(count, 1)
    skill = ndtri(likely.mean(axis=0))
    sides = np.stack([skill[:, None] + skill, np.abs(skill[:, None] - skill)])[:, *apart]
    pairs = [each[apart] for each in series]
    found = np.full(len(apart[0]), _one_for_all(pairs, together[apart], chance[apart]))
    for _ in range(_STEPS):
        slope = np.maximum(sum((k + 1) * each * found**k for k, each in enumerate(pairs)), 1e-12)
        told = found + (together[apart] - sum(each * found ** (k + 1) for k, each in enumerate(pairs))) / slope
        variance = np.maximum(chance[apart], 1e-12) / np.square(slope)
        prior, between = _in_line(told, variance, sides)
        found = np.clip((told * between + prior * variance) / (between + variance), _TRIED[0], _TRIED[-1])
    link = np.eye(count)
    link[apart] = found
    return _positive(link + link.T - np.eye(count))


def with_told(
    link: np.ndarray,
    told: np.ndarray,
    entities: np.ndarray,
    likely: np.ndarray,
    wrong: np.ndarray,
    counted: np.ndarray,
) -> Float[np.ndarray, "b b"]:
    """Return the correlations of who errs and of what comes back with answers, of |A| and t.

    What comes back lies beyond a line that knows whether its own answer is right: it goes together with other answers,
    and with what comes back with them. Pairs are drawn to their mean, and that to nothing, as their rows say.

    Args:
        link: shape (|A|, |A|), of who errs.
        told: shape (n, t), what came back, as normal numbers; NaN where nothing did.
        entities: shape (t,), with whose answers.
        likely: shape (n, |A|), how likely each errs.
        wrong: shape (n, |A|), who erred, where somebody was asked.
        counted: shape (n, |A|), as how many rows each answer counts; 0 where nobody was asked.
    """
    count, size = len(link), told.shape[1]
    if not size:
        return link
    there = np.where(np.isnan(told), 0.0, counted[:, entities])
    known = there * np.where(np.isnan(told), 0.0, told)
    found = np.eye(count + size)
    found[:count, :count] = link
    # A normal number that goes together with another is lower where the other is below a level.
    level = ndtri(likely)
    slope = there.T @ (counted * np.exp(-0.5 * np.square(level)) / math.sqrt(2.0 * math.pi))
    product = -known.T @ (counted * (wrong - likely))
    chance = np.square(there).T @ (np.square(counted) * likely * (1.0 - likely))
    other = np.arange(count) != entities[:, None]
    across = np.zeros((size, count))
    across[other] = _to_mean(product[other], slope[other], chance[other])
    found[count:, :count], found[:count, count:] = across, across.T
    apart, both = np.triu_indices(size, 1), np.square(there).T @ np.square(there)
    pairs = np.zeros((size, size))
    pairs[apart] = _to_mean((known.T @ known)[apart], (there.T @ there)[apart], both[apart])
    found[count:, count:] += pairs + pairs.T
    return _positive(found)


def _to_mean(product: np.ndarray, slope: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Correlations of pairs, each drawn to their mean, and that to nothing, as far as they are in doubt."""
    told = product / np.maximum(slope, 1e-12)
    weights = np.square(slope) / np.maximum(chance, 1e-12)
    mean = float((weights * told).sum() / (weights.sum() + 1.0 / _PANELS**2))
    between = max(1e-6, float((weights * np.square(told - mean) - 1.0).sum()) / max(float(weights.sum()), 1e-12))
    return np.clip((told * between * weights + mean) / (between * weights + 1.0), _TRIED[0], _TRIED[-1])


def _positive(link: np.ndarray) -> np.ndarray:
    """The nearest correlations that can be: no eigenvalue is nothing."""
    values, vectors = np.linalg.eigh(link)
    link = (vectors * np.maximum(values, _LEAST_OWN)) @ vectors.T
    deviation = np.sqrt(np.diag(link))
    return link / np.outer(deviation, deviation)


def _one_for_all(pairs: Sequence[np.ndarray], together: np.ndarray, chance: np.ndarray) -> float:
    """The likeliest correlation that all pairs have alike, beside what other panels have."""
    at = sum(float(each.sum()) * _TRIED ** (k + 1) for k, each in enumerate(pairs))
    off = np.square(at - together.sum()) / max(float(chance.sum()), 1e-12)
    return float(_TRIED[(off + np.square((_TRIED - _USUAL) / _PANELS)).argmin()])


def _in_line(told: np.ndarray, variance: np.ndarray, sides: np.ndarray) -> tuple[np.ndarray, float]:
    """A line through what is told of pairs, drawn to their mean as far as it is in doubt; how far pairs are off it."""
    weights = 1.0 / variance
    mean = _drawn(told, weights)
    off = max(0.0, float((weights * (np.square(told - mean) - variance)).sum() / weights.sum()))
    if len(told) > 1 + len(sides):
        weights = 1.0 / (variance + off)
        centred = sides - (weights * sides).sum(axis=1, keepdims=True) / weights.sum()
        mean = _drawn(told, weights)
        information = (weights * centred) @ centred.T + 1e-9 * np.eye(len(sides))
        slopes = np.linalg.solve(information, (weights * centred) @ (told - mean))
        sure = float(slopes @ information @ slopes)
        line = mean + max(0.0, 1.0 - len(sides) / max(sure, 1e-12)) * (slopes @ centred)
    else:
        line = np.full(len(told), mean)
    weights = 1.0 / variance
    return line, max(1e-6, float((weights * (np.square(told - line) - variance)).sum() / weights.sum()))


def _drawn(told: np.ndarray, weights: np.ndarray) -> float:
    """The mean over pairs, drawn to what other panels have as far as it is in doubt."""
    return float(((weights * told).sum() + _USUAL / _PANELS**2) / (weights.sum() + 1.0 / _PANELS**2))
