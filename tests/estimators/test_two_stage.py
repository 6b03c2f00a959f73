"""The scikit-learn face keeps scikit-learn's contract, and asks only whom it chose."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from askwho import InvalidInputError, Target
from askwho.estimators import TwoStageClassifier, TwoStageRegressor
from tests.estimators.live import CountingClassifier, CountingRegressor

BOTH = [TwoStageClassifier, TwoStageRegressor]
CHEAP = {"base": None, "learner": "linear", "cv": 2, "random_state": 0}


@parametrize_with_checks([TwoStageClassifier(**CHEAP), TwoStageRegressor(**CHEAP)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


COUNTING = {TwoStageClassifier: CountingClassifier, TwoStageRegressor: CountingRegressor}


def problem(kind, n=80, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, (np.where(X[:, 0] > 0, "yes", "no") if kind is TwoStageClassifier else X[:, 0] * 2)


def recorded(kind, y, holes=0.3, seed=1):
    """A good and a bad expert's answers, a share of them not asked for."""
    rng = np.random.default_rng(seed)
    if kind is TwoStageClassifier:
        noise = np.where(rng.random(len(y)) < 0.5, "yes", "no")
    else:
        noise = y + rng.normal(size=len(y)) * 3
    table = {"good": y.astype(object), "bad": noise.astype(object)}
    return {name: np.where(rng.random(len(y)) < holes, None, said) for name, said in table.items()}


def right(kind, predicted, y):
    return np.mean(predicted == y) if kind is TwoStageClassifier else 1 - np.mean(np.abs(predicted - y))


@pytest.mark.parametrize("kind", BOTH)
def test_each_live_expert_sees_only_the_rows_it_was_chosen_for(kind):
    X, y = problem(kind)
    experts = [("right", COUNTING[kind]("right").fit(X, y)), ("wrong", COUNTING[kind]("wrong").fit(X, y))]
    model = kind(experts=experts, fees={"right": 0.2, "wrong": 0.1}, fee_weight=0.5, **CHEAP).fit(X, y)
    for target in (None, Target(k=1), Target(k=2), Target(fee_weight=100.0)):
        decisions = model.decide(X, target)
        for _, expert in experts:
            expert.seen_.clear()
        model.predict(X, target=target)
        for j, (_, expert) in enumerate(experts):
            rows = decisions.members[:, j]
            np.testing.assert_array_equal(np.concatenate([[], *expert.seen_]), X[rows, 0])
            assert len(expert.seen_) == int(rows.any())


def test_queries_go_to_whoever_is_good_at_them():
    X, y = problem(TwoStageClassifier, n=160)
    experts = [
        ("dear", CountingClassifier("right").fit(X, y)),
        ("positive", CountingClassifier("positive").fit(X, y)),
    ]
    fees = {"dear": 1.0, "positive": 0.0}
    model = TwoStageClassifier(experts=experts, fees=fees, fee_weight=0.4, **CHEAP).fit(X, y)
    members = model.decide(X).members
    assert members[X[:, 0] < -0.3, 0].mean() > 0.9
    assert members[X[:, 0] > 0.3, 0].mean() < 0.1
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("kind", BOTH)
def test_a_perfect_cheap_expert_is_asked_and_a_bad_dear_one_is_not(kind):
    X, y = problem(kind)
    table = recorded(kind, y, holes=0.0)
    model = kind(fees={"bad": 5.0, "good": 0.01}, fee_weight=0.1, **CHEAP).fit(X, y, answers=table)
    decisions = model.decide(X)
    assert {decisions.ask(i) for i in range(len(X))} == {("good",)}
    np.testing.assert_array_equal(model.predict(X, answers=table), y)
    assert model.score(X, y, answers=table) == 1.0


@pytest.mark.parametrize("kind", BOTH)
def test_experts_that_are_not_fitted_are_cross_fitted_and_left_alone(kind):
    X, y = problem(kind)
    parrot = KNeighborsClassifier(1) if kind is TwoStageClassifier else DecisionTreeRegressor()
    noise = np.random.default_rng(0).permutation(y)
    model = kind(experts=[("parrot", parrot)], **CHEAP).fit(X, noise)
    # In sample it is perfect; out of fold it knows nothing, and the policy must have seen that.
    assert model.policy_.facts.entity_errors[0] > 0.3
    assert not hasattr(parrot, "n_features_in_")
    np.testing.assert_array_equal(model.live_.sources[0].model.predict(X), noise)


