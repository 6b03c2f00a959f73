"""Where a result came from: commit, versions, hardware, command."""

import os
import platform
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]


def provenance(*, seed: int, libraries: tuple[str, ...] = ("numpy", "scipy", "askwho")) -> dict[str, object]:
    """Return what a reader needs to make the same result again."""
    return {
        "commit": _git("rev-parse", "HEAD")
        + ("+changes" if _git("status", "--porcelain", "src", "benchmarks") else ""),
        "seed": seed,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in libraries}},
        "hardware": {"machine": platform.machine(), "cores": os.cpu_count(), "processor": _processor()},
        "command": shlex.join(["python", *_relative(sys.argv)]),
    }


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
