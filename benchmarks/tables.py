"""The tables of pages that are made from files under `benchmarks/results`, so that they cannot differ.

Each stands between `<!-- NAME -->` and `<!-- end -->`; a test holds the pages to what this would write. Of one file
there may be several tables: `<!-- NAME:WHICH -->`.

    python benchmarks/tables.py
"""

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from askwho_studies.logs._verdicts import FAMILIES, pooled, verdicts

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "docs" / "measured.md", ROOT / "docs" / "explanation" / "scale.md")
RESULTS = ROOT / "benchmarks" / "results"
MARK = re.compile(r"<!-- ((\w+)(?::\w+)?) -->\n.*?<!-- end -->", re.DOTALL)
Found = dict[str, Any]
MANY = 50
"""Of fewer draws than this a share is not told."""


def main() -> None:
    """Write every table anew."""
    for page in PAGES:
        page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")


def file_of(name: str) -> Path:
    """Return the file of a name: it may have a folder of its own."""
    alone = RESULTS / f"{name}.json"
    return alone if alone.exists() else RESULTS / name / f"{name}.json"


def written(page: str) -> str:
    """Return the page with its tables as the files tell them."""

    def table(match: re.Match[str]) -> str:
        name, file = match[1], match[2]
        found = json.loads(file_of(file).read_text(encoding="utf-8"))
        return "\n".join([f"<!-- {name} -->", "", *TABLES[name](found), "", "<!-- end -->"])

    return MARK.sub(table, page)


def holes(found: Found) -> list[str]:
    """Return, by the way in which cells were emptied: fees, expected errors, and the gain that is left."""
    rows: list[list[str]] = []
    for row in found["summary"]:
        log, part, off = row["off_worst"]
        rows.append(
            [
                f"{row['mode']}, {_way(row['turns'])}",
                f"{row['over']} of {row['cells']}",
                _signed(row["off"]),
                f"{_signed(off)} ({log}, {part:g} of all fees)",
                "-" if row["gain_kept"] is None else f"{row['gain_kept']:.0%}",
            ]
        )
    head = ("cells emptied", "fees beyond the budget", "expected less real error", "at the worst", "gain left")
    return _table(head, rows)


def holes_worlds(found: Found) -> list[str]:
    """Return, by the way in which cells were emptied: how often intervals hold the truth, and how far off means are."""
    rows: list[list[str]] = []
    for way in dict.fromkeys(cell["way"] for cell in found["cells"]):
        mine = [cell for cell in found["cells"] if cell["way"] == way]
        paid = [cell for cell in mine if "p" in cell and cell["of"].endswith(", fee")]
        tested = [cell for cell in mine if "p" in cell and not cell["of"].startswith("headline") and cell not in paid]
        heads = [cell for cell in mine if "p" in cell and cell["of"].startswith("headline")]
        told = [cell["held"] / cell["told"] for cell in heads]
        calibrated = next(cell for cell in mine if cell["of"] == "calibrate")
        held = [cell["held"] / cell["told"] for cell in tested]
        off = [cell["off"] for cell in tested]
        fees = [cell["held"] / cell["told"] for cell in paid]
        beyond = max((cell["off"] / cell["true"] for cell in paid), key=abs, default=0.0)
        rows.append(
            [
                way,
                str(len(tested)),
                f"{_mean(held):.1%}, at the least {min(held):.1%}",
                f"{_signed(_mean(off))}, at the worst {_signed(max(off, key=abs))}",
                f"{_mean(fees):.1%}, at the least {min(fees):.1%}; off by {_signed(100 * beyond, 1)}%" if fees else "-",
                f"{_signed(calibrated['off'])} ± {2 * calibrated['off_error']:.4f}",
                f"{_mean(told):.1%}, at the least {min(told):.1%}" if told else "-",
            ]
        )
    head = (
        "cells emptied",
        "figures",
        "intervals of 95% that hold the truth",
        "`evaluate` is off",
        "fees in turn that hold it; at the worst",
        "`calibrate` is off",
        "the headline's that hold it",
    )
    return _table(head, rows)