@pytest.mark.parametrize("kind", BOTH)
def test_recorded_answers_may_have_holes(kind):
    X, y = problem(kind, n=120)
    table = recorded(kind, y)
    model = kind(**CHEAP).fit(X, y, answers=table)
    assert model.panel_.names == ("good", "bad")
    full = recorded(kind, y, holes=0.0)
    assert right(kind, model.predict(X, answers=full, target=Target(k=1)), y) > 0.9
    # Nobody of the committee answers: the commonest class, or the mean.
    nobody = {name: np.full(len(y), None) for name in table}
    constant = model.predict(X, answers=nobody)
    if kind is TwoStageClassifier:
        assert set(constant) == {max(set(y), key=list(y).count)}
    else:
        np.testing.assert_allclose(constant, y.mean())


@pytest.mark.parametrize("kind", BOTH)
def test_a_log_where_every_row_has_one_answer_gives_committees_of_one(kind):
    X, y = problem(kind, n=120)
    table = recorded(kind, y, holes=0.0)
    turn = np.arange(len(y)) % 2
    table = {"good": np.where(turn == 0, table["good"], None), "bad": np.where(turn == 1, table["bad"], None)}
    model = kind(**CHEAP).fit(X, y, answers=table)
    assert model.decide(X).k.max() == 1
    # With a base every row has two answers, yet a committee of both experts was never seen.
    based = kind(**{**CHEAP, "base": COUNTING[kind]("wrong").fit(X, y)}).fit(X, y, answers=table)
    assert based.decide(X).members[:, based.panel_.index("good")].mean() > 0.9


@pytest.mark.parametrize("kind", BOTH)
def test_arrays_mappings_pandas_and_polars_give_the_same(kind):
    X, y = problem(kind)
    table = recorded(kind, y)
    model = kind(**CHEAP)
    expected = clone(model).fit(X, y, answers=table).predict(X, answers=table)
    for frame, series in ((pd.DataFrame, pd.Series), (pl.DataFrame, pl.Series)):
        features = frame(dict(zip("ab", X.T, strict=True)))
        fitted = clone(model).fit(features, series(y), answers=frame({name: list(col) for name, col in table.items()}))
        assert list(fitted.feature_names_in_) == ["a", "b"]
        found = fitted.predict(features, answers=frame({name: list(col) for name, col in table.items()}))
        # Sums over columns in another layout of memory differ in the last digit.
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        else:
            np.testing.assert_array_equal(found, expected)
    array = np.column_stack(list(table.values()))
    fitted = clone(model).fit(X, y, answers=array)
    assert fitted.panel_.names == ("expert-0", "expert-1")
    np.testing.assert_array_equal(fitted.predict(X, answers=array), expected)
    np.testing.assert_array_equal(fitted.predict(X, answers=array.tolist()), expected)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_live_experts_get_the_data_frame_with_its_names(frame):
    X, y = problem(TwoStageClassifier)
    features = frame(dict(zip("ab", X.T, strict=True)))
    prefit = LogisticRegression().fit(features, y)
    # A model fitted with names warns where it gets none, and warnings are errors here.
    model = TwoStageClassifier(experts=[prefit, DecisionTreeClassifier()], **CHEAP).fit(features, y)
    assert model.panel_.names == ("logisticregression", "decisiontreeclassifier")
    assert model.live_.sources[0].model is prefit
    assert model.score(features, y) > 0.9


def test_labels_keep_their_type():
    X, y = problem(TwoStageClassifier)
    for labels in (y, y.astype(object), (y == "yes").astype(int), (y == "yes") * 2.0, y == "yes"):
        model = TwoStageClassifier(experts=[DecisionTreeClassifier()], **CHEAP).fit(X, labels)
        assert model.classes_.dtype == labels.dtype
        predicted = model.predict(X)
        assert predicted.dtype == labels.dtype
        assert np.mean(predicted == labels) > 0.9


