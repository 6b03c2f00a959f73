"""Each kind of expert: what it answers, what it charges, and how it fails."""

import asyncio
import threading
from decimal import Decimal

import numpy as np
import pytest

from askwho import InvalidInputError
from askwho._money import nanos
from askwho.experts import (
    Chat,
    Endpoint,
    Expert,
    ExpertError,
    Fake,
    Http,
    Limits,
    LookedUp,
    Onnx,
    OpenAI,
    Parse,
    Python,
    Question,
    Recorded,
    Reply,
    Stated,
    Usage,
    limits_of,
    worst_of,
)
from askwho.experts._network import retry_after
from tests.experts.models import write_linear

NOWHERE = "http://127.0.0.1:9/"


def asked(expert, id_="q1", **known):
    async def main():
        try:
            return await expert.ask(Question(id_, known, "key", 1.0))
        finally:
            await expert.close()

    return asyncio.run(main())


class TestPrices:
    def test_a_bill_is_exact(self):
        prices = Stated(Decimal("0.15"), Decimal("0.6"), cached=Decimal("0.075"), call=Decimal("0.01"))
        assert prices.charge(Usage(1000, 100)) == nanos("0.01021")
        assert prices.charge(Usage(1000, 100, cached=400)) == nanos("0.01018")
        # A third of a nano is rounded when it is charged, and up when it is held.
        third = Stated(Decimal("0.0003"), Decimal(0))
        assert (third.charge(Usage(1, 0)), third.most(Usage(1, 0))) == (0, 1)

    @pytest.mark.parametrize("usage", [Usage(0, 0), Usage(7, 3), Usage(123, 45, cached=120)])
    def test_no_charge_is_above_the_most(self, usage):
        for prices in (
            Stated(Decimal("0.37"), Decimal("1.11")),
            Stated(Decimal("0.37"), Decimal("1.11"), cached=Decimal("0.5")),
        ):
            assert prices.charge(usage) <= prices.most(usage)

    def test_prices_are_looked_up_by_name(self):
        pytest.importorskip("genai_prices")
        prices = LookedUp("gpt-4o-mini", "openai")
        assert prices.charge(Usage(1_000_000, 0)) > 0
        assert prices.charge(Usage(1000, 1000)) <= prices.most(Usage(1000, 1000))
        assert prices.charge(Usage(2000, 0)) == pytest.approx(2 * prices.charge(Usage(1000, 0)), abs=2)
        with pytest.raises(InvalidInputError, match="whose prices are known, got 'no-such-model'"):
            LookedUp("no-such-model")


def model(parse=None, **chat):
    return OpenAI(
        "m",
        Endpoint("m", NOWHERE, Limits()),
        Chat("m", "{text}", **chat),
        Parse() if parse is None else parse,
        Stated(Decimal(1), Decimal(2)),
    )


