"""Asking in turn, learned from held-out rows."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho.beliefs import (
    Asking,
    Beliefs,
    Cascade,
    Case,
    Pooled,
    efficient,
    orders_of,
    random_masks,
    worth_asking,
)
from askwho.core import each_fold, folds
from askwho.fitting._small_panels import clearly_better, learn_by_sets
from askwho.policy import Grades, InTurn, Outcomes
from askwho.replay import Judges, Replay, like_at_once, price_grid

FEWEST_WHOLE = 8
"""A committee of k is worth learning of where so many rows have k answers."""
# Prices that the rule is learned at; between two it is interpolated.
_PRICES = 14
# Logs of so many rows at the most have cascades beside the rule that may ask anybody next. With 210 to 1,440 rows the
# blind area was up to .005 less by them on every log that was tried, with 3,000 rows of 29 models .001 more.
_CASCADE_ROWS = 2_000


def learn_turns(
    replay: Replay,
    real: Replay,
    fold: Int[np.ndarray, " n"],
    *,
    random_state: int,
    like: Outcomes,
    others: Replay | None = None,
) -> tuple[InTurn, Judges]:
    """Return the rule, what it got, paid and asked on rows that it had not seen, and which rule judges which rows.

    For small panels the rule for every set of those asked, unless the plainer one is clearly better.

    Args:
        replay: rows of the log, out of fold, with an answer of everybody; of grades, with those that are there.
        real: the same rows with the answers that are there.
        fold: shape (n,).
        random_state: the seed.
        like: what asking at once did on the same rows, and on others behind them.
        others: rows of which no truth is known.
    """
    beliefs, case, answers, truth = replay.believed()
    panel = replay.log.panel
    prices = price_grid(panel.fees, case.expected if case.costs is None else replay.seen.expected, _PRICES)
    asked = replay.asked
    right, told = truth, case
    if isinstance(beliefs, Beliefs | Grades) and isinstance(case, Case):
        right = beliefs.right(answers, case.codes, truth)
        # Of grades the log may lack what came back: whoever was not asked tells nothing.
        told = replace(case, codes=np.where(asked, case.codes, -1))
    entities = worth_asking(beliefs.pool, told, right, asked=asked, fees=panel.fees, prices=prices)
    # A base answers whether it is worth asking or not, and is heard with the others.
    base = np.flatnonzero(panel.is_kind("base") & ~beliefs.silent & case.spoke.any(axis=0))
    entities = np.union1d(entities, base)
    everybody = len(entities) == np.any(case.spoke, axis=0).sum()

    # Committees that hardly a row has are not asked for: what they would get could never be seen.
    most = _most(real, entities)

    def pool(rows: np.ndarray) -> Pooled:
        # Weights learned from a whole large panel are about its weak members, and too sure of the good ones together.
        if everybody and not isinstance(beliefs, Grades):
            return beliefs.pool.only(entities)
        masks = random_masks(asked[rows][:, entities], random_state=random_state)
        some: Any = case.rows(rows).only(entities)
        return beliefs.taught(some, right[rows], masks)

    def rule(rows: np.ndarray) -> Asking:
        return Asking.fit(
            pool(rows),
            case.rows(rows),
            asked=asked[rows],
            fees=replay.seen.fees[rows],
            prices=prices,
            entities=entities,
            free_start=bool(beliefs.silent.any()),
            most=most,
            random_state=random_state,
        )

    def settled(rows: np.ndarray) -> Asking:
        return rule(rows) if once is None else replace(rule(rows), once=once)

    # Two halves suffice: what is learned here has few parameters.
    half, once = fold % 2, None
    if isinstance(beliefs, Grades):
        # Each with rows of every fold: where little is known beforehand, folds differ by more than the rows of one.
        half = folds(real.log.groups, 2, random_state=random_state)
        once = _where_once(real, half, prices, rule)

    # Between two prices the rule is a mixture of theirs: more of them cost little, and a budget is met more closely.
    tried = np.sort(np.concatenate([prices, np.sqrt(prices[1:-1] * prices[2:])]))
    if once is not None:
        # Where one is asked and nobody after, it is asked as at once: at the same prices a budget buys the same.
        tried = np.union1d(tried, like.prices)
    n = len(case)
    if others is not None or (real.chances is not None and real.log.answers is None):
        whole = settled(np.arange(n))
        parts = [(held, real.rows(held).walked(settled(rows), tried)) for rows, held in each_fold(half)]
        if others is not None:
            parts.append((n + np.arange(len(others.log)), others.walked(whole, tried)))
        order = np.argsort(np.concatenate([held for held, _ in parts]))
        got, paid, turns, weights = (
            np.hstack([getattr(done, name) for _, done in parts])[:, order]
            for name in ("errors", "fees", "sizes", "weights")
        )
        error, fee = like_at_once(like, tried, got, paid, weights)
        sizes = np.rint(turns).astype(np.intp)
        learned = InTurn(whole, real.outcomes(tried, error, fee, sizes, in_turn=True, others=others))
        return learned, [(np.arange(n), whole)]
    rules = [(settled(rows), rows, held) for rows, held in each_fold(half)]
    whole, tables = settled(np.arange(n)), _came(real, rules, tried, random_state)
    few = 0 < len(case) <= _CASCADE_ROWS and len(entities) > 0
    if few and isinstance(beliefs, Beliefs) and isinstance(case, Case) and case.costs is None:
        cascade = _cascades(replay, real, beliefs, case, right, tried, random_state=random_state)
        rules = [(replace(one, cascade=cascade(rows)), rows, held) for one, rows, held in rules]
        whole, tables = _cheaper(whole, tables, cascade, _came(real, rules, tried, random_state), tried)
    learned = InTurn(whole, real.outcomes(tried, *tables, in_turn=True))
    other = learn_by_sets(real, fold, prices=tried, entities=entities, random_state=random_state)
    # It is kept where they tie: it begins with what the plainer one believes, and held-out rows are unkind to it, since
    # those that it learns from heard a base that had seen them.
    if other is not None and not clearly_better(learned.tried, other[0].tried):
        return other
    return learned, [(np.arange(n), learned.asking)]


def _most(real: Replay, entities: Int[np.ndarray, " e"]) -> int:
    """How many of some entities may be asked about a query: so many that some rows have all their answers."""
    answered = np.sort(real.asked[:, entities].sum(axis=1))[::-1]
    return max(1, int(answered[min(FEWEST_WHOLE, len(answered)) - 1])) if len(entities) else 0


def _came(
    real: Replay,
    rules: Sequence[tuple[Asking, Int[np.ndarray, " _"], Int[np.ndarray, " _"]]],
    prices: Float[np.ndarray, " p"],
    random_state: int,
) -> list[np.ndarray]:
    """What rules got, paid and asked, each (p, n); a rule comes with the rows it has seen, and those it is to judge."""
    n, anew = len(real.log), real.anew(random_state)
    tables = [np.empty((len(prices), n)), np.empty((len(prices), n)), np.empty((len(prices), n), dtype=np.intp)]
    for asking, _, held in rules:
        there = [each.rows(held) for each in anew]
        for table, each in zip(tables, real.rows(held).taken(asking, prices, there), strict=True):
            table[:, held] = each
    return tables


def _cheaper(
    asking: Asking,
    tables: list[np.ndarray],
    cascade: Callable[[np.ndarray], Cascade],
    cascaded: list[np.ndarray],
    prices: Float[np.ndarray, " p"],
) -> tuple[Asking, list[np.ndarray]]:
    """The rule with a cascade at each price at which that cost less on held-out rows, and what comes of it."""
    old, new = (got + prices[:, None] * paid for got, paid, _ in (tables, cascaded))
    used = np.nansum(new - old, axis=1) < 0
    if not used.any():
        return asking, tables
    found = replace(cascade(np.arange(tables[0].shape[1])), used=used)
    chosen = [np.where(used[:, None], new, old) for new, old in zip(cascaded, tables, strict=True)]
    return replace(asking, cascade=found), chosen


def _cascades(
    replay: Replay,
    real: Replay,
    beliefs: Beliefs,
    case: Case,
    right: Int[np.ndarray, " n"],
    prices: Float[np.ndarray, " p"],
    *,
    random_state: int,
) -> Callable[[np.ndarray], Cascade]:
    """What learns a cascade from some rows."""
    log = replay.log
    able = np.flatnonzero(~beliefs.silent & case.spoke.any(axis=0))

    def taught(rows: np.ndarray) -> Cascade:
        errors, fees = log.errors[rows].mean(axis=0), log.fees[rows].mean(axis=0)
        entities = efficient(errors, fees, able)
        some: Any = case.rows(rows)
        pool = beliefs.taught(
            some.only(entities), right[rows], random_masks(replay.asked[rows][:, entities], random_state=random_state)
        )
        return Cascade.fit(
            pool,
            some,
            right[rows],
            fees=replay.seen.fees[rows],
            prices=prices,
            entities=entities,
            orders=orders_of(errors[entities], log.panel.own[entities], _most(real, entities)),
            free_start=bool(beliefs.silent.any()),
        )

    return taught


def _where_once(
    replay: Replay, half: Int[np.ndarray, " n"], prices: Float[np.ndarray, " p"], rule: Callable[[np.ndarray], Asking]
) -> Bool[np.ndarray, " p"]:
    """Return at which prices nobody is asked by what came back, shape (p,): unless that costs clearly less.

    By more than one standard error, as elsewhere (Breiman et al. 1984): whom to keep is learned, too, and where little
    comes back to learn it from that costs more than it saves.
    """
    saved = np.full((len(prices), len(half)), np.nan)
    weights = np.ones(saved.shape)
    for rows, held in each_fold(half):
        asking, there = rule(rows), replay.rows(held)
        free = there.walked(asking, prices)
        alone = there.walked(replace(asking, once=np.ones(len(prices), dtype=bool)), prices)
        saved[:, held] = alone.errors - free.errors + prices[:, None] * (alone.fees - free.fees)
        # Rows of which both are known stand for those of which one is not.
        weights[:, held] = np.maximum(free.weights, alone.weights)
    share = np.where(np.isnan(saved), 0.0, weights)
    total = np.maximum(share.sum(axis=1), 1e-12)
    saved = np.nan_to_num(saved)
    mean = (share * saved).sum(axis=1) / total
    error = np.sqrt(np.square(share * (saved - mean[:, None])).sum(axis=1)) / total
    return mean <= error
