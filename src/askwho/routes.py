"""Routes: decisions as a table that travels between asking and answering, and what is made of the answers."""

from typing import Any

import numpy as np

from askwho import _validation as check
from askwho.aggregation import Committee, aggregation, log_odds_weights
from askwho.answers import Answers, Cell, column
from askwho.data import Table, lists, named
from askwho.exceptions import InvalidInputError
from askwho.policy import Policy
from askwho.router import POSTERIOR
from askwho.selection import Selection, in_order

_NEEDED = ("order", "k", "expected_errors", "base_answer")


def make_routes(policy: Policy, queries: Table, **target: Any) -> dict[str, list[Any]]:  # noqa: ANN401 - Router.select's
    """Return one row a query: whom to ask, in which order, how many, at what expected fee and error.

    `ask` leaves out our own base, which answers for itself in `base_answer`; `order` names everybody down to the
    largest committee, so that it says who is next where an answer does not come.
    """
    X = policy.features(queries)
    selection = policy.router.select(X, **target)
    judged = policy.router.judge(X)
    expected = judged.expected
    names = np.array(policy.panel.names)
    own = policy.panel.names[0] if policy.base is not None else None
    curve = policy.router.curve_.predict(X, expected, selection.order)
    committee_error = in_order(curve, selection.k[:, None] - 1)[:, 0]
    if policy.router.task_ == "regression":
        committee_error = np.sqrt(np.maximum(committee_error, 0))
    base = [None] * len(X) if policy.base is None else policy.own_answers(queries).tolist()
    ordered = names[selection.order]
    routes: dict[str, list[Any]] = {
        "ask": [[n for n in row[:k].tolist() if n != own] for row, k in zip(ordered, selection.k, strict=True)],
        "k": selection.k.tolist(),
        "expected_fee": selection.fee.tolist(),
        "expected_error": committee_error.tolist(),
        "order": ordered.tolist(),
        "expected_errors": in_order(expected, selection.order).tolist(),
        "base_answer": base,
    }
    if judged.scores is not None:
        routes["scores"] = in_order(judged.scores, selection.order).tolist()
    shares = policy.shares(queries) if policy.router.committee_ == POSTERIOR else None
    if shares is not None:
        routes["base_shares"] = np.round(shares, 6).tolist()
    return routes


def make_steps(policy: Policy, queries: Table, **target: Any) -> dict[str, list[Any]]:  # noqa: ANN401 - next_step's
    """Return one row a query: whom to ask next, or nobody, and what is believed so far.

    Queries carry the answers that came so far, and what came with them, in the columns of the log; none at first. The
    same command on the same table gives the same rows: nothing is kept between questions.
    """
    n = len(next(iter(queries.values())))
    X, shares = policy.features(queries), policy.shares(queries)
    own = {} if policy.base is None else {"base_answer": policy.own_answers(queries)}
    answers = _answers(policy, own, queries, n, needed=False)
    info = info_of(policy, queries, n)
    step = policy.router.next_step(X, answers, info=info, shares=shares, **target)
    said, sure = policy.router.believe(X, answers, info=info, shares=shares)
    asked = answers.states != Cell.NOT_ASKED
    own_name = policy.panel.names[0] if policy.base is not None else None
    known = sure > 0
    return {
        "ask": [name or "" for name in step.names],
        "fee": step.fee.tolist(),
        "prediction": [value if is_known else None for value, is_known in zip(said.tolist(), known, strict=True)],
        "confidence": [float(p) if is_known else None for p, is_known in zip(sure, known, strict=True)],
        "heard": [
            [name for name, was in zip(policy.panel.names, row, strict=True) if was and name != own_name]
            for row in asked
        ],
    }


def combine_routes(policy: Policy, routes: Table, answered: Table) -> dict[str, list[Any]]:
    """Return one row a query: prediction, confidence, fee, who was heard, and whom to ask next if somebody is missing.

    Args:
        policy: the one that made the routes.
        routes: what `make_routes` returned, row by row with `answered`.
        answered: the columns of answers; empty where nobody was asked or nothing came.
    """
    needed = (*_NEEDED, "scores") if policy.router.scorer_ is not None else _NEEDED
    absent = [name for name in needed if name not in routes]
    if absent:
        raise InvalidInputError(f"`routes` must be what `askwho route` wrote, missing: {absent}.")
    n = len(routes["k"])
    panel, router = policy.panel, policy.router
    order = _indices(lists(routes["order"], "order"), panel.names, n)
    k = check.cardinalities(column(routes["k"], "k"), n, order.shape[1])
    errors = check.table(lists(routes["expected_errors"], "expected_errors"), "expected_errors")
    check.same_shape(errors, "expected_errors", order.shape, "one for each entity in the order")
    answers = _answers(policy, routes, answered, n)
    expected = np.ones((n, len(panel)))
    np.put_along_axis(expected, order, errors, axis=1)
    scores = -expected
    if router.scorer_ is not None:
        given = check.table(lists(routes["scores"], "scores"), "scores")
        check.same_shape(given, "scores", order.shape, "one for each entity in the order")
        scores = np.full(expected.shape, given.min())
        np.put_along_axis(scores, order, given, axis=1)
    selection = Selection(panel, order, k, scores, np.broadcast_to(router.fees_, expected.shape).copy())
    heard = Answers(
        answers.values, np.where(selection.members, answers.states, np.int8(Cell.NOT_ASKED)).astype(np.int8)
    )
    clipped = np.clip(expected, 0, 1) if router.task_ == "classification" else expected
    committee = Committee.of(selection, heard, expected_errors=clipped, n_classes=router.n_classes_ or None)
    sure: list[float | None] | None = None
    if router.committee_ == POSTERIOR and router.beliefs_ is not None:
        shares = _shares(policy, routes, n)
        case = router.beliefs_.case(heard, expected=clipped, info=info_of(policy, answered, n), shares=shares)
        verdicts, probability = router.beliefs_.verdicts(committee, case)
        known = in_order(verdicts.decided, k[:, None] - 1)[:, 0]
        at_k = in_order(probability, k[:, None] - 1)[:, 0]
        sure = [float(p) if is_known else None for p, is_known in zip(at_k, known, strict=True)]
    else:
        verdicts = aggregation(router.committee_ or "majority")(committee)
    said, decided = verdicts.at(k)
    spoke = committee.voted & selection.within
    missing = selection.within & ~spoke
    fees = in_order(selection.fees, order)
    asked = in_order(answers.states, order) != Cell.NOT_ASKED
    return {
        "prediction": [value if is_known else None for value, is_known in zip(said.tolist(), decided, strict=True)],
        "confidence": sure if sure is not None else _confidence(committee, said, decided, spoke, policy),
        "fee": np.where(selection.within & asked, fees, 0.0).sum(axis=1).tolist(),
        "heard": [[panel.names[j] for j in row[s]] for row, s in zip(order, spoke, strict=True)],
        "ask_next": [
            _next(row, size, gone, panel.names) for row, size, gone in zip(order, k.tolist(), missing, strict=True)
        ],
    }