def completion(**changes):
    choice = {"finish_reason": "stop", "message": {"content": "cat"}}
    return {"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 5}} | changes


class TestOpenAI:
    def test_a_whole_answer_is_settled_by_its_usage(self):
        assert model().reply(completion()) == Reply("cat", None, nanos("0.00002"))

    @pytest.mark.parametrize(
        "body",
        [
            completion(choices=[]),
            completion(choices=None),
            completion(choices=[{"finish_reason": "length", "message": {"content": "ca"}}]),
            completion(choices=[{"finish_reason": "content_filter", "message": {"content": ""}}]),
            completion(choices=[{"message": {"content": "cat"}}]),
            completion(choices=[{"finish_reason": "stop", "message": {"content": None}}]),
            completion(choices=[{"finish_reason": "stop", "message": {"content": ["cat"]}}]),
            completion(choices=["cat"]),
            completion(choices={"0": "cat"}),
            completion(error={"message": "overloaded"}),
        ],
    )
    def test_whatever_is_not_whole_is_no_answer_but_is_charged(self, body):
        reply = model().reply(body)
        assert reply.answer is None
        assert reply.why
        assert reply.charged == nanos("0.00002")
        assert not reply.guessed

    @pytest.mark.parametrize("body", [None, [], "cat", 3, {}, {"error": "x"}, {"result": "cat"}])
    def test_another_shape_is_no_answer_and_its_charge_a_guess(self, body):
        reply = model().reply(body)
        assert reply.answer is None
        assert reply.guessed
        assert reply.charged is None

    @pytest.mark.parametrize(
        "usage",
        [None, {}, {"prompt_tokens": -1, "completion_tokens": 1}, {"prompt_tokens": 1.5}, {"prompt_tokens": "1"}],
    )
    def test_a_usage_that_cannot_be_is_none(self, usage):
        reply = model().reply(completion(usage=usage))
        assert reply.answer == "cat"
        assert reply.guessed

    def test_a_prompt_that_may_be_too_long_is_not_sent(self):
        with pytest.raises(ExpertError, match="may have 132 tokens, got 100") as error:
            asked(model(max_input=100), text="é" * 50)
        assert error.value.charged == "no"

    def test_what_is_held_covers_the_longest_answer(self):
        expert = model(max_tokens=100)
        short, long = (expert.worst_of({"text": text}) for text in ("a", "a" * 1000))
        assert nanos("0.0002") < short < long < expert.worst
        # Nothing is sent without its columns.
        assert worst_of(expert, {}) == 0

    def test_options_do_not_move_what_is_asked(self):
        chat = Chat("m", "{text}", options={"model": "dear", "stream": True, "temperature": 0, "user": "{who}"})
        body = chat.body(chat.messages({"text": 7.0, "who": "me"}), {"text": 7.0, "who": "me"})
        assert (body["model"], body["stream"], body["temperature"], body["user"]) == ("m", False, 0, "me")
        assert body["messages"] == [{"role": "user", "content": "7"}]


class TestHttp:
    def expert(self, **given):
        return Http("h", Endpoint("h", NOWHERE, Limits()), {"q": "{q}"}, "a.label", worst=nanos(1), **given)

    def test_answer_confidence_and_fee_are_where_the_paths_lead(self):
        expert = self.expert(fee_path="cost", info="a.sure")
        body = {"a": {"label": "cat", "sure": 0.5}, "cost": 0.25}
        assert expert.reply(body) == Reply("cat", 0.5, nanos("0.25"))
        assert expert.reply(body | {"cost": "0.3"}).charged == nanos("0.3")

    @pytest.mark.parametrize("cost", [None, -1, True, "much", [1]])
    def test_a_fee_that_is_none_is_a_guess(self, cost):
        reply = self.expert(fee_path="cost").reply({"a": {"label": "cat"}, "cost": cost})
        assert reply.guessed
        assert reply.answer == "cat"
        fixed = self.expert(fee_path="cost", fee=nanos("0.1")).reply({"a": {"label": "cat"}, "cost": cost})
        assert (fixed.charged, fixed.guessed) == (nanos("0.1"), False)

    @pytest.mark.parametrize("body", [{}, {"a": None}, {"a": {"label": {"x": 1}}}, [], "cat", {"a": {"label": ""}}])
    def test_another_shape_is_no_answer(self, body):
        reply = self.expert(fee=nanos("0.1")).reply(body)
        assert reply.answer is None
        assert reply.why
        assert reply.charged == nanos("0.1")

    def test_a_number_is_a_number(self):
        assert self.expert(fee=0).reply({"a": {"label": 3.5}}).answer == 3.5
        assert self.expert(fee=0, parse=Parse(number=True)).reply({"a": {"label": "3"}}).answer == 3


class TestPython:
    def test_sync_runs_in_a_thread_and_async_does_not(self):
        here = threading.get_ident()

        async def later(_):
            await asyncio.sleep(0)
            return threading.get_ident()

        assert asked(Python("a", lambda known: threading.get_ident())).answer != here
        assert asked(Python("a", later)).answer == here

    def test_what_it_returns_is_an_answer_or_a_reply(self):
        assert asked(Python("a", lambda known: known["x"] + 1, worst=5), x=1) == Reply(2, charged=5)
        assert asked(Python("a", lambda known: np.float64(1.5))).answer == 1.5
        said = Reply("cat", 0.5, 3)
        assert asked(Python("a", lambda known: said, worst=5)) == said
        assert asked(Python("a", lambda known: Reply("cat", 0.5), worst=5)).charged == 5

    @pytest.mark.parametrize("is_async", [False, True])
    def test_a_batch_is_asked_together(self, is_async):
        sizes = []

        def many(known):
            sizes.append(len(known))
            return [each["x"] for each in known]

        async def later(known):
            return many(known)

        expert = Python("a", later if is_async else many, batch=4, wait=0.02)

        async def main():
            questions = [Question(f"q{i}", {"x": i}, "key", 1.0) for i in range(10)]
            came = await asyncio.gather(*(expert.ask(question) for question in questions))
            await expert.close()
            return [reply.answer for reply in came]

        assert asyncio.run(main()) == list(range(10))
        assert sorted(sizes) == [2, 4, 4]

    def test_a_batch_of_another_length_answers_nobody(self):
        expert = Python("a", lambda known: ["cat"], batch=2, wait=0.01)

        async def main():
            questions = [Question(f"q{i}", {}, "key", 1.0) for i in range(2)]
            came = await asyncio.gather(*(expert.ask(question) for question in questions), return_exceptions=True)
            await expert.close()
            return came

        assert [type(error) for error in asyncio.run(main())] == [ExpertError] * 2


class TestOnnx:
    @pytest.fixture
    def path(self, tmp_path):
        write_linear(tmp_path / "m.onnx")
        return tmp_path / "m.onnx"

    def test_the_largest_output_is_the_answer_and_tells_how_sure_it_is(self, path):
        reply = asked(Onnx("n", path, ["a", "b"], ["cat", "dog"], worst=3), a=0.0, b=1.0)
        assert (reply.answer, reply.charged) == ("dog", 3)
        assert reply.info == pytest.approx(1 / (1 + np.exp(-2)), abs=1e-5)

    @pytest.mark.parametrize(
        "known", [{"a": 1.0}, {"a": 1.0, "b": "x"}, {"a": 1.0, "b": np.nan}, {"a": 1.0, "b": None}]
    )
    def test_what_is_no_number_is_not_asked(self, path, known):
        with pytest.raises(ExpertError) as error:
            asked(Onnx("n", path, ["a", "b"], ["cat", "dog"]), **known)
        assert error.value.charged == "no"

    def test_outputs_that_stand_for_nothing_are_no_answer(self, path):
        for classes in (None, ["cat", "dog", "owl"]):
            reply = asked(Onnx("n", path, ["a", "b"], classes), a=0.0, b=1.0)
            assert reply.answer is None
            assert reply.why

    def test_an_output_that_is_not_there_is_refused(self, path):
        with pytest.raises(InvalidInputError, match=r"`output` must be one of \['p'\], got 'q'"):
            Onnx("n", path, ["a", "b"], output="q")


TABLE = {
    "id": np.array([1, 2, 3]),
    "said": np.array(["cat", None, "owl"], dtype=object),
    "fee": np.array([0.1, 0.2, np.nan]),
    "sure": np.array([0.9, np.nan, 0.5]),
}


class TestRecorded:
    def test_it_says_what_it_said(self):
        expert = Recorded.of("r", TABLE, answer="said", fee="fee", info="sure")
        assert asked(expert, "1") == Reply("cat", 0.9, nanos("0.1"))
        assert asked(expert, "2") == Reply(None, None, nanos("0.2"), "nothing usable is recorded")
        assert asked(expert, "3") == Reply("owl", 0.5, 0)
        with pytest.raises(ExpertError, match="nothing is recorded about '4'") as error:
            asked(expert, "4")
        assert error.value.charged == "no"

    def test_numbers_stay_numbers(self):
        expert = Recorded.of("r", {"id": ["a"], "y": np.array([3])}, answer="y", fee=0.5)
        assert asked(expert, "a") == Reply(3, None, nanos("0.5"))

    def test_it_takes_as_long_as_it_took(self):
        table = {"id": ["a"], "y": ["b"], "took": np.array([3.0])}
        expert = Recorded.of("r", table, answer="y", latency="took", speed=100.0)

        async def main():
            loop = asyncio.get_running_loop()
            before = loop.time()
            await expert.ask(Question("a", {}, "key", 1.0))
            return loop.time() - before

        assert 0.03 <= asyncio.run(main()) < 3.0

    def test_a_table_without_its_columns_is_refused(self):
        with pytest.raises(InvalidInputError, match=r"must have the columns \['nobody'\]"):
            Recorded.of("r", TABLE, answer="nobody")
        with pytest.raises(InvalidInputError, match="must name each row once"):
            Recorded.of("r", {"id": ["a", "a"], "y": ["b", "c"]}, answer="y")


@pytest.mark.parametrize(
    ("value", "date", "seconds"),
    [
        (None, None, None),
        ("7", None, 7.0),
        ("soon", None, None),
        ("Mon, 01 Jan 1990 00:00:05 GMT", None, None),
        ("Mon, 01 Jan 1990 00:00:05 GMT", "Mon, 01 Jan 1990 00:00:01 GMT", 4.0),
        ("Mon, 01 Jan 1990 00:00:05 GMT", "Mon, 01 Jan 1990 00:00:09 GMT", 0.0),
        ("-3", None, None),
    ],
)
def test_how_long_to_leave_somebody_alone_goes_by_his_own_clock(value, date, seconds):
    assert retry_after(value, date) == seconds


def test_one_method_a_name_and_a_price_make_an_expert():
    class Own:
        name = "own"
        worst = 5

        async def ask(self, _):
            return Reply("cat")

        async def close(self):
            pass

    assert isinstance(Own(), Expert)
    assert limits_of(Own()) == Limits()
    assert worst_of(Own(), {}) == 5
    assert isinstance(Fake("a"), Expert)


@pytest.mark.parametrize(
    "wrong", [{"timeout": 0}, {"timeout": float("inf")}, {"rate": 0}, {"concurrency": 0}, {"retries": -1}]
)
def test_limits_that_cannot_be_are_refused(wrong):
    with pytest.raises(InvalidInputError):
        Limits(**wrong)
