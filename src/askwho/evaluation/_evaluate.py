"""What a policy would have got and paid on a log it has not seen, beside the plain baselines."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from askwho import _validation as check
from askwho._threads import in_order, one_thread_each, processors
from askwho.data import Log
from askwho.evaluation import _settings as settings
from askwho.evaluation._headline import both, frontier_of, headline, plain
from askwho.evaluation._points import Resamples, Sums, Tally, error_interval
from askwho.exceptions import InvalidInputError
from askwho.policy import Outcomes, Policy
from askwho.replay import Replay, checked_scores, later, none_later

# So many rows are judged at a time: memory does not grow with the log.
_ROWS = 1 << 14


def evaluate(
    policy: Policy,
    log: Log | Iterable[Log],
    *,
    scores: ArrayLike | None = None,
    draws: int = 200,
    random_state: int = 0,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Return everything known of the policy on a log, as plain numbers, each figure with a bootstrap interval.

    Where both say when their rows were, only those count that came after all that the policy comes from.

    Args:
        policy: fitted on other rows.
        log: rows that the policy has not seen; whole, or in batches (`read_logs`) where it is larger than memory.
        scores: shape (n, |A|), somebody else's, higher asked earlier, to rank by in place of the policy's. Nothing is
            then told of asking in turn, which goes by what was heard and not by a ranking.
        draws: how many bootstrap resamples, by group.
        random_state: their seed.
        progress: called with the number of rows judged so far.

    Returns:
        `task`, `unit`, `n`, `left_out` (rows that were not later), `entities`, `baselines`, `fixed_k`, `adaptive`,
        `sequential`, `headline`, `effective_rows`. `on_frontier` says which settings held-out rows of the policy's own
        log found to be worth their fee; `error` is what a deployed committee gets (in `unit`),
        None where fewer than 30 effective rows stand behind it; what needs the truth is named `needs_truth_*`.
    """
    check.whole_number(random_state, "random_state", minimum=0, maximum=2**32 - 1)
    ranks = None if scores is None else checked_scores(scores, policy, len(log) if isinstance(log, Log) else None)

    def work(piece: tuple[int, int, Log]) -> Sums:
        number, before, whole = piece
        # Scores that are too few are refused as the first rows that lack them are judged.
        given = None if ranks is None else ranks[before : before + len(whole)]
        return sums_of(policy, whole, scores=given, draws=draws, random_state=random_state, number=number)

    total = Sums()
    # The sums of each piece are added in the order of the rows, whoever is done first.
    with one_thread_each():
        for sums in in_order(work, _numbered(_pieces(log) if isinstance(log, Log) else log), workers=processors()):
            total += sums
            if progress is not None:
                progress(total.n)
    read = total.n + total.left_out
    if ranks is not None and total.n:
        check.same_shape(ranks, "scores", (read, len(policy.panel)), "one row for each query of the log")
    return figures(policy, total)


def sums_of(
    policy: Policy,
    log: Log,
    *,
    scores: np.ndarray | None = None,
    draws: int = 200,
    random_state: int = 0,
    number: int = 0,
) -> Sums:
    """Return the sums of a batch of a log; the arguments as in `evaluate`.

    Args:
        policy: fitted on other rows.
        log: rows that the policy has not seen.
        scores: shape (n, |A|), somebody else's, to rank by; fewer where the last rows have none.
        draws: how many bootstrap resamples, by group.
        random_state: their seed.
        number: what tells the batch from others: the seed of committees that are drawn at random.
    """
    rows = later(policy, log)
    if not len(rows):
        return Sums(left_out=len(log))
    batch = log if len(rows) == len(log) else log.rows(rows)
    resamples = Resamples.of(batch.groups, policy.unit, draws=draws, random_state=random_state)
    given = None if scores is None else scores.take(rows[rows < len(scores)], axis=0)
    held = Replay.of(policy, batch, scores=given)
    every = settings.every_point(policy, held, random_state=number, in_turn=scores is None)
    # All together: it is the resamples that take long to read.
    tallies = iter(resamples.tally([point for points in every.values() for point in points]))
    found = {name: list(islice(tallies, len(points))) for name, points in every.items()}
    return Sums(len(batch), len(log) - len(batch), found)


