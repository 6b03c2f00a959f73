"""Any OpenAI-compatible chat endpoint: a prompt, a parse rule, and a bill by tokens, settled by what was used."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from askwho.experts._expert import ExpertError, Question, Reply
from askwho.experts._network import Endpoint
from askwho.experts._parsing import Parse
from askwho.experts._prices import Prices, Usage
from askwho.experts._templates import at_path, fill, plain

# Tokens that wrap a message, and the whole conversation, in every chat template: rather too many than too few.
_WRAPPING = 16
# Characters of an endpoint's own message that a reason repeats.
_QUOTED = 200


@dataclass(frozen=True)
class Chat:
    """What is asked for.

    Args:
        model: its name.
        prompt: a template, `{column}` for what is known of the query.
        system: what is said before it, a template too.
        max_tokens: the most that may be written: so much is held.
        max_input: the most tokens that a prompt may have: a longer one is not sent.
        options: further fields of the request, such as temperature; templates too.
        length_field: what the endpoint calls `max_tokens`: newer models want `max_completion_tokens`.
    """

    model: str
    prompt: str
    system: str | None = None
    max_tokens: int = 256
    max_input: int = 8192
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    length_field: str = "max_tokens"

    def messages(self, known: Mapping[str, Any]) -> list[dict[str, str]]:
        """Return the conversation about a query."""
        said = [("system", self.system), ("user", self.prompt)]
        return [{"role": role, "content": _text(fill(text, known))} for role, text in said if text is not None]

    def body(self, messages: list[dict[str, str]], known: Mapping[str, Any]) -> dict[str, Any]:
        """Return the request."""
        return {
            **fill(plain(self.options), known),
            "model": self.model,
            "messages": messages,
            self.length_field: self.max_tokens,
            "stream": False,
        }


@dataclass(frozen=True, eq=False)
class OpenAI:
    """A model behind an OpenAI-compatible chat endpoint.

    Args:
        name: who it is in the policy's panel.
        endpoint: `.../v1/chat/completions`.
        chat: what is asked for.
        parse: how the answer is found in what it wrote.
        prices: of its tokens.
    """

    name: str
    endpoint: Endpoint
    chat: Chat
    parse: Parse
    prices: Prices

    @property
    def limits(self) -> Any:  # noqa: ANN401 - `Limits`
        """What it can bear."""
        return self.endpoint.limits

    @property
    def worst(self) -> int:
        """The most that one call can charge, in nanos: the longest prompt, and everything written that may be."""
        return self.prices.most(Usage(self.chat.max_input, self.chat.max_tokens))

    def worst_of(self, known: Mapping[str, Any]) -> int:
        """Return the most that a call about this query can charge, in nanos."""
        try:
            tokens = most_tokens(self.chat.messages(known))
        except ExpertError:
            # A column is missing: nothing is going to be sent.
            return 0
        return self.prices.most(Usage(min(tokens, self.chat.max_input), self.chat.max_tokens))

    async def ask(self, question: Question) -> Reply:
        """Return the answer in what it wrote, and what that cost."""
        messages = self.chat.messages(question.known)
        tokens = most_tokens(messages)
        if tokens > self.chat.max_input:
            raise ExpertError(
                f"`max_input_tokens` must cover the prompt, which may have {tokens} tokens, got {self.chat.max_input}",
                charged="no",
            )
        return self.reply(await self.endpoint.post(question, self.chat.body(messages, question.known)))

    def reply(self, body: Any) -> Reply:  # noqa: ANN401 - JSON
        """Return what a completion says; whatever is cut short, empty or of another shape is no answer."""
        charged = self._charged(body)
        answer, info, why = self._found(body)
        guess = "" if charged is not None else "it did not tell its usage: the worst case is booked"
        return Reply(
            answer,
            info,
            charged,
            "; ".join(reason for reason in (why, guess) if reason),
            guessed=charged is None,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self.endpoint.close()

    def _found(self, body: Any) -> tuple[Any, float | None, str]:  # noqa: ANN401 - JSON
        if not isinstance(body, Mapping):
            return None, None, f"its reply must be an object, got {type(body).__name__}"
        if body.get("error"):
            said = at_path(body, "error.message") or body["error"]
            return None, None, f"it sent an error in place of an answer: {str(said)[:_QUOTED]}"
        choices = body.get("choices")
        if not isinstance(choices, list) or not choices:
            return None, None, "it sent no choices"
        ended = at_path(choices, "0.finish_reason")
        if ended != "stop":
            # Cut at its length, filtered, or not said to be whole: half an answer is none.
            return None, None, f"its answer is not whole: finish_reason is {ended!r}"
        text = at_path(choices, "0.message.content")
        if not isinstance(text, str):
            return None, None, f"its content must be a text, got {type(text).__name__}"
        parsed = self.parse.read(text)
        return parsed.answer, parsed.info, parsed.why

    def _charged(self, body: Any) -> int | None:  # noqa: ANN401 - JSON
        """What its usage comes to; None where it does not tell, or tells what cannot be."""
        counts = [at_path(body, f"usage.{name}") for name in ("prompt_tokens", "completion_tokens")]
        if not all(_is_count(count) for count in counts):
            return None
        cached = at_path(body, "usage.prompt_tokens_details.cached_tokens")
        cached = cached if _is_count(cached) and cached <= counts[0] else 0
        return self.prices.charge(Usage(counts[0], counts[1], cached))


def most_tokens(messages: list[dict[str, str]]) -> int:
    """Return how many tokens messages can have at the most: no token is less than a byte."""
    return sum(len(message["content"].encode()) + _WRAPPING for message in messages) + _WRAPPING


def _is_count(value: Any) -> bool:  # noqa: ANN401 - JSON
    # 2**40 tokens is more than anybody ever sent: a number beyond it is no count.
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40


def _text(filled: Any) -> str:  # noqa: ANN401 - JSON
    """A message is a text, even where its template is one place and the column holds a number."""
    if isinstance(filled, float) and math.isfinite(filled) and filled.is_integer():
        return str(int(filled))
    return "" if filled is None else str(filled)