def holes_judged(found: Found) -> list[str]:
    """Return, by log, how far figures of thinned rows are from those of the same rows complete, and what is covered."""
    rows: list[list[str]] = []
    for log, kind in dict.fromkeys((each["log"], each["kind"]) for each in found["summary"]):
        mine = [each for each in found["summary"] if (each["log"], each["kind"]) == (log, kind)]
        off = [one for each in mine for one in each["off"]]
        told, untold = (sum(each[name] for each in mine) for name in ("told", "untold"))
        worst = min(mine, key=lambda each: each["covered"])
        rows.append(
            [
                f"{log}, {_way(kind == 'sequential')}",
                f"{told} of {told + untold}",
                f"{_signed(_mean(off))} ({_signed(min(off))} to {_signed(max(off))})",
                f"{sum(each['covered'] * each['told'] for each in mine) / told:.1%}",
                f"{worst['covered']:.0%} ({worst['mode']})",
            ]
        )
    head = ("log", "settings told", "off, in the mean (by split)", "intervals of 95% that hold", "at the least")
    return _table(head, rows)


def promise_from_fit(found: Found) -> list[str]:
    """Return, by population and rows: promises broken, how often one is made, and how much of a budget is spent."""
    every = sorted(cell["p"] for cell in found["from_fit"])
    corrected = {p: min(1.0, max((len(every) - i) * q for i, q in enumerate(every) if q <= p)) for p in every}
    rows: list[list[str]] = []
    for kind, n in dict.fromkeys((cell["population"], cell["rows"]) for cell in found["from_fit"]):
        mine = [cell for cell in found["from_fit"] if (cell["population"], cell["rows"]) == (kind, n)]
        worst = max(mine, key=lambda cell: cell["broken"] / cell["draws"])
        # Of a handful of promises there is no share to tell.
        could = [each for each in mine if each.get("one_test_could", 0) >= MANY and "error" in each["target"]]
        least = min(could, key=lambda each: each["promised"] / each["one_test_could"], default=None)
        spent = [
            each["part_of_budget_spent"] for each in mine if each["target"].startswith("budget") and each["promised"]
        ]
        rows.append(
            [
                kind,
                f"{n:,}",
                str(len(mine)),
                f"{worst['broken']} of {worst['draws']}",
                f"{min(corrected[each['p']] for each in mine):.2f}",
                "-" if least is None else f"{least['promised']} of {least['one_test_could']} ({least['target']})",
                f"{min(spent):.0%}" if spent else "-",
            ]
        )
    head = (
        "population",
        "rows",
        "targets",
        "most broken",
        "least p, corrected",
        "errors promised, of those that one test could, at the least",
        "of a budget spent, at the least",
    )
    return _table(head, rows)


def no_harm(found: Found) -> list[str]:
    """Return, by log, the difference to the single and its upper limit, at the budget where that is highest."""
    rows: list[list[str]] = []
    for name in dict.fromkeys(each["log"] for each in found["limits"]):
        mine = [each for each in found["limits"] if each["log"] == name]
        worst = max(mine, key=lambda each: each["limit"])
        rows.append(
            [
                name,
                str(len(mine)),
                f"{_signed(min(each['difference'] for each in mine))} to {_signed(worst['difference'])}",
                f"{_signed(worst['limit'])} ({_way(worst['turns'])}, {worst['budget']:g})",
            ]
        )
    return _table(("log", "budgets", "error less the single's", "highest limit (where)"), rows)


def hours(found: Found) -> list[str]:
    """Return what queries cost on each desk, and how much less than rivals, with intervals."""
    return _table(
        ("desk", "queries", "`assign`", "less by rank", "less at random", "one at a time, expected"),
        [
            [
                name,
                f"{desk['queries']:,}",
                f"{desk['realised']['assign']:.3f}",
                _interval(desk["assign_less_by_rank"]),
                _interval(desk["assign_less_at_random"]),
                f"{desk['online_above_offline']:+.1%}".replace("-", "−"),
            ]
            for name, desk in found["desks"].items()
        ],
    )


def costs(found: Found) -> list[str]:
    """Return what mistakes cost less than rivals', over all seeds."""
    rows: list[list[str]] = []
    for name, log in found["logs"].items():
        seeds = [each for key, each in log.items() if key != "all seeds"]
        for way, less in log["all seeds"].items():
            fee = _mean([each["policy"][way]["fee"] / each["everybody_costs"] for each in seeds])
            cells = [_interval(less[f"less {rival}"]) for rival in ("the best alone", *STACKED)]
            rows.append([name, way, f"{fee:.0%}", *cells])
    head = ("log", "asked", "of everybody's fees", "less the best alone", *(f"less {rival}" for rival in STACKED))
    return _table(head, rows)


