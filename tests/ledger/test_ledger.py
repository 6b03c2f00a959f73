"""What is held, charged, given back and unknown, on both databases."""

import asyncio

import numpy as np
import pytest

from askwho.exceptions import InvalidInputError
from askwho.ledger import Balance, LedgerError, open_ledger
from tests.ledger.books import START, Clock, call, kept, run, sums_are_right

HOUR = 3600.0


def test_a_budget_covers_what_it_can_and_not_a_billionth_more(url):
    async def story(ledger):
        await ledger.set_budget("day", 1000, "day")
        held = await ledger.hold(
            [call("a", 600), call("b", 401), call("c", 400), call("d", 1), call("e", 0)], budgets=["day"]
        )
        return held, await ledger.balance("day")

    held, balance = run(url, story)
    # First come, first served; a later one that fits is not refused for an earlier one that did not.
    assert held == [True, False, True, False, True]
    assert balance == Balance(1000, 0, 1000)
    assert balance.left == 0
    sums_are_right(url)


def test_what_was_not_charged_is_given_back(url):
    async def story(ledger):
        await ledger.set_budget("all", 100)
        await ledger.hold([call("a", 100)], budgets=["all"])
        assert await ledger.hold([call("b", 1)], budgets=["all"]) == [False]
        await ledger.free("a", "refused the connection")
        assert await ledger.hold([call("b", 100)], budgets=["all"]) == [True]
        assert await ledger.settle("b", charged=30, answer="yes", info=0.5) == 0
        assert await ledger.hold([call("c", 70)], budgets=["all"]) == [True]
        return await ledger.balance("all"), [(b.call.id, b.status, b.charged, b.why) for b in ledger.booked()]

    balance, booked = run(url, story)
    assert balance == Balance(100, 30, 70)
    assert booked == [
        ("a", "freed", 0, "refused the connection"),
        ("b", "settled", 30, ""),
        ("c", "held", 0, ""),
    ]
    sums_are_right(url)


def test_a_charge_above_its_hold_is_booked_flagged_and_told(url):
    async def story(ledger):
        await ledger.set_budget("all", 100)
        await ledger.hold([call("a", 100)], budgets=["all"])
        assert await ledger.settle("a", charged=130) == 30
        assert [booked.over for booked in ledger.booked()] == [30]
        assert await ledger.hold([call("b", 0)], budgets=["all"]) == [False]
        return await ledger.balance("all")

    balance = run(url, story)
    assert balance == Balance(100, 130, 0, over=30)
    assert balance.left == -30


def test_a_hold_that_expired_is_spent_and_never_free(url):
    clock = Clock()

    async def story(ledger):
        await ledger.set_budget("all", 100)
        await ledger.hold([call("a", 60, until=START + 5)], budgets=["all"])
        clock.now = START + 4.9
        assert await ledger.hold([call("b", 41)], budgets=["all"]) == [False]
        clock.now = START + 5
        assert await ledger.balance("all") == Balance(100, 60, 0)
        assert await ledger.hold([call("b", 41), call("c", 40)], budgets=["all"]) == [False, True]
        (lost,) = ledger.booked("unknown")
        assert (lost.call.id, lost.charged) == ("a", 60)
        assert "expired" in lost.why
        # What came of it turns up late.
        assert await ledger.settle("a", charged=10, answer="yes") == 0
        return await ledger.balance("all")

    assert run(url, story, clock=clock) == Balance(100, 10, 40)
    sums_are_right(url)


def test_what_nobody_knows_is_spent_until_it_is_reconciled(url):
    async def story(ledger):
        await ledger.set_budget("all", 100)
        await ledger.hold([call("a", 60), call("b", 40)], budgets=["all"])
        await ledger.unknown("a", "reset in mid-body")
        assert await ledger.balance("all") == Balance(100, 60, 40)
        assert await ledger.reconcile("a", 7) == 0
        assert await ledger.reconcile("b", 50) == 10
        # The answer comes behind the books: their charge stands.
        assert await ledger.settle("b", charged=40, answer="no") == 10
        assert await ledger.reconcile("b", 45) == 5
        return await ledger.balance("all"), [(b.call.id, b.status) for b in ledger.booked()]

    balance, booked = run(url, story)
    assert balance == Balance(100, 52, 0, over=5)
    assert booked == [("a", "reconciled"), ("b", "reconciled")]
    sums_are_right(url)


