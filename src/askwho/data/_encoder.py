"""From what is known of a query to one row of numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from askwho import _validation as check
from askwho.answers import family, is_null
from askwho.data._minilm import SentenceEncoder
from askwho.data._tables import Table
from askwho.data._text import TextEncoder
from askwho.exceptions import InvalidInputError

# How a text becomes numbers: fitted on the log's own texts, or by a language model that is installed beside askwho.
TextEncoding = Literal["hashing", "minilm"]
_MOST_CATEGORIES = 40


@dataclass(frozen=True, eq=False)
class FeatureEncoder:
    """Numbers as they are (empty cells: the median and a flag), categories as flags, text by its own encoder.

    Args:
        numbers: from column to the median of its known values.
        flagged: the number columns that had empty cells.
        categories: from column to the categories that have a flag; any other category has none.
        text: the text column, if there is one.
        text_encoder: its encoder.
    """

    numbers: dict[str, float]
    flagged: tuple[str, ...]
    categories: dict[str, list[str]]
    text: str | None = None
    text_encoder: TextEncoder | SentenceEncoder | None = None

    @classmethod
    def fit(
        cls, known: Table, *, text: str | None = None, encoder: str = "hashing", random_state: int = 0
    ) -> "FeatureEncoder":
        """Return the encoder of a log's known columns.

        Args:
            known: what is known before asking, by column.
            text: the text column, if there is one.
            encoder: `"hashing"`, fitted on the log's own texts, or `"minilm"`, all-MiniLM-L6-v2's sentence embeddings.
            random_state: the seed.
        """
        check.one_of(encoder, "encoder", get_args(TextEncoding))
        if encoder != "hashing" and text is None:
            raise InvalidInputError(
                f"`encoder` must be 'hashing' where there is no text, got {encoder!r}: give `text`."
            )
        numbers: dict[str, float] = {}
        flagged: list[str] = []
        categories: dict[str, list[str]] = {}
        for name, values in known.items():
            if name == text:
                continue
            missing = is_null(values)
            kept = values[~missing]
            if not len(kept):
                raise InvalidInputError(f"`features` must hold values, got only empty cells in {name!r}.")
            if family(kept) == "numbers":
                cells = _finite(kept, name)
                numbers[name] = float(np.median(cells))
                if missing.any():
                    flagged.append(name)
            else:
                words, counts = np.unique(np.array([str(value) for value in kept]), return_counts=True)
                categories[name] = sorted(words[np.argsort(-counts, kind="stable")][:_MOST_CATEGORIES].tolist())
        texts = None
        if text is not None and encoder == "minilm":
            texts = SentenceEncoder.installed()
        elif text is not None:
            texts = TextEncoder.fit(known[text].tolist(), random_state=random_state)
        return cls(numbers, tuple(flagged), categories, text, texts)

    @property
    def columns(self) -> list[str]:
        """The columns that a query must have."""
        return [*self.numbers, *self.categories, *([self.text] if self.text else [])]

    def transform(self, known: Mapping[str, np.ndarray]) -> Float[np.ndarray, "n d"]:
        """Return one row of numbers a query, shape (n, features), float32."""
        absent = [name for name in self.columns if name not in known]
        if absent:
            raise InvalidInputError(f"`queries` must have the columns that the log had, missing: {absent}.")
        blocks: list[np.ndarray] = []
        for name, median in self.numbers.items():
            values = _finite(known[name], name)
            missing = np.isnan(values)
            blocks.append(np.where(missing, median, values)[:, None])
            if name in self.flagged:
                blocks.append(missing[:, None])
        for name, words in self.categories.items():
            given = np.array([str(value) for value in known[name].tolist()])
            blocks.append(given[:, None] == np.array(words))
        if self.text is not None and self.text_encoder is not None:
            blocks.append(self.text_encoder.transform(["" if v is None else str(v) for v in known[self.text].tolist()]))
        return np.hstack(blocks).astype(np.float32)

    def texts(self, known: Mapping[str, np.ndarray]) -> list[str]:
        """Return the queries' texts, empty where a cell is."""
        return ["" if value is None else str(value) for value in known[str(self.text)].tolist()]

    def blank(self) -> Float[np.ndarray, "1 d"]:
        """Return a query of zeros."""
        blank = {name: np.zeros(1) for name in self.numbers}
        blank |= {name: np.array([""], dtype=object) for name in self.categories}
        return self.transform(blank)

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the encoder as plain JSON and arrays of any shape."""
        plain = {
            "numbers": self.numbers,
            "flagged": list(self.flagged),
            "categories": self.categories,
            "text": self.text,
        }
        if self.text_encoder is None:
            return plain, {}
        if isinstance(self.text_encoder, SentenceEncoder):
            return plain | {"encoder": "minilm", "fingerprint": self.text_encoder.fingerprint}, {}
        return plain | {"encoder": "hashing"}, {
            "text_idf": self.text_encoder.idf,
            "text_components": self.text_encoder.components,
        }

    @classmethod
    def from_state(cls, plain: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "FeatureEncoder":
        """Return the encoder that `to_state` wrote.

        Sentence embeddings are refused where their weights are not installed, or are others than those of the fit.
        """
        texts = None
        # A state that names no encoder was written when there was but one.
        name = plain.get("encoder", "hashing")
        check.one_of(name, "encoder", get_args(TextEncoding))
        if plain["text"] is not None and name == "minilm":
            texts = SentenceEncoder(plain["fingerprint"])
            texts.check()
        elif plain["text"] is not None:
            texts = TextEncoder(arrays["text_idf"], arrays["text_components"])
        numbers = {str(name): float(median) for name, median in plain["numbers"].items()}
        return cls(numbers, tuple(plain["flagged"]), dict(plain["categories"]), plain["text"], texts)


def _finite(values: np.ndarray, name: str) -> np.ndarray:
    """Numbers that a float32 can hold; NaN where a cell is empty."""
    cells = check.numeric(values, name)
    if np.isinf(cells).any():
        raise InvalidInputError(f"`features` must be finite, got an infinite value in {name!r}.")
    return check.bounded(cells, name)
