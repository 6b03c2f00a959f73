"""Parse rules: from what a model wrote to an answer, or to why it holds none. Never a guess."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from askwho.exceptions import InvalidInputError
from askwho.experts._templates import at_path, checked_path

# Models like to wrap JSON into a block of Markdown.
_BLOCK = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
# Characters of a text that a reason quotes.
_QUOTED = 60


@dataclass(frozen=True)
class Parsed:
    """What was found in a text.

    Args:
        answer: None where there is none.
        info: what was found beside it.
        why: the reason, where there is no answer.
    """

    answer: Any
    info: float | None = None
    why: str = ""


@dataclass(frozen=True)
class Parse:
    """How an answer is found in a text: whole, by a regular expression, by a path in JSON, or as one of some choices.

    Args:
        regex: whose first group, or whole match, is the answer; the last match counts, where there are several.
        json: the path of the answer in a text that is JSON.
        choices: the answers that can be given: just one of them must occur in the text, whatever its case.
        info: the path of what comes with the answer, where the text is JSON.
        number: whether the answer is a number.
    """

    regex: str | None = None
    json: str | None = None
    choices: tuple[str, ...] = ()
    info: str | None = None
    number: bool = False

    def __post_init__(self) -> None:
        if sum((self.regex is not None, self.json is not None, bool(self.choices))) > 1:
            raise InvalidInputError("`parse` must be one of regex, json and choices, got several.")
        if self.regex is not None:
            try:
                re.compile(self.regex)
            except re.error as error:
                raise InvalidInputError(f"`parse.regex` must be a regular expression, got {error}.") from None
        for name in ("json", "info"):
            if getattr(self, name) is not None:
                checked_path(getattr(self, name), f"parse.{name}")
        if self.info is not None and self.json is None:
            raise InvalidInputError(
                "`parse.info` must come with `parse.json`: only there is anything beside the answer."
            )
        if self.choices and len({choice.casefold() for choice in self.choices}) < len(self.choices):
            raise InvalidInputError(f"`parse.choices` must differ in more than their case, got {list(self.choices)}.")

    def read(self, text: str) -> Parsed:
        """Return what a text holds.

        >>> Parse(choices=("cat", "dog")).read("I am sure: Cat.").answer
        'cat'
        >>> Parse(choices=("cat", "dog")).read("A cat or a dog.").why
        "none of its choices alone is in 'A cat or a dog.'"
        """
        info = None
        if self.json is not None:
            found, info, why = self._of_json(text)
        elif self.choices:
            found, why = self._chosen(text)
        elif self.regex is not None:
            found, why = self._matched(text)
        else:
            found, why = text.strip(), ""
        if why or found is None or found == "":
            return Parsed(None, why=why or f"there is no answer in {_quoted(text)}")
        return self._typed(found, info)

    def _typed(self, found: Any, info: float | None) -> Parsed:  # noqa: ANN401 - JSON
        if not self.number:
            if isinstance(found, str | int | float):
                return Parsed(found, info)
            return Parsed(None, why=f"the answer must be a text or a number, got {type(found).__name__}")
        try:
            number = float(str(found).strip().replace(",", "") if isinstance(found, str) else found)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number) or isinstance(found, bool):
            return Parsed(None, why=f"the answer must be a number, got {_quoted(str(found))}")
        return Parsed(int(number) if number.is_integer() and abs(number) < 2**53 else number, info)

    def _of_json(self, text: str) -> tuple[Any, float | None, str]:
        block = _BLOCK.match(text)
        try:
            value = json.loads(text if block is None else block.group(1))
        except (RecursionError, ValueError):
            return None, None, f"it must be JSON, got {_quoted(text)}"
        found = at_path(value, self.json or "")
        if found is None:
            return None, None, f"there is nothing at {self.json!r} in {_quoted(text)}"
        return found, number_or_none(at_path(value, self.info) if self.info else None), ""

    def _chosen(self, text: str) -> tuple[str | None, str]:
        lower = text.casefold()
        found = [choice for choice, alone in self._alone if alone.search(lower)]
        # "not spam" holds "spam": the longest counts where it holds the others.
        longest = max(found, key=len, default="")
        if not found or any(choice.casefold() not in longest.casefold() for choice in found):
            return None, f"none of its choices alone is in {_quoted(text)}"
        if len(found) == 1:
            return longest, ""
        rest = dict(self._alone)[longest].sub(" ", lower)
        others = [choice for choice in found if choice != longest and choice.casefold() in rest]
        return (None, f"several of its choices are in {_quoted(text)}") if others else (longest, "")

    @cached_property
    def _alone(self) -> list[tuple[str, re.Pattern[str]]]:
        """Each choice, and what finds it where it is not a part of a longer word."""
        return [(choice, re.compile(rf"(?<!\w){re.escape(choice.casefold())}(?!\w)")) for choice in self.choices]

    def _matched(self, text: str) -> tuple[str | None, str]:
        last = None
        for match in re.finditer(self.regex or "", text):
            last = match
        if last is None:
            return None, f"{self.regex!r} does not occur in {_quoted(text)}"
        return (last.group(1) if last.re.groups else last.group(0)), ""


def number_or_none(value: Any) -> float | None:  # noqa: ANN401 - JSON
    """Return a finite number, or None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def checked_parse(given: Mapping[str, Any]) -> Parse:
    """Return the rule that a table of a file says."""
    known = set(Parse.__dataclass_fields__)
    unknown = [name for name in given if name not in known]
    if unknown:
        raise InvalidInputError(f"`parse` must have some of {sorted(known)}, got {unknown}.")
    texts = ("regex", "json", "info")
    if any(not isinstance(given[name], str) for name in texts if name in given):
        raise InvalidInputError("`parse` must have texts for regex, json and info.")
    choices: Any = given.get("choices", [])
    if not isinstance(choices, list) or not all(isinstance(choice, str) and choice for choice in choices):
        raise InvalidInputError(f"`parse.choices` must be a list of texts, got {choices!r}.")
    if not isinstance(given.get("number", False), bool):
        raise InvalidInputError(f"`parse.number` must be true or false, got {given['number']!r}.")
    told: dict[str, Any] = {**given, "choices": tuple(choices)}
    return Parse(**told)


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _QUOTED else text[:_QUOTED] + "…")
