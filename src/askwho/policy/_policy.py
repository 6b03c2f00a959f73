"""The policy: queries are seen once, then decided, and what comes back is combined. Frozen, all parts present."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from askwho import _validation as check
from askwho._parts import State, check_allowed, part
from askwho._types import Task
from askwho._unit import Unit
from askwho.beliefs import NumberCase, Numbers
from askwho.core import Answers, Cell, Panel, in_order, is_null, running, unit_of
from askwho.data import Columns, FeatureEncoder, Table, is_own, keyed, table_of
from askwho.exceptions import InvalidInputError
from askwho.learners import OwnBase
from askwho.policy._aims import FEWEST_ROWS, exactly, free_of, rates_of, setting_of, why_no_turns
from askwho.policy._available import who_is_there
from askwho.policy._cardinality import Cardinality
from askwho.policy._combiner import Combiner
from askwho.policy._decision import Decisions, Outcome, heard_of, read_decisions
from askwho.policy._explore import checked_share, explore_at_once, explore_in_turn
from askwho.policy._facts import Facts
from askwho.policy._fixed import in_front
from askwho.policy._ids import checked_ids, made_up_ids
from askwho.policy._judge import Judge
from askwho.policy._leaving import without
from askwho.policy._one import decide_one
from askwho.policy._outcomes import Outcomes, Setting
from askwho.policy._reading import Came, answers_so_far, what_came, whole_info
from askwho.policy._seen import FAR, Charges, Seen
from askwho.policy._sound import check_sound
from askwho.policy._target import Target, checked_target
from askwho.policy._turns import InTurn
from askwho.policy._why import Past, Why, explain

# Why no interval can be told.
_NO_INTERVALS = (
    "`coverage` must be asked of verdicts that are numbers, got a policy of classes or grades, one that scores by a "
    f"function of your own, or one that was fitted on fewer than {FEWEST_ROWS} rows: it has no intervals."
)
# Why a target that was tried at some fees cannot be met at others; it says what can be had instead.
_OTHER_FEES = (
    "`budget` and `max_error` were validated at the fitted fees with everybody there: "
    "pass `fee_weight` with other fees or fewer entities, or `assign` a whole batch, which keeps a budget with them."
)

Queries = Any
"""One dict, columns, a frame (pandas, polars, Arrow), a list of dicts; or what `Policy.see` returned."""


@part("policy")
@dataclass(frozen=True, eq=False)
class Policy:
    """A fitted policy: queries in, decisions out. Many threads may share one.

    Args:
        columns: which column of the log was what.
        panel: who can be asked: our own base first, where there is one, then the log's entities.
        task: what the truth is.
        encoder: from known columns to numbers.
        base: our own base predictor, if it was worth having.
        judge: what is thought of everybody before asking.
        cardinality: how many to ask.
        combiner: how answers are combined.
        tried: what asking at once got and paid on held-out rows, at each price.
        turns: asking in turn; None where it was not learned.
        past: some past queries, to explain by.
        facts: what was found while fitting.
    """

    columns: Columns
    panel: Panel
    task: Task
    encoder: FeatureEncoder
    base: OwnBase | None
    judge: Judge
    cardinality: Cardinality
    combiner: Combiner
    tried: Outcomes
    turns: InTurn | None
    past: Past
    facts: Facts

    # Asked of every query: found once.
    @cached_property
    def unit(self) -> Unit:
        """How errors are shown."""
        return unit_of(self.columns.scoring, self.task)

    @property
    def id_column(self) -> str:
        """The column that names queries in tables: the log's own, or `id`."""
        return self.columns.id or "id"

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of queries and answers that are texts even where they look like numbers: names, unless known."""
        return () if self.id_column in self.encoder.columns else (self.id_column,)

    @property
    def route_texts(self) -> tuple[str, ...]:
        """The same columns of routes: names, and what our own base answers where classes are texts."""
        return ("id", "base_answer") if self.combiner.family == "text" else ("id",)

    def see(self, queries: Queries) -> Seen:
        """Return queries as the policy sees them before asking: encoded, answered by its base and judged, all once."""
        if isinstance(queries, Seen):
            return queries
        one = self.encoder.of_one(queries) if isinstance(queries, dict) else None
        return self._see(table_of(queries, "queries")) if one is None else self.see_encoded(one)

    def _see(self, table: Table) -> Seen:
        X = self.encoder.transform(table)
        texts = None
        if self.base is not None and self.base.reads != "features":
            texts = self.encoder.texts(table)
        return self.see_encoded(X, texts)

    def see_encoded(self, X: Float[np.ndarray, "n d"], texts: Sequence[str] | None = None) -> Seen:
        """Return the same of queries that are numbers already, shape (n, d), as the encoder gives them.

        Args:
            X: float32.
            texts: of the queries, where the base reads them.
        """
        said, shares = (None, None) if self.base is None else self.base.say(X, texts)
        return Seen(X, self.judge.judge(X), self.judge.fees.of(X), said, shares)

    def decide(
        self,
        queries: Queries,
        target: Target,
        *,
        available: Any = None,  # noqa: ANN401 - names, or masks in any form
        fees: Charges | None = None,
        explore: float = 0.0,
        random_state: int | np.random.Generator | None = None,
        ids: Any = None,  # noqa: ANN401 - any column
    ) -> Decisions:
        """Return whom to ask about each query, all at once.

        Args:
            queries: one dict, columns, a frame, a list of dicts; or what `see` returned.
            target: how much an error is worth, or what must be met.
            available: who can be asked today: names, a mapping from names to masks of shape (n,), or a mask of shape
                (|A|,) or (n, |A|).
            fees: what they charge today, shape (|A|,) or (n, |A|); or by name, a number or one for each query.
            explore: the share of queries that ask somebody else, at random; with what probability is written down.
            random_state: the seed of exploring.
            ids: what the queries are called; the log's id column, or `id`, where there is one; else made up.
        """
        checked_target(target)
        seen, ids = self._named(queries, ids)
        seen = self._today(seen, target, fees, available)
        available = free_of(self, target) if available is None else available
        plain = self._plain and seen.judged.scores is None
        found = self.setting(target) if target.searched else None
        alike = () if found is None else found.fixed
        if plain and len(seen) == 1 and available is None and not explore and not alike:
            return decide_one(self, seen, target, found, ids)
        rates = rates_of(seen, target, found)
        judged, width = seen.judged, self.cardinality.width
        costs, most = judged.costs(seen.fees, rates[:, None]), width
        there = None
        if available is not None:
            there = who_is_there(self.panel, available, len(seen))
            costs, most = np.where(there, costs, 2 * FAR), np.minimum(width, there.sum(axis=1))
        order = in_front(judged, alike, there)[:, :width] if alike else judged.ordered(costs, width)
        curve = self.cardinality.curve.predict(seen.X, seen.expected, order)
        if there is not None:
            rows, of_them = self.cardinality.without_some(seen, order, there)
            curve[rows] = of_them
        if target.k is not None:
            k = np.full(len(seen), exactly(self, target.k, int(np.min(most))))
        elif alike:
            k = np.minimum(np.full(len(seen), len(alike)), most)
        else:
            k = self.cardinality.sizes(seen.X, curve, running(in_order(seen.fees, order)), rates, most)
        ones = np.ones(order.shape)
        chance, chances = np.ones(len(seen)), np.where(np.arange(width) < k[:, None], ones, 0.0)
        if self._explores(explore, target):
            open_ = np.broadcast_to(~self.panel.own, (len(seen), len(self.panel)))
            drawn = explore_at_once(
                order,
                k,
                open_=open_ if there is None else open_ & there,
                share=explore,
                rng=np.random.default_rng(random_state),
            )
            rows = np.flatnonzero(drawn.changed)
            order, k, chance, chances = drawn.order, drawn.k, drawn.propensity, drawn.propensities
            curve[rows] = self.cardinality.of_others(seen.rows(rows), order[rows])
        error = self.unit.all_shown(in_order(curve, np.minimum(k, curve.shape[1])[:, None] - 1)[:, 0])
        reach = None if there is None else np.minimum(width, there.sum(axis=1))
        return Decisions(self.panel, ids, self.unit, seen, order, k, error, chance, chances, there=reach)

    def combine(
        self,
        decisions: Decisions,
        answers: Any = None,  # noqa: ANN401 - answers, a frame, columns, a list of dicts
        *,
        info: Float[np.ndarray, "n a"] | None = None,
        by_position: bool = False,
        coverage: float | None = None,
    ) -> Decisions:
        """Return the same decisions, filled in: what each committee decides, how sure it is, and what was charged.

        Args:
            decisions: from `decide`, or read back.
            answers: what came back: a table with the decisions' ids and the log's columns (or the entities' names), in
                any order; or `Answers`, row by row; or nothing, where nobody had to be asked.
            info: what came back with `Answers`, of the same shape; a table holds it in the log's columns.
            by_position: whether a table without ids is matched row by row.
            coverage: where verdicts are numbers, how often the truth is to be within the interval around one, such as
                0.9; None for no intervals.
        """
        self.check_combines()
        if decisions.panel != self.panel:
            raise InvalidInputError(f"`decisions` must be of the panel {self.panel.names}: another policy made them.")
        if answers is None:
            shape = (len(decisions), int((~self.panel.own).sum()))
            answers = Answers(np.zeros(shape), np.full(shape, Cell.NOT_ASKED, dtype=np.int8))
        came = (
            Came(answers, whole_info(self.panel, info, len(decisions)), decisions.seen.fees)
            if isinstance(answers, Answers)
            else what_came(self, decisions, table_of(answers, "answers", texts=self.texts), by_position=by_position)
        )
        seen, members = decisions.seen, decisions.members
        given = keyed(came.answers, self.columns.same)
        self.check_type(given)
        said = self.combiner.answers(self.panel, seen.answers(self.panel, given))
        check.same_shape(said.values, "answers", (len(seen), len(self.panel)), "one row for each decision")
        heard = heard_of(said, members)
        committee = self.combiner.committee(self.panel, decisions.order, seen, heard)
        verdict = self.combiner.decide(committee, decisions.k, came.info, seen)
        asked = heard.states != Cell.NOT_ASKED
        paid = np.where(asked, came.fees, 0.0).sum(axis=1)
        spoke = heard.states == Cell.ANSWERED
        values = self.combiner.spelled(verdict.values, heard, seen.expected)
        low, high = None, None
        if coverage is not None:
            case = self.combiner.case(heard, seen, came.info)
            low, high = self._around(verdict.values, verdict.decided, case, spoke, coverage)
        outcome = Outcome(values, verdict.decided, verdict.probability, paid, spoke, low, high)
        return replace(decisions, outcome=outcome)

    def probabilities(
        self,
        decisions: Decisions,
        answers: Answers,
        classes: Shaped[np.ndarray, " c"],
        *,
        info: Float[np.ndarray, "n a"] | None = None,
    ) -> Float[np.ndarray, "n c"]:
        """Return the probability of each of some classes after the answers, shape (n, C); nothing where none is known.

        Args:
            decisions: from `decide`, or the last step of `next`.
            answers: what came back; at once only the committee is heard.
            classes: sorted, shape (C,); keys, where answers are compared by them.
            info: what came back with the answers, of the same shape.
        """
        said = decisions.seen.answers(self.panel, keyed(answers, self.columns.same))
        if decisions.order.shape[1] > 1 or decisions.outcome is None or (decisions.k > 0).all():
            said = heard_of(said, decisions.members)
        told = whole_info(self.panel, info, len(decisions))
        return self.combiner.distribution(self.panel, decisions.seen, said, classes, told)

    def next(
        self,
        queries: Queries,
        answers: Any = None,  # noqa: ANN401 - as in `combine`
        target: Target | None = None,
        *,
        info: Float[np.ndarray, "n a"] | None = None,
        available: Any = None,  # noqa: ANN401 - as in `decide`
        fees: Charges | None = None,
        explore: float = 0.0,
        random_state: int | np.random.Generator | None = None,
        ids: Any = None,  # noqa: ANN401 - any column
        coverage: float | None = None,
    ) -> Decisions:
        """Return whom to ask next about each query, or nobody, and what is believed so far.

        The same answers give the same next step: nothing is remembered between calls.

        Args:
            queries: as in `decide`.
            answers: what came back so far, row by row with the queries: `Answers`, or a table in the log's columns;
                where it is None, the queries' own table holds them.
            target: any but `k`.
            info: what came back with `Answers`, of the same shape.
            available: as in `decide`.
            fees: as in `decide`.
            explore: how often to ask somebody at random instead.
            random_state: the seed of exploring.
            ids: as in `decide`.
            coverage: as in `combine`.
        """
        aim = checked_target(target)
        beliefs = self.combiner.beliefs
        if self.turns is None or beliefs is None:
            raise InvalidInputError(why_no_turns(self))
        if aim.k is not None:
            raise InvalidInputError("`target` must be a price, a budget or an error to ask in turn, got `k`.")
        table = None if isinstance(queries, Seen) else table_of(queries, "queries", texts=self.texts)
        seen, ids = self._named(queries if table is None else table, ids)
        seen = self._today(seen, aim, fees, available)
        available = free_of(self, aim) if available is None else available
        given, told = answers_so_far(self, table, answers, info, len(seen))
        if given is not None:
            given = keyed(given, self.columns.same)
            self.check_type(given)
        said = self.combiner.answers(self.panel, seen.answers(self.panel, given))
        check.same_shape(said.values, "answers", (len(seen), len(self.panel)), "one row for each query")
        asked = said.states != Cell.NOT_ASKED
        case = self.combiner.case(said, seen, told)
        assert case is not None  # noqa: S101 - there are beliefs
        there = seen.judged.covered
        if available is not None:
            # Whoever cannot ask on decides by what was heard.
            today = who_is_there(self.panel, available, len(seen), somebody=False)
            there = today if there is None else there & today
        case = replace(case, there=there)
        found = self.setting(aim, in_turn=True) if aim.searched else None
        alike = () if found is None else found.fixed
        entity, believed = self.turns.next(
            beliefs,
            case,
            asked=asked,
            fees=seen.fees,
            fee_weights=rates_of(seen, aim, found),
            alike=None if not alike else in_front(seen.judged, alike)[:, : len(alike)],
        )
        chance = np.ones(len(seen))
        if self._explores(explore, aim):
            open_ = ~asked & ~self.panel.own & (True if there is None else there)
            rng = np.random.default_rng(random_state)
            entity, chance = explore_in_turn(entity, open_=open_, share=explore, rng=rng)
        settled = self.combiner.settle(case, believed, said, asked)
        assert settled.expected is not None  # noqa: S101 - there are beliefs
        heard = said.states == Cell.ANSWERED
        low, high = self._around(settled.values, settled.decided, case, heard, coverage, in_turn=True)
        outcome = Outcome(
            self.combiner.spelled(settled.values, said, seen.expected),
            settled.decided,
            settled.probability,
            np.where(asked, seen.fees, 0.0).sum(axis=1),
            heard,
            low,
            high,
        )
        goes = entity >= 0
        return Decisions(
            self.panel,
            ids,
            self.unit,
            seen,
            np.maximum(entity, 0)[:, None],
            goes.astype(np.intp),
            self.unit.all_shown(settled.expected),
            chance,
            np.where(goes, chance, 0.0)[:, None],
            outcome,
        )

    def explain(self, queries: Queries, target: Target, i: int = 0, **options: Any) -> Why:  # noqa: ANN401
        """Return why query i goes to whom it goes to; the options as in `decide`."""
        return self.why(self.decide(queries, target, **options), i)

    def why(self, decisions: Decisions, i: int = 0) -> Why:
        """Return why query i of some decisions goes to these entities, past queries like it, and what one more adds."""
        return explain(self, decisions, i)

    def without(self, name: str) -> "Policy":
        """Return the policy of everybody but one who left; nothing is learned anew, and what was promised is not."""
        return without(self, name)

    def setting(self, target: Target, *, in_turn: bool = False) -> Setting:
        """Return the setting at which held-out rows meet a budget, an error, or both; or say what can be had."""
        return setting_of(self, target, in_turn=in_turn)

    def prices(self, seen: Seen, target: Target, *, in_turn: bool = False) -> Float[np.ndarray, " n"]:
        """Return the price at which each query is decided, shape (n,): λ, given or found."""
        return rates_of(seen, target, self.setting(target, in_turn=in_turn) if target.searched else None)

    def read(self, routes: Any) -> Decisions:  # noqa: ANN401 - a table in any form
        """Return decisions of this policy that `Decisions.to_columns` wrote, whatever file or frame they were in."""
        classes = None if self.base is None else self.base.classes
        table = table_of(routes, "routes", texts=self.route_texts)
        read = read_decisions(table, panel=self.panel, unit=self.unit, classes=classes, priced=self.judge.priced)
        said = read.seen.said
        if said is not None and (is_null(said).any() or not (classes is None or np.isin(said, classes).all())):
            raise InvalidInputError(
                "`base_answer` must be what this policy's base answers, got something else: route again."
            )
        return read

    def check_combines(self) -> None:
        """Raise where there is nothing to combine: of grades the first is believed, unless something comes back."""
        if self.columns.answers is None and self.combiner.beliefs is None:
            raise InvalidInputError(
                "`answers` cannot be combined by this policy: it was fitted on grades, and believes the first."
            )

    def check_type(self, answers: Answers) -> None:
        """Raise where answers are of another type than those of the log, and so could never be right."""
        known = "numbers" if self.task == "regression" else self.combiner.family
        if known is not None and answers.family not in (None, known):
            raise InvalidInputError(
                f"`answers` must be {known}, as in the policy's log, got {answers.family}: 1 and '1' would never agree."
            )

    def to_state(self) -> State:
        """Return the policy as its parts."""
        plain = {
            "columns": self.columns.to_json(),
            "panel": self.panel.to_json(),
            "task": self.task,
        }
        return State(plain=plain).hold(
            encoder=self.encoder,
            base=self.base,
            judge=self.judge,
            cardinality=self.cardinality,
            combiner=self.combiner,
            tried=self.tried,
            turns=self.turns,
            past=self.past,
            facts=self.facts,
        )

    @classmethod
    def from_state(cls, state: State) -> "Policy":
        """Return the policy that `to_state` wrote."""
        plain = state.plain
        names = ("encoder", "base", "judge", "cardinality", "combiner", "tried", "turns", "past", "facts")
        optional = ("base", "turns")
        check.one_of(plain["task"], "task", ["classification", "regression"])
        columns = Columns.from_json(plain["columns"])
        if is_own(columns.same):
            check_allowed(columns.same, state.allow)
        policy = cls(
            columns,
            Panel.from_json(plain["panel"]),
            plain["task"],
            *(state.read(name) if name in optional else state.need(name) for name in names),
        )
        check_sound(policy)
        return policy

    def _named(self, queries: Queries, ids: Any) -> tuple[Seen, np.ndarray]:  # noqa: ANN401
        """Queries as they are seen, and what they are called."""
        if isinstance(queries, Seen):
            seen = queries
        else:
            table = table_of(queries, "queries", texts=self.texts)
            seen = self._see(table)
            if ids is None:
                ids = table.get(self.id_column)
        if ids is None:
            return seen, made_up_ids(len(seen))
        return seen, checked_ids(ids, len(seen))

    @property
    def _plain(self) -> bool:
        """Whether expected errors, fees and the curve decide, and nothing else."""
        return self.judge.by_errors_alone and self.cardinality.networks is None

    def _around(
        self,
        values: np.ndarray,
        decided: np.ndarray,
        case: object,
        heard: np.ndarray,
        coverage: float | None,
        *,
        in_turn: bool = False,
    ) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
        """The ends of intervals around verdicts, NaN where there is none; or why there can be no intervals."""
        beliefs = self.combiner.beliefs
        if coverage is None:
            return None, None
        if not isinstance(beliefs, Numbers) or not isinstance(case, NumberCase):
            raise InvalidInputError(_NO_INTERVALS)
        low, high = beliefs.around(values, case, heard, coverage, in_turn=in_turn)
        return np.where(decided, low, np.nan), np.where(decided, high, np.nan)

    def _explores(self, explore: float, target: Target) -> bool:
        """Whether somebody is asked at random now and then; raise where that would break a promise."""
        share = checked_share(explore)
        kept = target.confidence is None or (target.max_error is None and free_of(self, target) is not None)
        if share and not kept:
            raise InvalidInputError(
                f"`explore` must be 0 beside `confidence`, got {share:g}: no row tells what asking at random comes to."
            )
        return share > 0

    def _today(self, seen: Seen, target: Target, fees: Charges | None, available: object) -> Seen:
        """The queries at today's fees, or why this target or this policy cannot take them."""
        if target.searched and (fees is not None or available is not None):
            raise InvalidInputError(_OTHER_FEES)
        if self.judge.priced and (fees is not None or (target.k is not None and target.fee_weight is not None)):
            raise InvalidInputError(
                f"The price is baked into the policy {self.judge.name!r}: it ranks for any `k` and any number of "
                "entities, not at other fees. Fit again with another `fee_weight`, or use a learner of expected errors."
            )
        return seen if fees is None else seen.at_fees(self.panel, fees)