def test_numbers_with_nan_among_them_are_labels_too():
    X, y = problem(TwoStageClassifier)
    labels = (y == "yes").astype(int)
    answers = np.column_stack([labels, 1 - labels]).astype(float)
    answers[::4, 0] = np.nan
    model = TwoStageClassifier(**CHEAP).fit(X, labels, answers=answers)
    assert model.predict(X[1:3], answers=answers[1:3], target=Target(k=1)).tolist() == labels[1:3].tolist()


def test_an_answer_that_is_no_class_is_an_error_and_casts_no_vote():
    X, y = problem(TwoStageClassifier)
    answers = {"good": y, "vague": np.full(len(y), "perhaps")}
    model = TwoStageClassifier(**CHEAP).fit(X, y, answers=answers)
    np.testing.assert_array_equal(model.policy_.facts.entity_errors, [0.0, 1.0])
    np.testing.assert_array_equal(model.predict(X, answers=answers, target=Target(k=2)), y)


@pytest.mark.parametrize("kind", BOTH)
def test_an_unusable_live_answer_falls_back_to_the_base(kind):
    X, y = problem(kind)

    class Silent(COUNTING[kind]):
        def answer(self, first):
            return np.full(len(first), None if kind is TwoStageClassifier else np.nan)

    base = COUNTING[kind]("right").fit(X, y)
    model = kind(experts=[Silent("right").fit(X, y)], **{**CHEAP, "base": base}).fit(X, y)
    decisions = model.decide(X, Target(k=1), available=np.array([False, True]))
    assert not decisions.members[:, 0].any()
    np.testing.assert_array_equal(model.predict(X, target=Target(k=1), available=np.array([False, True])), y)


def test_the_base_of_our_own_a_given_one_and_none():
    X, y = problem(TwoStageClassifier, n=60)
    answers = {"base": np.random.default_rng(0).permutation(y)}
    options = {**CHEAP, "base": "auto"}
    own = TwoStageClassifier(**options).fit(X, y, answers=answers)
    assert own.panel_.names == ("own-base", "base")
    assert own.score(X, y, answers=answers) > 0.9
    given = TwoStageClassifier(**{**options, "base": LogisticRegression()}).fit(
        X, y, answers={"other": answers["base"]}
    )
    assert given.panel_.names == ("base", "other")
    for off in (None, "none"):
        assert TwoStageClassifier(**{**options, "base": off}).fit(X, y, answers=answers).policy_.base is None
    # A whole-number truth must not make whole numbers of the base's answers.
    numbers, truth = np.linspace(0, 1, 80)[:, None], np.arange(80) % 40 // 20
    exact = TwoStageRegressor(**options).fit(numbers, truth, answers={"zero": np.zeros(80)})
    assert len(np.unique(exact.predict(numbers, answers={"zero": np.zeros(80)}, target=Target(k=1)))) > 2


@pytest.mark.parametrize("kind", BOTH)
def test_combine_takes_what_the_chosen_said(kind):
    X, y = problem(kind)
    table = recorded(kind, y, holes=0.0)
    model = kind(fees={"good": 0.1, "bad": 0.1}, fee_weight=0.1, **CHEAP).fit(X, y, answers=table)
    decisions = model.decide(X)
    heard = {name: np.where(decisions.members[:, j], table[name], None) for j, name in enumerate(model.panel_.names)}
    np.testing.assert_array_equal(model.combine(decisions, heard), model.predict(X, answers=table))
    simple = kind(**{**CHEAP, "committee": "majority" if kind is TwoStageClassifier else "mean"})
    simple.fit(X, y, answers=table)
    assert simple.combine(simple.decide(X, Target(k=1)), table).shape == (len(X),)
    with pytest.raises(InvalidInputError, match="`decisions` must be of the panel"):
        clone(model).set_params(fees=None).fit(X, y, answers=table).combine(decisions, heard)


def test_a_base_that_is_asked_after_the_experts_gets_the_queries_again():
    X, y = problem(TwoStageClassifier, n=60)
    features = pd.DataFrame(X, columns=["a", "b"])
    # A model fitted with names warns where it gets none, and warnings are errors here.
    base = LogisticRegression().fit(features, y)
    answers = {"coin": np.random.default_rng(0).permutation(y)}
    model = TwoStageClassifier(**{**CHEAP, "base": base}).fit(features, y, answers=answers)
    decisions = model.decide(features, Target(k=2))
    expected = model.predict(features, answers=answers, target=Target(k=2))
    np.testing.assert_array_equal(model.combine(decisions, answers, X=features), expected)
    with pytest.raises(InvalidInputError, match="`X` must be given where `base` is an estimator"):
        model.combine(decisions, answers)
    with pytest.raises(InvalidInputError, match=r"`X` must have shape \(60, 2\), got \(9, 2\)"):
        model.combine(decisions, answers, X=features[:9])


