"""What is drawn is inside its frame, and its words inside the figure."""

import json

import pytest

from askwho import Target
from askwho.evaluation import Resamples, evaluate
from askwho.report import _drawing, _figures, _frontier
from askwho.report._findings import Decided, bins_of, grouping_of, reliability
from tests import cases

pytest.importorskip("matplotlib")


def figures_of(kind):
    """Every figure of a kind, by name: those that a page shows."""

    policy, log = cases.case(kind)
    decided = Decided.of(policy, log, Target(fee_weight=float(policy.tried.prices[3])))
    drawn = Resamples.of(log.groups, log.unit, draws=10)
    bins = [
        reliability(expected, errors, drawn)
        for expected, errors in (
            (decided.expected[:, None], decided.errors[:, None]),
            (decided.held.seen.expected, decided.held.log.errors),
        )
    ]
    grouping = grouping_of(log, None)
    return [
        _frontier.frontier(evaluate(policy, log, draws=10)),
        _figures.asked(decided),
        *([] if grouping is None else [_figures.groups(decided, grouping)]),
        _figures.difficulty(decided, bins_of(decided.difficulty)),
        _figures.calibration(bins[0], "the committee", bins[1], log.unit),
    ]


def painted(drawing, *, phone):
    """The figure, laid out as it is saved."""
    import matplotlib as mpl  # noqa: PLC0415 - it may not be installed
    from matplotlib.figure import Figure  # noqa: PLC0415

    size = (_drawing._PHONE, drawing.phone_height) if phone else (_drawing._SCREEN, drawing.height)
    with mpl.rc_context(_drawing._SETTINGS):
        figure = Figure(figsize=size, layout="constrained")
        drawing.paint(figure, phone=phone)
        figure.draw_without_rendering()
    return figure


@pytest.mark.parametrize("kind", ["classes", "far", "free"])
def test_every_fee_is_in_the_frame(kind):
    policy, log = cases.case(kind)
    result = json.loads(json.dumps(evaluate(policy, log, draws=10)))
    rows = [*result["adaptive"], *result["fixed_k"], *result["baselines"]["oracle"], *result["baselines"]["random"]]
    rows += [row for name, row in result["baselines"].items() if name.endswith("_all") or name == "best_single"]
    (axis,) = painted(_frontier.frontier(result), phone=False).axes
    low, high = axis.get_xlim()
    assert high > max(row["mean_fee"] for row in rows)
    assert low < min(row["mean_fee"] for row in rows) or axis.get_xscale() == "log"


@pytest.mark.parametrize("phone", [False, True])
@pytest.mark.parametrize("kind", ["classes", "far", "hostile"])
def test_the_words_of_a_legend_are_inside_the_figure(kind, phone):
    for drawing in figures_of(kind):
        figure = painted(drawing, phone=phone)
        for legend in figure.legends:
            for part in (*legend.get_texts(), *legend.get_lines(), *legend.get_patches()):
                inside = part.get_window_extent()
                assert inside.x0 >= 0, drawing.name
                assert inside.x1 <= figure.bbox.x1, drawing.name
