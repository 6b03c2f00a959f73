"""Any endpoint that takes JSON and answers with JSON: a template for the one, paths for the other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from askwho._money import nanos
from askwho.exceptions import InvalidInputError
from askwho.experts._expert import Question, Reply
from askwho.experts._network import Endpoint
from askwho.experts._parsing import Parse, number_or_none
from askwho.experts._templates import at_path, fill

# What an answer is read as that is a text or a number already.
_AS_IT_IS = Parse()


@dataclass(frozen=True, eq=False)
class Http:
    """A service behind a fixed URL.

    Args:
        name: who it is in the policy's panel.
        endpoint: where it is.
        body: the template of the request, JSON with `{column}` for what is known of the query.
        answer: the path of the answer in the reply.
        worst: the most that one call can charge, in nanos.
        fee: what a call charges where the reply does not tell, in nanos.
        fee_path: where the reply tells what it charges, in the user's unit.
        info: the path of what comes with the answer, such as a confidence.
        parse: how the answer is found where it is a text.
    """

    name: str
    endpoint: Endpoint
    body: Any
    answer: str
    worst: int
    fee: int | None = None
    fee_path: str | None = None
    info: str | None = None
    parse: Parse = _AS_IT_IS

    @property
    def limits(self) -> Any:  # noqa: ANN401 - `Limits`
        """What it can bear."""
        return self.endpoint.limits

    async def ask(self, question: Question) -> Reply:
        """Return the answer in its reply, and what it charged."""
        return self.reply(await self.endpoint.post(question, fill(self.body, question.known)))

    def reply(self, body: Any) -> Reply:  # noqa: ANN401 - JSON
        """Return what a reply says."""
        charged, guessed = self._charged(body)
        answer, why = self._found(body)
        if guessed:
            why = "; ".join(part for part in (why, "it did not tell its fee: the worst case is booked") if part)
        info = None if self.info is None or answer is None else number_or_none(at_path(body, self.info))
        return Reply(answer, info, charged, why, guessed=guessed)

    async def close(self) -> None:
        """Close the connections."""
        await self.endpoint.close()

    def _found(self, body: Any) -> tuple[Any, str]:  # noqa: ANN401 - JSON
        found = at_path(body, self.answer)
        if found is None:
            keys = sorted(body) if isinstance(body, Mapping) else type(body).__name__
            return None, f"there is nothing at {self.answer!r} in its reply ({keys})"
        if isinstance(found, str) or self.parse.number:
            parsed = self.parse.read(found if isinstance(found, str) else str(found))
            return parsed.answer, parsed.why
        if isinstance(found, bool | int | float):
            return found, ""
        return None, f"its answer must be a text or a number, got {type(found).__name__}"

    def _charged(self, body: Any) -> tuple[int | None, bool]:  # noqa: ANN401 - JSON
        if self.fee_path is None:
            return self.fee, False
        told = at_path(body, self.fee_path)
        try:
            if isinstance(told, int | float | str) and not isinstance(told, bool):
                return nanos(told), False
        except InvalidInputError:
            pass
        return self.fee, self.fee is None