def test_one_row_is_decided_as_it_is_among_many():
    X, y = make_classification(150, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    rng = np.random.default_rng(0)
    answers = np.column_stack(
        [np.where(rng.random(150) < right, y, rng.integers(0, 3, 150)) for right in (0.5, 0.4, 0.3)]
    )
    model = TwoStageClassifier(**{**CHEAP, "committee": "log-odds-vote"}).fit(X, y, answers=answers)
    together = model.predict(X, answers=answers, target=Target(k=3))
    alone = [model.predict(X[[i]], answers=answers[[i]], target=Target(k=3))[0] for i in range(40)]
    np.testing.assert_array_equal(together[:40], alone)


def test_targets_reach_the_policy():
    X, y = problem(TwoStageClassifier)
    table = recorded(TwoStageClassifier, y, holes=0.0)
    model = TwoStageClassifier(fees=[1.0, 0.0], **CHEAP).fit(X, y, answers=table)
    assert set(model.decide(X, Target(k=2)).k) == {2}
    assert model.decide(X, Target(budget=0.0)).fee.max() == 0
    assert model.decide(X, Target(max_error=0.0)).fee.mean() == 1
    assert model.decide(X).fee.mean() == 1
    assert model.set_params(fee_weight=100.0).decide(X).fee.max() == 0
    assert model.decide(X, Target(k=1)).fee.max() == 0
    with pytest.raises(InvalidInputError, match="`k` must be between 1 and 2, got 9"):
        model.predict(X, answers=table, target=Target(k=9))


@pytest.mark.parametrize("kind", BOTH)
def test_fees_by_name_by_row_and_by_frame(kind):
    X, y = problem(kind)
    table = recorded(kind, y, holes=0.0)
    rows = np.random.default_rng(0).random((len(X), 2))
    model = kind(**CHEAP)
    mean = clone(model).fit(X, y, answers=table, fees=rows).policy_.judge.fees.usual
    np.testing.assert_allclose(mean, rows.mean(axis=0))
    for same in (pd.DataFrame(rows, columns=["good", "bad"]), {"bad": rows[:, 1], "good": rows[:, 0]}):
        np.testing.assert_allclose(clone(model).fit(X, y, answers=table, fees=same).policy_.judge.fees.usual, mean)
    over = clone(model).set_params(fees={"good": 1, "bad": 2}).fit(X, y, answers=table, fees=[3.0, 4.0])
    np.testing.assert_array_equal(over.policy_.judge.fees.usual, [3.0, 4.0])


def test_groups_stay_whole():
    X, y = problem(TwoStageClassifier)
    groups = np.repeat(np.arange(20), 4)
    # Twins of every row: only a split that keeps them together can see that a neighbour knows nothing.
    X, noise = X[groups], np.random.default_rng(3).permutation(y)[groups]
    twin = [("twin", KNeighborsClassifier(1))]
    apart = TwoStageClassifier(experts=twin, **CHEAP).fit(X, noise)
    together = TwoStageClassifier(experts=twin, **CHEAP).fit(X, noise, groups=pd.Series(groups).astype(str))
    assert apart.policy_.facts.entity_errors[0] < 0.2
    assert together.policy_.facts.entity_errors[0] > 0.3


@pytest.mark.parametrize("kind", BOTH)
def test_pipelines_and_grid_search(kind):
    X, y = problem(kind, n=32)
    tree = DecisionTreeClassifier(max_depth=2) if kind is TwoStageClassifier else DecisionTreeRegressor(max_depth=2)
    line = LogisticRegression() if kind is TwoStageClassifier else LinearRegression()
    face = kind(experts=[("tree", tree), ("line", line)], fees={"tree": 0.0, "line": 1.0}, **CHEAP)
    grid = {"face__fee_weight": [0.0, 1000.0], "face__learner": ["linear", "neighbours"]}
    pipeline = make_pipeline(StandardScaler(), face)
    pipeline.steps[-1] = ("face", face)
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_params_["face__fee_weight"] in (0.0, 1000.0)
    assert search.score(X, y) > 0.7


@pytest.mark.parametrize("kind", BOTH)
def test_metadata_is_routed(kind):
    X, y = problem(kind, n=60)
    answers = pd.DataFrame(recorded(kind, y))
    groups = np.repeat(np.arange(12), 5)
    with sklearn.config_context(enable_metadata_routing=True):
        face = kind(**CHEAP).set_fit_request(answers=True, groups=True).set_score_request(answers=True)
        face = face.set_predict_request(answers=True)
        pipeline = make_pipeline(StandardScaler(), face)
        found = cross_validate(
            pipeline, X, y, cv=GroupKFold(3), params={"answers": answers, "groups": groups}, error_score="raise"
        )
        assert len(found["test_score"]) == 3
        search = GridSearchCV(pipeline, {f"{kind.__name__.lower()}__fee_weight": [0.0, 1.0]}, cv=GroupKFold(3))
        search.fit(X, y, answers=answers, groups=groups)
        pipeline.fit(X, y, answers=answers, groups=groups)
        assert pipeline.predict(X, answers=answers).shape == y.shape


@pytest.mark.parametrize("kind", BOTH)
def test_same_seed_same_result_and_clone_and_pickle(kind):
    X, y = problem(kind)
    random = (
        DecisionTreeClassifier(splitter="random")
        if kind is TwoStageClassifier
        else DecisionTreeRegressor(max_features=1)
    )
    model = kind(experts=[make_pipeline(StandardScaler(), random)], **{**CHEAP, "learner": "forest"})
    first, second = clone(model).fit(X, y), clone(model).fit(X, y)
    np.testing.assert_array_equal(first.policy_.see({"X": X}).expected, second.policy_.see({"X": X}).expected)
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(first)).predict(X), first.predict(X))  # noqa: S301


