"""Somebody new, or somebody who has changed, by a few answers and without a refit."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from askwho import _validation as check
from askwho.beliefs import with_answers, with_member
from askwho.core import Answers, Cell, Entity, Panel, is_null
from askwho.data import Log, Table, column_of, log_of, read_table, with_entity
from askwho.exceptions import InvalidInputError
from askwho.fitting._skill import Skill
from askwho.policy import Beliefs, Newcomers, Numbers, Policy, Seats, Seen, most_alike, unpromised

# Folds in which an answer is foretold without itself, by hand: so many that hardly less is known in each.
_FOLDS = 10


def with_expert(
    policy: Policy,
    name: str,
    log: Any,  # noqa: ANN401 - whatever `read_table` reads, or a log
    *,
    fee: float | None = None,
) -> Policy:
    """Return the policy with one more to ask, known by a few answers; or with what somebody answered lately.

    A newcomer begins as the panel's average, as far off as the panel's members are from each other; his answers move
    him as far as their number and the variances say, towards those whom he errs like: see `Skill`. More of his answers
    move him on from there. Somebody who was learned with the others, and answers otherwise by now, is moved from what
    he was where his answers make it likelier that he has changed.

    Budgets and errors are met as on the rows of the old panel, which nobody new was in, and nothing is promised any
    more: `calibrate` on rows that have his answers too. Nobody new is asked in turn; where he is, he is heard.

    Args:
        policy: fitted, or loaded; of expected errors, not of the paper's scores.
        name: whose answers these are.
        log: rows with what the policy knows before asking, his column and the truth; nobody else's answers are needed.
        fee: what he charges; what he charged, or what the log tells, unless said.
    """
    if policy.judge.priced:
        raise InvalidInputError(
            f"`policy` must be of expected errors, got {policy.judge.name!r}, which ranks by scores: fit again with "
            "his answers."
        )
    check.unique_names([name], "Entities")
    known = name in policy.panel.names
    j = policy.panel.index(name) if known else len(policy.panel)
    if known and policy.panel.own[j]:
        raise InvalidInputError(f"`name` must be somebody who is asked, got {name!r}, who answers for itself.")
    his, charged = _his(policy, name, log)
    if fee is None:
        fee = float(policy.judge.fees.usual[j]) if known and charged is None else charged
    if fee is None:
        raise InvalidInputError(f"`fee` must be said of {name!r}, got none: the log does not tell what he charges.")
    cost = check.finite_number(fee, "fee", minimum=0.0)
    seen = policy.see(his.known)
    learned, errors = policy.judge.learned(seen.X), his.errors[:, 0]
    before = Skill.of_a_stranger(policy)
    if known:
        old = Skill.of(policy, j)
        skill = old.told(learned, errors) if old.covariance.any() else before.told_anew(old.mean, learned, errors)
        # His own answers tell how good he is beside what is expected of him, too: that must not have heard them.
        held = _held_out(before if old.covariance.any() else old, learned, errors)
    else:
        skill, held = before.told(learned, errors), _held_out(before, learned, errors)
    grown = _seated(policy, name, j, skill, cost)
    beliefs = grown.combiner.beliefs
    if isinstance(beliefs, Numbers):
        # Intervals were of committees with what was expected of him before.
        return replace(grown, combiner=replace(grown.combiner, beliefs=Numbers(beliefs.pool)))
    if not isinstance(beliefs, Beliefs) or his.answers is None or his.truth is None:
        return grown
    taught = _believed(beliefs, grown, j, his, _seen_otherwise(grown, seen, j, held), stranger=not known)
    return replace(grown, combiner=replace(grown.combiner, beliefs=taught))


def _seen_otherwise(policy: Policy, seen: Seen, j: int, held: np.ndarray) -> Seen:
    """Queries as a policy sees them, with something else expected of one entity."""
    judged = policy.judge.judge(seen.X)
    expected = judged.expected.copy()
    expected[:, j] = np.clip(held, 0.0, policy.unit.most)
    return replace(seen, judged=replace(judged, expected=expected), fees=policy.judge.fees.of(seen.X))


def _his(policy: Policy, name: str, given: Any) -> tuple[Log, float | None]:  # noqa: ANN401 - as in `with_expert`
    """The rows that tell something of him, as a log of him alone, and what he charges where they say it."""
    if isinstance(given, Log):
        j = given.panel.index(name)
        log, charged = given.seated([name]), None if given.columns.fees is None else float(given.charged.usual[j])
    else:
        table = read_table(given, texts=policy.columns.texts)
        log, charged = _read(policy, name, table), _charged(policy, name, table)
    rows = np.flatnonzero(log.asked[:, 0])
    if not len(rows):
        raise InvalidInputError(f"`log` must hold something of {name!r}, got no answer of his: a row will do.")
    if log.answers is not None:
        policy.check_type(log.answers)
    if (log.answers is None) != (policy.columns.answers is None) or log.task != policy.task:
        raise InvalidInputError("`log` must hold what the policy's own did, answers or grades, got the other.")
    return log.rows(rows), charged


def _read(policy: Policy, name: str, table: Table) -> Log:
    """His column as a log of one entity; rows whose truth is not known tell nothing."""
    columns, column = policy.columns, column_of(policy.columns, name)
    if column not in table:
        raise InvalidInputError(f"`log` must have the column {column!r} of {name!r}, got {list(table)}.")
    if columns.truth is not None and columns.truth in table:
        rows = ~is_null(table[columns.truth])
        table = {each: values[rows] for each, values in table.items()}
    nulls = columns.nulls
    alone = replace(
        columns,
        **{"grades" if columns.answers is None else "answers": column},
        info=None,
        groups=None,
        id=None,
        time=None,
        propensity=None,
        fees=None,
        task=policy.task,
        nulls=nulls.get(name, "not-asked") if isinstance(nulls, Mapping) else nulls,
    )
    read = log_of(table, alone)
    info = _told(columns.info, name, table, len(read))
    return replace(read, panel=Panel((Entity(name),)), info=info)


def _told(pattern: str | None, name: str, table: Table, n: int) -> np.ndarray:
    """What came back with his answers, shape (n, 1)."""
    column = None if pattern is None else pattern.replace("*", name)
    if column is None or column not in table:
        return np.full((n, 1), np.nan)
    return check.finite_or_nan(table[column], column)[:, None]


def _charged(policy: Policy, name: str, table: Table) -> float | None:
    """What he charges in the mean, where the log has a column of it."""
    pattern = policy.columns.fees
    column = pattern.replace("*", name) if isinstance(pattern, str) else None
    if column is None or column not in table:
        return None
    told = check.nonnegative(check.finite_or_nan(table[column], column), column)
    return None if np.isnan(told).all() else float(np.nanmean(told))


def _held_out(skill: Skill, learned: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """What is expected of him about each query by his other answers, shape (n,)."""
    found, fold = np.empty(len(errors)), np.arange(len(errors)) % _FOLDS
    for part in range(min(_FOLDS, len(errors))):
        here = fold == part
        told = skill.told(learned[~here], errors[~here])
        lines = Newcomers(np.array([-1]), told.mean[None], told.covariance[None], np.array([told.beside]), told.most)
        found[here] = lines.apply(learned[here])[:, 0]
    return found


def _seated(policy: Policy, name: str, j: int, skill: Skill, fee: float) -> Policy:
    """The policy with entity j at a fee, expected to be as good as that; the first after the last is new."""
    judge, panel, new = policy.judge, policy.panel, j == len(policy.panel)
    newcomers = judge.newcomers or Newcomers.nobody(len(panel), most=skill.most)
    newcomers = newcomers.put(j, skill.mean, skill.covariance, skill.beside)
    overlap, weights = judge.overlap, judge.error_weights
    entities, combiner, past = list(panel.entities), policy.combiner, policy.past
    cardinality, errors = policy.cardinality, list(policy.facts.entity_errors)
    expected = newcomers.apply(judge.learned(past.queries))[:, j]
    seats = cardinality.curve.seats or Seats.all(len(panel), cardinality.width)
    if not new and not seats.new[j] and len(panel) > 1:
        cardinality = cardinality.seated(seats.moved(j, most_alike(policy, j)))
    if new:
        cardinality = cardinality.seated(seats.joined())
        entities.append(Entity(name, fee=fee))
        errors.append(0.0)
        weights = np.append(weights, 1.0)
        overlap = None if overlap is None else np.pad(overlap, ((0, 1), (0, 1)))
        past = past.joined(expected)
        if combiner.beliefs is not None:
            combiner = replace(combiner, beliefs=with_member(combiner.beliefs))
    entities[j], errors[j] = replace(entities[j], fee=fee), float(expected.mean())
    outside = {entity.name: entity.fee for entity in entities if not entity.own}
    kept, turns = np.arange(len(panel)), policy.turns
    return replace(
        policy,
        columns=with_entity(policy.columns, name, outside),
        panel=Panel(tuple(entities)),
        judge=replace(judge, newcomers=newcomers, error_weights=weights, fees=judge.fees.put(j, fee), overlap=overlap),
        cardinality=cardinality,
        combiner=combiner,
        tried=unpromised(policy.tried, kept),
        turns=None if turns is None else replace(turns, tried=unpromised(turns.tried, kept)),
        past=past,
        facts=replace(policy.facts, entity_errors=tuple(errors)),
    )


def _believed(beliefs: Beliefs, policy: Policy, j: int, his: Log, seen: Seen, *, stranger: bool) -> Beliefs:
    """The beliefs, moved by what he answered."""
    assert his.answers is not None  # noqa: S101 - who asks has seen it
    assert his.truth is not None  # noqa: S101 - likewise
    shape = (len(his), len(policy.panel))
    values = np.zeros(shape, dtype=his.answers.values.dtype)
    states = np.full(shape, Cell.NOT_ASKED, dtype=np.int8)
    info = np.full(shape, np.nan)
    values[:, j], states[:, j], info[:, j] = his.answers.values[:, 0], his.answers.states[:, 0], his.info[:, 0]
    return with_answers(
        beliefs,
        j,
        Answers(values, states),
        his.truth,
        expected=policy.combiner.shares(seen.expected),
        shares=seen.shares,
        info=info,
        usual=policy.combiner.shares(policy.past.expected.astype(np.float64)).mean(axis=0),
        stranger=stranger,
    )
