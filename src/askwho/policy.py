"""From a log to a policy: the encoder of what is known, a base of our own, and the router on top."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from askwho import _validation as check
from askwho.aggregation import Verdicts
from askwho.answers import Answers, Cell, family
from askwho.costs import task_errors
from askwho.data import Columns, DecisionLog, EncoderLike, FeatureEncoder, Table
from askwho.exceptions import InvalidInputError
from askwho.learners import CompSum, OwnBase, folds, own_base
from askwho.panel import Entity, Panel
from askwho.router import Router, SurrogateCardinality, Why
from askwho.selection import Selection


@dataclass(frozen=True, eq=False)
class Policy:
    """A fitted policy: raw columns of queries in, decisions out.

    Args:
        columns: which column of the log was what.
        encoder: from known columns to numbers.
        router: the fitted router; its panel holds our own base first, where there is one.
        base: our own base predictor, if it was worth having.
    """

    columns: Columns
    encoder: FeatureEncoder
    router: Router
    base: OwnBase | None

    @property
    def panel(self) -> Panel:
        """Who can be asked: our own base first, where there is one, then the log's entities."""
        return self.router.panel_

    def features(self, queries: Mapping[str, np.ndarray]) -> Float[np.ndarray, "n d"]:
        """Return the encoded queries, shape (n, d)."""
        return self.encoder.transform(queries)

    def select(self, queries: Mapping[str, np.ndarray], **target: Any) -> Selection:  # noqa: ANN401 - Router.select's
        """Return whom to ask about each query; the target as in `Router.select`."""
        return self.router.select(self.features(queries), **target)

    def explain(self, queries: Mapping[str, np.ndarray], i: int = 0, **target: Any) -> Why:  # noqa: ANN401
        """Return why query i goes to whom it goes to; the target as in `Router.select`."""
        X = self.features(queries)
        return self.router.explain(X, self.router.select(X, **target), i)

    def calibrate(self, log: DecisionLog) -> None:
        """Take targets from a log that the policy has not seen, so that promises are exact: see `Router.calibrate`."""
        answers, errors, fees = log.answers, log.errors, log.fees
        if self.base is not None:
            answers, errors, fees = _behind(self.own_answers(log.known), log, self.panel)
        X, groups = self.features(log.known), log.groups
        info, shares = self.told(log.info), self.shares(log.known)
        self.router.calibrate(
            X, answers=answers, truth=log.truth, errors=errors, fees=fees, groups=groups, info=info, shares=shares
        )

    def complete(self, answers: Answers, queries: Mapping[str, np.ndarray]) -> Answers:
        """Return the answers of the log's entities with those of our own base in front."""
        self.check_type(answers)
        return answers if self.base is None else _with_base(answers, self.own_answers(queries))

    def check_type(self, answers: Answers) -> None:
        """Raise where answers are of another type than those of the log, and so could never be right."""
        beliefs, model = self.router.beliefs_, None if self.base is None else self.base.model
        classes = getattr(model, "classes_", getattr(model, "classes", None)) if beliefs is None else beliefs.classes
        known = "numbers" if self.router.task_ == "regression" else None if classes is None else family(classes)
        if known is not None and answers.family not in (None, known):
            raise InvalidInputError(
                f"`answers` must be {known}, as in the policy's log, got {answers.family}: 1 and '1' would never agree."
            )

    def own_answers(self, queries: Mapping[str, np.ndarray]) -> Shaped[np.ndarray, " n"]:
        """Return what our own base says of each query, shape (n,)."""
        if self.base is None:
            raise InvalidInputError("This policy has no base of its own.")
        return self.base.predict(*self._base_reads(queries, self.base))

    def shares(self, queries: Mapping[str, np.ndarray]) -> Float[np.ndarray, "n t"] | None:
        """Return our own base's probabilities of the classes, shape (n, T); None where it has none."""
        if self.base is None or self.router.task_ == "regression":
            return None
        return self.base.shares(*self._base_reads(queries, self.base))

    def _base_reads(
        self, queries: Mapping[str, np.ndarray], base: OwnBase
    ) -> tuple[Float[np.ndarray, "n d"], list[str] | None]:
        """What a base is asked with; encoding text takes long, and a base of words does not need it."""
        texts = _texts(queries, self.encoder.text)
        return (np.zeros((0, 0)) if base.reads == "text" else self.features(queries)), texts

    def told(self, info: Float[np.ndarray, "n a"] | None) -> Float[np.ndarray, "n b"] | None:
        """Return what came back with the answers, shape (n, |A|): our own base in front, which adds nothing."""
        if info is None or self.base is None:
            return info
        return np.hstack([np.full((len(info), 1), np.nan), info])

    def combine(
        self,
        selection: Selection,
        answers: Answers,
        queries: Mapping[str, np.ndarray],
        *,
        info: Float[np.ndarray, "n a"] | None = None,
    ) -> Verdicts:
        """Return what each committee decides; our own base answers for itself."""
        X = self.features(queries)
        said, shares = answers, None
        if self.base is not None:
            reads = X, _texts(queries, self.encoder.text)
            said = _with_base(answers, self.base.predict(*reads))
            shares = None if self.router.task_ == "regression" else self.base.shares(*reads)
        return self.router.combine(selection, said, X=X, info=self.told(info), shares=shares)


