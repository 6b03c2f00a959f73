"""What is believed of graded answers, whoever was asked: how good each is, and whose is kept."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Shaped

from askwho import _validation as check
from askwho._parts import State, part
from askwho.beliefs._kept import Kept
from askwho.beliefs._pool import Case, random_masks
from askwho.beliefs._telling import Telling
from askwho.core import Answers, Cell, Panel, each_fold


@part("grades")
@dataclass(frozen=True, eq=False)
class Grades:
    """Where nobody can combine answers, one of them is kept: the one that is expected to be best.

    What came back with an answer (a confidence, a length, a judge's score) tells how good it is, and how hard the query
    is for others. The candidates of a case are the entities of the panel, each standing for its own answer.

    Args:
        evidence: what one answer tells of itself.
        pool: what several tell together.
    """

    evidence: Telling
    pool: Kept

    @classmethod
    def fit(
        cls,
        errors: Float[np.ndarray, "n a"],
        *,
        expected: Float[np.ndarray, "n a"],
        info: Float[np.ndarray, "n a"],
        fold: Int[np.ndarray, " n"],
        random_state: int = 0,
    ) -> "tuple[Grades, Case]":
        """Return the beliefs that past grades teach, and the past queries as a case, all of it out of fold.

        Args:
            errors: shape (n, |A|), 1 − grade; NaN where not asked.
            expected: shape (n, |A|), expected errors, out of fold.
            info: shape (n, |A|), what came back with the answers.
            fold: shape (n,), of each query.
            random_state: the seed of who is heard.
        """
        told = np.empty(errors.shape, dtype=np.float32)
        prior = np.empty(errors.shape, dtype=np.float32)
        for seen, held in each_fold(fold):
            taught = Telling.fit(errors[seen], expected[seen], info[seen])
            prior[held], told[held] = taught.of(expected[held], info[held])
        case = _case(prior, told, expected, unusable=np.zeros(errors.shape, dtype=bool))
        pool = Kept.fit(case, errors, random_masks(~np.isnan(errors), random_state=random_state))
        return cls(Telling.fit(errors, expected, info), pool), case

    @property
    def silent(self) -> Bool[np.ndarray, " a"]:
        """Whose answers tell nothing, shape (|A|,): nobody's."""
        return np.zeros(len(self.evidence.bias), dtype=bool)

    def taught(self, case: Case, truth: Float[np.ndarray, "n a"], masks: list[Bool[np.ndarray, "n a"]]) -> Kept:
        """Return the pool that these rows teach."""
        return Kept.fit(case, truth, masks)

    def case(
        self,
        answers: Answers,
        *,
        expected: Float[np.ndarray, "n a"],
        info: Float[np.ndarray, "n a"] | None = None,
        shares: Float[np.ndarray, "n t"] | None = None,
    ) -> Case:
        """Return queries with everything that was told; `shares` are of classes, and there are none."""
        del shares
        prior, told = self.evidence.of(expected, np.full(expected.shape, np.nan) if info is None else info)
        return _case(prior, told, expected, unusable=answers.states == Cell.NO_ANSWER)

    def kept(
        self, case: Case, believed: Float32[np.ndarray, "n c"], asked: Bool[np.ndarray, "n a"]
    ) -> tuple[Int[np.ndarray, " n"], Float32[np.ndarray, " n"]]:
        """Return whose answer is kept, shape (n,), and the grade expected of it, shape (n,): 0 where there is none."""
        among = np.where(asked & (case.codes >= 0), believed, np.float32(0.0))
        place = among.argmax(axis=1)
        return place, among[np.arange(len(place)), place]

    def decide(
        self,
        case: Case,
        believed: Float32[np.ndarray, "n c"],
        answers: Answers,
        asked: Bool[np.ndarray, "n a"],
    ) -> tuple[Shaped[np.ndarray, " n"], Float32[np.ndarray, " n"]]:
        """Return what the kept answer is, as `answers` say it, and the grade expected of it, each (n,); 0 for none."""
        place, sure = self.kept(case, believed, asked)
        return answers.values[np.arange(len(place)), place], sure

    def right(
        self, answers: Answers, codes: Int[np.ndarray, "n a"], truth: Float[np.ndarray, "n a"]
    ) -> Float[np.ndarray, "n a"]:
        """Return what each candidate errs, shape (n, |A|): the errors, which stand for the truth here."""
        del answers, codes
        return truth

    def without(self, j: int) -> "Grades":
        """Return the same of everybody but entity j."""
        kept = np.delete(np.arange(len(self.evidence.bias)), j)
        return Grades(self.evidence.only(kept), self.pool.without(j))

    def with_one_more(self) -> "Grades":
        """Return the same with one more behind the others, of whom is believed what is expected, and told nothing."""
        links = np.pad(self.pool.links, ((0, 0), (0, 1), (0, 1)))
        return Grades(self.evidence.with_one_more(), Kept(self.pool.sources, links))

    def to_state(self) -> State:
        """Return the beliefs as parts."""
        return State().hold(evidence=self.evidence, pool=self.pool)

    @classmethod
    def from_state(cls, state: State) -> "Grades":
        """Return the beliefs that `to_state` wrote."""
        evidence, pool = state.need("evidence"), state.need("pool")
        check.same_shape(pool.links[0, 0], "links", evidence.bias.shape, "one for each entity")
        return cls(evidence, pool)


def named_answers(panel: Panel, states: Shaped[np.ndarray, "n a"]) -> Answers:
    """Return answers that are the names of who gave them, shape (n, |A|): all that is known of those with grades."""
    return Answers(np.tile(np.array(panel.names), (len(states), 1)), states)


def _case(
    prior: Float32[np.ndarray, "n a"],
    told: Float32[np.ndarray, "n a"],
    expected: Float[np.ndarray, "n a"],
    *,
    unusable: Bool[np.ndarray, "n a"],
) -> Case:
    """Queries whose candidates are the entities' own answers; who was not asked yet is the candidate that it may be."""
    n, size = prior.shape
    # What an entity tells is told of every candidate alike.
    evidence = np.broadcast_to(np.where(unusable, np.float32(0.0), told)[:, :, None], (n, size, size))
    codes = np.where(unusable, -1, np.arange(size))
    return Case(prior, evidence, codes, expected, np.zeros(0))
