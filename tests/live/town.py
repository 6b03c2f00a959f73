"""A town to test in: OpenAI-compatible servers on the loopback, with books of their own, and a catalogue of faults.

A house answers what was recorded, after a while, charges by tokens, and writes down what it charged under the
idempotency key that it was sent. Each fault can be switched on and off while it runs.
"""

import asyncio
import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime

from aiohttp import web

from askwho.experts import Chat, Endpoint, Limits, OpenAI, Parse, Secret, Stated, Usage

FAULTS = (
    "refuses connections",
    "accepts and is silent",
    "drips bytes",
    "429",
    "500 then fine",
    "truncated JSON",
    "200 with an error body",
    "empty choices",
    "wrong schema",
    "finish_reason=length",
    "usage missing",
    "price beyond the hold",
    "name does not resolve",
    "reset in mid-body",
    "clock far off",
    "answers after the deadline",
)
"""The catalogue; "429" has a second form, "429 without Retry-After"."""
PRICES = Stated(Decimal("3"), Decimal("15"))
"""Of a million tokens."""
MAX_TOKENS = 40
"""That an answer may have."""


@dataclass
class House:
    """One server.

    Args:
        answers: by the query's id, what it says.
        seconds: how long it takes.
        honours: whether a key that it has seen is answered as before, and not charged again.
        fault: what is wrong with it, if anything.
    """

    answers: Mapping[str, str]
    seconds: float = 0.0
    honours: bool = False
    fault: str | None = None
    # What it charged, in nanos, by key: a key that is not honoured may be charged twice.
    books: list[tuple[str, int]] = field(default_factory=list)
    # The requests as they came.
    requests: list[dict] = field(default_factory=list)
    seen: dict[str, dict] = field(default_factory=dict)
    port: int = 0
    _runner: web.AppRunner | None = None
    _spares: list[socket.socket] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where it is, or says that it is."""
        if self.fault == "name does not resolve":
            return "http://no-such-house.invalid/v1/chat/completions"
        if self.fault == "refuses connections":
            return f"http://127.0.0.1:{self._closed_port()}/v1/chat/completions"
        return f"http://127.0.0.1:{self.port}/v1/chat/completions"

    @property
    def charged(self) -> int:
        """All that it charged, in nanos."""
        return sum(charge for _, charge in self.books)

    def charged_for(self, key: str) -> int:
        """What it charged for one key, in nanos."""
        return sum(charge for each, charge in self.books if each == key)

    def _closed_port(self) -> int:
        # Bound and never listening: whoever connects is refused, and nobody else gets the port.
        spare = socket.socket()
        spare.bind(("127.0.0.1", 0))
        self._spares.append(spare)
        return spare.getsockname()[1]

    async def __aenter__(self) -> "House":
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._serve)
        self._runner = web.AppRunner(app, handle_signals=False, access_log=None, shutdown_timeout=0.05)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        for spare in self._spares:
            spare.close()
        await self._runner.cleanup()

    def expert(self, name: str, **limits: object) -> OpenAI:
        """Whoever asks this house."""
        usual = {"timeout": 0.4, "retries": 2, "idempotent": self.honours} | limits
        endpoint = Endpoint(
            name, self.url, Limits(**usual), {"Authorization": Secret(f"key-of-{name}", before="Bearer ")}
        )
        chat = Chat("town", "Query {id}: cat, dog or owl?", max_tokens=MAX_TOKENS, max_input=2000)
        return OpenAI(name, endpoint, chat, Parse(choices=("cat", "dog", "owl")), PRICES)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        key = request.headers["Idempotency-Key"]
        self.requests.append({"body": body, "headers": dict(request.headers), "key": key})
        if self.honours and key in self.seen:
            return web.json_response(self.seen[key])
        fault = _HANDLERS.get(self.fault_of(key) or "")
        if fault is not None:
            response = await fault(self, Visit(request, key, body))
            if response is not None:
                return response
        if self.seconds:
            await asyncio.sleep(self.seconds)
        return web.json_response(self.charge(key, body))

    def charge(self, key: str, body: dict, **changes: object) -> dict:
        """Write down a charge, and return the completion that it is for."""
        made = completion(self.answers, body) | changes
        usage = made.get("usage") or completion(self.answers, body)["usage"]
        self.books.append((key, PRICES.charge(Usage(usage["prompt_tokens"], usage["completion_tokens"]))))
        self.seen[key] = made
        return made

    def fault_of(self, key: str) -> str | None:
        """What goes wrong with a call."""
        del key
        return self.fault

    def first_time(self, key: str) -> bool:
        """Whether a key comes for the first time."""
        return sum(each["key"] == key for each in self.requests) == 1


@dataclass
class Visit:
    """One request to a house."""

    request: web.Request
    key: str
    body: dict


def completion(answers: Mapping[str, str], body: dict) -> dict:
    """What an OpenAI-compatible server replies."""
    prompt = body["messages"][-1]["content"]
    text = f"It is a {answers[prompt.split()[1].rstrip(':')]}."
    usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body["model"],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": usage | {"total_tokens": sum(usage.values())},
    }


async def _silent(house, visit):
    house.charge(visit.key, visit.body)
    await asyncio.sleep(30)


async def _drips(house, visit):
    data = json.dumps(house.charge(visit.key, visit.body)).encode()
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(data))})
    await response.prepare(visit.request)
    for i in range(len(data)):
        await response.write(data[i : i + 1])
        await asyncio.sleep(0.05)
    return response


async def _too_many(house, _visit):
    headers = {"Retry-After": "30"} if house.fault == "429" else {}
    return web.json_response({"error": {"message": "slow down"}}, status=429, headers=headers)


async def _first_500(house, visit):
    return web.json_response({"error": {"message": "oops"}}, status=500) if house.first_time(visit.key) else None


async def _truncated(house, visit):
    data = json.dumps(house.charge(visit.key, visit.body))
    # Cut behind the answer: whoever is content with half of it would read one.
    return web.Response(text=data[: data.index("finish_reason")], content_type="application/json")


async def _error_body(_house, _visit):
    return web.json_response({"error": {"message": "the model is overloaded", "type": "server_error"}})


async def _empty(house, visit):
    return web.json_response(house.charge(visit.key, visit.body, choices=[]))


async def _wrong_schema(house, visit):
    made = house.charge(visit.key, visit.body)
    return web.json_response({"result": {"text": made["choices"][0]["message"]["content"]}, "usage": made["usage"]})


async def _length(house, visit):
    made = completion(house.answers, visit.body)
    # It began to think, and names an animal that it may not have ended with.
    made["choices"][0] |= {"finish_reason": "length", "message": {"role": "assistant", "content": "Perhaps a cat, bu"}}
    return web.json_response(house.charge(visit.key, visit.body, choices=made["choices"]))


async def _no_usage(house, visit):
    made = house.charge(visit.key, visit.body)
    return web.json_response({name: value for name, value in made.items() if name != "usage"})


async def _too_dear(house, visit):
    return web.json_response(
        house.charge(visit.key, visit.body, usage={"prompt_tokens": 20, "completion_tokens": 5000})
    )


async def _reset(house, visit):
    data = json.dumps(house.charge(visit.key, visit.body)).encode()
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(data))})
    await response.prepare(visit.request)
    await response.write(data[: len(data) // 2])
    visit.request.transport.abort()
    return response


async def _clock_off(house, visit):
    if not house.first_time(visit.key):
        return None
    then = datetime.now(UTC) - timedelta(days=9000)
    headers = {
        "Date": format_datetime(then, usegmt=True),
        "Retry-After": format_datetime(then + timedelta(seconds=1), usegmt=True),
    }
    return web.json_response({"error": {"message": "slow down"}}, status=429, headers=headers)


async def _late(house, visit):
    house.charge(visit.key, visit.body)
    await asyncio.sleep(3)
    return web.json_response(house.seen[visit.key])


_HANDLERS: dict[str, Callable] = {
    "accepts and is silent": _silent,
    "drips bytes": _drips,
    "429": _too_many,
    "429 without Retry-After": _too_many,
    "500 then fine": _first_500,
    "truncated JSON": _truncated,
    "200 with an error body": _error_body,
    "empty choices": _empty,
    "wrong schema": _wrong_schema,
    "finish_reason=length": _length,
    "usage missing": _no_usage,
    "price beyond the hold": _too_dear,
    "reset in mid-body": _reset,
    "clock far off": _clock_off,
    "answers after the deadline": _late,
}


class Lag:
    """How late the event loop is: the longest that a short sleep took too long."""

    def __init__(self) -> None:
        self.worst = 0.0

    async def __aenter__(self) -> "Lag":
        self._task = asyncio.get_running_loop().create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(0.002)
            self.worst = max(self.worst, loop.time() - before - 0.002)
