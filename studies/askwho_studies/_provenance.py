"""Where a study's result came from: what the library says of itself, and whether the study was changed too."""

from pathlib import Path

from askwho._provenance import provenance as of_the_library


def provenance(*libraries: str) -> dict[str, object]:
    """Return what a reader needs to make the same result again; the versions of `libraries` too."""
    return of_the_library("askwho-studies", *libraries, beside=Path(__file__).parent)
