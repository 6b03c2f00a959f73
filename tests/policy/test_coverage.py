from dataclasses import replace

import numpy as np

from askwho import Target
from askwho.data import Columns, read_log
from askwho.fitting import fit
from askwho.learners import Linear
from askwho.policy import Coverage, Newcomers
from askwho.policy._coverage import _supported
from tests import policies


def test_an_entity_is_not_asked_where_the_log_never_asked_it():
    rng = np.random.default_rng(0)
    n = 1200
    x, truth = rng.uniform(-1, 1, n), rng.integers(0, 3, n)
    best = np.where(rng.random(n) < 0.98, truth, 0).astype(object)
    best[(x > 0.2)] = None
    plain = np.where(rng.random(n) < 0.7, truth, 0)
    # One column for each side of the line: a linear model can tell where the best was asked.
    table = {"x": x, "side": (x > 0.2).astype(float), "truth": truth, "answer_best": best, "answer_plain": plain}
    columns = Columns(truth="truth", answers="answer_*", features="x,side", fees={"best": 1.0, "plain": 1.0})
    policy = fit(read_log(table, columns), learner="linear", base="none", cv=3)
    queries = {"x": np.array([-0.5, 0.6]), "side": np.array([0.0, 1.0])}
    decisions = policy.decide(queries, Target(k=1))
    assert [decisions.ask(0), decisions.ask(1)] == [("best",), ("plain",)]


def test_answers_missing_at_random_change_nothing():
    rng = np.random.default_rng(0)
    X, asked = rng.normal(size=(2000, 3)), rng.random((2000, 4)) < 0.5
    coverage, covered = Coverage.fit(X, asked, np.arange(2000) % 3)
    assert coverage is None
    assert covered is None


def test_somebody_can_always_be_asked():
    X = np.repeat([[0.0], [1.0]], 500, axis=0)
    asked = np.column_stack([X[:, 0] == 0, X[:, 0] == 0])
    coverage, _ = Coverage.fit(X, asked, np.arange(1000) % 3)
    assert coverage is not None
    assert coverage.of(np.array([[1.0]])).all()


def test_half_of_the_usual_share_is_enough():
    known = _supported(np.array([[0.25, 0.4], [0.24, 0.4]]), np.array([0.5, 0.5]))
    assert known.tolist() == [[True, True], [False, True]]


def test_newcomers_are_known_everywhere_and_others_where_they_were(monkeypatch):
    policy, knows = policies.fitted("classes"), np.array([[True, False, True, False], [False] * 4])
    coverage = Coverage(Linear().fit(np.eye(4, 3), np.ones((4, 4))), np.ones(4))
    monkeypatch.setattr(Coverage, "of", lambda _, X: knows[: len(X)])
    judge = replace(policy.judge, coverage=coverage, newcomers=Newcomers.nobody(4, most=1.0))
    # Where nobody is known everybody may be asked.
    assert judge._covered(np.zeros((2, 3))).tolist() == [knows[0].tolist(), [True] * 4]
