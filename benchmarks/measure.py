"""What every benchmark shares: fair timing, where a result came from, and how it is written down."""

import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def provenance(*, seed: int, libraries: tuple[str, ...] = ("numpy", "scipy", "askwho")) -> dict[str, object]:
    """Return what a reader needs to make the same result again."""
    return {
        # A copy of the tree on another machine has another history: there the commit is told.
        "commit": os.environ.get("ASKWHO_COMMIT") or _commit(),
        "seed": seed,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in libraries}},
        "hardware": {
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "processor": _processor(),
            **_accelerator(),
        },
        "command": shlex.join(["python", *_relative(sys.argv)]),
    }


def in_turn(repeats: int, *candidates: Callable[[], object], warm: int = 1) -> list[float]:
    """Median seconds of each candidate, timed in turn so that a busy machine slows all alike."""
    times: list[list[float]] = [[] for _ in candidates]
    for _ in range(warm):
        for candidate in candidates:
            candidate()
    for _ in range(repeats):
        for candidate, seconds in zip(candidates, times, strict=True):
            start = time.perf_counter()
            candidate()
            seconds.append(time.perf_counter() - start)
    return [statistics.median(seconds) for seconds in times]


def write_down(results: dict[str, Any], out: Path | None) -> None:
    """Print the results as JSON, and write them to `out` whole or not at all."""
    text = json.dumps(results, indent=2) + "\n"
    print(text, end="")
    if out is not None:
        partial = out.with_suffix(".partial")
        partial.write_text(text)
        partial.replace(out)


def _commit() -> str:
    changed = _git("status", "--porcelain", "src", "studies", "benchmarks", ":!benchmarks/results")
    return _git("rev-parse", "HEAD") + ("+changes" if changed else "")


def _accelerator() -> dict[str, str]:
    """The GPU, where torch was used and found one."""
    torch = sys.modules.get("torch")
    return {"gpu": torch.cuda.get_device_name()} if torch is not None and torch.cuda.is_available() else {}


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _relative(arguments: list[str]) -> list[str]:
    script = Path(arguments[0]).resolve()
    return [str(script.relative_to(ROOT)), *arguments[1:]]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