def fit_policy(
    log: DecisionLog,
    *,
    base: str = "auto",
    learner: str | CompSum = "auto",
    committee: str = "auto",
    cardinality: str | SurrogateCardinality = "curve",
    encoder: EncoderLike = "hashing",
    cv: int = 5,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Policy:
    """Return the policy that a log teaches.

    Args:
        log: read by `read_log`.
        base: `"auto"` to train a base of our own where the log names none, `"none"`, or left to the log's own.
        learner: as in `Router`.
        committee: as in `Router`.
        cardinality: as in `Router`.
        encoder: how text becomes numbers, as in `FeatureEncoder.fit`.
        cv: how many folds.
        random_state: the seed of everything.
        progress: called with a line of text as the fit goes on.
    """
    check.one_of(base, "base", ["auto", "none"])
    check.whole_number(cv, "cv", minimum=2)
    check.whole_number(random_state, "random_state", minimum=0, maximum=2**32 - 1)
    if len(log) < 4 * cv:
        raise InvalidInputError(f"`log` must have {4 * cv} rows at the least for {cv} folds, got {len(log)}.")
    if len(np.unique(log.groups)) < cv:
        raise InvalidInputError(
            f"`groups` must be {cv} at the least for {cv} folds, got {len(np.unique(log.groups))}: they stay whole."
        )
    if progress is not None and not (isinstance(encoder, str) and encoder == "hashing"):
        progress(f"encoding {len(log)} texts")
    features = FeatureEncoder.fit(log.known, text=log.columns.text, encoder=encoder, random_state=random_state)
    X = features.transform(log.known)
    trial = None
    named = any(entity.kind == "base" for entity in log.panel.entities)
    if base == "auto" and not named and log.truth is not None:
        fold = folds(log.groups, cv, random_state=random_state)
        texts = _texts(log.known, features.text)
        trial = own_base(X, texts, log.truth, fold, task=log.task, random_state=random_state)
        if progress is not None:
            progress("base: none is worth having" if trial is None else f"base: {trial.base.name}")
    panel, answers, errors, fees, info = log.panel, log.answers, log.errors, log.fees, log.info
    if trial is not None and answers is not None and log.truth is not None:
        panel = with_base(panel)
        answers, errors, fees = _behind(trial.answers, log, panel)
        info = np.hstack([np.full((len(log), 1), np.nan), info])
    router = Router(
        learner=learner,
        committee=committee,
        cardinality=cardinality,
        cv=cv,
        random_state=random_state,
        progress=progress,
    )
    router.fit(
        X,
        errors=errors,
        panel=panel,
        answers=answers,
        truth=log.truth,
        fees=fees,
        groups=log.groups,
        task=log.task,
        info=info,
        shares=None if trial is None else trial.shares,
    )
    return Policy(log.columns, features, router, None if trial is None else trial.base)


def with_base(panel: Panel) -> Panel:
    """Return the panel with a free base in front, under a name that nobody has."""
    more = (f"askwho-base-{i}" for i in range(len(panel) + 1))
    names = ("base", "own-base", "askwho-base", "askwho-own-base", *more)
    name = next(name for name in names if name not in panel.names)
    return Panel((Entity(name, "base"), *panel.entities))


def _behind(own: np.ndarray, log: DecisionLog, panel: Panel) -> tuple[Answers, np.ndarray, np.ndarray]:
    """A log's answers, errors and fees behind those of our own base, which is the first of the panel and free."""
    if log.answers is None or log.truth is None:
        raise InvalidInputError("`log` must hold answers and the truth: our own base is scored by them.")
    answers = _with_base(log.answers, own)
    error = "zero-one" if log.task == "classification" else "squared"
    errors = task_errors(answers, log.truth, panel=panel, error=error)
    return answers, errors, np.hstack([np.zeros((len(log), 1)), log.fees])


def _with_base(answers: Answers, own: np.ndarray) -> Answers:
    values = np.column_stack([own.astype(np.result_type(own, answers.values)), answers.values])
    states = np.column_stack([np.full(len(own), Cell.ANSWERED, dtype=np.int8), answers.states])
    return Answers(values, states)


def _texts(known: Table | Mapping[str, np.ndarray], text: str | None) -> list[str] | None:
    return None if text is None else ["" if value is None else str(value) for value in known[text].tolist()]
