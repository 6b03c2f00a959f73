"""Votes: the answer with the most weight behind it, for committees of every size at once."""

from typing import get_args

import numpy as np
from jaxtyping import Float, Int

from askwho import _validation as check
from askwho._fast import loops
from askwho._types import Ties
from askwho.aggregation._committee import Committee, Verdicts
from askwho.aggregation._weights import log_odds_weights, softmax_weights

# Rows are counted in blocks, so that the tallies (rows × answers) stay in the processor's cache.
_BLOCK_CELLS = 1 << 17
# Past this many different answers a tally of them all would be mostly empty: each row numbers its own.
_MOST_CODES = 256
# The code of no answer where codes are sorted: behind every other.
_SILENT = np.iinfo(np.int64).max


def vote(committee: Committee, weights: Float[np.ndarray, "n K"], *, ties: Ties = "rank") -> Verdicts:
    """Return the answer with the largest summed weight, for every prefix of the committee.

    Args:
        committee: members in rank order.
        weights: shape (n, K); the weight of a member without an answer is ignored.
        ties: `"rank"`, to the answer whose best-ranked supporter stands highest; `"index"`, to the smallest answer
            (the paper's rule).
    """
    check.one_of(ties, "ties", get_args(Ties))
    voted = committee.voted
    shared = len(committee.classes) <= _MOST_CODES
    winners, fast = np.empty(voted.shape, dtype=np.int64), loops(len(voted))
    if fast is not None and shared and not (weights < 0).any():
        fast.leaders(committee.codes, voted, weights, ties == "rank", winners)
    else:
        step = max(1, _BLOCK_CELLS // max(voted.shape[1], len(committee.classes) if shared else 1))
        for start in range(0, len(voted), step):
            rows = slice(start, start + step)
            if shared:
                winners[rows] = _leaders(committee.codes[rows], voted[rows], weights[rows], ties)
            else:
                codes, names = _row_codes(committee.codes[rows], voted[rows])
                winners[rows] = np.take_along_axis(names, _leaders(codes, voted[rows], weights[rows], ties), axis=1)
    decided = committee.decided
    values = committee.classes[winners] if len(committee.classes) else committee.answers
    return Verdicts(values=values, decided=decided)


def majority(committee: Committee, *, ties: Ties = "rank") -> Verdicts:
    """Return the most frequent answer of every prefix (paper, Appendix A.13, d_maj)."""
    return vote(committee, np.ones(committee.order.shape), ties=ties)


def weighted_vote(committee: Committee, *, ties: Ties = "rank") -> Verdicts:
    """Return the answer with the largest softmax weight of scores (paper, Appendix A.13, d_w-vl)."""
    return vote(committee, softmax_weights(committee), ties=ties)


def log_odds_vote(committee: Committee, *, ties: Ties = "rank", n_classes: int | None = None) -> Verdicts:
    """Return the answer with the largest log-odds, from the members' expected errors.

    Args:
        committee: with expected errors in [0, 1].
        ties: as in `vote`.
        n_classes: among how many answers a wrong one is spread; the committee's, or all that were given, unless said.
    """
    count = n_classes or committee.n_classes or max(2, len(committee.classes))
    return vote(committee, log_odds_weights(committee, n_classes=count), ties=ties)


def _leaders(
    codes: Int[np.ndarray, "b K"], voted: np.ndarray, weights: np.ndarray, ties: Ties
) -> Int[np.ndarray, "b K"]:
    """The leading code after each member.

    A member can only lift its own answer, so the leader is the old one or the answer just given: one comparison a
    member. That fails when a member's weight is negative; then all answers given so far are compared.
    """
    count, size = codes.shape
    n_codes = int(codes.max()) + 1
    any_negative = bool((weights < 0).any())
    # One contiguous row a rank: the loop below reads rank by rank.
    codes, voted = np.ascontiguousarray(codes.T), np.ascontiguousarray(voted.T)
    weights = np.where(voted, weights.T, 0.0)
    at = np.arange(count) * n_codes
    tally = np.zeros(count * n_codes)
    # The rank that first gave an answer decides ties by rank; by index, the code itself does.
    first = np.full(count * n_codes, size)
    leader, best, led_since = np.zeros(count, dtype=np.int64), np.full(count, -np.inf), np.full(count, size)
    leaders = np.empty((size, count), dtype=np.int64)
    for r, (code, speaks, weight) in enumerate(zip(codes, voted, weights, strict=True)):
        cell = at + code
        summed = tally[cell] + weight
        tally[cell] = summed
        since = np.where(speaks, np.minimum(first[cell], r), size)
        first[cell] = np.minimum(first[cell], since)
        if any_negative:
            leader = _argmax(tally.reshape(count, n_codes), first.reshape(count, n_codes), size, ties)
        else:
            earlier = since < led_since if ties == "rank" else code < leader
            wins = speaks & ((summed > best) | ((summed == best) & earlier))
            leader, best, led_since = (
                np.where(wins, code, leader),
                np.where(wins, summed, best),
                np.where(wins, since, led_since),
            )
        leaders[r] = leader
    return leaders.T


def _argmax(tally: np.ndarray, first: np.ndarray, size: int, ties: Ties) -> np.ndarray:
    """The best code among those given, ties by first supporter or by code."""
    given = np.where(first < size, tally, -np.inf)
    if ties == "index":
        return given.argmax(axis=1)
    level = given == given.max(axis=1, keepdims=True)
    return np.where(level, first, size + 1).argmin(axis=1)


def _row_codes(codes: np.ndarray, voted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number each row's own answers from 0 in their sorted order; `names` leads back to the given codes."""
    silent_last = np.where(voted, codes, _SILENT)
    order = np.argsort(silent_last, axis=1, kind="stable")
    ascending = np.take_along_axis(silent_last, order, axis=1)
    places = np.zeros_like(ascending)
    places[:, 1:] = np.cumsum(ascending[:, 1:] != ascending[:, :-1], axis=1)
    local, names = np.zeros_like(ascending), np.zeros_like(ascending)
    np.put_along_axis(local, order, places, axis=1)
    np.put_along_axis(names, places, ascending, axis=1)
    return np.where(voted, local, 0), np.where(names == _SILENT, 0, names)
