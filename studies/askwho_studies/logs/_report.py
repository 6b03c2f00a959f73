"""The study as files: JSON with everything, a Markdown page to read, a figure to look at."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askwho_studies.logs._figure import draw
from askwho_studies.logs._verdicts import lines_of


def write(study: Mapping[str, Any], out: Path) -> None:
    """Write `logs.json`, `logs.md` and, where matplotlib is installed, `logs.png` into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "logs.json").write_text(json.dumps(study, allow_nan=False, indent=None) + "\n", encoding="utf-8")
    hint = draw(study, out / "logs.png")
    page = markdown(study) + (f"\n{hint}\n" if hint else "")
    (out / "logs.md").write_text(page, encoding="utf-8")


def markdown(study: Mapping[str, Any]) -> str:
    """Return the study as a page of tables."""
    how = (
        f"Splits 60/40 by group, seeds {study['seeds']}; the same encoded features for all; tuning on training rows "
        "only. Fees are multiples of the best single entity's; errors are shares of wrong answers, or RMSE. *Match*: "
        "the fee that reaches the best single's error. *At fee*: the error at its fee. *Area*: the mean error over ten "
        "stated budgets. Mixing two settings at random is allowed. A decision that cannot be scored, because somebody "
        "was not asked, counts in these means as the best single's, and not at all in the pairs. Against: budgets at "
        "which askwho wins, ties, loses (paired bootstrap by group over all seeds, 95%), and (in brackets) that the "
        "rival does not reach; *blind*: the same with each method's settings chosen on the other half of the rows."
    )
    title, source = "# askwho and its rivals on recorded logs", f"Provenance: {json.dumps(study['provenance'])}"
    lines = [title, "", how, "", source, "", *lines_of(study["logs"])]
    for name, log in study["logs"].items():
        lines += _log(name, log)
    return "\n".join([*lines, *_totals(study["logs"])]) + "\n"


def _log(name: str, log: Mapping[str, Any]) -> list[str]:
    single = log["best_single"]
    about = (
        f"{log['n']} rows, {log['entities']} entities, {log['task']}; best single in training "
        f"{', '.join(sorted(set(single['name'])))}: error {_number(single['error'])}, fee {_number(single['fee'])}. "
        f"{log.get('seconds', '?')} s."
    )
    heads = ("method", "match", "at fee", "best error", "its fee", "area", "settings", "scored", "seconds")
    against = ("askwho W/T/L", "blind", "no base W/T/L")
    lines = [f"## {name}", "", about, "", f"| {' | '.join((*heads, *against))} |", "|---" * 12 + "|"]
    for method, row in log["methods"].items():
        figures = [row[key] for key in ("fee_to_match", "error_at_best_single_fee", "best_error", "best_error_fee")]
        cells = [*figures, row["area"], row["settings"], row["scored_share"], row["seconds"]]
        ours = log["against"].get("askwho", {}).get(method)
        plain = log["against"].get("askwho (no base)", {}).get(method)
        label = f"{method} (needs the truth)" if row["needs_truth"] else method
        blind = _tally(ours["blind"]) if ours else ""
        lines.append(f"| {label} | {' | '.join(map(_number, cells))} | {_tally(ours)} | {blind} | {_tally(plain)} |")
    lines += ["", *(f"- {method}: {reason}" for method, reason in log["skipped"].items()), ""]
    return lines


def _totals(logs: Mapping[str, Any]) -> list[str]:
    """Wins, ties and losses of askwho: in all by log, then by rival and log."""
    keys = ("wins", "ties", "losses", "not_reached", "missed")
    lines = ["## askwho against all rivals", "", f"| log | {' | '.join(keys)} | blind W/T/L | loses to |"]
    lines.append("|---" * 8 + "|")
    for name, log in logs.items():
        rivals = _rivals(log)
        total = [sum(row[key] for row in rivals.values()) for key in keys]
        blind = "/".join(str(sum(row["blind"][key] for row in rivals.values())) for key in keys[:3])
        lost = [f"{rival} {row['losses']}" for rival, row in rivals.items() if row["losses"]]
        lines.append(f"| {name} | {' | '.join(map(str, total))} | {blind} | {', '.join(lost) or '-'} |")
    lines += ["", f"| rival | {' | '.join(logs)} |", "|---" * (len(logs) + 1) + "|"]
    for rival in dict.fromkeys(rival for log in logs.values() for rival in _rivals(log)):
        cells = [_tally(_rivals(log).get(rival)) or "-" for log in logs.values()]
        lines.append(f"| {rival} | {' | '.join(cells)} |")
    return lines


def _rivals(log: Mapping[str, Any]) -> dict[str, Any]:
    """What askwho was compared with, but for its own variant."""
    return {rival: row for rival, row in log["against"].get("askwho", {}).items() if "askwho" not in rival}


def _tally(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return ""
    unreached = f" ({row['not_reached']})" if row["not_reached"] else ""
    missed = f" [missed {row['missed']}]" if row["missed"] else ""
    return f"{row['wins']}/{row['ties']}/{row['losses']}{unreached}{missed}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"
