"""Where a result came from: commit, versions, hardware, command."""

import os
import platform
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

# Those whose versions move a figure in the last digits or more: what is computed with, and what reads the log.
_LIBRARIES = ("askwho", "numpy", "scipy", "scikit-learn", "lightgbm", "pyarrow")


def provenance(*libraries: str, beside: Path | None = None) -> dict[str, object]:
    """Return what a reader needs to make the same result again; the versions of `libraries` too.

    Args:
        libraries: whose versions to add, by the names they are installed by.
        beside: another folder of code the result depends on: changes there are told like the library's own.
    """
    return {
        # A copy of the tree on another machine has another history: there the commit is told.
        "commit": os.environ.get("ASKWHO_COMMIT") or _commit(beside),
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in (*_LIBRARIES, *libraries)},
        },
        "hardware": {"machine": platform.machine(), "cores": os.cpu_count(), "processor": _processor()},
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    }


def _commit(beside: Path | None) -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    here = Path(__file__)

    def ask(*arguments: str, folder: Path = here.parent) -> str | None:
        done = subprocess.run([git, *arguments], cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
        return done.stdout.strip() if done.returncode == 0 else None

    # Installed into somebody else's work tree, the commit there is not ours.
    head = ask("rev-parse", "HEAD") if ask("ls-files", "--error-unmatch", here.name) else None
    folders = [here.parent, *([] if beside is None else [beside])]
    changed = any(ask("status", "--porcelain", ".", folder=folder) for folder in folders)
    return None if head is None else head + ("+changes" if changed else "")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
