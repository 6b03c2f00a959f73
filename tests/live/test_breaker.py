"""Breakers and gates, by a clock of their own."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho.live import COOLDOWN, FAILURES, Breaker
from askwho.live._gate import LONGEST_PAUSE, Gate


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def broken(clock):
    breaker = Breaker(clock=clock)
    for _ in range(FAILURES):
        assert breaker.allows()
        breaker.begin()
        breaker.failed()
    return breaker


def test_so_many_failures_in_a_row_open_it_and_time_half_opens_it():
    clock = Clock()
    breaker = broken(clock)
    assert breaker.state == "open"
    clock.now += COOLDOWN - 0.1
    assert not breaker.allows()
    clock.now += 0.2
    assert breaker.state == "half-open"


def test_half_open_one_call_decides():
    clock = Clock()
    breaker = broken(clock)
    clock.now += COOLDOWN
    assert breaker.allows()
    breaker.begin()
    assert not breaker.allows()
    breaker.failed()
    assert breaker.state == "open"
    clock.now += COOLDOWN
    breaker.begin()
    breaker.withdrawn()
    # Nothing was learned: the next may try.
    assert breaker.allows()
    breaker.begin()
    breaker.succeeded()
    assert breaker.state == "closed"


@given(st.lists(st.booleans(), max_size=40))
def test_it_opens_at_the_first_run_of_failures_and_no_sooner(outcomes):
    breaker, run = Breaker(clock=Clock()), 0
    for fine in outcomes:
        if breaker.state == "open":
            break
        breaker.begin()
        if fine:
            breaker.succeeded()
        else:
            breaker.failed()
        run = 0 if fine else run + 1
        assert (breaker.state == "open") == (run == FAILURES)


def test_it_can_be_opened_at_once():
    breaker = Breaker(clock=Clock())
    breaker.open()
    assert breaker.state == "open"


def test_whoever_cannot_be_in_time_does_not_wait():
    async def main():
        gate, loop = Gate(1, rate=1.0), asyncio.get_running_loop()
        assert await gate.enter(loop.time() + 1)
        gate.leave()
        before = loop.time()
        assert not await gate.enter(before + 0.5)
        # It was known at once, and the place is free again.
        assert loop.time() - before < 0.4
        gate.pause(1e9)
        assert gate.opens(before) <= loop.time() + LONGEST_PAUSE

    asyncio.run(main())


def test_a_place_in_a_queue_is_given_up_when_its_time_has_come():
    async def main():
        gate, loop = Gate(1), asyncio.get_running_loop()
        assert await gate.enter(loop.time() + 1)
        assert not await gate.enter(loop.time() + 0.02)
        waiting = asyncio.create_task(gate.enter(loop.time() + 10))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        gate.leave()
        assert await gate.enter(loop.time() + 0.01)

    asyncio.run(main())