def _pieces(log: Log) -> Iterator[Log]:
    for start in range(0, len(log), _ROWS):
        yield log if len(log) <= _ROWS else log.rows(np.arange(start, min(start + _ROWS, len(log))))


def _numbered(logs: Iterable[Log]) -> Iterator[tuple[int, int, Log]]:
    """Each batch with its number, and how many rows came before it."""
    before = 0
    for number, log in enumerate(logs):
        yield number, before, log
        before += len(log)


def figures(policy: Policy, sums: Sums) -> dict[str, Any]:
    """Return what sums over all batches of a log tell: what `evaluate` returns."""
    if not sums.n and not sums.left_out:
        raise InvalidInputError("`log` must not be empty: there is no row in it.")
    if not sums.n:
        raise none_later(policy, sums.left_out)
    found = sums.found
    names, fees, errors = policy.panel.names, policy.judge.fees.usual, np.array(policy.facts.entity_errors)
    outside = np.flatnonzero(~policy.panel.own)
    best = int(outside[errors[outside].argmin()])
    cheapest = int(outside[np.lexsort((errors[outside], fees[outside]))[0]])
    singles = found["single"]
    return {
        "task": policy.task,
        "unit": policy.unit.to_json(),
        "n": sums.n,
        "left_out": sums.left_out,
        "entities": [{"name": name, "fee": float(fees[j]), **_error_of(singles[j])} for j, name in enumerate(names)],
        "baselines": {
            "best_single": {"name": names[best], **figures_of(singles[best])},
            "cheapest": {"name": names[cheapest], **figures_of(singles[cheapest])},
            **{name: figures_of(found[name][0]) for name in found if name.endswith("_all") and found[name]},
            "random": [figures_of(tally) for tally in found["random"]],
            "oracle": [_needs_truth(figures_of(tally)) for tally in found["oracle"]],
        },
        "fixed_k": [figures_of(tally) for tally in found["fixed_k"]],
        "adaptive": _settings_of(policy.tried, found["adaptive"]),
        "sequential": [] if policy.turns is None else _settings_of(policy.turns.tried, found["sequential"]),
        "headline": headline(policy, found, singles[best]),
        "effective_rows": {
            name: min((t.effective for t in found[name]), default=None)
            for name in ("fixed_k", "adaptive", "sequential")
        },
    }


def _settings_of(tried: Outcomes, tallies: Sequence[Tally]) -> list[dict[str, Any]]:
    """The settings of one kind, and which of them lie on the frontier of held-out rows: nothing is chosen on these."""
    taken = set(frontier_of([tried]).tolist()) if tallies else set[int]()
    return [{**figures_of(tally), "on_frontier": i in taken} for i, tally in enumerate(tallies)]


def figures_of(tally: Tally) -> dict[str, Any]:
    """Return what a setting gets and pays in the mean, with intervals, after its labels."""
    told: dict[str, float | None] = dict.fromkeys(tally.means)
    for name, (total, count) in tally.means.items():
        if count and tally.paid:
            mean = np.array([total / count])
            told[name] = float((tally.shown(mean) if name.startswith("needs_truth") else mean)[0])
    return {
        **tally.labels,
        **told,
        **_error_of(tally),
        **both("mean_fee", tally.fee if tally.paid else np.full(len(tally.fee), np.nan)),
    }


def _error_of(tally: Tally) -> dict[str, Any]:
    """An error with its interval and how many rows stand behind it; None where these are too few."""
    told: dict[str, Any] = {"error": None, "error_interval": [None, None], "effective_rows": tally.effective}
    if tally.told:
        told["error"], told["error_interval"] = float(tally.shown(tally.loss)[0]), plain(error_interval(tally))
    return told


def _needs_truth(row: dict[str, Any]) -> dict[str, Any]:
    return {(f"needs_truth_{key}" if key.startswith("error") else key): value for key, value in row.items()}