def test_frozen_experts_stay_fitted_in_a_clone():
    X, y = problem(TwoStageClassifier)
    prefit = FrozenEstimator(LogisticRegression().fit(X, y))
    model = clone(TwoStageClassifier(experts=[prefit], **CHEAP)).fit(X, y)
    np.testing.assert_array_equal(model.live_.sources[0].model.coef_, prefit.coef_)


def test_a_users_own_error_sees_labels():
    X, y = problem(TwoStageClassifier)
    seen = set()

    def misses_cost_more(answers, truth):
        seen.update(np.unique(answers).tolist())
        return np.where(answers == truth, 0.0, np.where(truth == "yes", 1.0, 0.25))

    answers = {"always-yes": np.full(len(y), "yes"), "always-no": np.full(len(y), "no")}
    model = TwoStageClassifier(error=misses_cost_more, **CHEAP).fit(X, y, answers=answers)
    assert seen == {"yes", "no"}
    share = np.mean(y == "no")
    np.testing.assert_allclose(model.policy_.facts.entity_errors, [0.25 * share, 1 - share])


GOOD = {"good": np.where(np.arange(40) % 2, "yes", "no"), "bad": np.full(40, "no")}


@pytest.mark.parametrize(
    ("options", "given", "message"),
    [
        ({"learner": "oracle"}, {}, "`learner` must be 'auto', one of 'forest'"),
        ({"committee": "mean"}, {}, "`committee` must be one of 'auto', 'majority'"),
        ({"cv": 1}, {}, "`cv` must be a whole number of at least 2, got 1"),
        ({"fee_weight": -1}, {}, "`fee_weight` must be a finite number of at least 0, got -1"),
        ({"error": "hinge"}, {}, "`error` must be one of 'auto', 'zero-one'"),
        ({"base": "forest"}, {}, "`base` must be 'auto', None, or an estimator that has `predict`, got 'forest'"),
        ({"base": 3}, {}, "`base` must be 'auto', None, or an estimator"),
        ({"experts": []}, {}, "`experts` must be a list of estimators"),
        ({"experts": ["gpt"]}, {}, "`experts` must be estimators that have `predict`, got 'gpt'"),
        ({"experts": [LogisticRegression]}, {}, "`experts` must be estimators that have `predict`"),
        ({"experts": [("a", LogisticRegression())] * 2}, {}, "must have different names, got 'a' more than once"),
        ({"experts": [LogisticRegression()]}, {"answers": GOOD}, "`answers` must not be given beside `experts`"),
        ({"fees": {"good": 1.0}}, {"answers": GOOD}, "`fees` must name every expert .* missing .'bad'."),
        ({"fees": {"good": -1.0, "bad": 0}}, {"answers": GOOD}, "`fees of good` must be a finite number of at least 0"),
        ({"fees": [1.0, np.inf]}, {"answers": GOOD}, "`fees` must be finite, got inf"),
        ({"fees": [1.0]}, {"answers": GOOD}, r"`fees` must have shape \(2,\), got \(1,\)"),
        ({}, {"answers": GOOD, "fees": np.ones((3, 2))}, r"`fees` must have shape \(40, 2\), got \(3, 2\)"),
        ({}, {"groups": np.zeros(40)}, "`groups` must hold at least two groups, got 1"),
        ({}, {"groups": np.zeros(3)}, r"`groups` must have shape \(40,\), got \(3,\)"),
        ({}, {"answers": {"a": GOOD["good"][:9]}}, r"`answers` must have shape \(40, 1\), got \(9, 1\)"),
        ({}, {"answers": {"a": np.arange(40)}}, "`answers` must be of the type of `y`, got numbers for a `y` of text"),
    ],
)
def test_messages(options, given, message):
    X, y = np.arange(80.0).reshape(40, 2), GOOD["good"]
    with pytest.raises(InvalidInputError, match=message):
        TwoStageClassifier(**{**CHEAP, **options}).fit(X, y, **given)


