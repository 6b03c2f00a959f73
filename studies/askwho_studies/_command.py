"""What `askwho reproduce` runs."""

from collections.abc import Callable
from pathlib import Path

from askwho._processes import under_torchrun
from askwho._validation import one_of
from askwho.exceptions import InvalidInputError
from askwho_studies.data import FOLDER, require
from askwho_studies.logs import append, run_logs
from askwho_studies.paper import EXPERIMENTS, NEEDS
from askwho_studies.paper.methods import EXPERIMENTS as COMPARED
from askwho_studies.paper.methods import run_methods

SEEDS = 3
"""Splits of a log where nobody says how many: those that were developed on."""
FINAL = range(100, 110)
"""The seeds of a final run, on which nothing is chosen: see PROTOCOL.md."""
QUICK_ROWS = 1000
"""Rows of a log in a quick run: few, and every rival can still be fitted on them."""


def run(
    name: str,
    *,
    data: Path | None,
    out: Path,
    only: str | None = None,
    seeds: int | None = None,
    quick: bool = False,
    final: bool = False,
    workers: int = 2,
    keep: Path | None = None,
    progress: Callable[[str], None],
) -> None:
    """Run a study and write its JSON, its tables and its figure into `out`.

    Args:
        name: `logs`, an experiment of the paper, `all` of them, or `methods`: every published one on these.
        data: where the data lies; `askwho-data` unless said. What is not there is named, with the command to type.
        out: a folder, made where it is not there.
        only: some of the logs, or of the experiments that methods are compared on, separated by commas.
        seeds: how many splits; None takes the study's own number.
        quick: a little of everything, to see that it runs.
        final: of the logs, the seeds that nothing was chosen on; what comes of it is appended to `final.jsonl`.
        workers: how many splits or seeds at a time; one under `torchrun`, whose processes train each network together.
        keep: of the logs, a folder for what each method got on each split: a run of the same commit goes on from there.
        progress: called with a line of text as the study goes on.
    """
    one_of(name, "name", ["logs", *EXPERIMENTS, "methods", "all"])
    place = FOLDER if data is None else data
    if under_torchrun():
        if name in ("logs", "methods"):
            raise InvalidInputError(
                f"`name` must be an experiment of the paper under torchrun, got {name!r}: give it `--workers` instead."
            )
        # The processes share each network's training; seeds come one after the other.
        workers = 1
    if final and (name != "logs" or quick or seeds is not None or only is not None):
        raise InvalidInputError("`final` must be a whole run of the logs, got it with something else: PROTOCOL.md.")
    if name == "methods":
        wanted = only.split(",") if only else list(COMPARED)
        for each in wanted:
            one_of(each, "only", list(COMPARED))
        require(place, _needed(wanted))
        run_methods(place, out=out, only=wanted, seeds=seeds, quick=quick, workers=workers, progress=progress)
        return
    if name != "logs":
        chosen = list(EXPERIMENTS) if name == "all" else [name]
        require(place, _needed(chosen))
        for each in chosen:
            EXPERIMENTS[each](place, out=out, seeds=seeds, quick=quick, workers=workers, progress=progress)
        return
    if not (place / "logs").is_dir():
        raise InvalidInputError(
            f"`data` must hold a folder of logs, got {str(place)!r}: set ASKWHO_DATA or --data; "
            "docs/how-to/get-the-data.md says how each log is made."
        )
    out.mkdir(parents=True, exist_ok=True)
    study = run_logs(
        place,
        names=only.split(",") if only else None,
        seeds=range(1) if quick else FINAL if final else range(seeds or SEEDS),
        rows=QUICK_ROWS if quick else None,
        out=out,
        workers=workers,
        keep=keep,
        progress=progress,
    )
    if final:
        append(study, out / "final.jsonl")
    progress(f"logs.json, logs.md and logs.png in {out}")


def _needed(experiments: list[str]) -> list[str]:
    """The sets of data that some experiments read, each once."""
    return list(dict.fromkeys(needed for each in experiments for needed in NEEDS[each]))
