"""The town speaks the protocol: what its own client library reads there, our expert reads too, and asks for alike.

The library is not among what the tests install; `make torture` adds it.
"""

import asyncio

import pytest

pytest.importorskip("aiohttp")
openai = pytest.importorskip("openai", reason="the client library is installed by `make torture` alone")

from askwho.experts import Question, Usage  # noqa: E402 - behind what it needs
from tests.live.town import MAX_TOKENS, PRICES, House  # noqa: E402

PROMPT = "Query q0: cat, dog or owl?"


def client(house):
    return openai.AsyncOpenAI(base_url=house.url.removesuffix("/chat/completions"), api_key="key-of-a", max_retries=0)


async def asked(house, key="theirs"):
    """What the client library makes of the house's answer."""
    async with client(house) as theirs:
        return await theirs.chat.completions.create(
            model="town",
            messages=[{"role": "user", "content": PROMPT}],
            max_tokens=MAX_TOKENS,
            extra_headers={"Idempotency-Key": key},
        )


def test_both_ask_alike_and_read_the_same_answer_and_bill():
    async def story():
        async with House({"q0": "dog"}) as house:
            expert = house.expert("a")
            made, reply = await asked(house), await expert.ask(Question("q0", {"id": "q0"}, "ours", 5.0))
            await expert.close()
            return made, reply, house

    made, reply, house = asyncio.run(story())
    assert made.choices[0].finish_reason == "stop"
    assert reply.answer == "dog"
    assert reply.answer in made.choices[0].message.content
    bill = PRICES.charge(Usage(made.usage.prompt_tokens, made.usage.completion_tokens))
    assert reply.charged == bill == house.charged_for("theirs") == house.charged_for("ours")
    theirs, ours = house.requests
    assert theirs["body"] | {"stream": False} == ours["body"]
    assert theirs["headers"]["Authorization"] == ours["headers"]["Authorization"]


@pytest.mark.parametrize(
    ("fault", "error"),
    [("429", "RateLimitError"), ("500 then fine", "InternalServerError"), ("reset in mid-body", "APIConnectionError")],
)
def test_a_fault_of_the_town_is_the_one_that_the_client_knows(fault, error):
    async def story():
        async with House({"q0": "dog"}, fault=fault) as house:
            await asked(house)

    with pytest.raises(getattr(openai, error)):
        asyncio.run(story())
