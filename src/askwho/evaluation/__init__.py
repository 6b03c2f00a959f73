"""What a policy gets and pays on rows it has not seen, beside plain baselines, with intervals."""

from askwho.evaluation._evaluate import evaluate, figures, figures_of, sums_of
from askwho.evaluation._headline import headline
from askwho.evaluation._points import Behind, Point, Resamples, Sums, Tally, error_interval, interval, table_of
from askwho.evaluation._sensitivity import Bound, sensitivity
from askwho.evaluation._settings import adaptive_points, fixed_points, point_of, sequential_points, single_point
from askwho.evaluation._unseen import unseen, unseen_batch, unseen_batches
from askwho.metrics import Frontier

__all__ = [
    "Behind",
    "Bound",
    "Frontier",
    "Point",
    "Resamples",
    "Sums",
    "Tally",
    "adaptive_points",
    "error_interval",
    "evaluate",
    "figures",
    "figures_of",
    "fixed_points",
    "headline",
    "interval",
    "point_of",
    "sensitivity",
    "sequential_points",
    "single_point",
    "sums_of",
    "table_of",
    "unseen",
    "unseen_batch",
    "unseen_batches",
]
