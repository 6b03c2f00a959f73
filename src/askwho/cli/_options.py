"""What a user types about columns, fees and targets, as the library takes it."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from askwho._validation import once
from askwho.data import Columns, Nulls, read_costs
from askwho.exceptions import InvalidInputError
from askwho.policy import Target

Log = Annotated[Path, typer.Argument(help="Parquet, CSV, JSON lines or Arrow: a row a query.", show_default=False)]
Truth = Annotated[str | None, typer.Option(help="The column of right answers.")]
AnswersGlob = Annotated[str | None, typer.Option("--answers", help="What each entity answered, such as 'answer_*'.")]
Grades = Annotated[str | None, typer.Option(help="Grades in [0, 1], such as 'grade_*', where there is no truth.")]
Features = Annotated[str | None, typer.Option(help="What is known before asking, such as 'x_*,group'.")]
Text = Annotated[str | None, typer.Option(help="The column of the query's text.")]
Info = Annotated[str | None, typer.Option(help="What comes back with an answer, such as 'confidence_*'.")]
Groups = Annotated[str | None, typer.Option(help="Rows that must stay on one side of a split.")]
Time = Annotated[str | None, typer.Option(help="When each query was: learn from the past, judge by the future.")]
Propensity = Annotated[
    str | None, typer.Option(help="The probability that those were asked who were (and the truth looked up).")
]
Fees = Annotated[str | None, typer.Option(help="name=0.05,... or a JSON file, or columns of fees such as 'fee_*'.")]
TaskName = Annotated[str, typer.Option("--task", help="auto, classification or regression.")]
Error = Annotated[
    str,
    typer.Option("--error", help="How answers are scored: auto, absolute, squared, smooth-l1, pinball:0.9, zero-one."),
]
ErrorCosts = Annotated[
    Path | None,
    typer.Option(help="What mistakes cost: JSON from truth to answer to cost, or a table of truth, answer and cost."),
]
Null = Annotated[str, typer.Option(help="What an empty answer means: not-asked, no-answer, or name=no-answer,...")]
Same = Annotated[
    str, typer.Option(help="When two answers are the same: exact, casefold, numeric, or your own module:function.")
]
Base = Annotated[str, typer.Option(help="auto (train one), none, or an entity of the log.")]
Encoder = Annotated[
    str, typer.Option(help="How text becomes numbers: hashing, minilm (sentence embeddings), or a folder of a model.")
]
Id = Annotated[str | None, typer.Option("--id", help="The column that names each query.")]
PolicyFolder = Annotated[Path, typer.Argument(help="The folder of a policy.", show_default=False)]
QueriesFile = Annotated[
    Path,
    typer.Argument(
        help="Queries: Parquet, CSV, JSON lines or Arrow; a file, a folder, or a pattern in quotes.", show_default=False
    ),
]
Allow = Annotated[str | None, typer.Option(help="Parts of your own that may be loaded: 'mypackage:MyLearner,...'.")]
Data = Annotated[
    Path | None, typer.Option(envvar="ASKWHO_DATA", help="Where the studies' data lies; askwho-data unless said.")
]
K = Annotated[int | None, typer.Option(help="Ask exactly so many.")]
Budget = Annotated[float | None, typer.Option(help="Stay within this mean fee.")]
MaxError = Annotated[
    float | None, typer.Option(help="Stay within this mean error, or mean cost where mistakes have costs.")
]
Confidence = Annotated[
    float | None, typer.Option(help="Promise --budget and --max-error with this probability, such as 0.95.")
]
MaxFee = Annotated[
    float | None, typer.Option(help="What no query is ever charged more than: to promise --budget where fees differ.")
]
MaxLoss = Annotated[
    float | None, typer.Option(help="What no error is ever above: to promise --max-error where answers are numbers.")
]
MaxGroup = Annotated[
    int | None, typer.Option(help="How many rows no group ever has: to promise anything where rows come in groups.")
]
FeeWeight = Annotated[float | None, typer.Option(help="How much error one unit of money is worth.")]
Coverage = Annotated[
    float | None, typer.Option(help="Around each number an interval that holds the truth so often, such as 0.9.")
]
Available = Annotated[
    str | None,
    typer.Option(
        help="Who is there: 'anna,bert'; or who is away: '!anna'; or columns of the queries that are true where "
        "somebody is there, such as 'there_*'."
    ),
]
Seed = Annotated[int, typer.Option(help="The seed of everything.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def _error(name: str, costs: Path | None) -> str | dict[str, dict[str, float]]:
    """How answers are scored: by name, or by what a file says that mistakes cost."""
    if costs is None:
        return name
    if name != "auto":
        raise InvalidInputError(f"`--error` must be 'auto' with `--error-costs`, got {name!r}: costs are the score.")
    return read_costs(costs)


def columns_of(options: Mapping[str, Any]) -> Columns:
    """Return the columns that the options of a command name."""
    return Columns(
        truth=options["truth"],
        answers=options["answers"],
        grades=options["grades"],
        features=options["features"],
        text=options["text"],
        info=options["info"],
        groups=options["groups"],
        id=options.get("id_"),
        time=options["time"],
        propensity=options["propensity"],
        fees=parse_fees(options["fees"]),
        task=options["task"],
        error=_error(options["error"], options["error_costs"]),
        nulls=parse_nulls(options["null"]),
        same=options["same"],
    )


def parse_fees(given: str | None) -> Mapping[str, float] | str | None:
    """Return fees from `name=0.05,...`, a JSON file, or a pattern of columns."""
    if given is None:
        return None
    if "=" in given:
        return _named_fees([pair(part, "fees") for part in given.split(",")])
    path = Path(given)
    if path.suffix.lower() != ".json":
        return given
    try:
        fees = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=partial(once, name="fees"))
    except InvalidInputError:
        raise
    except (OSError, RecursionError, ValueError):
        raise InvalidInputError(
            f"`fees` must be a JSON file from name to fee, got {given!r}, which cannot be read."
        ) from None
    fees = fees.get("fees", fees) if isinstance(fees, dict) else fees
    if not isinstance(fees, dict):
        raise InvalidInputError(
            f"`fees` must be a JSON object from name to fee, got {type(fees).__name__} in {given!r}."
        )
    return _named_fees(list(fees.items()))


def parse_nulls(given: str) -> Nulls | Mapping[str, Nulls]:
    """Return what an empty answer means, for all entities or by name."""
    if "=" not in given:
        return cast("Nulls", given)
    return cast("Mapping[str, Nulls]", dict(pair(part, "null") for part in given.split(",")))


def target_of(
    k: int | None,
    fee_weight: float | None,
    budget: float | None,
    max_error: float | None,
    confidence: float | None,
    max_fee: float | None = None,
    max_loss: float | None = None,
    max_group: int | None = None,
    *,
    optional: bool = False,
) -> Any:  # noqa: ANN401 - a target, or None where it may be left out
    """Return the target that was given."""
    given = (k, fee_weight, budget, max_error, confidence, max_fee, max_loss, max_group)
    return None if optional and all(value is None for value in given) else Target(*given)


def pair(part: str, name: str) -> tuple[str, str]:
    """Return the two sides of `name=value`."""
    key, sign, value = part.partition("=")
    if not sign:
        raise InvalidInputError(f"`{name}` must be name=value,..., got {part!r}.")
    return key.strip(), value.strip()


def words(given: str | None) -> list[str]:
    """Return what stands between commas."""
    return [] if given is None else [word.strip() for word in given.split(",") if word.strip()]


def print_version(value: bool) -> bool:  # noqa: FBT001 - typer's own way
    """Print the version and leave, where that is asked for; return whether it is."""
    if value:
        typer.echo(f"askwho {version('askwho')}")
        raise typer.Exit
    return value


def _named_fees(pairs: Sequence[tuple[str, object]]) -> dict[str, float]:
    return {name: _number(fee, name) for name, fee in once(pairs, "fees").items()}


def _number(value: object, name: str) -> float:
    try:
        return float(str(value))
    except ValueError:
        raise InvalidInputError(f"`fees` must be numbers, got {value!r} for {name!r}.") from None
