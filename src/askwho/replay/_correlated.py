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
    likely: np.ndarray, link: np.ndarray, wrong: np.ndarray, keep: np.ndarray, rng: np.random.Generator
) -> Bool[np.ndarray, "n a"]:
    """Return who errs, shape (n, |A|): known where `keep`, else drawn by Gibbs' sampler (Albert and Chib 1993).

    Behind every error lies a normal number below the level that the entity errs at; those of a query are correlated.

    Args:
        likely: shape (n, |A|), how likely each errs.
        link: shape (|A|, |A|), the correlations.
        wrong: shape (n, |A|), who erred, where that is known.
        keep: shape (n, |A|), where it is, and stays.
        rng: where chance comes from.
    """
    level, precision = ndtri(likely), np.linalg.inv(link)
    # Of a number between two levels the place between their quantiles is uniform.
    low, high = np.where(keep & ~wrong, level, -np.inf), np.where(keep & wrong, level, np.inf)
    behind = _between(low, high, rng)
    if not keep.any():
        # Nothing to be beside: they are drawn together.
        return behind @ np.linalg.cholesky(link).T < level
    for _ in range(_SWEEPS):
        for j, own in enumerate(np.diag(precision)):
            deviation = own**-0.5
            mean = behind[:, j] - behind @ precision[:, j] / own
            behind[:, j] = mean + deviation * _between(
                (low[:, j] - mean) / deviation, (high[:, j] - mean) / deviation, rng
            )
    return np.where(keep, wrong, behind < level)


def _between(low: np.ndarray, high: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Normal numbers between two levels."""
    first, last = ndtr(low), ndtr(high)
    return ndtri(np.clip(first + rng.random(first.shape) * (last - first), 1e-12, 1 - 1e-12))


def correlations(likely: np.ndarray, wrong: np.ndarray, asked: np.ndarray) -> Float[np.ndarray, "a a"]:
    """Return tetrachoric correlations of who errs, shape (|A|, |A|), each drawn to its like as far as its rows say.

    Two who err often together are seen by the sum of products of what came beyond what was expected, which is a power
    series in their correlation. Those of like skill mostly share more: pairs are drawn to a line in the sum and in the
    difference of their levels, that to one correlation for all (empirical Bayes, at both steps), and that to what other
    panels have: which stands where no two were asked about one query.

    Args:
        likely: shape (n, |A|), how likely each errs, between 0 and 1.
        wrong: shape (n, |A|), who erred, where somebody was asked.
        asked: shape (n, |A|), who was.
    """
    count = likely.shape[1]
    if count == 1:
        return np.ones((1, 1))
    level = ndtri(likely)
    # Hermite's polynomials times the density, each from the two before it (Abramowitz and Stegun 1964, 22.7.14).
    part = np.where(asked, np.exp(-0.5 * np.square(level)) / math.sqrt(2.0 * math.pi), 0.0)
    series, before = [part.T @ part], np.zeros_like(part)
    for k in range(1, _TERMS):
        part, before = level * part - (k - 1) * before, part
        series.append(part.T @ part / math.factorial(k + 1))
    beyond = np.where(asked, wrong - likely, 0.0)
    spread = np.where(asked, likely * (1.0 - likely), 0.0)
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
    values, vectors = np.linalg.eigh(link + link.T - np.eye(count))
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
