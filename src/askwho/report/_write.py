"""From a policy and a log to a report on disk."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from askwho._provenance import provenance
from askwho._unit import Unit
from askwho.data import Log
from askwho.evaluation import Resamples, evaluate, figures_of
from askwho.exceptions import InvalidInputError
from askwho.policy import Policy, Target
from askwho.replay import checked_scores, later, none_later
from askwho.report import _figures, _findings, _sections, _store
from askwho.report._cards import changed
from askwho.report._changes import changes_of
from askwho.report._drawing import Drawing, draw
from askwho.report._findings import Bin, Decided, Grouping, reliability
from askwho.report._frontier import frontier
from askwho.report._html import Html, element, joined, plain, quoted
from askwho.report._over_time import Blocks, over_time, over_time_section
from askwho.report._page import Figures, page
from askwho.report._sensitivity import hidden_reasons
from askwho.report._words import Headline, error_of, headline_of, number, with_bounds


@dataclass(frozen=True)
class Report:
    """What was written.

    Args:
        out: the page.
        figures: its figures as PNG and SVG.
        headline: what it says first.
    """

    out: Path
    figures: tuple[Path, ...]
    headline: str


def write_report(
    policy: Policy,
    log: Log,
    out: str | Path,
    *,
    title: str = "",
    by: tuple[str, np.ndarray] | None = None,
    facts: Mapping[str, str] | None = None,
    draws: int = 200,
    random_state: int = 0,
    target: Target | None = None,
    scores: ArrayLike | None = None,
) -> Report:
    """Write what a policy saves on a log as one HTML file, and its figures into a folder beside it.

    The page loads nothing and runs nothing. Killed at any moment, there are the old page with its figures, or the new.

    Args:
        policy: fitted on other rows.
        log: rows that the policy has not seen.
        out: where the page goes; `report.html` has its figures in `report_figures`.
        title: what the log is called.
        by: a name and one value a query, shape (n,): the groups to tell apart; found in the log, unless given.
        facts: what else the provenance says, by name.
        draws: how many bootstrap resamples, by group.
        random_state: their seed.
        target: the setting that is shown; the best single's fee as budget, unless given.
        scores: shape (n, |A|), somebody else's, higher asked earlier: shown in the place of the policy's ranking.
    """
    place = _store.checked(out)
    if by is not None and len(by[1]) != len(log):
        raise InvalidInputError(f"`by` must have a value for each of the {len(log)} queries, got {len(by[1])}.")
    rows, all_rows = later(policy, log), len(log)
    if all_rows and not len(rows):
        raise none_later(policy, all_rows)
    if len(rows) < all_rows:
        log, by = log.rows(rows), None if by is None else (by[0], by[1][rows])
        scores = None if scores is None else checked_scores(scores, policy, all_rows)[rows]
    result = evaluate(policy, log, scores=scores, draws=draws, random_state=random_state)
    best = result["baselines"]["best_single"]["name"]
    setting = target or default_target(policy, best)
    decided = Decided.of(policy, log, setting, scores=scores)
    resamples = Resamples.of(log.groups, policy.unit, draws=draws, random_state=random_state)
    head = headline_of(result, graded=log.truth is None)
    made = _Parts(
        result,
        decided,
        _findings.grouping_of(log, by),
        resamples,
        best,
        _words_of(setting, best, policy.unit, given=target is not None),
    )
    drawn = draw(made.drawings())
    files = {f"{one.drawing.name}.{kind}": data for one in drawn for kind, data in (("png", one.png), ("svg", one.svg))}
    ranked = {} if scores is None else {"ranking": "by scores that were given, in the place of the policy's own"}
    left = {} if len(log) == all_rows else {"earlier rows": policy.facts.left_out(all_rows - len(log))}
    origin = _origin(policy, log, random_state, draws, left | ranked | dict(facts or {}))

    def text(addresses: Mapping[str, str]) -> str:
        figures = Figures(drawn, addresses)
        return page(
            title=f"askwho report: {title}" if title else "askwho report",
            header=_header(head, made, title),
            sections=[*made.sections(figures), _provenance(origin)],
            footer=element("p", "Made by askwho. This page loads nothing and runs nothing."),
            sheet=figures.sheet,
        )

    figures = _store.write(place, files, text)
    return Report(place, figures, head.says.replace("{best}", plain(best, 60)))


def default_target(policy: Policy, best: str) -> Target:
    """Return the setting to show: the best single's fee as budget; the cheapest there is, where that is dearer."""
    fee = float(policy.judge.fees.usual[policy.panel.names.index(best)])
    known = [point for point in policy.tried.validated(policy.unit) if np.isfinite(point["error"])]
    if any(point["mean_fee"] <= fee for point in known):
        return Target(budget=fee)
    return Target(fee_weight=float(min(known, key=lambda point: point["mean_fee"])["fee_weight"]))