def test_a_call_stays_in_the_hour_and_the_day_it_was_held_in(url):
    clock = Clock(START + HOUR - 1)

    async def story(ledger):
        for name, period in (("hour", "hour"), ("day", "day"), ("all", "total")):
            await ledger.set_budget(name, 100, period)
        names = ["hour", "day", "all"]
        assert await ledger.hold([call("a", 60, until=START + 3 * HOUR)], budgets=names) == [True]
        clock.now = START + HOUR  # the next hour
        assert (await ledger.balance("hour")).left == 100
        assert (await ledger.balance("day")).left == 40
        await ledger.settle("a", charged=50)
        assert (await ledger.balance("hour")).spent == 0
        assert [(await ledger.balance(name)).spent for name in names] == [0, 50, 50]
        # The least budget decides.
        assert await ledger.hold([call("b", 51)], budgets=names) == [False]
        assert await ledger.hold([call("b", 50)], budgets=names) == [True]
        clock.now = START + 24 * HOUR
        return [(await ledger.balance(name)) for name in names]

    # By then the second has expired, and is spent: in the day that it was held in, and for ever.
    assert run(url, story, clock=clock) == [Balance(100, 0, 0), Balance(100, 0, 0), Balance(100, 100, 0)]
    assert kept(url)["day", "2027-01-15"] == (100, 0, 0)
    sums_are_right(url)


def test_budgets_are_changed_and_removed_while_money_is_held(url):
    async def story(ledger):
        await ledger.set_budget("key", 100)
        await ledger.hold([call("a", 80)], budgets=["key"])
        await ledger.set_budget("key", 50)
        assert (await ledger.balance("key")).left == -30
        await ledger.set_budget("key", None)
        with pytest.raises(InvalidInputError, match="must be set before they are held on, got 'key'"):
            await ledger.hold([call("b", 1)], budgets=["key"])
        with pytest.raises(InvalidInputError, match="must be set"):
            await ledger.balance("key")
        await ledger.settle("a", charged=70)
        # Set anew, in one go with a hold: what was spent still is.
        _, held = await asyncio.gather(
            ledger.set_budget("key", 100), ledger.hold([call("b", 31), call("c", 30)], budgets=["key"])
        )
        return held

    assert run(url, story) == [False, True]
    sums_are_right(url)


def test_without_a_budget_everything_is_held_and_booked(url):
    async def story(ledger):
        return await ledger.hold([call("a", 10**18), call("b", 0)])

    assert run(url, story) == [True, True]


def test_what_cannot_follow_is_refused_and_changes_nothing(url):
    async def story(ledger):
        await ledger.set_budget("all", 100)
        await ledger.hold([call("a", 10), call("b", 10)], budgets=["all"])
        await ledger.settle("a", charged=5)
        await ledger.free("b", "429")
        before = await ledger.balance("all")
        wrong = [
            ("settled", ledger.settle("a", charged=6)),
            ("freed", ledger.settle("b", charged=6)),
            ("settled", ledger.free("a", "")),
            ("freed", ledger.unknown("b", "")),
            ("not there", ledger.settle("nobody", charged=1)),
            ("not there", ledger.reconcile("nobody", 1)),
            ("in the books", ledger.hold([call("c", 1), call("a", 1)], budgets=["all"])),
            ("more than once", ledger.hold([call("e"), call("e")])),
            ("in the books, got", ledger.closed("nobody")),
            ("in the books, got", ledger.outcome("nobody", 1)),
        ]
        for said, doing in wrong:
            with pytest.raises(InvalidInputError, match=said):
                await doing
        assert await ledger.balance("all") == before
        # One that is refused does no harm to the others of its transaction.
        found = await asyncio.gather(
            *(ledger.hold([call(id_, 1)], budgets=["all"]) for id_ in ("f", "a", "g")), return_exceptions=True
        )
        assert found[0] == found[2] == [True]
        assert isinstance(found[1], InvalidInputError)

    run(url, story)
    sums_are_right(url)


def test_decisions_are_kept_with_what_came_of_them(url):
    async def story(ledger):
        query = {"text": "wie geht's?\0\ud800", "x": np.float64(0.5), "n": float("nan"), "v": np.arange(2)}
        await ledger.decided("d", query=query, decision={"ask": ["a"], "propensity": 0.25}, at=3.0)
        with pytest.raises(InvalidInputError, match="must be new, got 'd'"):
            await ledger.decided("d", query={}, decision={})
        await ledger.hold([call("1")])
        await ledger.settle("1", charged=100, answer="yes", info=0.75)
        await ledger.closed("d", verdict="yes", probability=0.9, paid=100)
        await ledger.outcome("d", "no")
        await ledger.outcome("d", "yes")
        return ledger.export()

    assert run(url, story) == {
        "id": ["d"],
        "time": [3.0],
        "text": ["wie geht's?\0\ud800"],
        "x": [0.5],
        "n": [None],
        "v": [[0, 1]],
        "answer_a": ["yes"],
        "info_a": [0.75],
        "fee_a": [1e-7],
        "propensity": [0.25],
        "truth": ["yes"],
    }


