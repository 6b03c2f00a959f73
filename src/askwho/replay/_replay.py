"""A policy, or its parts, on logged rows: who would be asked, at what fee, and with what error."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from numpy.typing import ArrayLike

from askwho._types import FloatTable, Order
from askwho._unit import FEWEST_EFFECTIVE
from askwho.core import Answers, Cell, argsorted, elementwise_error, in_order, running, unusable_errors
from askwho.data import Log
from askwho.exceptions import InvalidInputError
from askwho.metrics import Frontier, area, best_of_k, prefix_errors, stated_budgets
from askwho.policy import (
    Asking,
    Beliefs,
    Cardinality,
    Case,
    Chances,
    Combine,
    Combiner,
    Grades,
    Judgement,
    NumberCase,
    Numbers,
    Outcomes,
    Past,
    Policy,
    Seen,
    effective,
    grouped,
    in_turn,
    mean_error,
    named_answers,
)
from askwho.replay._chances import chances_of, looked_up, with_fees
from askwho.replay._imagined import Before, imagined
from askwho.replay._joined import checked_scores, joined
from askwho.replay._others import Others
from askwho.replay._prices import price_grid
from askwho.replay._robust import corrected, like_at_once
from askwho.replay._taken import Taken, at_size, members_of
from askwho.replay._walked import Walked

# Prices at which rankings are compared: the area under their hull moves little with more.
_PRICES_TO_COMPARE = 9
# Draws of imagined answers, whose mean is what is expected: a fifth draw takes a twentieth of their variance away.
_DRAWS = 4
# Queries that are asked about in turn at a time: memory grows with them, and not with the log.
_TOGETHER = 1 << 14
# Budgets that the area is a mean over.
_BUDGETS = 20


@dataclass(frozen=True, eq=False)
class Replay:
    """Logged rows as they are seen before asking, with what everybody said of them.

    Args:
        log: of the whole panel: our own base's answers are in it.
        seen: the queries; out of fold while a policy is fitted.
        combiner: how answers are combined.
        case: what was answered, as beliefs take it; None where there are none.
        chances: with what probability those were asked who were; None where everybody was, about every query.
        past: rows that a policy was learned from, which tell who errs together with whom; None while it is learned.
    """

    log: Log
    seen: Seen
    combiner: Combiner
    case: Case | NumberCase | None = None
    chances: Chances | None = None
    past: Past | None = None

    @classmethod
    def of(cls, policy: Policy, log: Log, *, scores: ArrayLike | None = None) -> "Replay":
        """Return a log as a fitted policy sees it.

        Args:
            policy: fitted on other rows.
            log: of the entities that do not answer for themselves.
            scores: shape (n, |A|), somebody else's, to rank by in place of the policy's; of the whole panel, a base of
                the policy's own among them.
        """
        if policy.combiner.rule is not None and (log.answers is None or log.truth is None):
            raise InvalidInputError("`log` must hold answers, as the policy's own did, got grades: nothing to combine.")
        if log.answers is not None and log.columns.same != policy.columns.same:
            raise InvalidInputError(
                f"`log` must be read with same={policy.columns.same!r}, as the policy's own was, got "
                f"{log.columns.same!r}: its answers would never be the same."
            )
        log = log.scored_as(policy.columns)
        if log.answers is not None:
            # Before our own base's are beside them: together they would be of one type, whatever they were.
            policy.check_type(log.answers)
        seen = policy.see(log.known)
        if scores is not None:
            seen = seen.with_scores(checked_scores(scores, policy, len(seen)))
        whole = joined(policy, log, seen)
        case = policy.combiner.case(_said(whole), seen, whole.info)
        if log.task != policy.task:
            raise InvalidInputError(f"`log` must be one of {policy.task}, as the policy's own was, got {log.task}.")
        if log.unit != policy.unit:
            raise InvalidInputError(
                f"`log` must be scored as the policy's own was, by {policy.unit.name}, got {log.unit.name}: "
                "read it with the policy's columns."
            )
        if case is not None:
            case = policy.combiner.laid_out(replace(case, there=seen.judged.covered))
        chances = chances_of(whole, seen.X, looked_up(whole, seen.X))
        whole = with_fees(whole, seen.X, seen.fees, chances)
        return cls(whole, seen, policy.combiner, case, chances, policy.past)

    def rows(self, chosen: Int[np.ndarray, " m"]) -> "Replay":
        """Return some of the rows."""
        case = None if self.case is None else self.case.rows(chosen)
        chances = None if self.chances is None else self.chances.rows(chosen)
        return Replay(self.log.rows(chosen), self.seen.rows(chosen), self.combiner, case, chances, self.past)

    def anew(self, random_state: int) -> "list[Replay]":
        """Return the rows with answers imagined anew, a few times over.

        Nothing where there are no holes, and where not every truth is known, beside which answers are imagined.
        """
        if self.chances is None or not self.log.audited.all():
            return []
        return [self.imagined(np.random.default_rng([random_state, i]), anew=True) for i in range(_DRAWS)]

    def imagined(self, rng: np.random.Generator, *, anew: bool = False) -> "Replay":
        """Return the rows with an answer of everybody, those that are missing drawn from what is known; see `imagined`.

        Args:
            rng: where chance comes from.
            anew: whether answers that are there are drawn as well.
        """
        expected, before = self._likely(self.seen.expected), self._before()
        log = imagined(self.log, expected, rng, chances=self.chances, before=before, anew=anew)
        case = None
        if self.case is not None and log.answers is not None:
            made = self.combiner.case(log.answers, self.seen, log.info)
            assert made is not None  # noqa: S101 - there are beliefs where there was a case
            case = replace(made, there=self.case.there)
            if not isinstance(made, Case) or not isinstance(self.case, Case):
                return Replay(log, self.seen, self.combiner, case)
            if not anew and len(made.labels) and made.evidence.shape == self.case.evidence.shape:
                # What was really said speaks out of fold, as it did before.
                heard = self.asked[:, :, None]
                case = replace(made, there=self.case.there, evidence=np.where(heard, self.case.evidence, made.evidence))
        return Replay(log, self.seen, self.combiner, case)

    def _likely(self, expected: FloatTable) -> FloatTable:
        """Expected errors as shares, where they are of classes, and may cost more or less."""
        return expected if self.combiner.mistake is None else self.combiner.shares(expected)

    def _before(self) -> Before | None:
        """What rows before these tell of errors that go together."""
        if self.past is None:
            return None
        errors = self.past.errors
        asked = ~np.isnan(errors)
        return Before(
            self._likely(self.past.expected.astype(np.float64)), asked & (errors > 0), asked.astype(np.float64)
        )

    @property
    def asked(self) -> Bool[np.ndarray, "n a"]:
        """Whose answers the log has, or knows to be unusable, shape (n, |A|)."""
        answers = self.log.answers
        return self.log.asked if answers is None else answers.states != Cell.NOT_ASKED

    @cached_property
    def others(self) -> Others:
        """How far off everybody was who was asked, for those who were not."""
        return Others.of(self.log.errors, self.seen.expected)

    @cached_property
    def budgets(self) -> Float[np.ndarray, " b"]:
        """Budgets to compare rankings at."""
        log = self.log
        known = ~np.isnan(log.errors)
        mean = np.divide(
            np.where(known, log.errors, 0.0).sum(axis=0),
            known.sum(axis=0),
            out=np.full(len(log.panel), np.inf),
            where=known.any(axis=0),
        )
        return stated_budgets(log.panel.fees, float(log.panel.fees[mean.argmin()]), _BUDGETS)

    def order(self, price: float, width: int) -> Order:
        """Return whom to ask at a price, best first, shape (n, width)."""
        return self.seen.judged.order(self.seen.fees, price, width)

    def at_random(self, rng: np.random.Generator, width: int) -> Order:
        """Return whom to ask by chance alone, shape (n, width)."""
        return argsorted(rng.random(self.log.errors.shape))[:, :width]

    def paid(self, order: Order, rows: Int[np.ndarray, " m"] | None = None) -> Float[np.ndarray, "m K"]:
        """Return what the first k charged, as it counts in a mean, shape (n, K); of some rows, or of all."""
        return running(in_order(self.log.charged.in_means, order, rows))

    def errors(
        self, order: Order, rule: str | Combine | None = None, *, rows: Int[np.ndarray, " m"] | None = None
    ) -> Float[np.ndarray, "m K"]:
        """Return the errors of committees of every k, shape (n, K); of grades the first entity's own.

        Args:
            order: who is in them, best first.
            rule: how they decide; as the combiner does, unless said.
            rows: which rows the order is of, each as often as it likes; all, unless said.
        """
        log, case, seen = self.log, self.case, self.seen
        if log.answers is None or log.truth is None or (rule is None and self.combiner.rule is None):
            return in_order(log.errors, order, rows)[:, :1]
        answers, truth = log.answers, log.truth
        if rows is not None and rule is None and answers.complete:
            decided = self.combiner.decisions(case, order, rows)
            if decided is not None:
                right = np.broadcast_to(truth[rows][:, None], decided.shape)
                return self._scored(elementwise_error(decided, right, log.scored_by), rows)
        if rows is not None:
            answers, truth, seen = answers.at(rows), truth[rows], seen.rows(rows)
        found = prefix_errors(
            self.combiner.committee(log.panel, order, seen, answers),
            truth,
            combine=lambda each: self.combiner.prefixes(each, case, rule, rows=rows),
            error=log.scored_by,
        )
        return self._scored(found, rows)

    def _scored(
        self, table: Float[np.ndarray, "m ..."], rows: Int[np.ndarray, " m"] | None = None
    ) -> Float[np.ndarray, "m ..."]:
        """The same where the truth is known, NaN elsewhere; of some rows, or of all."""
        if self.log.sampling.audited is None:
            return table
        audited = self.log.audited if rows is None else self.log.audited[rows]
        return np.where(audited.reshape(-1, *[1] * (table.ndim - 1)), table, np.nan)

    def best_of(self, order: Order, rows: Int[np.ndarray, " m"] | None = None) -> Float[np.ndarray, "m K"]:
        """Return the least error among the first k, shape (n, K): it needs the truth; of some rows, or of all."""
        return best_of_k(in_order(self.log.errors, order, rows))

    def outside(self, order: Order) -> Int[np.ndarray, "n K"]:
        """Return how many of the first k are experts, whom somebody must ask, shape (n, K)."""
        return running(self.log.panel.is_kind("expert")[order])

    def said(self, order: Order, k: Int[np.ndarray, " n"]) -> list[Any]:
        """Return what the committee of the first k decides about each query; None where nobody gave an answer."""
        assert self.log.answers is not None  # noqa: S101 - only answers are combined
        members = self.combiner.committee(self.log.panel, order, self.seen, self.log.answers)
        values, decided = self.combiner.prefixes(members, self.case).at(k)
        return [value if known else None for value, known in zip(values.tolist(), decided.tolist(), strict=True)]

    def answer(self, row: int, entity: int) -> Any:  # noqa: ANN401 - of any type
        """Return what an entity said about a row; None where there is no usable answer."""
        answers = self.log.answers
        if answers is None or answers.states[row, entity] != Cell.ANSWERED:
            return None
        return answers.values[row, entity].item()

    def as_in_training(self, mean_errors: Float[np.ndarray, " a"]) -> "Replay":
        """Return the rows with the same errors expected of each entity whatever the query, who was asked voting.

        Somebody who was not asked leaves a plain vote, instead of making it unknown.
        """
        log, shape = self.log, self.log.errors.shape
        judged = Judgement(np.broadcast_to(mean_errors, shape), log.panel.error_weights, np.zeros(shape))
        answers = log.answers
        if answers is not None:
            states = np.where(answers.states == Cell.NOT_ASKED, Cell.NO_ANSWER, answers.states).astype(np.int8)
            answers = Answers(answers.values, states)
        return Replay(replace(log, answers=answers), replace(self.seen, judged=judged), self.combiner)

    def area(self, width: int, rule: str | Combine | None = None) -> float:
        """Return the area under the hull of all fixed k at a handful of prices."""
        found: list[tuple[float, float, float]] = []
        order = self.order(0.0, width)
        for price in self.prices(_PRICES_TO_COMPARE) if self.seen.judged.scores is None else (0.0,):
            order = self.order(float(price), width)
            per_k, paid = self.errors(order, rule), self.paid(order)
            weights = np.ones(per_k.shape) if self.chances is None else self.chances.prefixes(order)
            for k in range(per_k.shape[1]):
                share = np.where(np.isnan(per_k[:, k]), 0.0, weights[:, k])
                if share.any():
                    error = mean_error(per_k[:, k], self.log.unit, None if self.chances is None else share)
                    found.append((float(paid[:, k].mean()), error, effective(share)))
        # A committee that hardly any row could score says nothing of a ranking, unless there is nothing else.
        told = [point for point in found if point[2] >= min(FEWEST_EFFECTIVE, len(order) / 2)] or found
        if not told:
            first = mean_error(in_order(self.seen.expected, order)[:, 0], self.log.unit)
            told = [(float(self.paid(order)[:, 0].mean()), first, 0.0)]
        points = np.array(told)
        return area(Frontier.of(points[:, 0], points[:, 1]), self.budgets)

    def prices(self, count: int) -> Float[np.ndarray, " p"]:
        """Return prices to learn at, or to compare at, shape (count,)."""
        return price_grid(self.log.panel.fees, self.seen.expected, count)

    def orders(self, prices: Sequence[float], width: int) -> list[Order]:
        """Return the order at each price, shape (n, width); all the same where no price moves a ranking."""
        distinct = prices if self.seen.judged.scores is None else prices[:1]
        orders = [self.order(float(price), width) for price in distinct]
        return orders if len(orders) == len(prices) else orders * len(prices)

    def at_once(
        self, cardinality: Cardinality, prices: Float[np.ndarray, " p"], anew: "Sequence[Replay]" = ()
    ) -> Outcomes:
        """Return what asking k(x) at once gets, pays and asks at each price, on rows that nothing was learned from.

        Args:
            cardinality: how many.
            prices: λ, shape (p,).
            anew: the same rows with answers imagined anew, several times over, where there are holes: what is expected.
                The curve stands in where there are none; at the size that it found the least it is too hopeful.
        """
        orders = self.orders(prices.tolist(), cardinality.width)
        sizes = cardinality.sizes_at(self.seen.X, self.seen.expected, orders, self.seen.fees, prices.tolist())
        got, paid = self.came(orders, sizes)
        if self.chances is not None:
            expected = (
                np.mean([rows.came(orders, sizes)[0] for rows in anew], axis=0)
                if anew
                else np.stack(
                    [
                        at_size(cardinality.curve.predict(self.seen.X, self.seen.expected, order), size)
                        for order, size in zip(orders, sizes, strict=True)
                    ]
                )
            )
            got = corrected(expected, got, self.weights(orders, sizes), grouped(self.log.groups))
        return self.outcomes(prices, got, paid, sizes, fresh=True)

    def came(
        self,
        orders: Sequence[Order],
        sizes: Int[np.ndarray, "p n"],
        errors: Sequence[Float[np.ndarray, "n K"]] | None = None,
    ) -> tuple[Float[np.ndarray, "p n"], Float[np.ndarray, "p n"]]:
        """Return what committees of these sizes got, NaN where a member was not asked, and what they would be paid.

        Args:
            orders: who is in them at each price.
            sizes: shape (p, n).
            errors: of committees of every size, where they are known already.
        """
        every = errors if errors is not None else (self.errors(order) for order in orders)
        done = [self.outcome(order, each, size) for order, each, size in zip(orders, every, sizes, strict=True)]
        got, paid = (np.stack(each) for each in zip(*done, strict=True))
        return got, paid

    def weights(self, orders: Sequence[Order], sizes: Int[np.ndarray, "p n"]) -> Float[np.ndarray, "p n"]:
        """Return what each row weighs for its committee of these sizes, shape (p, n): 1 where everybody was asked."""
        if self.chances is None:
            return np.ones(sizes.shape)
        return np.stack(
            [
                self.chances.weights(members_of(order, size, self.asked.shape[1]))
                for order, size in zip(orders, sizes, strict=True)
            ]
        )

    def outcome(
        self, order: Order, errors: Float[np.ndarray, "n K"], sizes: Int[np.ndarray, " n"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Return what committees of these sizes got and were charged, each (n,); `errors` are of every size."""
        return at_size(errors, sizes), at_size(self.paid(order), sizes)

    def outcomes(
        self,
        prices: Float[np.ndarray, " p"],
        got: Float[np.ndarray, "p n"],
        paid: Float[np.ndarray, "p n"],
        sizes: Int[np.ndarray, "p n"],
        *,
        in_turn: bool = False,
        fresh: bool = False,
        others: "Replay | None" = None,
    ) -> Outcomes:
        """Return outcomes with the groups and coins of these rows; asked in turn, what is paid goes by answers too.

        Behind these rows there may be others, of which no truth is known.
        """
        holes = self.chances is not None
        estimated = {"errors": holes, "fees": self.log.charged.guessed or (holes and in_turn)}
        every = [self] if others is None else [self, others]
        return Outcomes(
            prices,
            got,
            paid,
            sizes,
            grouped(np.concatenate([each.log.groups for each in every])),
            np.concatenate([each.seen.coins for each in every]),
            fresh,
            tuple(name for name, is_so in estimated.items() if is_so),
        )

    def in_turn(self, asking: Asking, price: float) -> Taken:
        """Return what asking in turn comes to at a price."""
        taken, place = self.ends(asking, [price])
        return taken.at(place[0])

    def ends(self, asking: Asking, prices: Sequence[float]) -> tuple[Taken, Int[np.ndarray, "p n"]]:
        """Return all that asking in turn comes to, each end once, and which each query has at a price, shape (p, n)."""
        _, case, _, _ = self.believed()
        log = self.log
        # Where all that follows is imagined, whoever is asked is paid for as at once; else rows stand for others whole.
        charged = log.charged.in_means if log.answers is not None and log.audited.all() else log.fees
        every, n, count = np.arange(len(self.log)), len(self.log), 0
        found: list[Taken] = []
        places: list[np.ndarray] = []
        for block in (every[start : start + _TOGETHER] for start in range(0, max(1, n), _TOGETHER)):
            turns = in_turn(
                asking,
                case if len(block) == n else case.rows(block),
                fees=self.seen.fees[block],
                fee_weights=prices,
                asked=self.asked[block],
                own=self.log.panel.own,
            )
            rows = block[turns.rows]
            values, came = self.settled(turns.believed, turns.members(self.asked.shape[1]), rows)
            errors = np.where(turns.known, came, np.nan)
            # What would have been paid beyond an answer that the log does not have is not known either.
            fees = np.where(turns.known, turns.paid(charged[block]), np.nan)
            found.append(Taken(self._scored(errors, rows), fees, turns.order, values))
            places.append(turns.place + count)
            count += len(rows)
        return Taken.together(found), np.concatenate(places, axis=1)

    def walked(self, asking: Asking, prices: Float[np.ndarray, " p"]) -> Walked:
        """Return what asking in turn comes to at each price, and what rows weigh.

        What is paid where the next answer is missing is imagined, beside what was heard there: multiple imputation
        (Rubin 1987). Rows that have all answers would be the wrong ones to stand for it, since a log that was itself
        asked in turn has them where few were needed. What is got is stood for by such rows, by how likely they were
        asked; but of a query about which no more could have been asked than were heard, no row of the log can show how
        it would have gone on: that is imagined, too.
        """
        taken, place = self.ends(asking, prices.tolist())
        found = Walked.of(taken, place, self.log.panel.is_kind("expert"))
        if self.chances is None:
            return found
        count = self.asked.shape[1]
        heard = [members_of(one.order, one.sizes, count) for one in (taken.at(ends) for ends in place)]
        found = replace(found, weights=np.stack([self.chances.weights(each) for each in heard]))
        if self.log.answers is None or self.log.truth is None:
            return found
        missing = ~found.seen & self.log.audited
        rows = np.flatnonzero(missing.any(axis=0))
        if not len(rows):
            return found
        ended = missing & np.stack([self.chances.full(each) for each in heard])
        # Answers are imagined beside truths: of rows that have one.
        audited = np.flatnonzero(self.log.audited)
        known, some = self.rows(audited), np.searchsorted(audited, rows)
        draws = [known.imagined(np.random.default_rng(i)).rows(some).walked(asking, prices) for i in range(_DRAWS)]
        return found.beyond(draws, rows, missing, ended)

    def taken(
        self,
        asking: Asking,
        prices: Float[np.ndarray, " p"],
        anew: "Sequence[Replay]" = (),
        like: Outcomes | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what asking in turn got, paid and asked at each price, each of shape (p, n).

        Args:
            asking: the rule.
            prices: λ, shape (p,).
            anew: the same rows with answers imagined anew, several times over, where there are holes: what is expected
                where the next answer is missing.
            like: what asking at once did on these rows, which is expected where not every truth is known, and of
                grades: what would come back with an answer is not imagined.
        """
        walked = self.walked(asking, prices)
        got, paid, weights, sizes = walked.errors, walked.fees, walked.weights, np.rint(walked.sizes).astype(np.intp)
        if self.chances is None:
            return got, paid, sizes
        if like is not None and (self.log.answers is None or not self.log.audited.all()):
            return *like_at_once(like, prices, got, paid, weights), sizes
        error = np.mean([rows.walked(asking, prices).errors for rows in anew], axis=0)
        return corrected(error, got, weights, grouped(self.log.groups)), paid, sizes

    def settled(
        self,
        believed: Float[np.ndarray, "m c"],
        asked: Bool[np.ndarray, "m a"],
        rows: Int[np.ndarray, " m"] | None = None,
    ) -> tuple[Shaped[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """Return what is decided by what is believed, shape (m, C), after those were asked, and what that errs.

        Of some rows, which may be there more than once, or of all.
        """
        beliefs, case, answers, truth = self.believed()
        if rows is not None:
            case, answers, truth = case.rows(rows), answers.at(rows), truth[rows]
        if isinstance(beliefs, Grades) and isinstance(case, Case):
            kept, sure = beliefs.kept(case, believed.astype(np.float32), asked)
            return kept, np.where(sure > 0, truth[np.arange(len(kept)), kept], 1.0)
        settled, error = self.combiner.settle(case, believed, answers, asked), self.log.scored_by
        if self.log.unit.share:
            return settled.values, ((settled.values != truth) | ~settled.decided).astype(np.float64)
        right = truth.astype(np.float64) if self.log.task == "regression" else truth
        errors = elementwise_error(np.where(settled.decided, settled.values, right), right, error)
        return settled.values, np.where(settled.decided, errors, unusable_errors(right, self.log.errors, error))

    def believed(self) -> tuple[Beliefs | Numbers | Grades, Case | NumberCase, Answers, np.ndarray]:
        """Return what asking in turn needs of these rows, the truth (n,) at the end, or say that it cannot be had.

        Of grades what everybody erred, shape (n, |A|), is all the truth there is.
        """
        beliefs, case, log = self.combiner.beliefs, self.case, self.log
        if isinstance(beliefs, Grades) and case is not None:
            return beliefs, case, _said(log), log.errors
        if beliefs is None or case is None or log.answers is None or log.truth is None:
            raise InvalidInputError("`log` must hold answers, and the policy beliefs, to ask in turn.")
        return beliefs, case, log.answers, log.truth


def _said(log: Log) -> Answers:
    """What everybody said, or, of grades, whose answers there are."""
    if log.answers is not None:
        return log.answers
    return named_answers(log.panel, np.where(log.asked, Cell.ANSWERED, Cell.NOT_ASKED).astype(np.int8))
