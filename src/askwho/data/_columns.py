"""Which column of a log is what."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from askwho import _validation as check
from askwho.core import OWN, CostMapping, CostMatrix, ErrorFunction, Nulls, check_error, family, is_null
from askwho.data._same import EXACT, check_same
from askwho.exceptions import InvalidInputError

TaskName = Literal["auto", "classification", "regression"]
LEFT_OUT = "!"
"""In front of a piece of a pattern: the columns that it means are left out."""
# Letters that comparing the texts of a column may take room for: half a gigabyte.
_MOST_LETTERS = 1 << 27


@dataclass(frozen=True)
class Columns:
    """What a user says of a log: which columns hold the truth, the answers, and what is known before asking.

    A pattern is a column's name, a glob (`"answer_*"`), or several of them separated by commas. A star stands for any
    letters, a question mark for one, and nothing else is special; what a glob's star stands for is the entity's name.
    A piece behind a `!` leaves out what it means: `"answer_*,!answer_old"`.

    Args:
        truth: the column of right answers.
        answers: pattern of what each entity answered; needs `truth`.
        grades: pattern of grades in [0, 1], 1 = right, where a log has no truth.
        features: pattern of what is known before anybody is asked: numbers, categories, or lists of numbers.
        text: the column of the query's text.
        info: pattern of what comes back with an answer, known only after paying.
        groups: the column of what must stay on one side of a split.
        id: the column that names each query, once.
        time: the column that says when each query was: what is learned is then judged on what came later.
        propensity: the column of the probability with which a row came to tell what it tells: that those were asked who
            were, and, where the truth is empty in other rows, that it was looked up.
        fees: from entity to fee, or a pattern of columns with each query's fee.
        task: what the truth is; told from its type, unless said.
        error: how an answer is scored: a name in `ERRORS`, or `"pinball:0.9"`; or what each mistake costs, from the
            truth to what was said to its cost: `{"fraud": {"fine": 20}}`, 1 where nothing is said. `"auto"` is
            zero-one, or squared for numbers.
        nulls: what an empty answer means, for all entities or by name.
        same: when two answers are the same: `"exact"`, `"casefold"`, `"numeric"`, or `module:function` of your own,
            from an answer to its key; see `SAME`.
    """

    truth: str | None = None
    answers: str | None = None
    grades: str | None = None
    features: str | None = None
    text: str | None = None
    info: str | None = None
    groups: str | None = None
    id: str | None = None
    time: str | None = None
    propensity: str | None = None
    fees: Mapping[str, float] | str | None = None
    task: TaskName = "auto"
    error: str | CostMapping = "auto"
    nulls: Nulls | Mapping[str, Nulls] = "not-asked"
    same: str = EXACT

    def __post_init__(self) -> None:
        check.one_of(self.task, "task", get_args(TaskName))
        if isinstance(self.error, str):
            if self.error != OWN:
                check_error(self.error)
        elif self.task == "regression":
            raise InvalidInputError("`error` must be a name where the task is regression, got costs of classes.")
        else:
            object.__setattr__(self, "error", CostMatrix.of(self.error).to_json())
        if self.grades is not None and self.error != "auto":
            raise InvalidInputError(f"`error` must be 'auto' with `grades`, got {self.error!r}: they are the score.")
        check_same(self.same)
        if self.same != EXACT and (self.grades is not None or self.task == "regression"):
            what = "`grades`" if self.grades is not None else "`task` 'regression'"
            raise InvalidInputError(
                f"`same` must be {EXACT!r} with {what}, got {self.same!r}: no answers are compared."
            )
        if self.same != EXACT and self.error not in ("auto", "zero-one"):
            raise InvalidInputError(
                f"`error` must be 'zero-one' with `same`, got {self.error!r}: answers are the same, or they are not."
            )
        if (self.answers is None) == (self.grades is None):
            raise InvalidInputError("`answers` or `grades` must be given, and not both: what did the entities do?")
        if self.answers is not None and self.truth is None:
            raise InvalidInputError("`truth` must be given with `answers`: nothing else tells right from wrong.")
        if self.grades is not None and self.truth is not None:
            raise InvalidInputError(
                "`truth` must be given with `answers`, got it with `grades`: they say who was right."
            )
        if self.features is None and self.text is None:
            raise InvalidInputError("`features` or `text` must be given: a decision needs something known beforehand.")

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns that are texts even where a file without types makes numbers of them: 007 is a name."""
        return () if self.id is None else (self.id,)

    @cached_property
    def scoring(self) -> str | ErrorFunction:
        """How an answer is scored, a name or a function; costs that are all alike are the zero-one error."""
        if isinstance(self.error, str):
            return self.error
        costs = CostMatrix.of(self.error)
        return "zero-one" if costs.alike else costs

    def to_json(self) -> dict[str, Any]:
        """Return the plain form that `from_json` reads."""
        plain = asdict(self)
        for name in ("fees", "nulls"):
            value = getattr(self, name)
            plain[name] = dict(value) if isinstance(value, Mapping) else value
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "Columns":
        """Return the columns that `to_json` wrote."""
        return cls(**plain)