def regression(found: Found) -> list[str]:
    """Return errors less the best single's, and what intervals cover."""
    logs = {name: row for name, row in found.items() if name != "provenance"}
    ways = list(next(iter(logs.values()))["less_single"])
    rows = [
        [
            name,
            f"{row['error']['single']:.4f}",
            *(_interval(row["less_single"][way], 4) for way in ways),
            f"{row['mean_covered']:.1%}",
        ]
        for name, row in logs.items()
    ]
    return _table(("log, error", "best single", *(f"{way}, less it" for way in ways), "90% intervals cover"), rows)


def graded_turns(found: Found) -> list[str]:
    """Return how much less asking in turn errs than at once for the same fee, at the best and at the worst budget."""
    rows: list[list[str]] = []
    for name, log in found.items():
        if name == "provenance":
            continue
        less = [each["in_turn_less_at_once"] for each in log["budgets"]]
        best, worst = min(less, key=lambda each: each["high"]), max(less, key=lambda each: each["low"])
        below = sum(each["high"] < 0 for each in less)
        above = sum(each["low"] > 0 for each in less)
        rows.append([name, f"{below} and {above} of {len(less)}", _interval(best), _interval(worst)])
    return _table(("log", "budgets clearly below and above", "the best", "the worst"), rows)


def free_answers(found: Found) -> list[str]:
    """Return how much less askwho errs than agreement cascades, at shares of the best single's fee."""
    rows: list[list[str]] = []
    for share, row in found["at_share_of_best_fee"].items():
        for way, less in row["error_less_theirs"].items():
            means = row["means"][way]
            cells = [_interval(each | {"mean": each["difference"]}) for each in less.values()]
            rows.append([share, way, f"{means['error']:.3f}", *cells])
    theirs = next(iter(next(iter(found["at_share_of_best_fee"].values()))["error_less_theirs"].values()))
    return _table(("fee, of the best single's", "asked", "error", *(f"less {rival}" for rival in theirs)), rows)


def newcomers(found: Found) -> list[str]:
    """Return the part of the whole log's gain that a few answers bring back, log by log and pooled."""
    rows: list[list[str]] = []
    curves = {name: curve for name, curve in found["logs"].items() if curve}
    for name, curve in {**curves, "all of them": found["curve"]}.items():
        for count in sorted({point["answers"] for point in curve}):
            ways = {point["way"]: point for point in curve if point["answers"] == count}
            cells = [f"{ways[way]['recovered']:.0%}" if way in ways else "" for way in ("askwho", "mean", "refit")]
            behind = [
                _interval(_within(ways[way]["behind"], ways[way]["behind_error"])) if way in ways else ""
                for way in ("mean", "refit")
            ]
            rows.append([name, str(ways["askwho"]["entities"]), str(count), *cells, *behind])
    head = (
        "log",
        "entities",
        "answers",
        "`with_expert`",
        "global mean",
        "refit",
        "mean's cost above",
        "refit's cost above",
    )
    return _table(head, rows)


def route_growth(found: Found) -> list[str]:
    """Return what the start and a row take, how both grow, and the most memory, by the number of entities."""
    rows: list[list[str]] = []
    for entities, panel in found["panels"].items():
        runs = panel["runs"]
        rows.append(
            [
                entities,
                f"{panel['start_seconds']:.1f} s",
                f"{panel['microseconds_a_row']:.1f} µs",
                ", ".join(f"{run['exponent']:.2f}" for run in runs[3:]),
                ", ".join(f"{run['peak_mib']}" for run in runs[1:]),
                f"{panel['bytes_read_a_row']:.0f}",
                f"{panel['bytes_written_a_row']:.0f}",
            ]
        )
    head = ("entities", "start", "a row", "exponents", "most memory, MiB", "bytes read a row", "bytes written a row")
    return _table(head, rows)