def test_reasons_are_kept_in_any_text_and_cut_when_they_are_pages(url):
    async def story(ledger):
        await ledger.hold([call("a"), call("b")])
        await ledger.unknown("a", "x\0y\ud800")
        await ledger.free("b", "page " * 1000)
        return [booked.why for booked in ledger.booked()]

    odd, long = run(url, story)
    assert odd == "x\ufffdy?"
    assert len(long) == 1001


def test_money_is_exact_where_floats_are_not(url):
    async def story(ledger):
        await ledger.set_budget("all", 2**60 + 1)
        await ledger.hold([call("a", 2**60)], budgets=["all"])
        await ledger.settle("a", charged=2**60)
        assert await ledger.hold([call("b", 2)], budgets=["all"]) == [False]
        assert await ledger.hold([call("c", 1)], budgets=["all"]) == [True]
        # A sum that no database holds is refused, and fails alone.
        with pytest.raises(InvalidInputError, match="must leave the sum within"):
            await ledger.reconcile("c", 2**62)
        return await ledger.balance("all")

    assert run(url, story) == Balance(2**60 + 1, 2**60, 1)
    sums_are_right(url)


def test_a_closed_ledger_says_so_and_keeps_what_was_held(url):
    async def story(ledger):
        await ledger.set_budget("all", 100)
        await ledger.hold([call("a", 60)], budgets=["all"])
        await ledger.close()
        with pytest.raises(LedgerError, match="must be open, got one that was closed"):
            await ledger.balance("all")

    run(url, story)

    async def again(ledger):
        return await ledger.balance("all")

    assert run(url, again) == Balance(100, 0, 60)


def test_one_ledger_serves_many_event_loops(url):
    ledger = open_ledger(url, clock=Clock())
    asyncio.run(ledger.set_budget("all", 10))
    assert asyncio.run(ledger.hold([call("a", 10)], budgets=["all"])) == [True]
    asyncio.run(ledger.close())


def test_a_durable_ledger_keeps_the_same_books(url):
    async def story(ledger):
        await ledger.set_budget("all", 100)
        await ledger.hold([call("a", 60)], budgets=["all"])
        await ledger.settle("a", charged=5)
        await ledger.hold([call("b", 60)], budgets=["all"])
        return await ledger.balance("all")

    assert run(url, story, durable=True) == Balance(100, 5, 60)


def test_a_decision_is_written_with_the_first_hold(url):
    async def story(ledger):
        telling = ledger.decided("d", query={"x": 1}, decision={})
        held = await ledger.hold([call("a", 60)])
        # It was in the queue before: by now it is done.
        assert telling.done() or await telling is None
        return held, ledger.export(propensity=False)["id"]

    assert run(url, story) == ([True], ["d"])


def test_a_forked_process_is_told_to_open_its_own(tmp_path):
    async def story(ledger):
        ledger._writer._process -= 1
        with pytest.raises(LedgerError, match="open it after the fork"):
            await ledger.balance("all")
        ledger._writer._process += 1

    run(str(tmp_path / "ledger.sqlite"), story)


@pytest.mark.parametrize("durable", [True, False])
def test_only_what_may_cost_money_waits_for_the_disk(url, durable, monkeypatch):
    seen = []

    async def story(ledger):
        database = type(ledger._writer._database)
        begin = database.begin

        def listened(self, queries, **how):
            found = begin(self, queries, **how)
            says = "SHOW synchronous_commit" if url.startswith("postgresql") else "PRAGMA synchronous"
            seen.append({"on": True, "off": False, 2: True, 1: False}[self.rows(says)[0][0]])
            return found

        monkeypatch.setattr(database, "begin", listened)
        await ledger.set_budget("all", 100)
        await ledger.decided("d", query={}, decision={})
        await ledger.hold([call("a", 60)], budgets=["all"])
        await ledger.settle("a", charged=5)
        await ledger.closed("d")
        await ledger.outcome("d", 1)
        await ledger.reconcile("a", 6)

    run(url, story, durable=durable)
    assert seen == ([True, False, True, False, False, True, True] if durable else [False] * 7)
