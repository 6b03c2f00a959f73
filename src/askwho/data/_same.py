"""When two answers are the same: a rule gives each text its key, and texts of one key are one answer."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Shaped

from askwho._parts import imported
from askwho.core import Answers, Cell, is_null
from askwho.data._numerals import folded, numeral
from askwho.exceptions import InvalidInputError

EXACT = "exact"
"""Two answers are the same where they are equal: nothing is done to them."""

SAME: Mapping[str, Callable[[str], str]] = {"casefold": folded, "numeric": numeral}
"""The other rules by name, each from a text to its key.

Keys are compared and never texts, so that sameness is an equivalence: whatever is the same as the same is the same. A
rule on pairs, such as a tolerance, is none: 1.0 is near 1.1, and 1.1 near 1.2, and votes could not be counted.
"""


def check_same(same: object) -> None:
    """Raise where a rule is no name and no `module:function`; nothing is imported."""
    if isinstance(same, str) and (same in (EXACT, *SAME) or is_own(same)):
        return
    raise InvalidInputError(
        f"`same` must be {', '.join([EXACT, *SAME])} or your own module:function, from an answer to its key, "
        f"got {same!r}."
    )


def is_own(same: str) -> bool:
    """Return whether a rule names a function of the user's own."""
    place, colon, path = same.partition(":")
    return bool(colon) and all(word.isidentifier() for word in (*place.split("."), *path.split(".")))


def keys_of(values: Shaped[np.ndarray, " n"], same: str) -> Shaped[np.ndarray, " n"]:
    """Return the key of each cell of a column, shape (n,): a text, empty where nothing usable is said, None of a null.

    Numbers and dates are taken as they are written; with `"exact"` the column stays as it is.
    """
    if same == EXACT:
        return values
    texts = as_texts(values, same).tolist()
    forms = _forms({text for text in texts if text is not None}, same)
    return _objects([None if text is None else forms[text] for text in texts])


def truths_of(values: Shaped[np.ndarray, " n"], same: str) -> Shaped[np.ndarray, " n"]:
    """Return the key of each truth, shape (n,); one that says nothing usable is none."""
    return without_empty(values) if same == EXACT else _objects([key or None for key in keys_of(values, same).tolist()])


def as_texts(values: Shaped[np.ndarray, " n"], same: str) -> Shaped[np.ndarray, " n"]:
    """Return a column as texts, shape (n,), None of a null, for 1 and '1' may have one key.

    With `"exact"` it is as it is, but for empty texts.
    """
    if same == EXACT:
        return without_empty(values)
    cells = zip(values.tolist(), is_null(values).tolist(), strict=True)
    return _objects([None if null else _text(value) for value, null in cells])


def without_empty(values: Shaped[np.ndarray, " n"]) -> Shaped[np.ndarray, " n"]:
    """Return a column of answers or of truths, shape (n,), with empty texts as nulls.

    A file of comma-separated values cannot tell the one from the other: nor do tables of other kinds, or the same table
    would say something else as another file. An expert's own word for nothing is text, such as "none".
    """
    kind = values.dtype.kind
    if kind == "U":
        empty = values == ""
    elif kind == "O" and "" in (entries := values.tolist()):
        empty = np.array([isinstance(entry, str) and not entry for entry in entries], dtype=bool)
    else:
        return values
    if not empty.any():
        return values
    found = values.astype(object)
    found[empty] = None
    return found


def keyed(answers: Answers, same: str) -> Answers:
    """Return answers as keys, with how they were spelled beside them; those that are keys already stay as they are.

    An answer whose key is empty is an unusable one.
    """
    if same == EXACT or answers.spelled is not None:
        return answers
    spoke = answers.states == Cell.ANSWERED
    if not spoke.any():
        return answers
    texts = [_text(value) for value in answers.values[spoke].tolist()]
    forms = _forms(set(texts), same)
    keys = [forms[text] for text in texts]
    values = np.full(spoke.shape, "", dtype=f"U{max(1, *map(len, keys))}")
    spelled = np.full(spoke.shape, "", dtype=object)
    values[spoke], spelled[spoke] = keys, texts
    states = np.where(spoke & (values == ""), np.int8(Cell.NO_ANSWER), answers.states).astype(np.int8)
    return Answers(values, states, spelled)


def commonest(answers: Answers, keys: Collection[Any]) -> dict[str, str]:
    """Return how each of some keys is spelled most often, the first in the alphabet of as many; nothing of exact ones.

    Args:
        answers: of a log, all of it.
        keys: those that are wanted; a key that nobody ever gave is left out.
    """
    if answers.spelled is None:
        return {}
    wanted = set(keys)
    spoke = answers.states == Cell.ANSWERED
    pairs = Counter(zip(answers.values[spoke].tolist(), answers.spelled[spoke].tolist(), strict=True))
    best: dict[str, tuple[int, str]] = {}
    for (key, text), count in pairs.items():
        if key in wanted and (key not in best or (-count, text) < best[key]):
            best[key] = (-count, text)
    return {key: text for key, (_, text) in sorted(best.items())}


def _forms(texts: Collection[str], same: str) -> dict[str, str]:
    """The key of each different text, made once."""
    if same in SAME:
        return {text: SAME[same](text) for text in texts}
    rule = _own(same)
    return {text: _checked(rule, text, same) for text in texts}


def _own(same: str) -> Callable[[str], Any]:
    check_same(same)
    try:
        rule = imported(same)
    except InvalidInputError:
        rule = None
    if not callable(rule):
        raise InvalidInputError(
            f"`same` must name a function that can be imported here, got {same!r}: is its module installed, or on the "
            "path?"
        )
    return rule


def _checked(rule: Callable[[str], Any], text: str, same: str) -> str:
    """The key that a user's own function gives; None is no usable answer."""
    try:
        key = rule(text)
    except Exception as error:
        raise InvalidInputError(
            f"`same` must take every answer, got {type(error).__name__} ({error}) from {same!r} for {text!r}."
        ) from error
    if key is not None and not isinstance(key, str):
        raise InvalidInputError(
            f"`same` must give a text or None, got {type(key).__name__} from {same!r} for {text!r}: write it as text."
        )
    return key or ""


def _text(value: Any) -> str:  # noqa: ANN401 - whatever is in a cell
    """A cell as text; a whole number is written as one, whatever type a file gave it."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _objects(cells: Iterable[str | None]) -> Shaped[np.ndarray, " n"]:
    """Texts as an array, shape (n,)."""
    listed = list(cells)
    column = np.empty(len(listed), dtype=object)
    column[:] = listed
    return column