def route_floors(found: Found) -> list[str]:
    """Return what the trees of expected errors take alone, by us and by others."""
    rows: list[list[str]] = []
    for entities, panel in found["panels"].items():
        floors = panel["floors"]
        names = ("ours", "ours_with_numba", "lightgbm_leaves_alone", "onnxruntime_bare")
        if entities.isdigit():
            rows.append([entities, f"{floors['trees']}", *(f"{floors[name]:.1f} µs" for name in names)])
    last = ("LightGBM's predictor, leaves alone", "ONNX Runtime bare")
    return _table(("entities", "trees", "ours", "ours, with numba", *last), rows)


def route_foretold(found: Found) -> list[str]:
    """Return what the two sizes before the largest foretell of it, beside what it took."""
    rows: list[list[str]] = []
    for entities, panel in found["panels"].items():
        last, foretold = panel["runs"][-1], panel["foretold_seconds"]
        cells = [f"{last['rows']:,}", f"{foretold:.1f} s", f"{last['seconds']:.1f} s"]
        rows.append([entities, *cells, f"{last['seconds'] / foretold - 1:+.0%}".replace("-", "−")])
    return _table(("entities", "rows", "foretold", "taken", "beyond"), rows)


def route_plan(found: Found) -> list[str]:
    """Return what a billion rows and ten take, from the constants."""
    rows: list[list[str]] = []
    sizes = {entities: int(entities.partition(",")[0]) for entities in found["panels"]}
    for entities, panel in found["panels"].items():
        if sizes[entities] not in (min(sizes.values()), max(sizes.values())):
            continue
        for count in (10**9, 10**10):
            hours = count * panel["microseconds_a_row"] / 1e6 / 3600
            read, wrote = (count * panel[f"bytes_{way}_a_row"] / 1e12 for way in ("read", "written"))
            rate = 1e6 * (read + wrote) / (hours * 3600)
            parts = f"{-(-count // 65536):,}"
            cells = [f"{hours:,.1f}", f"{hours / 64:.2f}", f"{read:.2f}", f"{wrote:.2f}", f"{rate:.0f}", parts]
            rows.append([entities, f"{count:,}", *cells])
    head = (
        "entities",
        "rows",
        "processor hours",
        "hours on 64",
        "TB read",
        "TB written",
        "MB a second and processor",
        "parts of 65,536",
    )
    return _table(head, rows)


KERNEL = {
    "numbers": "`route`, 5 entities",
    "thirty": "`route`, 30 entities",
    "text": "`route`, 5 entities, a text of 200 characters",
    "evaluate": "`evaluate`, 5 entities, 200 resamples",
}


def kernel_speed(found: Found) -> list[str]:
    """Return what a row takes now and at an earlier commit, and how many times faster rows and whole commands are."""
    rows: list[list[str]] = []
    for name, what in KERNEL.items():
        part = found[name]
        cells = [f"{each:.1f} µs" for each in part["processor"]["microseconds_a_row"]]
        cells += [f"{part[kind]['times_beyond_the_start']:.1f}" for kind in ("processor", "wall")]
        cells += [f"{part['processor']['times_beyond_the_start_without_numba']:.1f}", f"{part['rows'][1]:,}"]
        rows.append([what, *cells, *(f"{part[kind]['times_of_the_larger']:.1f}" for kind in ("processor", "wall"))])
    one = found["one"]
    rows.append(["one decision", *(f"{each:.0f} µs" for each in one["microseconds"]), "-", f"{one['times']:.1f}"])
    rows[-1] += ["-", "1", "-", "-"]
    head = (
        "",
        f"a row at {found['compared'][0][:7]}",
        "a row now",
        "a row without numba",
        "times, processor",
        "times, clock",
        "times without numba, processor",
        "rows",
        "command, processor",
        "command, clock",
    )
    return _table(head, rows)


STACKED = ("stacking, logistic", "stacking, boosted")


def large_fit(found: Found) -> list[str]:
    """Return, by log and rows: the areas, the error within half of all fees, and what the fit took."""
    rows = [
        [
            name if row is told[0] else "",
            f"{row['rows']:,}",
            f"{row['area']:.4f}",
            f"{row['area_in_turn']:.4f}",
            f"{row['error_at_half']:.4f} ± {row['known_to_within']:.4f}",
            f"{row['cpu_seconds']:.0f}",
            f"{row['peak_megabytes'] / 1000:.2f}",
        ]
        for name, told in found["curve"].items()
        for row in told
    ]
    head = ("log", "rows", "area, at once", "in turn", "error within half of all fees", "seconds of a core", "GB")
    return _table(head, rows)


