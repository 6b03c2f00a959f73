"""Whom to ask about each handwritten digit: a free base model and five paid specialists, on scikit-learn's own data.

    python examples/digits.py

Trains the entities, learns their expected errors, and prints what committees of every size get and pay.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression

from askwho import Answers, Panel, Selection, cardinality_losses, metrics, select_adaptive, select_top_k, task_errors
from askwho.aggregation import Committee

SEED = 0
FEES = {"odd": 0.05, "even": 0.045, "low": 0.04, "high": 0.035, "middle": 0.03}
KNOWS = {
    "odd": [1, 3, 5, 7, 9],
    "even": [0, 2, 4, 6, 8],
    "low": [0, 1, 2, 3, 4],
    "high": [5, 6, 7, 8, 9],
    "middle": [3, 4, 5, 6, 7],
}


def main() -> None:
    """Train, route, and print the trade-off."""
    pixels, digit = map(np.asarray, load_digits(return_X_y=True))
    first, second, third = np.split(np.random.default_rng(SEED).permutation(len(digit)), [540, 1170])
    (seen, y_seen), (learn, y_learn), (test, y_test) = ((pixels[i], digit[i]) for i in (first, second, third))

    panel = Panel.two_stage(FEES)
    entities = [weak_base(seen, y_seen), *(specialist(seen, y_seen, KNOWS[name]) for name in FEES)]
    answers = Answers.from_table(np.column_stack([e.predict(learn) for e in entities]), panel)
    test_answers = Answers.from_table(np.column_stack([e.predict(test) for e in entities]), panel)

    # Stage two of the paper, with a forest in the surrogate's place: expected errors, then how many to ask.
    router = ExtraTreesRegressor(200, min_samples_leaf=3, bootstrap=True, oob_score=True, random_state=SEED)
    router.fit(learn, task_errors(answers, y_learn, panel=panel))
    learned = select_top_k(-router.oob_prediction_, len(panel), panel=panel)
    size = ExtraTreesRegressor(200, min_samples_leaf=5, random_state=SEED)
    size.fit(learn, metrics.prefix_errors(Committee.of(learned, answers), y_learn, combine="weighted-vote"))

    scores = -router.predict(test)
    everyone = select_top_k(scores, len(panel), panel=panel)
    print(f"{len(test)} test digits; entities alone:")
    for name, error, fee in zip(
        panel.names, task_errors(test_answers, y_test, panel=panel).mean(0), panel.fees, strict=True
    ):
        print(f"  {name:<8} accuracy {1 - error:.3f}  fee {fee:.3f}")
    print("\n  policy             accuracy  mean fee  mean k  asked")
    for k in range(1, len(panel) + 1):
        report(f"top-{k}", select_top_k(scores, k, panel=panel), test_answers, y_test)
    for fee_weight in (3.0, 1.0, 0.3, 0.0):
        losses = cardinality_losses(size.predict(test), metrics.prefix_fees(everyone), fee_weight=fee_weight)
        chosen = select_adaptive(scores, losses.argmin(axis=1) + 1, panel=panel)
        report(f"top-k(x), λ = {fee_weight:g}", chosen, test_answers, y_test)
    print(f"\n{chosen.explain(0)}")


def report(name: str, selection: Selection, answers: Answers, truth: np.ndarray) -> None:
    """Print one line of the trade-off."""
    accuracy = metrics.accuracy_weighted_vote(selection, answers, truth)
    print(
        f"  {name:<18} {accuracy:8.3f}  {metrics.mean_fee(selection):8.3f}  {metrics.mean_k(selection):6.2f}"
        f"  {metrics.mean_asked(selection):5.2f}"
    )


def weak_base(pixels: np.ndarray, digit: np.ndarray) -> LogisticRegression:
    """A cheap model of our own: a linear one that sees a tenth of the data."""
    few = slice(0, len(pixels) // 10)
    return LogisticRegression(max_iter=2000, random_state=SEED).fit(pixels[few], digit[few])


def specialist(pixels: np.ndarray, digit: np.ndarray, knows: list[int]) -> ExtraTreesClassifier:
    """An expert that has seen some of the digits only."""
    known = np.isin(digit, knows)
    return ExtraTreesClassifier(100, random_state=SEED).fit(pixels[known], digit[known])


if __name__ == "__main__":
    main()
