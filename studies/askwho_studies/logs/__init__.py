"""The benchmark on real logs: askwho beside plain rivals, tuned on the same rows and judged at the same money."""

from askwho_studies.logs._committees import SkippedError
from askwho_studies.logs._compare import Bootstrap, Priced, Tally, at_budgets, at_budgets_blind, compare
from askwho_studies.logs._embeddings import embed
from askwho_studies.logs._rivals import METHODS, NEEDS_TRUTH, Method
from askwho_studies.logs._split import Split, load_log, log_names
from askwho_studies.logs._study import run_logs
from askwho_studies.logs._verdicts import append, pooled, verdicts

__all__ = [
    "METHODS",
    "NEEDS_TRUTH",
    "Bootstrap",
    "Method",
    "Priced",
    "SkippedError",
    "Split",
    "Tally",
    "append",
    "at_budgets",
    "at_budgets_blind",
    "compare",
    "embed",
    "load_log",
    "log_names",
    "pooled",
    "run_logs",
    "verdicts",
]