# Whom the table by log shows: askwho, those who see what it sees, and the plainer ones of each kind.
SHOWN = (
    "askwho",
    "confidence cascade",
    "cascade routing",
    "stacking+ (linear)",
    "stacking+ (LightGBM)",
    "forest router",
    "agreement cascade",
    "the paper's top-k",
)


def logs(found: Found) -> list[str]:
    """Return, by log: the best single's error, and of some methods what they need, get and get at best."""

    def told(row: Found | None) -> str:
        if row is None:
            return "-"
        match, at_fee = (row[key] for key in ("fee_to_match", "error_at_best_single_fee"))
        match, at_fee = ("-" if match is None else f"{match:.2f}", "-" if at_fee is None else f"{at_fee:.3f}")
        return f"{match}; {at_fee}; {row['best_error']:.3f} at {row['best_error_fee']:.2g}"

    rows = [
        [name, f"{log['best_single']['error']:.3f}", *(told(log["methods"].get(method)) for method in SHOWN)]
        for name, log in found["logs"].items()
    ]
    return _table(("log", "best single", *(f"**{each}**" if each == "askwho" else each for each in SHOWN)), rows)


def logs_verdicts(found: Found) -> list[str]:
    """Return, by rival: how far askwho is ahead over all logs, and how often it wins, ties and loses."""
    every = verdicts(found["logs"])
    rows: list[list[str]] = []
    for total in sorted(pooled(every), key=lambda row: -row["difference"]):
        mine = [row for row in every if row["rival"] == total["rival"]]
        counts = [str(sum(row["verdict"] == each for row in mine)) for each in ("win", "tie", "loss")]
        worst = max(mine, key=lambda row: row["difference"])
        rows.append(
            [
                total["rival"],
                _interval(_within(total["difference"], total["error"]), 4),
                *counts,
                f"{_signed(worst['difference'], 4)} ± {1.96 * worst['error']:.4f} ({worst['log']})",
            ]
        )
    return _table(("rival", "askwho's error less its, all logs", "wins", "ties", "losses", "where it is nearest"), rows)


def logs_families(found: Found) -> list[str]:
    """Return, by family of rivals: corrected verdicts by log, and what single budgets say, uncorrected."""
    every, rows = verdicts(found["logs"]), []
    for family, members in FAMILIES.items():
        mine = [row for row in every if row["rival"] in members]
        counts = [str(sum(row["verdict"] == each for row in mine)) for each in ("win", "tie", "loss")]
        pairs = [
            row for log in found["logs"].values() for rival, row in log["against"]["askwho"].items() if rival in members
        ]
        by_budget = [
            "/".join(str(sum(row[key] for row in some)) for key in ("wins", "ties", "losses"))
            for some in ([row["blind"] for row in pairs], pairs)
        ]
        unreached = str(sum(row["not_reached"] for row in pairs))
        rows.append([family, *counts, *by_budget, unreached])
    head = ("family", "wins", "ties", "losses", "by budget, blind", "by budget, seen", "not to be had")
    return _table(head, rows)


LIVE = {
    "beyond_the_slowest_call_ms": "a decision, beyond the slowest of its own calls",
    "decision_ms": "a decision, whole",
    "bare_call_ms": "the bare call to the slowest expert",
    "three_bare_calls_ms": "bare calls to all three at once, until the last",
    "loop_lag_ms": "the event loop's lag",
}


def live(found: Found) -> list[str]:
    """Return how long a decision, a bare call and a turn of the event loop take, in milliseconds."""
    ways, places = (found["added_ahead_of_others"], found["added"]), ("p50", "p90", "p99")
    rows = [[what, *(f"{way[name][at]:.2f}" for way in ways for at in places)] for name, what in LIVE.items()]
    among = [f"among others, {at}" for at in places]
    return _table(("milliseconds", *places, *among), rows)


