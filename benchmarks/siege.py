"""Claim: whoever asks may be killed 20 times in 100,000 queries, and no money is lost, made or spent beyond a budget.

This runs `tests/live/test_torture.py` at its full size on one database, and writes down what it counted; what it
claims is what the test asserts, call by call, against the books that the town keeps of its own.

    python benchmarks/siege.py --database sqlite --out benchmarks/results/siege.json
    python benchmarks/siege.py --database postgresql --out benchmarks/results/siege.json
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import ROOT, provenance, write_down


def main() -> None:
    """Run it, and put what it counted beside what the file holds of the other database."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), required=True)
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    arguments = parser.parse_args()
    came_from = provenance(seed=0, libraries=("numpy", "aiohttp", "psycopg", "askwho"))
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        told = {
            "ASKWHO_TORTURE": "1",
            "ASKWHO_QUERIES": str(arguments.queries),
            "ASKWHO_KILLS": str(arguments.kills),
            "ASKWHO_FIGURES": str(figures),
        }
        words = ["-m", "pytest", "-q", "-n", "0", "tests/live/test_torture.py", "-k", arguments.database]
        subprocess.run([sys.executable, *words], cwd=ROOT, env=os.environ | told, check=True)
        counted = json.loads(figures.read_text())
    before = json.loads(arguments.out.read_text()) if arguments.out is not None and arguments.out.exists() else {}
    write_down(before | {arguments.database: counted | {"provenance": came_from}}, arguments.out)


if __name__ == "__main__":
    sys.exit(main())
