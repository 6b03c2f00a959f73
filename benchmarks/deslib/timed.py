"""Times DESlib's fit and predict on recorded answers, without start-up and transfers; run by speed.py.

Reads names of methods from standard input, a line each, and answers each with a line of JSON: what `predict.py` took to
fit on the training rows and to predict the test rows, the median of three times, on arrays that are in memory already.
"""

# pyright: basic
from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import predict  # pyright: ignore[reportMissingImports] - speed.py says where the study's script is

sys.path.insert(0, str(Path(__file__).parents[1]))
from measure import in_turn


class Timed:
    """A method of DESlib that keeps the seconds it took."""

    def __init__(self, model: Any, seconds: dict[str, float]) -> None:  # noqa: ANN401 - any of DESlib's
        self.model = model
        self.seconds = seconds

    def fit(self, X: np.ndarray, y: np.ndarray) -> Timed:
        """Fit, on the clock."""
        self.seconds["fit"] = in_turn(1, lambda: self.model.fit(X, y), warm=0)[0]
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict, on the clock."""
        self.seconds["decide"] = in_turn(3, lambda: self.model.predict(X), warm=0)[0]
        return self.model.predict(X)


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    given, said = sys.argv[1:3]
    methods = dict(predict.METHODS)
    for line in sys.stdin:
        method, seconds = line.strip(), dict[str, float]()
        predict.METHODS[method] = lambda make=methods[method], kept=seconds, **options: Timed(make(**options), kept)
        sys.argv = ["predict.py", given, said, "--method", method]
        predict.main()
        print(json.dumps(seconds), flush=True)


if __name__ == "__main__":
    main()
