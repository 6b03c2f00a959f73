"""What occurs in more than one row: ids that must not, texts that may, and groups that should."""

from collections.abc import Iterator

import numpy as np

from askwho.data._ids import id_texts, repeated
from askwho.data._problem import Problem, listed, shown
from askwho.data._tally import SHOWN, Cells
from askwho.data._text import fingerprints

# From this share of rows on, groups of one row are all there is, and so are the two largest groups.
_NEARLY_ALL, _TWO_LARGEST = 0.99, 0.9
# In a log of fewer rows, groups of one row and large groups are what there is.
_LEAST_ROWS = 30


class Ids:
    """What was seen of the queries' names."""

    def __init__(self) -> None:
        self.names = Cells()
        self.marks: list[np.ndarray] = []

    def add(self, values: np.ndarray, start: int) -> None:
        """Look at a batch, whose first row is `start` of the log."""
        named = id_texts(values)
        self.names.add(named, start)
        self.marks.append(
            fingerprints([f"{start + i}" if text is None else f"={text}" for i, text in enumerate(named)])
        )

    def problems(self, name: str) -> Iterator[Problem]:
        """Yield what is wrong with the column of that name."""
        count, rows = self.names.cells("empty")
        if count:
            yield Problem("error", f"{count} queries without an id", name, rows)
        again = repeated(self.marks)
        if len(again):
            shown_rows = tuple(int(row) for row in again[:SHOWN])
            yield Problem("error", f"{len(again)} ids occur before: each must name one query", name, shown_rows)


class Texts:
    """What was seen of the queries' texts."""

    def __init__(self) -> None:
        self.marks: list[np.ndarray] = []
        self.blank: list[int] = []
        self.blanks = 0
        self.other: str | None = None

    def add(self, values: np.ndarray, start: int) -> None:
        """Look at a batch, whose first row is `start` of the log."""
        if values.dtype.kind not in "OU":
            self.other = str(values.dtype)
            return
        texts = ["" if value is None else str(value) for value in values.tolist()]
        blank = [start + i for i, text in enumerate(texts) if not text.strip()]
        self.blanks += len(blank)
        self.blank += blank[: SHOWN - len(self.blank)]
        self.marks.append(fingerprints(texts))

    def problems(self, name: str, groups: str | None) -> Iterator[Problem]:
        """Yield what is wrong with the column of that name."""
        if self.other is not None:
            yield Problem("error", f"must be text, got {self.other}", name)
            return
        if self.blanks:
            yield Problem("warning", f"{self.blanks} empty texts", name, tuple(self.blank))
        again = len(repeated(self.marks))
        if again and groups is None:
            yield Problem(
                "warning", f"{again} texts occur before: name a column of groups to keep them on one side", name
            )


class Groups:
    """What was seen of the groups that stay on one side of a split."""

    def __init__(self) -> None:
        self.marks: list[np.ndarray] = []
        self.names: dict[int, str] = {}

    def add(self, values: np.ndarray) -> None:
        """Look at a batch."""
        marks = fingerprints([str(value) for value in values.tolist()])
        self.marks.append(marks)
        # Whichever group turns out to be large has been the largest of some batch.
        each, first, counts = np.unique(marks, return_index=True, return_counts=True)
        for place in np.argsort(-counts, kind="stable")[:2].tolist():
            self.names[int(each[place])] = shown(values[first[place]])

    def problems(self, name: str) -> Iterator[Problem]:
        """Yield what is wrong with the column of that name."""
        each, counts = np.unique(np.concatenate(self.marks), return_counts=True)
        rows = int(counts.sum())
        if rows < _LEAST_ROWS:
            return
        alone = int((counts == 1).sum()) / rows
        largest = np.argsort(-counts, kind="stable")[:2]
        held = int(counts[largest].sum()) / rows
        if alone >= _NEARLY_ALL:
            how = "every row is" if alone == 1 else f"{alone:.1%} of rows are"
            yield Problem(
                "warning", f"{how} a group of one: it keeps nothing together. Leave it out, or name another", name
            )
        elif held >= _TWO_LARGEST:
            if counts[largest[0]] >= _TWO_LARGEST * rows:
                largest = largest[:1]
            large = [self.names.get(int(each[place]), "one of them") for place in largest]
            yield Problem(
                "warning",
                f"{listed(large)} {'holds' if len(large) == 1 else 'hold'} {counts[largest].sum() / rows:.0%} of rows: "
                "no split by it is even. Name finer groups",
                name,
            )
