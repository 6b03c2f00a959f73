"""Build the site: the pages, the reference from the code itself, and the recorded results that pages link to."""

import argparse
import re
import shutil
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import main as sphinx

import reference
from commands import commands

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "benchmarks" / "results"

# What lies below each page, in the order of the navigation; Sphinx warns of a page that is nowhere. The pages
# themselves say nothing of it, and read the same wherever Markdown is shown.
CONTENTS: dict[str, tuple[str, ...]] = {
    "index.md": (
        "tutorial",
        "how-to/index",
        "explanation/index",
        "reference/index",
        "notation",
        "measured",
        "reproduction",
    ),
    "how-to/index.md": (
        "check-a-log",
        "choose-k",
        "budget",
        "limited-hours",
        "add-an-expert",
        "newcomers",
        "own-metric",
        "unequal-mistakes",
        "own-learner",
        "llms",
        "own-encoder",
        "any-script",
        "people-and-models",
        "free-answers",
        "missing-answers",
        "feedback-loop",
        "ledger",
        "numbers",
        "ask-in-turn",
        "collect",
        "ask-live",
        "cheap-first",
        "time",
        "large-tables",
        "train-together",
        "research",
        "get-the-data",
    ),
    "explanation/index.md": ("theory", "decisions", "flow", "measuring", "scale"),
}
# A page that is in no navigation on purpose says so.
ORPHAN = "---\norphan: true\n---\n"
_TITLED = re.compile(r'^```(\w+) title="([^"]+)"$', re.MULTILINE)


def gather(out: Path) -> None:
    """Write everything that Sphinx reads."""
    for path in DOCS.rglob("*.md"):
        name = path.relative_to(DOCS).as_posix()
        _write(out / name, _adapted(path.read_text(encoding="utf-8"), name.count("/")))
    names = reference.pages()
    for name, text in {"commands.md": commands(), **names}.items():
        _write(out / "reference" / name, text)
    rooms = ("commands", *(name.removesuffix(".md") for name in names if name != "index.md"))
    for name, below in {**CONTENTS, "reference/index.md": rooms}.items():
        with (out / name).open("a", encoding="utf-8") as page:
            page.write("\n".join(["", "```{toctree}", ":hidden:", "", *below, "```", ""]))
    for path in RESULTS.rglob("*.md"):
        _write(out / "results" / path.relative_to(RESULTS), ORPHAN + path.read_text(encoding="utf-8"))
    for path in DOCS.rglob("*.ipynb"):
        (out / path.relative_to(DOCS)).parent.mkdir(exist_ok=True)
        shutil.copy(path, out / path.relative_to(DOCS))
    for path in RESULTS.rglob("*.png"):
        shutil.copy(path, out / "results" / path.relative_to(RESULTS))


def _adapted(text: str, depth: int) -> str:
    """A page whose links to results lead to their copies in the site, and whose titled blocks have captions."""
    text = text.replace("](" + "../" * (depth + 1) + "benchmarks/results/", "](" + "../" * depth + "results/")
    return _TITLED.sub(r"```{code-block} \1\n:caption: \2\n", text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> int:
    """Build into a folder; any warning fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, help="the folder of the site")
    parser.add_argument("--jobs", default="1", help="how many processes read and write pages")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        gather(Path(folder) / "pages")
        words = ["--fail-on-warning", "--quiet", "--jobs", given.jobs, "--conf-dir", str(DOCS)]
        return sphinx([*words, "--doctree-dir", f"{folder}/trees", f"{folder}/pages", str(given.out)])


if __name__ == "__main__":
    sys.exit(main())