@dataclass(frozen=True)
class Resolved:
    """The columns of one table: entity names to columns, and the rest by name."""

    entities: dict[str, str]
    features: tuple[str, ...] = ()
    info: dict[str, str] = field(default_factory=dict[str, str])
    fees: dict[str, str] = field(default_factory=dict[str, str])


def resolve(
    columns: Columns, present: Sequence[str], *, asked: bool = True, optional: Collection[str] = ()
) -> Resolved:
    """Return which of the columns that are there the patterns mean.

    Args:
        columns: what the user said.
        present: the table's columns.
        asked: whether answers or grades must be there; queries to be routed have none.
        optional: what need not be there, of the names of `Columns`: `"propensity"`, of a later log.
    """
    for name in ("truth", "text", "groups", "id", "time", "propensity"):
        wanted = getattr(columns, name)
        needed = name == "text" or (asked and name not in optional)
        if wanted is not None and needed and wanted not in present:
            raise InvalidInputError(f"`{name}` must be a column of the log, got {wanted!r}: it has {_some(present)}.")
    what = "grades" if columns.answers is None else "answers"
    entities = named(getattr(columns, what), present, what) if asked else {}
    for role in ("truth", "groups"):
        taken = getattr(columns, role)
        if taken in entities.values():
            # Leaving it out in silence would be a guess: an entity's column may be called the truth by mistake.
            others = [column for column in entities.values() if column != taken]
            raise InvalidInputError(
                f"`{what}` must match entities alone, got {taken!r}, which is the {role}: name "
                f"{f'the others, {_some(others)}' if others else 'other columns'}."
            )
    features = tuple(named(columns.features, present, "features").values()) if columns.features else ()
    for forbidden in (columns.truth, *entities.values(), columns.id):
        if forbidden is not None and forbidden in (*features, columns.text):
            name = "features" if forbidden in features else "text"
            why = "names the query" if forbidden == columns.id else "is not"
            raise InvalidInputError(f"`{name}` must be known before asking, got {forbidden!r}, which {why}.")
    fees: dict[str, str] = {}
    if isinstance(columns.fees, str) and asked:
        fees = named(columns.fees, present, "fees")
        check.columns(sorted(fees), sorted(entities), "fees")
    info = named(columns.info, present, "info", optional=True) if columns.info and asked else {}
    if columns.id is not None and columns.id in (columns.truth, *entities.values(), *info.values(), *fees.values()):
        raise InvalidInputError(f"`id` must be a column of its own, got {columns.id!r}, which says something else too.")
    chance = columns.propensity
    if chance is not None and chance in (columns.truth, *entities.values(), *features, *info.values(), *fees.values()):
        raise InvalidInputError(f"`propensity` must be a column of its own, got {chance!r}, which says something else.")
    if columns.time is not None and columns.time in (columns.truth, *entities.values()):
        raise InvalidInputError(f"`time` must be known of every query, got {columns.time!r}, which is an answer.")
    return Resolved(entities=entities, features=features, info=info, fees=fees)


