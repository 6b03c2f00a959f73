"""Policies that cannot ask in turn, steps without a price, and beliefs without what they began from."""

import numpy as np
import pytest
from askwho.router import Router
from askwho.routes import combine_routes, make_routes

from askwho import Answers, Entity, InvalidInputError, Panel
from askwho.core import Cell
from askwho.data import Columns, read_log
from askwho.policy import fit_policy
from tests import synthetic

COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees=synthetic.FEES)
PANEL = Panel((Entity("own", "base"), Entity("a", fee=0.1), Entity("b", fee=1.0)))
NO_TURNS = (
    "This policy cannot ask in turn: it was fitted without answers that are classes, on fewer than 200 rows, or with "
    "another committee than 'posterior'."
)
NO_POSTERIOR = (
    "`committee` 'posterior' must learn from answers that are classes, two at the least, of 200 rows or more, with no "
    "label or reject in the panel: use 'auto' or another."
)


def refused(call, message):
    with pytest.raises(InvalidInputError) as error:
        call()
    assert str(error.value) == message


def problem(n=240):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, n)
    said = np.where(rng.random((n, 3)) < (0.7, 0.75, 0.9), truth[:, None], 1 - truth[:, None])
    shares = np.where(np.arange(2) == said[:, :1], 0.7, 0.3)
    return rng.normal(size=(n, 2)), truth, said, shares


def fitted(n=240, *, panel=PANEL, **given):
    X, truth, said, shares = problem(n)
    errors = (said != truth[:, None]).astype(float)
    answers = Answers(said, np.zeros(said.shape, dtype=np.int8))
    return Router(learner="linear", cv=3, **given).fit(
        X, errors=errors, panel=panel, answers=answers, truth=truth, shares=shares
    )


@pytest.fixture(scope="module")
def router():
    return fitted(committee="posterior")


NOTHING = Answers(np.zeros((2, 3)), np.full((2, 3), Cell.NOT_ASKED, dtype=np.int8))
SHARES = np.full((2, 2), 0.5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "`fee_weight`, or `budget`, `accuracy` or both, must be given, and not all three."),
        (
            {"fee_weight": 1.0, "budget": 1.0},
            "`fee_weight`, or `budget`, `accuracy` or both, must be given, and not all three.",
        ),
        ({"fee_weight": -1.0}, "`fee_weight` must be a finite number of at least 0, got -1.0."),
        ({"fee_weight": np.nan}, "`fee_weight` must be a finite number of at least 0, got nan."),
        (
            {"fee_weight": 1.0, "available": np.array([True])},
            "`available` must have shape (3,), got (1,): one for each entity of the panel.",
        ),
        (
            {"budget": 1.0, "available": np.ones(3, dtype=bool)},
            (
                "`budget` and `accuracy` were validated at the fitted fees with everybody there: "
                "pass `fee_weight` with other fees or fewer entities."
            ),
        ),
        (
            {"accuracy": 0.5, "fees": [0.0, 0.0, 0.0]},
            (
                "`budget` and `accuracy` were validated at the fitted fees with everybody there: "
                "pass `fee_weight` with other fees or fewer entities."
            ),
        ),
        (
            {"fee_weight": 1.0, "shares": None},
            "`shares` must be given: what the base thinks of each class is where beliefs begin.",
        ),
        (
            {"fee_weight": 1.0, "shares": np.ones((2, 3))},
            "`shares` must have shape (2, 2), got (2, 3): one row for each query, one share for each class.",
        ),
        (
            {"fee_weight": 1.0, "info": np.ones((2, 1))},
            "`info` must have shape (2, 3), got (2, 1): one row for each query, one column for each entity.",
        ),
    ],
)
def test_steps(router, given, message):
    refused(lambda: router.next_step(np.zeros((2, 2)), NOTHING, **{"shares": SHARES, **given}), message)


def test_steps_of_other_answers(router):
    few = Answers(np.zeros((2, 2)), np.zeros((2, 2), dtype=np.int8))
    refused(
        lambda: router.next_step(np.zeros((2, 2)), few, fee_weight=1.0, shares=SHARES),
        "`answers` must have shape (2, 3), got (2, 2): one row for each query, one column for each entity.",
    )


def test_targets_in_turn(router):
    with pytest.raises(InvalidInputError, match=r"^`accuracy` must be at least 0\.\d+, got 1e-06\.$"):
        router.setting_for(accuracy=1e-6, mode="sequential")
    for confidence in (None, 0.9):
        refused(
            lambda confidence=confidence: router.setting_for(budget=1.0, confidence=confidence, mode="both"),
            "`mode` must be one of 'at-once', 'sequential', got 'both'.",
        )


def test_a_committee_that_knows_its_members_must_know_the_query(router):
    X, _, said, _ = problem()
    selection = router.select(X, k=2)
    refused(
        lambda: router.combine(selection, Answers(said, np.zeros(said.shape, dtype=np.int8))),
        "`X` must be given: this committee weighs its members by what is expected of them.",
    )


@pytest.mark.parametrize("given", [{"n": 60}, {"committee": "majority"}], ids=str)
def test_policies_without_turns(given):
    plain = fitted(**given)
    refused(lambda: plain.next_step(np.zeros((2, 2)), NOTHING, fee_weight=1.0), NO_TURNS)
    refused(lambda: plain.setting_for(budget=1.0, confidence=0.9, mode="sequential"), NO_TURNS)
    refused(lambda: plain.setting_for(budget=1.0, mode="sequential"), NO_TURNS)


def test_a_committee_that_cannot_be_learned():
    refused(lambda: fitted(n=60, committee="posterior"), NO_POSTERIOR)
    X = problem()[0]
    refused(
        lambda: Router(learner="linear", cv=3, committee="posterior").fit(
            X,
            errors=np.zeros((240, 1)),
            panel=Panel((Entity("a"),)),
            answers=Answers(np.zeros((240, 1)), np.zeros((240, 1), dtype=np.int8)),
            truth=np.zeros(240),
        ),
        NO_POSTERIOR,
    )
    refused(
        lambda: Router(learner="linear", cv=3, committee="posterior").fit(
            X, errors=np.abs(X), panel=Panel.two_stage(["a"])
        ),
        NO_POSTERIOR,
    )


def test_one_class_needs_no_beliefs():
    X = problem()[0]
    said = Answers(np.ones((240, 1), dtype=int), np.zeros((240, 1), dtype=np.int8))
    router = Router(learner="linear", cv=3).fit(
        X, errors=np.zeros((240, 1)), panel=Panel((Entity("a"),)), answers=said, truth=np.ones(240, dtype=int)
    )
    assert router.beliefs_ is None


def test_routes_that_lost_what_the_base_thought():
    rng = np.random.default_rng(0)
    table = synthetic.classification(300)
    names = np.array(["cat", "dog", "owl"])
    table["x_1"] = 3 * np.searchsorted(names, table["truth"]) + rng.normal(size=300)
    policy = fit_policy(read_log(table, COLUMNS), learner="linear", committee="posterior", cv=3)
    assert policy.base is not None
    routes = {
        name: np.array([None, *values], dtype=object)[1:] for name, values in make_routes(policy, table, k=2).items()
    }
    whole = dict(routes)
    del routes["base_shares"]
    refused(
        lambda: combine_routes(policy, routes, table),
        "`routes` must be what `askwho route` wrote, missing: ['base_shares'].",
    )
    whole["base_shares"] = np.array([None, *([[0.5, 0.5]] * 300)], dtype=object)[1:]
    refused(
        lambda: combine_routes(policy, whole, table),
        "`base_shares` must have shape (300, 3), got (300, 2): one for each class.",
    )
