"""A secret is planted, and searched for in everything that asking leaves behind."""

import asyncio
import copy
import logging
import pickle
import sqlite3
import traceback
from contextlib import AsyncExitStack
from decimal import Decimal

import pytest

pytest.importorskip("aiohttp")

from aiohttp import web

from askwho import Target
from askwho.experts import ExpertError, Question, Secret, read_experts
from askwho.ledger import open_ledger
from askwho.live import Asker
from askwho.persistence import save
from tests import policies

SECRET = "sk-planted-0123456789abcdef"  # noqa: S105 - it is planted
FILE = """
[experts.left]
kind = "openai"
url = "http://127.0.0.1:{port}/v1"
model = "m"
key_env = "PLANTED"
prompt = "{{id}}"
price = {{ input = 1, output = 2 }}
free_statuses = [500]

[experts.right]
kind = "http"
url = "http://127.0.0.1:{port}/http"
body = {{ id = "{{id}}" }}
answer = "label"
fee = 0.1
headers = {{ "X-Key" = {{ env = "PLANTED" }} }}

[experts.both]
kind = "openai"
url = "http://127.0.0.1:{port}/v1"
model = "m"
key_env = "PLANTED"
prompt = "{{id}}"
price = {{ input = 1, output = 2 }}
parse = {{ regex = "answer: (\\\\w+)" }}

[experts.noise]
kind = "openai"
url = "http://127.0.0.1:9/v1"
model = "m"
key_env = "PLANTED"
prompt = "{{id}}"
price = {{ input = 1, output = 2 }}
"""


async def parrot(request):
    """Repeat the key in every way in which an endpoint can, with a success and without."""
    key = request.headers.get("Authorization") or request.headers["X-Key"]
    bare = key.removeprefix("Bearer ")
    text = await request.text()
    if request.path == "/http":
        return web.json_response({f"your key {bare}": key, "error": bare})
    if "401" in text:
        return web.json_response({"error": {"message": f"Incorrect API key provided: {bare}."}}, status=401)
    if "500" in text:
        return web.Response(text=f"<html>{key} {bare}</html>", status=500)
    if "200" in text:
        return web.json_response({"error": {"message": f"bad key {bare}"}})
    return web.json_response({"choices": [{"finish_reason": "stop", "message": {"content": f"I saw {bare}"}}]})


def test_a_planted_secret_is_nowhere(tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    policy = policies.fitted("classes")
    row = {name: values[0] for name, values in policies.queries("classes", 2).items() if name.startswith("x_")}
    seen: list[str] = []

    async def main():
        app = web.Application()
        app.router.add_post("/{rest:.*}", parrot)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        (tmp_path / "experts.toml").write_text(FILE.format(port=port))
        experts = read_experts(tmp_path / "experts.toml", environment={"PLANTED": SECRET})
        seen.extend(repr(expert) + str(expert) + repr(vars(expert)) for expert in experts.values())
        seen.extend(repr(vars(expert.endpoint)) for expert in experts.values())
        async with AsyncExitStack() as stack:
            ledger = await stack.enter_async_context(open_ledger(tmp_path / "books.sqlite"))
            for mode in ("at-once", "sequential"):
                async with Asker(policy, experts, ledger=ledger, mode=mode) as asker:
                    for word in ("401", "500", "200", "fine"):
                        done = await asker.ask(row | {"id": f"{mode}-{word}"}, Target(fee_weight=0.0), deadline=3)
                        seen.append(repr(done))
                        assert {call.came for call in done.calls} <= {"failed", "unusable", "not asked", "answered"}
            for expert in experts.values():
                try:
                    await expert.ask(Question("401", {"id": "401"}, "key", 1.0))
                except ExpertError:
                    seen.append(traceback.format_exc())
                await expert.close()
            seen.append(repr(ledger.booked()) + repr(ledger.export(propensity=False)))
        await runner.cleanup()

    asyncio.run(main())
    save(policy, tmp_path / "policy")
    seen += [caplog.text, *capfd.readouterr()]
    for path in tmp_path.rglob("*"):
        if path.is_file():
            seen.append(path.read_bytes().decode("latin-1"))
    database = sqlite3.connect(tmp_path / "books.sqlite")
    seen.append("\n".join(database.iterdump()))
    database.close()
    # There was something to be found: the endpoints repeated what they were sent.
    assert any("Incorrect API key provided: ***" in text for text in seen)
    assert any("bad key ***" in text for text in seen)
    found = [text for text in seen if SECRET in text]
    assert not found, found[0][:2000]


def test_a_secret_is_neither_shown_nor_copied():
    secret = Secret(SECRET)
    assert SECRET not in f"{secret} {secret!r} {[secret]} {secret!s:>30}"
    assert secret.reveal() == SECRET
    assert secret == Secret(SECRET)
    assert secret != Secret("other")
    for away in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="must not be copied or written"):
            away(secret)


def test_a_query_becomes_no_url(tmp_path):
    """Whatever a query holds, every request goes to the one path that the file names."""
    paths: list[tuple[str, str]] = []

    async def note(request):
        body = await request.json()
        paths.append((str(request.rel_url), body["messages"][-1]["content"]))
        return web.json_response({"choices": [{"finish_reason": "stop", "message": {"content": "cat"}}]})

    nasty = [
        "http://evil/",
        "../../x",
        "{url}",
        "?a=b#c",
        '","url":"http://evil"',
        "\r\nHost: evil\r\n\r\n",
        "\0",
        "%2e",
    ]

    async def main():
        app = web.Application()
        app.router.add_post("/{rest:.*}", note)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        (tmp_path / "experts.toml").write_text(FILE.format(port=runner.addresses[0][1]))
        expert = read_experts(tmp_path / "experts.toml", environment={"PLANTED": SECRET})["left"]
        for text in nasty:
            await expert.ask(Question(text, {"id": text, "url": text}, "key", 2.0))
        await expert.close()
        await runner.cleanup()

    asyncio.run(main())
    assert paths == [("/v1/chat/completions", text) for text in nasty]


def test_a_redirect_is_not_followed():
    visited: list[str] = []

    async def away(request):
        visited.append(request.path)
        raise web.HTTPTemporaryRedirect(f"http://{request.host}/elsewhere")

    async def main():
        from askwho.experts import Chat, Endpoint, Limits, OpenAI, Parse, Stated  # noqa: PLC0415

        app = web.Application()
        app.router.add_post("/{rest:.*}", away)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        endpoint = Endpoint("a", f"http://127.0.0.1:{runner.addresses[0][1]}/here", Limits(), {"A": Secret(SECRET)})
        expert = OpenAI("a", endpoint, Chat("m", "x"), Parse(), Stated(Decimal(1), Decimal(1)))
        with pytest.raises(ExpertError, match="status 307"):
            await expert.ask(Question("q", {}, "key", 2.0))
        await expert.close()
        await runner.cleanup()

    asyncio.run(main())
    assert visited == ["/here"]