def live_throughput(found: Found) -> list[str]:
    """Return how many requests a second go to experts who answer at once, and what each takes of a processor."""
    told, ways = found["throughput"], {"bare": "bare", "asker": "`Asker`", "asker_and_ledger": "`Asker` and a ledger"}
    rows = [[what, f"{told[f'{way}_per_second']:,}", f"{told[f'{way}_cpu_ms']:.2f}"] for way, what in ways.items()]
    return _table((f"{told['at_a_time']} at a time", "requests a second", "milliseconds of a processor"), rows)


def engines(found: Found) -> list[str]:
    """Return, by engine, rows a second of two workers, and what part of the slower limit they are."""
    kernel = found["kernel"]
    rows = [
        ["the kernel, one thread", f"{kernel['rows_a_second']:,}", "-", f"{kernel['microseconds_a_row']:.1f} µs", "-"]
    ]
    rows += [
        [
            f"{name.capitalize()}, two workers",
            f"{found[name]['routed_rows_a_second']:,}",
            f"{found[name]['copied_rows_a_second']:,}",
            f"{found[name]['microseconds_a_row']:.1f} µs",
            f"{found[name]['of_the_slower_limit']:.2f}",
        ]
        for name in ("ray", "spark")
    ]
    head = ("", "rows a second", "passed through", "processor time of a row, within the work", "of the slower limit")
    return _table(head, rows)


def siege(found: Found) -> list[str]:
    """Return, by database, what was asked, killed, held and charged."""
    names = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
    rows = [
        [
            name,
            f"{told['queries']:,}",
            f"{told['kills']}",
            f"{told['calls']:,}",
            f"{told['holds_refused']:,}",
            f"{told['queries_given_up']:,}",
            f"{told['in_flight_at_all_kills']:,} ({told['in_flight_at_one_kill']:,})",
            f"{told['charged_nanos'] / 1e9:.6f}",
            f"{told['seconds'] / 60:.0f}",
        ]
        for key, name in names.items()
        for told in [found[key]]
    ]
    head = ("ledger", "queries", "kills", "calls held for", "holds refused", "queries given up")
    return _table((*head, "in flight at all kills (at one)", "charged", "minutes"), rows)


def mutants(found: Found) -> list[str]:
    """Return, by room, how many faults there could be, how many were planted, and how many of them tests noticed."""
    rooms = found["rooms"]
    first = {room: each["killed_at_first"] for room, each in rooms.items() if "killed_at_first" in each}
    rows = [
        [room, f"{each['faults']:,}", str(each["drawn"]), str(first.get(room, "-")), str(each["killed"])]
        for room, each in rooms.items()
    ]
    told, every = sum(rooms[room]["drawn"] for room in first), sum(each["killed"] for each in rooms.values())
    begun = f"{sum(first.values())} of {told}" if first else "-"
    rows.append(["all", "", str(found["drawn"]), begun, f"{every} ({every / found['drawn']:.1%})"])
    return _table(("room", "faults that could be", "planted", "noticed at first", "noticed now"), rows)


TABLES: dict[str, Callable[[Found], list[str]]] = {
    **{
        each.__name__: each
        for each in (
            holes,
            holes_judged,
            holes_worlds,
            promise_from_fit,
            no_harm,
            hours,
            costs,
            regression,
            graded_turns,
            free_answers,
            newcomers,
            route_growth,
            kernel_speed,
            engines,
            large_fit,
            live,
            siege,
            mutants,
        )
    },
    "live:throughput": live_throughput,
    "logs": logs,
    "logs:verdicts": logs_verdicts,
    "logs:families": logs_families,
    "route_growth:floors": route_floors,
    "route_growth:foretold": route_foretold,
    "route_growth:plan": route_plan,
}


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    names = list(head)
    return [_line(names), "|---" * len(names) + "|", *(_line(row) for row in rows)]


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _way(turns: bool) -> str:  # noqa: FBT001 - a word for a flag
    return "in turn" if turns else "at once"


def _signed(value: float, digits: int = 3) -> str:
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text[1:]


def _interval(row: dict[str, float], digits: int = 3) -> str:
    return f"{_signed(row['mean'], digits)} [{_signed(row['low'], digits)}, {_signed(row['high'], digits)}]"


def _within(mean: float, error: float) -> dict[str, float]:
    """A mean with its 95% interval, by its standard error."""
    return {"mean": mean, "low": mean - 1.96 * error, "high": mean + 1.96 * error}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    main()