def info_of(policy: Policy, answered: Table, n: int) -> np.ndarray | None:
    """Return what came back with the answers, shape (n, |A|), NaN where nothing did; None where nothing ever does."""
    pattern = policy.columns.info
    if pattern is None:
        return None
    told = np.full((n, len(policy.panel)), np.nan)
    for name, source in named(pattern, list(answered), "info", optional=True).items():
        if name in policy.panel.names:
            told[:, policy.panel.names.index(name)] = check.finite_or_nan(answered[source], source)
    return told


def _shares(policy: Policy, routes: Table, n: int) -> np.ndarray | None:
    """What our own base thought of the classes when the routes were made."""
    if policy.base is None:
        return None
    if "base_shares" not in routes:
        raise InvalidInputError("`routes` must be what `askwho route` wrote, missing: ['base_shares'].")
    shares = check.nonnegative(check.table(lists(routes["base_shares"], "base_shares"), "base_shares"), "base_shares")
    truths = 0 if policy.router.beliefs_ is None else len(policy.router.beliefs_.truths)
    check.same_shape(shares, "base_shares", (n, truths), "one for each class")
    if not shares.any(axis=1).all():
        raise InvalidInputError("`base_shares` must be above zero for some class of each row: route again.")
    return shares


def _answers(policy: Policy, routes: Table, answered: Table, n: int, *, needed: bool = True) -> Answers:
    pattern = policy.columns.answers
    if pattern is None:
        raise InvalidInputError(
            "`answers` cannot be combined by this policy: it was fitted on grades, and believes the first."
        )
    own = policy.panel.names[0] if policy.base is not None else None
    there = named(pattern, list(answered), "answers", optional=True)
    if needed and not any(name in there for name in policy.panel.names):
        raise InvalidInputError(f"`answers` must have columns of answers, {pattern!r}, got {list(answered)}.")
    given: dict[str, Any] = {}
    for name in policy.panel.names:
        if name == own:
            source = routes["base_answer"]
        else:
            source = answered[there[name]] if name in there else np.full(n, None, dtype=object)
        if len(source) != n:
            raise InvalidInputError(f"`answers` must have a row for each route, got {len(source)} for {n}.")
        given[name] = source
    answers = Answers.from_table(given, policy.panel)
    policy.check_type(answers)
    return answers


def _indices(named: list[list[Any]], names: tuple[str, ...], n: int) -> np.ndarray:
    place = {name: j for j, name in enumerate(names)}
    try:
        order = np.array([[place[name] for name in row] for row in named], dtype=np.intp)
    except (KeyError, TypeError, ValueError):
        raise InvalidInputError("`routes` must name entities of this policy, the same number in each row.") from None
    if order.ndim != 2 or len(order) != n:
        raise InvalidInputError("`routes` must have one order a row.")
    if (np.diff(np.sort(order, axis=1), axis=1) == 0).any():
        raise InvalidInputError("`routes` must name each entity once in a row: route again.")
    return order


def _confidence(
    committee: Committee, said: np.ndarray, decided: np.ndarray, spoke: np.ndarray, policy: Policy
) -> list[float | None]:
    """The share of naive Bayes behind the prediction, among all answers that can occur; None for regression."""
    if policy.router.task_ == "regression":
        return [None] * len(said)
    n_classes = policy.router.n_classes_
    weights = np.where(spoke, log_odds_weights(committee, n_classes=n_classes), 0.0)
    shares: list[float | None] = []
    for answers, weight, heard, verdict, known in zip(committee.answers, weights, spoke, said, decided, strict=True):
        if not known:
            shares.append(None)
            continue
        sums: dict[Any, float] = {}
        for answer, value in zip(answers[heard].tolist(), weight[heard].tolist(), strict=True):
            sums[answer] = sums.get(answer, 0.0) + value
        top = max([0.0, *sums.values()])
        total = sum(np.exp(value - top) for value in sums.values()) + (n_classes - len(sums)) * np.exp(-top)
        shares.append(float(np.exp(sums[verdict.item() if hasattr(verdict, "item") else verdict] - top) / total))
    return shares


def _next(order: np.ndarray, k: int, missing: np.ndarray, names: tuple[str, ...]) -> list[str]:
    """Whom to ask in the place of those who did not answer: the next in the order, as many as are missing."""
    return [names[j] for j in order[k : k + int(missing.sum())]]