@pytest.mark.parametrize("kind", BOTH)
def test_messages_of_a_fitted_one(kind):
    X, y = problem(kind)
    with pytest.raises(NotFittedError):
        kind().decide(X)
    table = recorded(kind, y, holes=0.0)
    model = kind(**CHEAP).fit(X, y, answers=table)
    with pytest.raises(InvalidInputError, match="`answers` must be given to `predict`"):
        model.predict(X)
    with pytest.raises(InvalidInputError, match="missing: 'bad'"):
        model.predict(X, answers={"good": table["good"]})
    with pytest.raises(InvalidInputError, match="in the panel's order"):
        model.predict(X, answers={"bad": table["bad"], "good": table["good"]})
    live = kind(experts=[COUNTING[kind]("right").fit(X, y)], **{**CHEAP, "base": COUNTING[kind]("wrong").fit(X, y)})
    live.fit(X, y)
    with pytest.raises(InvalidInputError, match="`answers` must not be given beside live experts"):
        live.predict(X, answers=table)
    with pytest.raises(InvalidInputError, match="`answers` must not be given beside live experts"):
        live.combine(live.decide(X), table)
    with pytest.raises(InvalidInputError, match=r"`X` must be of at most 1e\+30 in size, got 1e\+39"):
        model.predict(np.full((1, 2), 1e39), answers={name: said[:1] for name, said in table.items()})
    with pytest.raises(InvalidInputError, match="`X` must have at least 8 rows, got n_samples=7"):
        kind(**CHEAP).fit(X[:7], y[:7])


def test_one_class_is_refused():
    with pytest.raises(InvalidInputError, match="`y` must hold at least two classes"):
        TwoStageClassifier(**CHEAP).fit(np.eye(9), np.zeros(9, dtype=int))


def test_there_is_no_base_of_our_own_where_a_fold_leaves_one_class():
    groups = np.repeat([0, 1], 20)
    X, y = np.linspace(-1, 1, 40)[:, None], np.where(groups, "yes", "no")
    model = TwoStageClassifier(**{**CHEAP, "base": "auto"}).fit(X, y, answers={"no": ["no"] * 40}, groups=groups)
    assert model.policy_.base is None
    assert TwoStageClassifier(**{**CHEAP, "base": "auto"}).fit(X, y, answers={"no": ["no"] * 40}).policy_.base


@pytest.mark.parametrize("kind", BOTH)
def test_it_works_out_of_the_box(kind):
    X, y = problem(kind, n=60)
    model = kind(random_state=0).fit(X, y)
    assert model.panel_.names == ("base", "linear", "neighbours", "tree")
    assert model.score(X, y) > 0.9
