"""What is believed about the right class, whoever has answered: prior, evidence and pool, fitted together."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Shaped

from askwho import _validation as check
from askwho._parts import State, array_of_classes, part, plain_classes
from askwho.aggregation import Committee, Verdicts
from askwho.beliefs._evidence import Evidence, Heard
from askwho.beliefs._pool import Case, Pool, expected_costs, random_masks
from askwho.beliefs._sets import Sets
from askwho.beliefs._sureness import Said, Sureness
from askwho.core import Answers, Cell, ErrorFunction, cost_table, each_fold
from askwho.exceptions import InvalidInputError

# Beyond so many classes nobody's habits with each of them can be learned: candidates are then what a row's members say.
_MOST_CLASSES = 64
# Even a sure base may be wrong: so much of its share goes to all classes.
_DOUBT = 0.01
# The least probability that something said is told to have: 0 stands for having nothing to say.
_LEAST_SURE = 1e-9
# The prior share of an answer that training never saw, by hand: the smaller, the more must say it to be believed.
_UNSEEN = 1e-4


@part("beliefs")
@dataclass(frozen=True, eq=False)
class Beliefs:
    """A committee that knows its members: right for any of them that answered.

    Bayes' rule, with the evidence of each answer learned (`Evidence`) and members not taken to be independent: how much
    of their evidence counts together is learned too (`Pool`).

    Args:
        classes: shape (C,), every answer that training saw, sorted; empty where there are too many to know.
        truths: shape (T,), the classes that were ever right, sorted: what a base's shares are about.
        share: shape (C,), how often each was right.
        evidence: what one answer says.
        pool: what several say together.
        costs: shape (C, C), what it costs to say [said] where [truth] is true; None where all mistakes are alike, or
            there are too many classes to know.
        sets: what several say together who are asked at once, where mistakes differ and the pool is no better.
        sureness: how likely verdicts are to be right, by what is believed of them; None where no rows told.
    """

    classes: Shaped[np.ndarray, " c"]
    truths: Shaped[np.ndarray, " t"]
    share: Float[np.ndarray, " c"]
    evidence: Evidence
    pool: Pool
    costs: Float32[np.ndarray, "c c"] | None = None
    sets: Sets | None = None
    sureness: Sureness | None = None

    @classmethod
    def fit(
        cls,
        answers: Answers,
        truth: Shaped[np.ndarray, " n"],
        *,
        expected: Float[np.ndarray, "n a"],
        fold: Int[np.ndarray, " n"],
        base: int | None = None,
        shares: Float[np.ndarray, "n t"] | None = None,
        info: Float[np.ndarray, "n a"] | None = None,
        error: str | ErrorFunction | None = None,
        random_state: int = 0,
    ) -> "tuple[Beliefs, Case]":
        """Return the beliefs that past answers teach, and the past queries as a case, all of it out of fold.

        Args:
            answers: what everybody said.
            truth: shape (n,).
            expected: shape (n, |A|), expected errors as shares, out of fold.
            fold: shape (n,), of each query.
            base: which entity's shares are given: they are the prior, and its answers no further evidence.
            shares: shape (n, T), the base's probabilities of the sorted truths, out of fold.
            info: shape (n, |A|), what came back with the answers.
            error: what a mistake costs; None where all are alike.
            random_state: the seed of who is heard.
        """
        truths = np.unique(truth)
        said = answers.values[answers.states == Cell.ANSWERED]
        classes = np.unique(np.concatenate([said, truth.astype(np.result_type(said, truth))]))
        named = len(classes) <= _MOST_CLASSES
        if not named:
            classes = classes[:0]
        share = np.zeros(len(classes))
        if named:
            share = (np.bincount(np.searchsorted(classes, truth), minlength=len(classes)) + 1.0) / (
                len(truth) + len(classes)
            )
        costs = None if error is None or not named else cost_table(classes, error).astype(np.float32)
        size = answers.values.shape[1]
        silent = np.zeros(size, dtype=bool)
        if named and base is not None and shares is not None:
            silent[base] = True
        nobody = Evidence.fit(
            Heard(
                np.full((1, size), -1),
                np.full((1, size), 0.5),
                np.zeros((1, max(1, len(classes))), dtype=np.float32),
                np.full((1, size), np.nan),
            ),
            np.zeros(1, dtype=np.intp),
            silent=silent,
            named=named,
            rare=costs is not None,
        )
        blank = cls(classes, truths, share, nobody, Pool(np.zeros(size), np.zeros((0, 0))), costs)
        heard = blank.heard(answers, expected=expected, shares=shares, info=info)
        right = blank.right(answers, heard.codes, truth)
        evidence = np.empty((*heard.codes.shape, heard.prior.shape[1]), dtype=np.float32)
        for seen, held in each_fold(fold):
            taught = Evidence.fit(heard.rows(seen), right[seen], silent=silent, named=named, rare=costs is not None)
            evidence[held] = taught.of(heard.rows(held))
        case = Case(
            heard.prior, evidence, np.where(silent, -1, heard.codes), heard.expected, classes, costs=blank._costs(heard)
        )
        asked = (answers.states != Cell.NOT_ASKED) & ~silent
        pool = Pool.fit(case, right, random_masks(asked, random_state=random_state))
        whole = Evidence.fit(heard, right, silent=silent, named=named, rare=costs is not None)
        return cls(classes, truths, share, whole, pool, costs), case

    @property
    def silent(self) -> Bool[np.ndarray, " a"]:
        """Whose answers are no evidence, shape (|A|,): those that the prior is made of."""
        return self.evidence.silent

    def taught(self, case: Case, truth: Int[np.ndarray, " n"], masks: list[Bool[np.ndarray, "n a"]]) -> Pool:
        """Return the pool that these rows teach."""
        return Pool.fit(case, truth, masks)

    def heard(
        self,
        answers: Answers,
        *,
        expected: Float[np.ndarray, "n a"],
        shares: Float[np.ndarray, "n t"] | None = None,
        info: Float[np.ndarray, "n a"] | None = None,
    ) -> Heard:
        """Return answers as candidates: the classes and, behind them, what else a row's members say."""
        n, size = answers.values.shape
        if shares is not None:
            check.same_shape(
                shares, "shares", (n, len(self.truths)), "one row for each query, one share for each class"
            )
        elif self.evidence.silent.any():
            raise InvalidInputError(
                "`shares` must be given: what the base thinks of each class is where beliefs begin."
            )
        if info is not None:
            check.same_shape(info, "info", (n, size), "one row for each query, one column for each entity")
        spoke = answers.states == Cell.ANSWERED
        if len(self.classes):
            codes = _codes(answers, spoke, self.classes)
            prior = np.tile(self.share, (n, 1))
            if shares is not None:
                prior *= _DOUBT
                prior[:, np.searchsorted(self.classes, self.truths)] += (1.0 - _DOUBT) * shares
            # Of a row's own new answers only: what others say of other queries must not matter.
            new = codes.max(axis=1, initial=-1) + 1 - len(self.classes)
            prior = np.hstack([prior, _UNSEEN * (np.arange(new.max(initial=0)) < new[:, None])])
        else:
            codes = _places_in_row(answers, spoke)
            prior = np.ones((n, size + 1))
        prior = np.log(np.maximum(prior / prior.sum(axis=1, keepdims=True), 1e-9)).astype(np.float32)
        told = np.full(codes.shape, np.nan) if info is None else info
        return Heard(codes, expected, prior, told)

    def case(
        self,
        answers: Answers,
        *,
        expected: Float[np.ndarray, "n a"],
        shares: Float[np.ndarray, "n t"] | None = None,
        info: Float[np.ndarray, "n a"] | None = None,
    ) -> Case:
        """Return queries with everything that was answered."""
        heard = self.heard(answers, expected=expected, shares=shares, info=info)
        codes = np.where(self.evidence.silent, -1, heard.codes)
        costs = self._costs(heard)
        return Case(heard.prior, self.evidence.of(heard), codes, heard.expected, self.classes, costs=costs)

    def _costs(self, heard: Heard) -> Float32[np.ndarray, "c c"] | None:
        """The costs of all candidates: to be wrong about one that training never saw costs what the worst does."""
        if self.costs is None or heard.prior.shape[1] == len(self.classes):
            return self.costs
        wider = self.costs.max() * (1 - np.eye(heard.prior.shape[1], dtype=np.float32))
        wider[: len(self.classes), : len(self.classes)] = self.costs
        return wider

    def verdicts(self, committee: Committee, case: Case) -> tuple[Verdicts, Float[np.ndarray, "n K"]]:
        """Return what the committees of every size decide, and how sure each is, shape (n, K)."""
        rows = np.arange(len(case))
        state, asked = self.pool.nothing(case, rows), np.zeros(case.codes.shape, dtype=bool)
        columns: list[np.ndarray] = []
        sure = np.empty(committee.order.shape)
        for r in range(committee.order.shape[1]):
            asked[rows, committee.order[:, r]] = True
            if self.sets is None:
                state = self.pool.hear(case, state, committee.order[:, r])
            believed = self.after(case, asked) if self.sets is not None else self.pool.probabilities(case, state)
            said, sure[:, r] = self.decide(case, believed, committee.said, asked)
            columns.append(said)
        return Verdicts(values=np.column_stack(columns), decided=committee.decided), sure

    def decisions(
        self, case: Case, order: Int[np.ndarray, "m K"], rows: Int[np.ndarray, " m"] | None = None
    ) -> Shaped[np.ndarray, "m K"] | None:
        """Return what the committees of every size decide, shape (m, K), as `verdicts` does where somebody answered.

        None where it takes more than the pool to decide: sets, what mistakes cost, or an answer of no class.

        Args:
            case: queries with everything that was answered.
            order: the members, best first.
            rows: which queries, shape (m,), each as often as it likes; all, unless said.
        """
        if self.sets is not None or case.costs is not None or case.prior.shape[1] > len(self.classes):
            return None
        return self.classes[self.pool.likeliest(case, np.arange(len(case)) if rows is None else rows, order)]

    def after(self, case: Case, asked: Bool[np.ndarray, "n a"]) -> Float32[np.ndarray, "n c"]:
        """Return what is believed after those were asked at once, shape (n, C): by the pool, or the models of sets.

        The pool is right for any of them that answered, and whatever they say: where no model knows it, it decides.
        """
        if self.sets is None:
            return self.pool.probabilities(case, self.pool.hear_all(case, asked))
        found = self.sets.believed(case, asked)
        rows = np.flatnonzero(~self.sets.knows(case, asked))
        if rows.size:
            some = case.rows(rows)
            found[rows] = self.pool.probabilities(some, self.pool.hear_all(some, asked[rows]))
        return found

    def decide(
        self,
        case: Case,
        believed: Float32[np.ndarray, "n c"],
        answers: Answers,
        asked: Bool[np.ndarray, "n a"],
    ) -> tuple[Shaped[np.ndarray, " n"], Float32[np.ndarray, " n"]]:
        """Return what to say, shape (n,), and its probability, shape (n,): 0 where there is nothing to say.

        The likeliest answer, or, where some mistakes are worse than others, the one of least expected cost. A class can
        always be answered, anything else only where one of those `asked`, shape (n, |A|), said so.
        """
        values, told = self.told(case, believed, answers, asked)
        return values, told.own if self.sureness is None else self.sureness.of(told).astype(np.float32)

    def told(
        self,
        case: Case,
        believed: Float32[np.ndarray, "n c"],
        answers: Answers,
        asked: Bool[np.ndarray, "n a"],
    ) -> tuple[Shaped[np.ndarray, " n"], Said]:
        """Return what to say, shape (n,), and what is believed of it, as it is; the arguments as in `decide`."""
        classes = len(self.classes)
        codes = np.where(asked, case.codes, -1)
        risks = None if case.costs is None else expected_costs(case.costs, believed)
        if believed.shape[1] > classes:
            heard = np.zeros(believed.shape, dtype=bool)
            heard[:, :classes] = True
            row, entity = np.nonzero(codes >= 0)
            heard[row, codes[row, entity]] = True
            believed = np.where(heard, believed, np.float32(0.0))
            risks = None if risks is None else np.where(heard, risks, np.float32(np.inf))
        place = believed.argmax(axis=1) if risks is None else risks.argmin(axis=1)
        sure = np.take_along_axis(believed, place[:, None], axis=1)[:, 0]
        if risks is not None:
            # There is always a class to say, however unlikely.
            sure = np.maximum(sure, np.float32(_LEAST_SURE))
        told = Said(sure, _largest_but(believed, place), (codes >= 0).sum(axis=1))
        new = place >= classes
        if not new.any():
            return self.classes[place], told
        author = (codes == place[:, None]).argmax(axis=1)
        own = answers.values[np.arange(len(author)), author]
        return (np.where(new, own, self.classes[np.where(new, 0, place)]) if classes else own), told

    def calibrated(
        self, case: Case, believed: Float32[np.ndarray, "n c"], asked: Bool[np.ndarray, "n a"]
    ) -> Float32[np.ndarray, "n c"]:
        """Return what is believed, shape (n, C), with the verdict as likely as such verdicts were right.

        All others share the rest as they did.
        """
        if self.sureness is None:
            return believed
        place = (believed if case.costs is None else -expected_costs(case.costs, believed)).argmax(axis=1)
        own = np.take_along_axis(believed, place[:, None], axis=1)[:, 0]
        spoke = (asked & (case.codes >= 0)).sum(axis=1)
        sure = self.sureness.of(Said(own, _largest_but(believed, place), spoke))
        rest = believed * ((1.0 - sure) / np.maximum(1.0 - own, 1e-12))[:, None]
        np.put_along_axis(rest, place[:, None], sure[:, None], axis=1)
        return (rest / rest.sum(axis=1, keepdims=True)).astype(np.float32)

    def right(
        self, answers: Answers, codes: Int[np.ndarray, "n a"], truth: Shaped[np.ndarray, " n"]
    ) -> Int[np.ndarray, " n"]:
        """Return the place of the truth among the candidates, shape (n,); the last where no candidate is right."""
        if len(self.classes):
            return np.searchsorted(self.classes, truth.astype(np.result_type(self.classes, truth)))
        same = (answers.values == truth[:, None]) & (codes >= 0)
        return np.where(same.any(axis=1), codes[np.arange(len(codes)), same.argmax(axis=1)], codes.shape[1])

    def to_state(self) -> State:
        """Return the beliefs as classes, arrays and parts."""
        plain = {"classes": plain_classes(self.classes), "truths": plain_classes(self.truths)}
        arrays = {"share": self.share} if self.costs is None else {"share": self.share, "costs": self.costs}
        return State(plain=plain, arrays=arrays).hold(
            evidence=self.evidence, pool=self.pool, sets=self.sets, sureness=self.sureness
        )

    @classmethod
    def from_state(cls, state: State) -> "Beliefs":
        """Return the beliefs that `to_state` wrote."""
        classes, truths = (array_of_classes(state.plain[name]) for name in ("classes", "truths"))
        size = str(len(classes))
        share, *costs = state.pick(share=size, **({"costs": f"{size} {size}"} if "costs" in state.arrays else {}))
        evidence, pool = state.need("evidence"), state.need("pool")
        check.same_shape(pool.members, "members", evidence.bias.shape, "one for each entity")
        habits = evidence.by_class.shape[1]
        if len(classes) and (habits != len(classes) or not np.isin(truths, classes).all()):
            raise InvalidInputError(f"`classes` must hold the truths, with habits of each, got {len(classes)} of them.")
        sets = state.read("sets")
        if sets is not None and ((sets.entities >= pool.size).any() or sets.models.weights.shape[2] != len(classes)):
            raise InvalidInputError(
                "`sets` must be of this panel and its classes, got others: the artefact is damaged."
            )
        return cls(classes, truths, share, evidence, pool, costs[0] if costs else None, sets, state.read("sureness"))


