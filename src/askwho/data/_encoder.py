"""From what is known of a query to one row of numbers."""

import inspect
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float32

from askwho import _validation as check
from askwho._parts import State, part
from askwho.core import family, is_null
from askwho.data._encoding import EncoderLike, TextEncoding, TextFunction, encode, encoder_of, is_usable, usable
from askwho.data._tables import Table
from askwho.exceptions import InvalidInputError

# Rarer categories have too few rows to learn from, and each is one more column.
_MOST_CATEGORIES = 40
# What `family` calls cells that are lists: those of one length would have come as one array of two axes.
_LISTS = {"list", "tuple", "ndarray"}
# Numbers that are as they are: a whole number may be larger than any of these.
_NUMBERS = {float, np.float64}


@part("feature-encoder")
@dataclass(frozen=True, eq=False)
class FeatureEncoder:
    """Numbers as they are (empty cells: the median and a flag), categories as flags, text by its own encoder.

    Args:
        numbers: from column to the median of its known values.
        flagged: the number columns that had empty cells.
        categories: from column to the categories that have a flag; any other category has none.
        vectors: from column of lists of numbers, such as embeddings, to their length.
        text: the text column, if there is one.
        text_encoder: its encoder.
        text_width: how many numbers that makes of a text.
    """

    numbers: dict[str, float]
    flagged: tuple[str, ...]
    categories: dict[str, list[str]]
    vectors: dict[str, int] = field(default_factory=dict[str, int])
    text: str | None = None
    text_encoder: TextEncoding | TextFunction | None = None
    text_width: int = 0

    @classmethod
    def fit(
        cls, known: Table, *, text: str | None = None, encoder: EncoderLike = "hashing", random_state: int = 0
    ) -> "FeatureEncoder":
        """Return the encoder of a log's known columns.

        Args:
            known: what is known before asking, by column; a column of shape (n, d), such as embeddings, is d numbers.
            text: the text column, if there is one.
            encoder: `"hashing"`, fitted on the log's own texts; `"minilm"`, all-MiniLM-L6-v2's sentence embeddings; a
                folder of such a model; an object with `transform`; or a function from texts to an array.
            random_state: the seed.
        """
        if text is None and not (isinstance(encoder, str) and encoder == "hashing"):
            raise InvalidInputError(
                f"`encoder` must be 'hashing' where there is no text, got {encoder!r}: give `text`."
            )
        numbers: dict[str, float] = {}
        flagged: list[str] = []
        categories: dict[str, list[str]] = {}
        vectors: dict[str, int] = {}
        for name, values in known.items():
            if name == text:
                continue
            if values.ndim > 1:
                vectors[name] = _vectors(values, name, len(values), None).shape[1]
                continue
            missing = is_null(values)
            kept = values[~missing]
            if not len(kept):
                raise InvalidInputError(f"`features` must hold values, got only empty cells in {name!r}.")
            kinds = family(kept)
            if kinds == "numbers":
                numbers[name] = float(np.median(_finite(check.numeric(kept, name), name)))
                flagged += [name] if missing.any() else []
            elif _LISTS & set(kinds.split(" and ")):
                raise InvalidInputError(
                    f"`{name}` must hold lists of numbers of one length, or single values, got {kinds} in its cells."
                )
            else:
                counts = Counter(map(str, kept.tolist()))
                categories[name] = sorted(sorted(counts, key=lambda word: (-counts[word], word))[:_MOST_CATEGORIES])
        if text is None:
            return cls(numbers, tuple(flagged), categories, vectors)
        texts = _texts(known[text])
        chosen = encoder_of(encoder, texts, random_state=random_state)
        width = encode(chosen, texts[:1]).shape[1]
        return cls(numbers, tuple(flagged), categories, vectors, text, chosen, width)

    @property
    def columns(self) -> list[str]:
        """The columns that a query must have."""
        return [*self.numbers, *self.categories, *self.vectors, *([self.text] if self.text is not None else [])]

    def transform(self, known: Mapping[str, np.ndarray]) -> Float32[np.ndarray, "n d"]:
        """Return one row of numbers a query, shape (n, features), float32.

        Nothing is remembered: whoever needs the rows twice keeps them. One column of float32 alone is not copied.
        """
        columns = self.columns
        absent = [name for name in columns if name not in known]
        if absent:
            raise InvalidInputError(f"`queries` must have the columns that the log had, missing: {absent}.")
        n = len(known[columns[0]])
        blocks = [self._numbers(known, n)] if self.numbers else []
        for name, words in self.categories.items():
            place = {word: j for j, word in enumerate(words)}
            codes = np.array([place.get(str(value), -1) for value in known[name].tolist()])
            blocks.append((codes[:, None] == np.arange(len(words))).astype(np.float32))
        blocks += [_vectors(known[name], name, n, width) for name, width in self.vectors.items()]
        if self.text is not None and self.text_encoder is not None:
            rows = encode(self.text_encoder, _texts(known[self.text]))
            check.same_shape(rows, "encoder", (n, self.text_width), "as many numbers a text as in the fit")
            blocks.append(rows)
        return blocks[0] if len(blocks) == 1 else np.hstack(blocks)

    def of_one(self, query: Mapping[str, Any]) -> Float32[np.ndarray, "1 d"] | None:
        """Return the same of one query of plain numbers, shape (1, features); None of any other, which goes on."""
        others = self.flagged or self.categories or self.vectors or self.text is not None
        if others or query.keys() != self.numbers.keys():
            return None
        cells = [query[name] for name in self.numbers]
        if not set(map(type, cells)) <= _NUMBERS:
            return None
        row = np.array([cells], dtype=np.float64)
        return row.astype(np.float32) if is_usable(row) else None

    def _numbers(self, known: Mapping[str, np.ndarray], n: int) -> np.ndarray:
        """The columns of numbers in one block, each before its flag if it has one."""
        layout = [slot for name in self.numbers for slot in ((name, None) if name in self.flagged else (name,))]
        cells = np.zeros((n, len(layout)))
        for j, name in enumerate(layout):
            if name is not None:
                values = check.numeric(known[name], name)
                check.same_shape(values, name, (n,), "one number a query, as in the fit")
                cells[:, j] = values
        if not is_usable(cells):
            for j, name in enumerate(layout):
                _finite(cells[:, j], str(name))
            missing = np.isnan(cells)
            cells = np.where(missing, [0.0 if name is None else self.numbers[name] for name in layout], cells)
            flags = [j for j, name in enumerate(layout) if name is None]
            cells[:, flags] = missing[:, [j - 1 for j in flags]]
        return cells.astype(np.float32)

    def texts(self, known: Mapping[str, np.ndarray]) -> list[str]:
        """Return the texts of queries, empty where a cell is."""
        return _texts(known[str(self.text)])

    def blank(self) -> Float32[np.ndarray, "1 d"]:
        """Return a query of zeros, as it would be encoded, shape (1, features)."""
        flags = sum(map(len, self.categories.values())) + sum(self.vectors.values())
        return np.zeros((1, len(self.numbers) + len(self.flagged) + flags + self.text_width), dtype=np.float32)

    def to_state(self) -> State:
        """Return the encoder as it is written; columns keep their order."""
        if inspect.ismethod(self.text_encoder):
            raise InvalidInputError(
                f"`encoder` must be a function or an object with `to_state` to be saved, got the method "
                f"{self.text_encoder.__qualname__!r}, whose object would be lost: put a function around it."
            )
        plain = {
            "numbers": list(self.numbers.items()),
            "flagged": list(self.flagged),
            "categories": list(self.categories.items()),
            "vectors": list(self.vectors.items()),
            "text": self.text,
            "text_width": self.text_width,
        }
        return State(plain=plain).hold(text_encoder=self.text_encoder)

    @classmethod
    def from_state(cls, state: State) -> "FeatureEncoder":
        """Return the encoder that `to_state` wrote; its text encoder is read as a part of its own."""
        plain, encoder = state.plain, state.read("text_encoder")
        if (plain["text"] is None) != (encoder is None):
            raise InvalidInputError("`text_encoder` must be there where there is a text: the artefact is damaged.")
        return cls(
            numbers={str(name): float(median) for name, median in plain["numbers"]},
            flagged=tuple(plain["flagged"]),
            categories={str(name): list(words) for name, words in plain["categories"]},
            vectors={str(name): int(width) for name, width in plain["vectors"]},
            text=plain["text"],
            text_encoder=encoder,
            text_width=int(plain["text_width"]),
        )


def _texts(values: np.ndarray) -> list[str]:
    return ["" if value is None else str(value) for value in values.tolist()]


def _vectors(values: np.ndarray, name: str, n: int, width: int | None) -> np.ndarray:
    """A column of lists of numbers, of that width where one is said."""
    if values.ndim != 2 or values.dtype.kind not in "biuf" or not values.shape[1]:
        raise InvalidInputError(
            f"`{name}` must hold lists of numbers of one length, got {values.dtype} of shape {values.shape}."
        )
    if width is not None:
        check.same_shape(values, name, (n, width), "lists as long as in the fit")
    return usable(values, name)


def _finite(cells: np.ndarray, name: str) -> np.ndarray:
    """Numbers that a float32 can hold; NaN where a cell is empty."""
    if np.isinf(cells).any():
        raise InvalidInputError(f"`features` must be finite, got an infinite value in {name!r}.")
    return check.bounded(cells, name)
