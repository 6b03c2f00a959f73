"""Labels that say the same and are written differently: no answer is ever right, and nothing is said."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from askwho.data._problem import Problem, listed, shown
from askwho.data._same import SAME
from askwho.data._tables import Table
from askwho.data._tally import SHOWN, Cells

# A number in digits, without the zeros that change nothing: 1, 01, +1 and 1.0 are one number.
_NUMBER = re.compile(r"\+?(-?)0*(\d+?)(?:\.(\d*?)0*)?", re.ASCII)
# What a number can begin with, and how long one is at most: on a long text of zeros the pattern would take for ever.
_FIRST, _LONGEST = frozenset("+-0123456789"), 64
# Different labels of truths and pairs of labels that are held at a time: free answers have no end of them.
_MOST = 1 << 16


def plain(text: str) -> str:
    """Return a label without what is often lost: case, space, and how a number is written.

    >>> plain(" New  York") == plain("newyork"), plain("1") == plain("01.0"), plain("1") == plain("10")
    (True, True, False)
    """
    folded = "".join(text.split()).casefold()
    # A look at one letter, for most labels are words.
    number = _NUMBER.fullmatch(folded) if folded[:1] in _FIRST and len(folded) <= _LONGEST else None
    if number is None:
        return folded
    sign, whole, rest = number.groups()
    return f"{sign}{whole}.{rest}" if rest else f"{sign}{whole}"


class Labels:
    """Answers in text that would be the truth but for the way they are written, counted batch by batch."""

    def __init__(self, truth: str, answers: Mapping[str, str]) -> None:
        self.truth, self.answers = truth, answers
        self.pairs: dict[str, Counter[tuple[str, str]]] = {name: Counter() for name in answers}
        self.rows: dict[tuple[str, str], tuple[int, ...]] = {}
        self.truths: set[str] = set()
        self.right: set[str] = set()

    def add(self, table: Table, start: int, *, texts: Collection[str]) -> None:
        """Look at a batch whose first row is row `start`; `texts` are the columns that hold nothing else."""
        if self.truth not in texts:
            return
        truth = table[self.truth]
        _extend(self.truths, truth)
        wanted = _plain(truth.tolist())
        for name, column in self.answers.items():
            if column in texts:
                said = table[column]
                right = np.asarray(said == truth, dtype=bool)
                _extend(self.right, truth[right])
                wrong = np.flatnonzero(~right).tolist()
                forms = zip(wrong, _plain(said[~right].tolist()), strict=True)
                alike = [row for row, form in forms if form is not None and form == wanted[row]]
                self._note(name, [(said[row], truth[row]) for row in alike], [start + row for row in alike])

    def _note(self, name: str, pairs: list[tuple[Any, Any]], rows: list[int]) -> None:
        for (said, truth), row in zip(pairs, rows, strict=True):
            pair = str(said), str(truth)
            held = self.rows.get(pair, ())
            if len(held) < SHOWN and (held or len(self.rows) < _MOST):
                self.rows[pair] = (*held, row)
            if pair in self.pairs[name] or len(self.pairs[name]) < _MOST:
                self.pairs[name][pair] += 1

    def problems(self) -> Iterator[Problem]:
        """Yield one problem for all of them; none of labels that the log itself tells apart."""
        found = {name: {pair: n for pair, n in each.items() if self._same(*pair)} for name, each in self.pairs.items()}
        found = {name: pairs for name, pairs in found.items() if pairs}
        if not found:
            return
        every: Counter[tuple[str, str]] = Counter()
        for pairs in found.values():
            every.update(pairs)
        ways = {_way(*pair) for pair in every}
        how = ways.pop() if len(ways) == 1 else "the way they are written"
        by_count = sorted(found, key=lambda name: -sum(found[name].values()))
        who = listed(f"{name} ({_rows(found[name])})" for name in by_count)
        said, truth = max(every, key=lambda pair: every[pair])
        rows = sorted({row for pair in every for row in self.rows.get(pair, ())})
        yield Problem(
            "warning",
            f"answers equal to the truth but for {how} count as wrong: {who}, such as {said!r} for {truth!r}. "
            f"{_remedy(every)}",
            self.answers[by_count[0]] if len(found) == 1 else self.truth,
            tuple(rows[:SHOWN]),
        )

    def _same(self, said: str, truth: str) -> bool:
        """Whether two spellings are one label: where both are truths and somebody got them right, they are two."""
        return said not in self.truths or truth not in self.right


def _remedy(pairs: Collection[tuple[str, str]]) -> str:
    """What to do: the first rule under which all of them are the same, if one is."""
    for name, key in SAME.items():
        if all(key(said) == key(truth) for said, truth in pairs):
            return f"Write labels in one way, or take them as the same with --same {name}"
    return "Write labels in one way"


def other_types(truth: Cells, column: str, answers: Mapping[str, Cells]) -> Iterator[Problem]:
    """Yield one problem for all whose answers are of another type than the truth: they could never agree."""
    others = {name: cells for name, cells in answers.items() if cells.kinds and cells.kinds != truth.kinds}
    if len(truth.kinds) == 1 and others:
        cells = next(iter(others.values()))
        yield Problem(
            "error",
            f"the truth is {truth.kind}, and {listed(others)} answered with {cells.kind}: {shown(truth.first)} and "
            f"{shown(cells.first)} never agree, so make them one type",
            column,
        )


def _plain(labels: list[str | None]) -> list[str | None]:
    """Each label without what is often lost, each different one looked at once; None stays."""
    forms = {label: None if label is None else plain(label) for label in set(labels)}
    return [forms[label] for label in labels]


def _extend(labels: set[str], values: np.ndarray) -> None:
    if len(labels) < _MOST:
        labels.update(value for value in set(values.tolist()) if value is not None)


def _rows(pairs: Mapping[tuple[str, str], int]) -> str:
    count = sum(pairs.values())
    return "1 row" if count == 1 else f"{count} rows"


def _way(said: str, truth: str) -> str:
    if said.casefold() == truth.casefold():
        return "case"
    if "".join(said.split()) == "".join(truth.split()):
        return "space"
    if "".join(said.split()).casefold() == "".join(truth.split()).casefold():
        return "case and space"
    return "how a number is written"
