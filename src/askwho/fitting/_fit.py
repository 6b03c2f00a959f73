"""From a log to a policy: the encoder of what is known, a base of our own, and the parts that decide, one by one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Int, Shaped

from askwho import _validation as check
from askwho._parts import at_work
from askwho.core import Answers, Cell, Entity, Panel, folds, last_moments
from askwho.data import MAX_ROWS, EncoderLike, FeatureEncoder, Log, commonest
from askwho.exceptions import InvalidInputError
from askwho.fitting._asking import FEWEST_WHOLE, learn_turns
from askwho.fitting._calibrate import promised, until
from askwho.fitting._cardinality import learn_cardinality
from askwho.fitting._committee import choose_committee, choose_overlap, learn_beliefs
from askwho.fitting._costs import mean_mistake, with_costs
from askwho.fitting._in_time import judged_by_the_future, later_folds
from askwho.fitting._intervals import with_intervals
from askwho.fitting._judge import learn_judge
from askwho.fitting._rationing import learn_rationing
from askwho.fitting._small_panels import choose_sets
from askwho.fitting._sureness import with_sureness
from askwho.fitting._surrogate import SurrogateCardinality, checked_cardinality
from askwho.learners import Trial, check_learner, own_base
from askwho.policy import (
    POSTERIOR,
    SPREAD,
    Beliefs,
    Combine,
    Combiner,
    Facts,
    Fees,
    Judge,
    LearnedChances,
    Past,
    Policy,
    Seen,
    answers_of_all,
    check_rule,
    grouped,
)
from askwho.replay import Replay, alike, chances_of, constant_committees, corrected, looked_up, with_fees

# What a fold must hold to teach anything.
_ROWS_A_FOLD = 4
FEWEST = 2 * _ROWS_A_FOLD
"""Rows that a policy is learned from at the least: two folds."""
# Names the stream of numbers that says which groups are kept for promises.
_APART = 0x5EED


def fit(
    log: Log,
    *,
    base: str = "auto",
    learner: Any = "auto",  # noqa: ANN401 - a name, settings of a surrogate, or the user's own
    committee: str | Combine = "auto",
    cardinality: str | SurrogateCardinality = "curve",
    encoder: EncoderLike = "hashing",
    cv: int = 5,
    max_k: int = 12,
    max_rows: int = MAX_ROWS,
    promise: float = 0.0,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Policy:
    """Return the policy that a log teaches.

    Where the log says when its rows were (`Columns.time`), targets are met by folds in time: each is decided by a
    policy of the same kind that was taught by what came before it.

    Args:
        log: read by `read_log`.
        base: `"auto"` to train a base of our own where the log names none and it is worth having, or `"none"`.
        learner: `"auto"`, or a name in `LEARNERS`: of all, the one with the least area under its validated frontier;
            the paper's policy: a name in `losses.SURROGATES`, or a `CompSum` with its settings; or an object of your
            own that has `fit` and `predict`.
        committee: `"auto"`, a name in `AGGREGATIONS`, or a function of your own from committees to verdicts: likewise,
            but `"posterior"` where none is clearly better.
        cardinality: how many to ask: `"curve"`, expected committee errors learned once for every price; or the paper's
            Algorithm 2, `"surrogate"` or a `SurrogateCardinality` with its settings, for the prices it is trained at.
        encoder: how text becomes numbers, as in `FeatureEncoder.fit`.
        cv: how many folds to cross-fit in; fewer where there are fewer than four rows for each.
        max_k: the largest committee.
        max_rows: of a longer log a stratified sample of so many rows is learned from, which `Facts.drawn` says; 0 for
            all rows. Beyond the default more rows of numbers were measured to buy next to nothing; texts and
            networks may want more.
        promise: the share of the log's groups that is kept for promises: nothing is learned from them, and a target
            with `confidence` is shown on them alone. What it costs is what those rows would have taught. Those that
            came last, where the log says when its rows were.
        random_state: the seed of everything.
        progress: called with a line of text as the fit goes on.
    """
    say = progress or _nobody
    check.one_of(base, "base", ["auto", "none"])
    check_rule(committee, log.task)
    check.whole_number(max_k, "max_k", minimum=1)
    settings = checked_cardinality(cardinality)
    check_learner(learner)
    if log.truth is not None and log.truth.dtype.kind == "S":
        raise InvalidInputError(
            "`log` must hold text, numbers or dates to be learned from, got bytes: decode them first."
        )
    log = log.drawn(check.whole_number(max_rows, "max_rows", minimum=0))
    drawn_from = log.sampling.drawn_from
    if drawn_from is not None:
        say(f"learning from {len(log):,} of {drawn_from:,} rows, a stratified sample")
    log = with_costs(log)
    seed = check.whole_number(random_state, "random_state", minimum=0, maximum=2**32 - 1)
    whole, (log, kept) = log, _kept_apart(log, check.finite_number(promise, "promise", minimum=0.0), seed)
    told = np.flatnonzero(log.audited)
    count = fold_count(cv, len(told), log.groups[told], what="log" if log.audited.all() else "truth")
    later = later_folds(log.rows(told), count, least=FEWEST, random_state=seed)
    given = _Settings(base, learner, committee, settings, encoder, cv, max_k, seed)
    policy = _learned(log, given, later, say)
    if later is not None:
        say("judging by what came later")
        settled = given.as_in(policy)
        # Of rows without a truth the future says nothing.
        policy = judged_by_the_future(
            policy, log.rows(told), later, lambda past: _learned(past, settled, None, _nobody)
        )
    if drawn_from is not None:
        policy = replace(policy, facts=replace(policy.facts, drawn=(len(whole), drawn_from)))
    return until(policy if kept is None else promised(policy, kept), whole)


@dataclass(frozen=True)
class _Settings:
    """How to learn, as `fit` takes it."""

    base: str
    learner: Any
    committee: str | Combine
    cardinality: SurrogateCardinality | None
    encoder: EncoderLike
    cv: int
    max_k: int
    seed: int

    def as_in(self, policy: Policy) -> "_Settings":
        """Return the settings with what was chosen in the place of a choice."""
        learner, cardinality = self.learner, self.cardinality
        if isinstance(learner, str) and learner == "auto":
            learner = policy.judge.name
        if cardinality is not None:
            # Its networks are of single prices: those that were taken.
            cardinality = replace(cardinality, fee_weights=tuple(policy.tried.prices.tolist()))
        # The posterior, and asking in turn, need more rows than the earliest past may have.
        rule = None if policy.turns is not None or policy.combiner.rule in (POSTERIOR, SPREAD) else policy.combiner.rule
        return replace(self, learner=learner, cardinality=cardinality, committee=rule or "auto")


def _nobody(_: str) -> None:
    """Nobody listens."""


def _learned(log: Log, given: _Settings, later: Int[np.ndarray, " n"] | None, say: Callable[[str], None]) -> Policy:
    """The policy that all of these rows teach; its learner is chosen by later folds, where there are some."""
    seed, encoder, committee = given.seed, given.encoder, given.committee
    # Whoever was right is learned where the truth is known; the others say what queries there are, and what they cost.
    told, untold = np.flatnonzero(log.audited), np.flatnonzero(~log.audited)
    count = fold_count(given.cv, len(told), log.groups[told], what="truth" if len(untold) else "log")
    fold = folds(log.groups[told], count, random_state=seed)
    if encoder != "hashing" and log.columns.text is not None:
        say(f"encoding {len(log)} texts")
    features = FeatureEncoder.fit(log.known, text=log.columns.text, encoder=encoder, random_state=seed)
    encoded = features.transform(log.known)
    looked = looked_up(log, encoded)
    # Of asking all rows tell, also those whose truth nobody looked up.
    asking = None if looked is None else chances_of(log, encoded, looked)
    X = encoded if looked is None else encoded[told]
    rest = log.rows(untold)
    if looked is not None:
        log, looked = log.rows(told), looked[told]
    trial = _base(log, X, features, fold, wanted=given.base == "auto", seed=seed, say=say)
    whole = log if trial is None else with_base(log, trial)
    width = _width(whole, given.max_k)
    classes = 0 if whole.answers is None or whole.task != "classification" else _different(whole.answers)
    more, mistake = len(whole.panel) - len(log.panel), mean_mistake(whole)
    chances = asking.rows(told).behind(more) if isinstance(asking, LearnedChances) else chances_of(whole, X, looked)
    if whole.charged.guessed:
        # A fee is told whether its truth was looked up or not.
        whole = with_fees(whole, X, Fees.fit(X, whole.charged, fold)[1], chances if looked is None else None)
    judge, seen, trials, width = learn_judge(
        whole,
        X,
        fold,
        later=later,
        learner=given.learner,
        width=width,
        n_classes=classes,
        mistake=mistake,
        chances=chances,
        random_state=seed,
        say=say,
    )
    if trial is not None:
        seen = replace(seen, said=trial.answers, shares=trial.shares)
    family = None if whole.answers is None else whole.answers.family
    real = Replay(whole, seen, Combiner(whole.task, None, classes, family, mistake=mistake), chances=chances)
    real = choose_sets(learn_beliefs(real, fold, committee=committee, random_state=seed), fold, width=width)
    # Committees are learned of where everybody answered: what is missing is imagined once.
    rng = np.random.default_rng(seed)
    replay = real if chances is None else real.imagined(rng)
    replay, committees = choose_committee(replay, committee=committee, width=width)
    replay = choose_overlap(replay, width=width)
    judge = replace(judge, overlap=replay.seen.judged.overlap)
    real = replace(real, seen=replay.seen, combiner=replay.combiner)
    others = (
        None if looked is None else _untold(rest, encoded[untold], whole.panel, trial, judge, features, real.combiner)
    )
    anew = real.anew(seed)
    how_many, tried = learn_cardinality(
        replay, real, fold, settings=given.cardinality, width=width, random_state=seed, anew=anew, others=others
    )
    past = Past.of(X, whole.errors, seen.expected, random_state=seed)
    rationing = learn_rationing(replay, fold, how_many, past, random_state=seed)
    how_many = replace(how_many, rationing=rationing)
    turns, judges = None, []
    if real.case is not None and (log.answers is None or committee in ("auto", POSTERIOR, SPREAD)):
        # What would come back with an answer is not imagined: of grades those teach that are there.
        taught = real if replay.case is None else replay
        turns, judges = learn_turns(taught, real, fold, random_state=seed, like=tried, others=others)
    if given.cardinality is None and not judge.priced and others is None:
        # The paper's own policies stay as they are: whoever tells queries apart otherwise must beat who does not.
        constant = constant_committees(replay, width)
        tried = replace(tried, fixed=alike(real, constant, anew))
        if turns is not None:
            turns = replace(turns, tried=replace(turns.tried, fixed=alike(real, constant, anew, judges)))
    return Policy(
        columns=log.columns,
        panel=whole.panel,
        task=whole.task,
        encoder=features,
        base=None if trial is None else at_work(trial.base),
        judge=judge,
        cardinality=how_many,
        combiner=_spelling(
            with_sureness(real, with_intervals(real, replay.combiner, tried, width, turns), width), log, trial
        ),
        tried=tried,
        turns=turns,
        past=past,
        facts=Facts(
            tuple(_mean_errors(real, others).tolist()), trials, committees, None if trial is None else trial.base.name
        ),
    )


def _spelling(combiner: Combiner, log: Log, trial: Trial | None) -> Combiner:
    """The combiner that knows how the log spells what may be decided for, whoever says so."""
    if log.answers is None or log.answers.spelled is None:
        return combiner
    believed = combiner.beliefs.classes if isinstance(combiner.beliefs, Beliefs) else None
    known = [believed, None if trial is None else trial.base.classes]
    keys = [key for classes in known if classes is not None for key in classes.tolist()]
    return replace(combiner, spellings=commonest(log.answers, keys))


def _untold(
    log: Log,
    X: np.ndarray,
    panel: Panel,
    trial: Trial | None,
    judge: Judge,
    encoder: FeatureEncoder,
    combiner: Combiner,
) -> Replay:
    """Rows of which no truth is known, as the policy sees them."""
    said, shares = None, None
    if trial is not None:
        said, shares = trial.base.say(X, None if encoder.text is None else encoder.texts(log.known))
        log = log.behind(panel, answers_of_all(panel, len(log), said=said, given=log.answers))
    seen = Seen(X, judge.judge(X), judge.fees.of(X), said, shares)
    log = with_fees(log, X, seen.fees, None)
    case = None if log.answers is None else combiner.case(log.answers, seen, log.info)
    return Replay(log, seen, combiner, None if case is None else replace(case, there=seen.judged.covered))


def _mean_errors(real: Replay, others: Replay | None) -> np.ndarray:
    """What each errs over all rows: else it would be judged on other rows than others."""
    if real.chances is None:
        return real.log.errors.mean(axis=0)
    every = [real] if others is None else [real, others]
    expected = np.vstack([each.seen.expected for each in every])
    weights = np.zeros(expected.shape)
    weights[: len(real.log)] = real.chances.cells
    groups = grouped(np.concatenate([each.log.groups for each in every]))
    return corrected(expected.T, np.vstack([each.log.errors for each in every]).T, weights.T, groups).mean(axis=1)


def _kept_apart(log: Log, share: float, seed: int) -> tuple[Log, Log | None]:
    """The rows to learn from, and those that are kept for promises: whole groups, of which nothing is learned."""
    if share == 0.0:
        return log, None
    if share >= 1.0:
        raise InvalidInputError(f"`promise` must be below 1, got {share:g}: it is the share of groups to keep apart.")
    names, group = np.unique(log.groups, return_inverse=True)
    count = round(share * len(names))
    if not 0 < count < len(names) - 1:
        raise InvalidInputError(
            f"`promise` must keep a group and leave two to learn from, got {share:g} of {len(names)} groups."
        )
    apart = np.zeros(len(names), dtype=bool)
    # A stream of its own: the same seed must not tie who is kept apart to how folds are drawn.
    drawn = np.random.default_rng([seed, _APART]).permutation(len(names))
    if log.sampling.time is not None:
        # A promise is about what comes: it is kept by what came last.
        last, _ = last_moments(log.sampling.time, log.groups)
        drawn = drawn[np.argsort(-last[drawn], kind="stable")]
    apart[drawn[:count]] = True
    held = apart[group.reshape(-1)]
    return log.alone(np.flatnonzero(~held)), log.rows(np.flatnonzero(held))


def fold_count(cv: int, n: int, groups: Shaped[np.ndarray, " n"], *, what: str = "log") -> int:
    """Return how many folds to use: `cv`, or as many as so few rows or groups allow.

    Args:
        cv: as many as are wanted.
        n: how many rows there are.
        groups: which of them must stay together.
        what: what a message calls the rows.
    """
    check.whole_number(cv, "cv", minimum=2)
    if n < FEWEST:
        raise InvalidInputError(
            f"`{what}` must have at least {FEWEST} rows, got n_samples={n}: who is good at what is learned on held-out "
            "rows."
        )
    different = len(np.unique(groups))
    if different < 2:
        raise InvalidInputError(f"`groups` must hold at least two groups, got {different}: none could be held out.")
    return min(cv, n // _ROWS_A_FOLD, different)


def with_base(log: Log, trial: Trial) -> Log:
    """Return the log with our own base in front: free, under a name that nobody has, and heard on every row."""
    more = (f"askwho-base-{i}" for i in range(len(log.panel) + 1))
    names = ("base", "own-base", "askwho-base", "askwho-own-base", *more)
    name = next(name for name in names if name not in log.panel.names)
    panel = Panel((Entity(name, "base", own=True), *log.panel.entities))
    return log.behind(panel, answers_of_all(panel, len(log), said=trial.answers, given=log.answers))


def _base(
    log: Log,
    X: np.ndarray,
    encoder: FeatureEncoder,
    fold: Int[np.ndarray, " n"],
    *,
    wanted: bool,
    seed: int,
    say: Callable[[str], None],
) -> Trial | None:
    named = any(entity.kind in ("base", "label") for entity in log.panel.entities)
    if not wanted or named or log.truth is None or log.answers is None:
        return None
    texts = None if encoder.text is None else encoder.texts(log.known)
    trial = own_base(X, texts, log.truth, fold, task=log.task, error=log.scored_by, random_state=seed)
    say("base: none is worth having" if trial is None else f"base: {trial.base.name}")
    return trial


def _width(log: Log, max_k: int) -> int:
    """The largest committee that the log can tell anything of."""
    if log.answers is None:
        return 1
    answered = np.sort(log.asked.sum(axis=1))[::-1]
    return int(np.clip(answered[min(FEWEST_WHOLE, len(answered)) - 1], 1, min(max_k, len(log.panel))))


def _different(answers: Answers) -> int:
    """How many different answers occur, two at the least."""
    return max(2, len(np.unique(answers.values[answers.states == Cell.ANSWERED])))
