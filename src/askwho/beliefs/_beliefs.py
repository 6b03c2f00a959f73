"""What is believed about the right class, whoever has answered: prior, evidence and pool, fitted together."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Shaped

from askwho.aggregation import Committee, Verdicts
from askwho.answers import Answers, Cell
from askwho.beliefs._evidence import Evidence, Heard
from askwho.beliefs._pool import Case, Pool, random_masks
from askwho.learners import each_fold

# Beyond so many classes nobody's habits with each of them can be learned: candidates are then what a row's members say.
_MOST_CLASSES = 64
_MASKS = 2
# Even a sure base may be wrong: so much of its share goes to all classes.
_DOUBT = 0.01
_UNSEEN = 1e-4


@dataclass(frozen=True, eq=False)
class Beliefs:
    """A committee that knows its members: right for any of them that answered.

    Args:
        classes: shape (C,), every answer that training saw, sorted; empty where there are too many to know.
        truths: shape (T,), the classes that were ever right, sorted: what a base's shares are about.
        share: shape (C,), how often each was right.
        evidence: what one answer says.
        pool: what several say together.
    """

    classes: Shaped[np.ndarray, " c"]
    truths: Shaped[np.ndarray, " t"]
    share: Float[np.ndarray, " c"]
    evidence: Evidence
    pool: Pool

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
        random_state: int = 0,
    ) -> "tuple[Beliefs, Case]":
        """Return the beliefs that past answers teach, and the past queries as a case, all of it out of fold.

        Args:
            answers: what everybody said.
            truth: shape (n,).
            expected: shape (n, |A|), expected errors, out of fold.
            fold: shape (n,), of each query.
            base: which entity's shares are given: they are the prior, and its answers no further evidence.
            shares: shape (n, T), the base's probabilities of the sorted truths, out of fold.
            info: shape (n, |A|), what came back with the answers.
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
        )
        blank = cls(classes, truths, share, nobody, Pool(np.zeros(size), np.zeros((0, 0))))
        heard, _ = blank.heard(answers, expected=expected, shares=shares, info=info)
        right = blank.right(answers, heard.codes, truth)
        evidence = np.empty((*heard.codes.shape, heard.prior.shape[1]), dtype=np.float32)
        for seen, held in each_fold(fold):
            taught = Evidence.fit(heard.rows(seen), right[seen], silent=silent, named=named)
            evidence[held] = taught.of(heard.rows(held))
        case = Case(heard.prior, evidence, np.where(silent, -1, heard.codes), heard.expected, classes)
        asked = (answers.states != Cell.NOT_ASKED) & ~silent
        pool = Pool.fit(case, right, random_masks(asked, _MASKS, random_state=random_state))
        whole = Evidence.fit(heard, right, silent=silent, named=named)
        return cls(classes, truths, share, whole, pool), case

    def heard(
        self,
        answers: Answers,
        *,
        expected: Float[np.ndarray, "n a"],
        shares: Float[np.ndarray, "n t"] | None = None,
        info: Float[np.ndarray, "n a"] | None = None,
    ) -> "tuple[Heard, Shaped[np.ndarray, ' l']]":
        """Return answers as candidates, and the classes (L,) that candidates stand for, where they are classes."""
        n, size = answers.values.shape
        labels = self.classes
        spoke = answers.states == Cell.ANSWERED
        if len(self.classes):
            codes, labels = _codes(answers, spoke, self.classes)
            prior = np.tile(self.share, (n, 1))
            if shares is not None:
                prior *= _DOUBT
                prior[:, np.searchsorted(self.classes, self.truths)] += (1.0 - _DOUBT) * shares
            extra = len(labels) - len(self.classes)
            prior = np.hstack([prior, np.full((n, extra), _UNSEEN)])
        else:
            codes = _places_in_row(answers, spoke)
            prior = np.ones((n, size + 1))
        prior = np.log(np.maximum(prior / prior.sum(axis=1, keepdims=True), 1e-9)).astype(np.float32)
        told = np.full(codes.shape, np.nan) if info is None else info
        return Heard(codes, expected, prior, told), labels

    def case(
        self,
        answers: Answers,
        *,
        expected: Float[np.ndarray, "n a"],
        shares: Float[np.ndarray, "n t"] | None = None,
        info: Float[np.ndarray, "n a"] | None = None,
    ) -> Case:
        """Return queries with everything that was answered."""
        heard, labels = self.heard(answers, expected=expected, shares=shares, info=info)
        codes = np.where(self.evidence.silent, -1, heard.codes)
        return Case(heard.prior, self.evidence.of(heard), codes, heard.expected, labels)

    def verdicts(self, committee: Committee, case: Case) -> tuple[Verdicts, Float[np.ndarray, "n K"]]:
        """Return what the committees of every size decide, and how sure each is, shape (n, K)."""
        state = self.pool.nothing(case, np.arange(len(case)))
        columns: list[np.ndarray] = []
        sure = np.empty(committee.order.shape)
        for r in range(committee.order.shape[1]):
            state = self.pool.hear(case, state, committee.order[:, r])
            said, sure[:, r] = self.decide(case, self.pool.probabilities(case, state), committee.said)
            columns.append(said)
        return Verdicts(values=np.column_stack(columns), decided=committee.decided), sure

    def decide(
        self, case: Case, believed: Float32[np.ndarray, "n c"], answers: Answers
    ) -> tuple[Shaped[np.ndarray, " n"], Float32[np.ndarray, " n"]]:
        """Return the likeliest answer, shape (n,), and its probability, shape (n,)."""
        # The last place in a row stands for what nobody said: it cannot be answered.
        among = believed if len(self.classes) else believed[:, :-1]
        place = among.argmax(axis=1)
        sure = np.take_along_axis(believed, place[:, None], axis=1)[:, 0]
        if len(self.classes):
            return case.labels[place], sure
        author = (case.codes == place[:, None]).argmax(axis=1)
        return answers.values[np.arange(len(author)), author], sure

    def right(
        self, answers: Answers, codes: Int[np.ndarray, "n a"], truth: Shaped[np.ndarray, " n"]
    ) -> Int[np.ndarray, " n"]:
        """Return the place of the truth among the candidates, shape (n,); the last where no candidate is right."""
        if len(self.classes):
            return np.searchsorted(self.classes, truth.astype(np.result_type(self.classes, truth)))
        same = (answers.values == truth[:, None]) & (codes >= 0)
        return np.where(same.any(axis=1), codes[np.arange(len(codes)), same.argmax(axis=1)], codes.shape[1])


def _codes(
    answers: Answers, spoke: Bool[np.ndarray, "n a"], classes: np.ndarray
) -> tuple[Int[np.ndarray, "n a"], np.ndarray]:
    """Answers as indices into the classes, those that training never saw behind them; −1 where there is none."""
    said = answers.values[spoke]
    common = np.result_type(said, classes) if said.size else classes.dtype
    known, said = classes.astype(common), said.astype(common)
    place = np.minimum(np.searchsorted(known, said), len(known) - 1)
    new = known[place] != said
    labels = known
    if new.any():
        unseen, where = np.unique(said[new], return_inverse=True)
        place[new] = len(known) + where
        labels = np.concatenate([known, unseen])
    codes = np.full(spoke.shape, -1)
    codes[spoke] = place
    return codes, labels


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
