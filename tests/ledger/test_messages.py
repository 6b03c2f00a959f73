"""What is no call, no amount and no text is refused, with what was expected and what came."""

import pytest

from askwho.exceptions import InvalidInputError
from askwho.ledger import Balance, Call, nanos
from tests.ledger.books import call, run

CALL = {"id": "a", "decision": "d", "expert": "e", "key": "k", "worst": 1, "until": 1.0}


@pytest.mark.parametrize(
    "changed",
    [
        {"id": ""},
        {"id": None},
        {"id": "x" * 501},
        {"decision": 7},
        {"expert": "a\0b"},
        {"key": "\ud800"},
        {"worst": -1},
        {"worst": 1.5},
        {"worst": 2**63},
        {"until": float("nan")},
        {"until": "soon"},
    ],
)
def test_a_call_that_cannot_be_booked_is_refused_when_it_is_made(changed):
    with pytest.raises(InvalidInputError, match=f"`{next(iter(changed))}` must be"):
        Call(**CALL | changed)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda books: books.settle("a", charged=0.5), "`charged` must be a whole number"),
        (lambda books: books.settle("a", charged=-1), "`charged` must be a whole number"),
        (lambda books: books.settle("a", charged=True), "`charged` must be a whole number"),
        (lambda books: books.settle("a", charged=1, info="sure"), "`info` must be a number"),
        (lambda books: books.settle("a", charged=1, answer={1, 2}), "`answer` must be what JSON can hold, got set"),
        (lambda books: books.settle("a", charged=1, answer=float("inf")), "`answer` must be what JSON can hold"),
        (lambda books: books.reconcile("a", None), "`charged` must be a whole number"),
        (lambda books: books.set_budget("all", -1), "`limit` must be a whole number"),
        (lambda books: books.set_budget("", 1), "`name` must be text of 1 to 500 letters"),
        (lambda books: books.set_budget("all", 1, "week"), "`period` must be one of 'hour', 'day', 'total'"),
        (lambda books: books.decided("x", query=[1], decision={}), "`query` must be a mapping from name to value"),
        (lambda books: books.decided("x", query={}, decision=None), "`decision` must be a mapping"),
        (lambda books: books.decided("x", query={}, decision={}, at="now"), "`at` must be a number"),
        (lambda books: books.closed("x", paid=0.5), "`paid` must be a whole number"),
        (lambda books: books.closed("x", probability="high"), "`probability` must be a number"),
        (lambda books: books.free("a\0", ""), "`call_id` must be text of 1 to 500 letters without NUL"),
        (lambda books: books.hold([call("a"), call("a")]), "Calls must have different names, got 'a' more than once"),
        (lambda books: books.hold([call("x")], budgets=["all", "all"]), "Budgets must have different names"),
    ],
)
def test_what_cannot_be_booked_is_refused_before_it_is_tried(act, said):
    async def story(ledger):
        await ledger.set_budget("all", 100)
        await ledger.hold([call("a", 10)], budgets=["all"])
        with pytest.raises(InvalidInputError, match=said):
            await act(ledger)
        return await ledger.balance("all")

    assert run(":memory:", story) == Balance(100, 0, 10)


@pytest.mark.parametrize("given", [None, [1], b"1", {}])
def test_what_is_no_amount_is_refused(given):
    with pytest.raises(InvalidInputError, match="An amount must be a number, got"):
        nanos(given)


def test_a_state_that_is_none_is_refused():
    async def story(ledger):
        with pytest.raises(InvalidInputError, match="`status` must be one of 'held', 'settled'"):
            ledger.booked("lost")

    run(":memory:", story)
