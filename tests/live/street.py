"""Houses of the town in a process of their own, which outlives whoever asks them: `python -m tests.live.street BOOKS`.

Each charge is written to one file of books as it is made. One request of eight goes wrong, in one of six ways; which
one does is told by its idempotency key.
"""

import asyncio
import json
import logging
import os
import sys
from collections import Counter, OrderedDict
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from aiohttp import web

from tests.live.town import House

HOUSES = {"left": True, "right": False, "both": True, "noise": False}
"""By name, whether it honours idempotency keys."""
SECONDS = 0.02
"""That an answer takes."""
WRONG = (
    "500 then fine",
    "reset in mid-body",
    "truncated JSON",
    "429 without Retry-After",
    "finish_reason=length",
    "empty choices",
)
"""What goes wrong now and then."""
# Of so many keys one goes wrong in each way: an eighth of all.
_ONE_OF = 8 * len(WRONG)
# Keys that a house remembers: a retry comes within seconds.
_REMEMBERED = 20_000


class Animals(dict):
    """What is said about a query, whatever it is."""

    def __missing__(self, query):
        return ("cat", "dog", "owl")[sum(query.encode()) % 3]


@dataclass
class Busy(House):
    """A house on the street.

    Args:
        name: in the books.
        file: of the books.
    """

    name: str = ""
    file: int = -1
    seen: OrderedDict = field(default_factory=OrderedDict)
    came: Counter = field(default_factory=Counter)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        key = request.headers["Idempotency-Key"]
        self.came[key] += 1
        response = await super()._serve(request)
        self.requests.clear()
        return response

    def fault_of(self, key: str) -> str | None:
        drawn = int(key[-8:], 16) % _ONE_OF
        return WRONG[drawn] if drawn < len(WRONG) else None

    def charge(self, key: str, body: dict, **changes: object) -> dict:
        made = super().charge(key, body, **changes)
        ((_, amount),) = self.books
        self.books.clear()
        os.write(self.file, f"{self.name} {key} {amount}\n".encode())
        if len(self.seen) > _REMEMBERED:
            self.came.pop(self.seen.popitem(last=False)[0], None)
        return made

    def first_time(self, key: str) -> bool:
        return self.came[key] == 1


async def main(books: str) -> None:
    """Serve until the input ends: whoever started it is gone then."""
    # Whoever is killed breaks off in the middle of a request: that is no news.
    logging.disable()
    file = os.open(books, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    async with AsyncExitStack() as stack:
        houses = {
            name: await stack.enter_async_context(
                Busy(Animals(), seconds=SECONDS, honours=honours, name=name, file=file)
            )
            for name, honours in HOUSES.items()
        }
        sys.stdout.write(json.dumps({name: house.port for name, house in houses.items()}) + "\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