def _largest_but(believed: Float32[np.ndarray, "n c"], place: Int[np.ndarray, " n"]) -> Float32[np.ndarray, " n"]:
    """The probability of the likeliest candidate but one, shape (n,)."""
    others = believed.copy()
    np.put_along_axis(others, place[:, None], np.float32(0.0), axis=1)
    return others.max(axis=1)


def _codes(answers: Answers, spoke: Bool[np.ndarray, "n a"], classes: np.ndarray) -> Int[np.ndarray, "n a"]:
    """Answers as indices into the classes, what training never saw as places behind them; −1 where there is none."""
    said = answers.values[spoke]
    common = np.result_type(said, classes) if said.size else classes.dtype
    known, said = classes.astype(common), said.astype(common)
    place = np.minimum(np.searchsorted(known, said), len(known) - 1)
    new = np.zeros(spoke.shape, dtype=bool)
    new[spoke] = known[place] != said
    codes = np.full(spoke.shape, -1)
    codes[spoke] = place
    return np.where(new, len(known) + _places_in_row(answers, new), codes) if new.any() else codes


def _places_in_row(answers: Answers, spoke: Bool[np.ndarray, "n a"]) -> Int[np.ndarray, "n a"]:
    """Answers as numbers within their row, equal where they are equal; −1 where there is none."""
    codes = np.where(spoke, answers.encoded[0], -1)
    by_code = codes.argsort(axis=1, kind="stable")
    ordered = np.take_along_axis(codes, by_code, axis=1)
    fresh = np.diff(ordered, axis=1, prepend=-2) != 0
    fresh &= ordered >= 0
    place = np.empty_like(codes)
    np.put_along_axis(place, by_code, np.cumsum(fresh, axis=1) - 1, axis=1)
    return np.where(spoke, place, -1)