@dataclass(frozen=True, eq=False)
class _Parts:
    """What the figures and the sections are made of, found once for both."""

    result: Mapping[str, Any]
    decided: Decided
    grouping: Grouping | None
    resamples: Resamples
    best: str
    setting: str

    @cached_property
    def parts(self) -> np.ndarray:
        """Which part of the queries each is in, from easy to hard, shape (n,)."""
        return _findings.bins_of(self.decided.difficulty)

    @property
    def whose(self) -> str:
        """What is chosen: a committee, or one who is believed."""
        return "the one asked" if self.decided.held.log.answers is None else "the committee"

    @cached_property
    def committees(self) -> list[Bin]:
        """What committees were expected to get, and what came."""
        decided, chances = self.decided, self.decided.held.chances
        weights = None if chances is None else chances.weights(decided.decisions.members)[:, None]
        return reliability(decided.expected[:, None], decided.errors[:, None], self.resamples, weights)

    @cached_property
    def entities(self) -> list[Bin]:
        """The same of everybody alone."""
        held = self.decided.held
        weights = None if held.chances is None else held.chances.cells
        return reliability(held.seen.expected, held.log.errors, self.resamples, weights)

    @cached_property
    def chosen(self) -> dict[str, Any]:
        """What the setting that is shown gets and pays, with intervals."""
        return figures_of(*self.resamples.tally([self.decided.point]))

    @cached_property
    def blocks(self) -> Blocks | None:
        """What was got and paid over time; None where the log does not say when its rows were."""
        return Blocks.of(self.decided, self.resamples)

    def drawings(self) -> list[Drawing]:
        """Return what there is to draw."""
        decided, drawn, k = self.decided, self.resamples, self.decided.decisions.k
        return [
            frontier(self.result),
            _figures.asked(decided),
            *([] if self.grouping is None else [_figures.groups(decided, self.grouping)]),
            *([] if (k == k[0]).all() else [_figures.difficulty(decided, self.parts)]),
            *([_figures.calibration(self.committees, self.whose, self.entities, drawn.unit)] if self.entities else []),
            *([] if self.blocks is None else [over_time(self.blocks, decided, self.best)]),
        ]

    def sections(self, figure: Figures) -> list[Html]:
        """Return the sections, in their order."""
        decided, drawn = self.decided, self.resamples
        hidden = hidden_reasons(decided, self.best, drawn)
        return [
            _sections.frontier(self.result, figure),
            *([] if hidden is None else [hidden]),
            _sections.asked(decided, self.grouping, self.best, self.setting, drawn, figure),
            _sections.difficulty(decided, self.parts, drawn, figure),
            _sections.calibration(self.committees, self.whose, self.entities, drawn.unit, figure),
            *([] if self.blocks is None else [over_time_section(self.blocks, decided, self.best, figure)]),
            changed(changes_of(decided), decided),
        ]


def _header(head: Headline, parts: _Parts, title: str) -> Html:
    result, chosen, unit = parts.result, parts.chosen, parts.resamples.unit
    before, _, after = head.says.partition("{best}")
    size = number(float(parts.decided.decisions.k.mean()))
    got = with_bounds(chosen["error"], chosen["error_interval"], lambda value: error_of(value, unit))
    paid = with_bounds(chosen["mean_fee"], chosen["mean_fee_interval"], number)
    least = result["headline"]
    tiles = [
        (
            f"Fee for the best single's {unit.name}",
            "–" if head.match is None else f"{number(head.match)}×",
            "its fee = 1",
        ),
        (
            unit.at_the_start + " at the best single's fee",
            error_of(least["error_at_best_single_fee"], unit),
            f"it gets {error_of(least['best_single_error'], unit)}",
        ),
        (
            unit.at_the_start + ", whatever it costs",
            error_of(least["best_error"], unit),
            f"for {number(least['best_error_fee'])} a query",
        ),
        ("Queries", f"{result['n']:,}", f"{len(result['entities'])} can be asked"),
    ]
    return joined(
        [
            element("p", joined(["askwho report", *([" · ", quoted(title, 80)] if title else [])]), class_="over"),
            element("h1", before, quoted(parts.best, 60), after),
            element("p", head.intervals, class_="muted") if head.intervals else None,
            element(
                "dl",
                *(
                    element("div", element("dt", name), element("dd", value, element("small", note, class_="muted")))
                    for name, value, note in tiles
                ),
                class_="tiles",
            ),
            element(
                "p",
                "The figures above are of settings that were worth their fee on held-out rows of the policy's own log; "
                f"none was chosen on these. With one setting ({parts.setting}) the policy gets {unit.name} {got} for "
                f"a mean fee of {paid}, and asks {size} in the mean.",
            ),
        ]
    )


def _words_of(target: Target, best: str, unit: Unit, *, given: bool) -> str:
    """The setting that is shown, in words."""
    spelt = {
        "budget": "a mean fee of at most",
        "max_error": f"{unit.with_article} of at most",
        "fee_weight": "a fee weight of",
        "k": "k =",
    }
    values = {name: getattr(target, name) for name in spelt}
    words = " and ".join(f"{spelt[name]} {number(value)}" for name, value in values.items() if value is not None)
    sure = "" if target.confidence is None else f", promised with confidence {target.confidence:g}"
    if given or target.budget is None:
        return words + sure
    return f"{words}, the fee of the best single ({plain(best, 60)})"


def _origin(policy: Policy, log: Log, seed: int, draws: int, facts: Mapping[str, str]) -> dict[str, str]:
    """Where the report came from, as it is shown."""
    found = provenance("onnxruntime", "matplotlib")
    versions: Any = found["versions"]
    committee, base = policy.combiner.name or "the first is believed", policy.facts.base or "none"
    return {
        "made": f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M} UTC",
        "askwho": f"{versions['askwho']}" + (f", commit {found['commit']}" if found["commit"] else ""),
        "rows": f"{len(log):,}",
        "policy": f"learner {policy.judge.name}, committee {committee}, base {base}",
        **({} if policy.facts.sample is None else {"learned from": policy.facts.sample}),
        "seed": f"{seed}, {draws} resamples",
        "versions": ", ".join(f"{name} {number}" for name, number in versions.items() if number and name != "askwho"),
        **facts,
        "command": str(found["command"]),
    }


def _provenance(origin: Mapping[str, str]) -> Html:
    rows = [
        joined(
            [
                element("dt", plain(name, 40)),
                element("dd", element("code", quoted(value, 600)) if name == "command" else quoted(value, 600)),
            ]
        )
        for name, value in origin.items()
    ]
    return _sections.section("provenance", "Where this comes from", element("dl", *rows, class_="facts"))
