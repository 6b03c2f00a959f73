"""Grades of answers: against a truth, by a rule or a function, or by a judge who is an expert himself."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from askwho._validation import finite_number
from askwho.exceptions import InvalidInputError
from askwho.experts import at_path, function_of

Grader = Callable[[Any, Any, Mapping[str, Any]], float]
"""From an answer, what is right, and what is known of the question, to a grade in [0, 1]."""

RULES = ("exact", "numeric", "regex", "json")
"""Rules by name: the same text but for case and space; the same number; the truth is a pattern of the answer; the truth
is what stands at a path in an answer that is JSON, `json:label`."""
# Numbers as near as this are the same: they were written with so many digits, and computed with more.
_NEAR = 1e-9


def grader(rule: str) -> Grader:
    """Return the grader of a rule by name, or of `module:function`.

    >>> grader("exact")(" Cat", "cat", {}), grader("numeric")("1,000.0", 1000, {}), grader("json:a")('{"a": 2}', 2, {})
    (1.0, 1.0, 1.0)
    """
    name, _, rest = rule.partition(":")
    if name == "json" and rest:
        return lambda answer, truth, _: float(_same(_at(answer, rest), truth))
    if rule in ("exact", "numeric", "regex"):
        compare = {"exact": _same, "numeric": _same_number, "regex": _matches}[rule]
        return lambda answer, truth, _: float(compare(answer, truth))
    if ":" not in rule:
        raise InvalidInputError(
            f"`grade` must be one of {', '.join(RULES)}, judge:NAME or module:function, got {rule!r}."
        )
    function = function_of(rule)

    def own(answer: Any, truth: Any, known: Mapping[str, Any]) -> float:  # noqa: ANN401 - of any type
        grade = finite_number(function(answer, truth, known), "grade", minimum=0.0)
        if grade > 1.0:
            raise InvalidInputError(f"`grade` must be between 0 and 1, got {grade:g} from {rule!r}.")
        return grade

    return own


def _same(answer: Any, truth: Any) -> bool:  # noqa: ANN401
    if isinstance(answer, int | float) or isinstance(truth, int | float):
        return _same_number(answer, truth)
    return answer is not None and " ".join(str(answer).split()).casefold() == " ".join(str(truth).split()).casefold()


def _same_number(answer: Any, truth: Any) -> bool:  # noqa: ANN401
    try:
        said, right = (float(str(value).replace(",", "")) for value in (answer, truth))
    except ValueError:
        return False
    return abs(said - right) <= _NEAR * max(1.0, abs(right))


def _matches(answer: Any, truth: Any) -> bool:  # noqa: ANN401
    try:
        return re.search(str(truth), str(answer)) is not None
    except re.error as error:
        raise InvalidInputError(
            f"`truth` must be a regular expression to grade by it, got {truth!r}: {error}."
        ) from None


def _at(answer: Any, path: str) -> Any:  # noqa: ANN401
    try:
        return at_path(json.loads(answer) if isinstance(answer, str) else answer, path)
    except ValueError:
        return None