def named(pattern: str, present: Sequence[str], what: str, *, optional: bool = False) -> dict[str, str]:
    """Return the columns that a pattern means, by what its star stands for."""
    found: dict[str, str] = {}
    # A column that is called like the pattern is what is meant, whatever is in its name.
    parts = [pattern] if pattern in present else [piece.strip() for piece in pattern.split(",")]
    out = [piece for piece in parts if piece.startswith(LEFT_OUT) and piece not in present]
    for piece in out:
        parts.remove(piece)
        present = [column for column in present if not _glob(piece[len(LEFT_OUT) :]).fullmatch(column)]
    for part in parts:
        exact = part in present
        matches = [part] if exact else [column for column in present if _glob(part).fullmatch(column)]
        if not matches and not optional:
            raise InvalidInputError(f"`{what}` must match a column, got {part!r}: the log has {_some(present)}.")
        head, star, tail = part.partition("*")
        for column in matches:
            named_by_star = star and "*" not in tail and not exact
            name = column[len(head) : len(column) - len(tail)] if named_by_star else column
            if name in found and found[name] != column:
                raise InvalidInputError(f"`{what}` must name each entity once, got {name!r} from two columns.")
            found[name] = column
    return found


def _glob(pattern: str) -> re.Pattern[str]:
    """The names that a pattern means; brackets are letters, for columns are called `x[1]`."""
    return re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)


def check_cells(table: Mapping[str, np.ndarray], columns: Columns, found: Resolved) -> None:
    """Raise where a column that is used holds what it must not: structures, bytes, texts too long to be compared.

    Lists too, unless it is one of the features and they are numbers, of one length.
    """
    for name in (columns.truth, columns.groups, columns.id, *found.entities.values()):
        if name is not None:
            single_values(table[name], name)
            _short(table[name], name)
    for name in found.features:
        if table[name].ndim == 1:
            single_values(table[name], name, or_lists=True)
            _short(table[name], name)
    if columns.groups is not None:
        groups = table[columns.groups]
        if is_null(groups).any() or " and " in family(groups):
            raise InvalidInputError(
                f"`groups` must be one type and never empty, got {columns.groups!r}, which is not: fill its cells."
            )
    for name in (columns.text, *found.info.values(), *found.fees.values()):
        if name is not None:
            single_values(table[name], name)


def single_values(values: np.ndarray, name: str, *, or_lists: bool = False) -> None:
    """Raise where a column holds lists, structures or bytes in place of numbers, texts or dates.

    Args:
        values: the column.
        name: what it is called.
        or_lists: whether lists of numbers of one length would have been fine; those are no column of cells any more.
    """
    if values.dtype.kind != "O" and values.ndim == 1:
        return
    entries = values.tolist()
    for kind in set(map(type, entries)):
        if issubclass(kind, bytes | bytearray):
            raise InvalidInputError(f"`{name}` must hold numbers, texts or dates, got bytes: save texts as UTF-8.")
        if issubclass(kind, Mapping):
            raise InvalidInputError(
                f"`{name}` must hold numbers, texts or dates, got a structure in a cell: make columns of what is in it."
            )
        if issubclass(kind, np.ndarray) or (issubclass(kind, Collection) and not issubclass(kind, str)):
            if or_lists:
                raise InvalidInputError(
                    f"`{name}` must hold lists of numbers of one length, or single values, got {_odd_lists(entries)}."
                )
            raise InvalidInputError(
                f"`{name}` must hold numbers, texts or dates, got a list in a cell: make columns of what is in it."
            )


def _odd_lists(entries: Sequence[Any]) -> str:
    """What is wrong with lists that do not make one array."""
    lists = [entry for entry in entries if isinstance(entry, Collection) and not isinstance(entry, str)]
    lengths = sorted({len(entry) for entry in lists})
    if len(lengths) > 1:
        return f"lists of {lengths[0]} and of {lengths[-1]}"
    if any(not is_null(np.array([entry], dtype=object))[0] for entry in entries if not isinstance(entry, Collection)):
        return "lists beside single values"
    return "empty lists" if lengths == [0] else "lists of something else"


def _short(values: np.ndarray, name: str) -> None:
    """Raise where equal room for all of a column's texts, which comparing them takes, would fill the memory."""
    if values.dtype.kind != "O":
        return
    longest = max((len(value) for value in values.tolist() if isinstance(value, str)), default=0)
    if longest * len(values) > _MOST_LETTERS:
        raise InvalidInputError(
            f"`{name}` must hold short texts, got one of {longest} letters: shorten it, or name the column as `text`."
        )


def _some(present: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(repr(column) for column in present[:most])
    return shown if len(present) <= most else f"{shown} and {len(present) - most} more"
