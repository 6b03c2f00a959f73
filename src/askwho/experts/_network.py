"""The way to an HTTP endpoint: one POST of JSON to a fixed URL, and every way in which it can go wrong."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from askwho.exceptions import InvalidInputError, missing_dependency
from askwho.experts._expert import Charged, ExpertError, Limits, Question
from askwho.experts._secrets import Secret, masked

FREE = frozenset({400, 401, 403, 404, 405, 406, 409, 411, 413, 415, 422, 429})
"""Statuses of a call that was refused before any work: nothing was charged for it. After any other, nobody can tell."""
AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same call may succeed."""
LARGEST_BODY = 4 << 20
"""Bytes: no answer is larger, and nobody may fill the memory of whoever asks."""
# Characters of an endpoint's own message that a reason repeats.
_QUOTED = 200
# Made once: `json.dumps` would make one for every question.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


@dataclass(eq=False)
class Endpoint:
    """Where questions go: a fixed URL, headers whose secrets are masked, and the connections to it.

    Args:
        name: whose endpoint it is.
        url: where to.
        limits: how many connections, and whether keys are honoured.
        headers: texts, or secrets.
        free: statuses for which nothing is charged.
    """

    name: str
    url: str
    limits: Limits
    headers: Mapping[str, str | Secret] = field(default_factory=dict[str, "str | Secret"])
    free: frozenset[int] = FREE

    def __post_init__(self) -> None:
        self.url = checked_url(self.url)
        self._session: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def secrets(self) -> list[Secret]:
        """What must appear nowhere."""
        return [value for value in self.headers.values() if isinstance(value, Secret)]

    async def post(self, question: Question, body: Any) -> Any:  # noqa: ANN401 - JSON
        """Return the JSON that came back with a status of success; raise `ExpertError` for anything else."""
        aiohttp = imported()
        session = await self._open(aiohttp)
        headers = {"Content-Type": "application/json", "Idempotency-Key": question.key}
        try:
            sent = _ENCODER.encode(body).encode()
            async with session.post(
                self.url,
                data=sent,
                headers=headers,
                # A redirect would be a URL that nobody wrote down, and the key would follow it.
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=question.timeout),
            ) as response:
                if response.status != 200:
                    raise self._refused(response.status, response.headers, await _beginning(response.content))
                return self._read(await _whole(response.content))
        except TimeoutError:
            # Late, and not broken: whoever asked knows what that means.
            raise
        except aiohttp.ClientConnectorError as error:
            # Refused, or a name that does not resolve: nobody was reached.
            raise self._error(f"no connection: {error}", "no", retry=True) from None
        except aiohttp.InvalidURL as error:
            raise self._error(f"no URL: {error}", "no") from None
        except (aiohttp.ClientError, OSError) as error:
            raise self._error(f"the connection broke: {type(error).__name__}: {error}", "unknown", retry=True) from None

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None and self._loop is asyncio.get_running_loop():
            await session.close()

    async def _open(self, aiohttp: ModuleType) -> Any:  # noqa: ANN401 - a session
        """The connections of this event loop."""
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            shown = {
                name: value.reveal() if isinstance(value, Secret) else value for name, value in self.headers.items()
            }
            self._loop = loop
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self.limits.concurrency, limit_per_host=0),
                headers=shown,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    def _read(self, data: bytes) -> Any:  # noqa: ANN401 - JSON
        try:
            # Here, before anything is quoted, parsed or kept: an answer may hold the key as well as a message.
            return masked(json.loads(data), self.secrets)
        except (RecursionError, ValueError):
            # Cut off, or no JSON at all: work was done, and may be charged.
            raise ExpertError(
                f"its reply of {len(data)} bytes is no whole JSON", charged="unknown", retry=True
            ) from None

    def _refused(self, status: int, headers: Mapping[str, str], body: bytes) -> ExpertError:
        text = masked(" ".join(body.decode("utf-8", "replace").split()), self.secrets)[:_QUOTED]
        charged: Charged = "no" if status in self.free else "unknown"
        after = retry_after(headers.get("Retry-After"), headers.get("Date"))
        return self._error(f"it answered with status {status}: {text}", charged, retry=status in AGAIN, after=after)

    def _error(self, message: str, charged: Charged, *, retry: bool = False, after: float | None = None) -> ExpertError:
        return ExpertError(masked(message, self.secrets), charged=charged, retry=retry, after=after)


def imported() -> ModuleType:
    """Return aiohttp, or say how to install it."""
    try:
        import aiohttp  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_dependency("Asking over the network", "aiohttp", "live") from None
    return aiohttp


def checked_url(url: str) -> str:
    """Return a URL, or say what it must not hold: neither a place to fill in, nor a secret."""
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        fine, parts = False, urlsplit("")
    if not fine or "{" in url or "}" in url or any(sign.isspace() for sign in url):
        raise InvalidInputError(
            "`url` must be a whole http:// or https:// URL without places to fill in, got something else: nothing of a "
            "query may become a part of it."
        )
    if parts.username is not None or parts.password is not None:
        raise InvalidInputError("`url` must hold no user and no password: name a variable of the environment instead.")
    return url


def retry_after(value: str | None, date: str | None) -> float | None:
    """Return for how many seconds an endpoint asks to be left alone; None where it does not say.

    A moment is taken by its own clock, which may be far off: from the `Date` that it sent beside it.

    >>> retry_after("2", None)
    2.0
    >>> retry_after("Mon, 01 Jan 1990 00:00:05 GMT", "Mon, 01 Jan 1990 00:00:00 GMT")
    5.0
    """
    if value is None:
        return None
    text = value.strip()
    if text.isdecimal():
        return float(text)
    when, now = _moment(text), _moment(date)
    if when is None or now is None:
        # Without its own clock a moment tells nothing.
        return None
    return max((when - now).total_seconds(), 0.0)


def _moment(text: str | None) -> datetime | None:
    try:
        return None if text is None else parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None


async def _whole(stream: Any) -> bytes:  # noqa: ANN401 - aiohttp's
    """A body, unless it is too large to be one."""
    parts: list[bytes] = []
    size = 0
    async for part in stream.iter_any():
        size += len(part)
        if size > LARGEST_BODY:
            raise ExpertError(f"its reply is larger than {LARGEST_BODY} bytes", charged="unknown")
        parts.append(part)
    return b"".join(parts)


async def _beginning(stream: Any) -> bytes:  # noqa: ANN401 - aiohttp's
    """The first bytes of a message: an error's page may be long, and is not worth waiting for."""
    return await stream.read(1 << 16)
