"""The demonstration: five paid specialists read scikit-learn's digits; what is known beforehand is a thumbnail."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from askwho.data import write_table

# The paper's schedule for five experts, the first the most expensive.
FEES = {"odd": 0.05, "even": 0.045, "low": 0.04, "high": 0.035, "middle": 0.03}
# Each digit is known to two of them, or to three: whom to ask depends on the digit, and nobody is best for all.
KNOWS = {
    "odd": (1, 3, 5, 7, 9),
    "even": (0, 2, 4, 6, 8),
    "low": (0, 1, 2, 3, 4),
    "high": (5, 6, 7, 8, 9),
    "middle": (3, 4, 5, 6, 7),
}


def run_demo(out: Path, seed: int) -> Iterator[list[str]]:
    """Write the logs, then yield the commands that a user would type, in order, each as its words."""
    # No other command needs them, and they take long to import.
    from sklearn.datasets import load_digits  # noqa: PLC0415
    from sklearn.ensemble import ExtraTreesClassifier  # noqa: PLC0415

    out.mkdir(parents=True, exist_ok=True)
    pixels, digit = map(np.asarray, load_digits(return_X_y=True))
    # The specialists learn from one part; their answers on the rest are the log, of which we keep a third unseen.
    taught, past, new = np.split(np.random.default_rng(seed).permutation(len(digit)), [500, 1350])
    answers = {
        name: ExtraTreesClassifier(60, random_state=seed).fit(
            pixels[taught][np.isin(digit[taught], known)], digit[taught][np.isin(digit[taught], known)]
        )
        for name, known in KNOWS.items()
    }
    # Whoever is asked sees the whole image; before asking there is a thumbnail of 3 by 3.
    thumbnail = pixels.reshape(-1, 8, 8)[:, 1:7, 1:7].reshape(-1, 3, 2, 3, 2).mean(axis=(2, 4)).reshape(-1, 9)
    for name, rows in (("log", past), ("new", new)):
        table: dict[str, np.ndarray] = {f"pixel_{i}": thumbnail[rows, i] for i in range(thumbnail.shape[1])}
        table |= {f"answer_{expert}": model.predict(pixels[rows]) for expert, model in answers.items()}
        ids = np.array([f"image-{row}" for row in rows])
        write_table(out / f"{name}.parquet", {"id": ids} | table | {"digit": digit[rows]})
    fees = ",".join(f"{name}={fee}" for name, fee in FEES.items())
    columns = ["--truth", "digit", "--answers", "answer_*", "--features", "pixel_*", "--id", "id", "--fees", fees]
    log, new, policy, routes = (str(out / name) for name in ("log.parquet", "new.parquet", "policy", "routes.parquet"))
    yield ["check", log, *columns]
    yield ["fit", log, *columns, "--seed", str(seed), "--out", policy]
    yield ["evaluate", policy, new]
    yield ["route", policy, new, "--budget", "0.06", "--out", routes]
    yield ["combine", policy, routes, new, "--out", str(out / "decisions.parquet")]
    yield ["report", policy, new, "--out", str(out / "report.html")]
