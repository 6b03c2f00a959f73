"""Templates: values of a query are put into JSON as values, never into its text, and never into a URL."""

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from askwho.exceptions import InvalidInputError
from askwho.experts._expert import ExpertError

# A name in braces; doubled braces are braces. Neither attributes nor formats: a query must not reach into objects.
_PLACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


def fill(template: Any, known: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """Return JSON in which every `{column}` is what is known of the query.

    A text that is one place and nothing else becomes the value itself, a number or a list too; within a longer text the
    value is written out. Keys are left as they are.

    >>> fill({"text": "{prompt}", "top": "{k}", "note": "Question: {prompt}"}, {"prompt": 'a "b"', "k": 3})
    {'text': 'a "b"', 'top': 3, 'note': 'Question: a "b"'}
    """
    if isinstance(template, str):
        words, names = _cut(template)
        if words == ("", "") and len(names) == 1:
            return _value(names[0], known)
        said = [words[0]]
        for name, word in zip(names, words[1:], strict=True):
            value = _value(name, known)
            said += ("" if value is None else str(value), word)
        return "".join(said)
    if isinstance(template, Mapping):
        return {key: fill(inside, known) for key, inside in template.items()}
    if isinstance(template, list):
        return [fill(inside, known) for inside in template]
    return template


def places(template: Any) -> set[str]:  # noqa: ANN401 - JSON
    """Return the columns that a template needs."""
    if isinstance(template, str):
        return set(_cut(template)[1])
    inside = list(template.values()) if isinstance(template, Mapping) else template
    return set().union(*(places(each) for each in inside)) if isinstance(inside, list) else set()


def at_path(value: Any, path: str) -> Any:  # noqa: ANN401 - JSON
    """Return what stands at a path such as `choices.0.message`, or None where nothing does.

    >>> at_path({"choices": [{"label": "cat"}]}, "choices.0.label")
    'cat'
    """
    for step in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and step.lstrip("-").isdecimal() and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def checked_path(path: str, name: str) -> str:
    """Return a path, or say that it is none."""
    if not path or any(not step for step in path.split(".")):
        raise InvalidInputError(f"`{name}` must be a path such as 'result.0.label', got {path!r}.")
    return path


def plain(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a cell of a query as JSON has it: NumPy's numbers as Python's, dates as text."""
    if type(value) is str:
        return value
    if isinstance(value, np.ndarray):
        return [plain(each) for each in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        # JSON has neither of NaN and infinity.
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else str(value)


def _value(name: str, known: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    if name not in known:
        raise ExpertError(f"`{name}` must be a column of the query, got {sorted(known)}.", charged="no")
    return plain(known[name])


# Few templates, and each filled for every query.
@lru_cache(maxsize=256)
def _cut(template: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of a template between its places, one more than there are places, and the columns of these."""
    words, names, end = [""], list[str](), 0
    for place in _PLACE.finditer(template):
        words[-1] += template[end : place.start()]
        end = place.end()
        if place.group(1) is None:
            words[-1] += place.group(0)[0]
        else:
            names.append(place.group(1))
            words.append("")
    words[-1] += template[end:]
    return tuple(words), tuple(names)
