import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, rankdata
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from graphprior import PartialGGM, Transform
from graphprior.choices import TransformKind
from graphprior.diagnosis.rows import far_from_gaussian
from graphprior.errors import GraphPriorError, notes
from graphprior.observations.transforms import transform_table

NAMES = ("a", "b", "c")
columns = st.lists(st.integers(-5, 5) | st.just(None), min_size=3, max_size=12).filter(
    lambda x: len({v for v in x if v is not None}) > 1
)


@pytest.mark.parametrize("kind", [kind for kind in TransformKind if kind != "log"])
def test_it_is_an_estimator_of_scikit_learn(kind):
    check_estimator(Transform(kind))


@pytest.mark.parametrize("kind", TransformKind)
def test_missing_stays_missing_and_names_stay(rng, kind):
    X = pd.DataFrame(rng.lognormal(size=(9, 3)), columns=NAMES, index=range(3, 12))
    X.iloc[2, 1] = np.nan
    out = Transform(kind).fit_transform(X)
    assert list(out.columns) == list(NAMES)
    assert list(out.index) == list(X.index)
    assert np.argwhere(np.isnan(out.to_numpy())).tolist() == [[2, 1]]
    # What is missing changes nothing for the rest of its column.
    rest = transform_table(X.drop(index=5)[["b"]], kind)
    np.testing.assert_allclose(out["b"].dropna(), rest["b"], rtol=1e-12)


@given(columns)
def test_normal_scores_are_quantiles_of_mean_ranks(values):
    x = np.array([np.nan if v is None else v for v in values], dtype=float)
    there = ~np.isnan(x)
    scores = Transform("normal-scores").fit_transform(x[:, None])[:, 0]
    expected = norm.ppf(rankdata(x[there]) / (there.sum() + 1))
    np.testing.assert_allclose(scores[there], expected, atol=1e-12)


def test_normal_scores_know_order_alone_and_are_cut_beyond_it(rng):
    X = rng.standard_normal((20, 3))
    fitted = Transform().fit(X)
    np.testing.assert_array_equal(Transform().fit_transform(np.exp(X)), fitted.transform(X))
    outside = fitted.transform(np.array([[-99.0] * 3, [99.0] * 3]))
    ends = norm.ppf([1 / 21, 20 / 21])
    np.testing.assert_allclose(outside, np.tile(ends[:, None], 3), rtol=1e-12)


def test_standardised_columns_have_mean_0_and_variance_1(rng):
    Z = Transform("standardise").fit_transform(5 + 3 * rng.standard_normal((40, 3)))
    np.testing.assert_allclose([Z.mean(0), Z.std(0)], [[0] * 3, [1] * 3], atol=1e-12)


def test_the_logarithm_of_what_is_not_positive_is_refused_by_name():
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, -0.5]})
    with pytest.raises(GraphPriorError, match=r"column 'b', row 1 .* is -0.5"):
        Transform("log").fit_transform(X)


def test_it_stands_before_the_estimator_in_a_pipeline(rng):
    X = pd.DataFrame(rng.lognormal(size=(60, 3)), columns=NAMES)
    model = make_pipeline(Transform("log"), PartialGGM(None)).fit(X)[-1]
    assert model.problem_.names == NAMES
    np.testing.assert_allclose(model.problem_.X, np.log(X), rtol=1e-12)


@pytest.mark.parametrize("k", [20, 100, 500])
def test_gaussian_tables_are_let_pass(rng, k):
    tables = 300
    told = sum(
        far_from_gaussian(rng.standard_normal((k, 3)), NAMES) is not None for _ in range(tables)
    )
    # Poisson: a chance of one in a thousand each, and three standard errors.
    assert told <= tables / 1000 + 3 * np.sqrt(tables / 1000)


def test_a_large_table_a_little_off_is_let_pass(rng):
    X = rng.standard_t(20, size=(100_000, 3))
    assert far_from_gaussian(X, NAMES) is None


@pytest.mark.parametrize(
    ("draw", "remedy"),
    [
        (lambda rng, k: rng.lognormal(size=k), "log"),
        (lambda rng, k: -rng.lognormal(size=k), "normal-scores"),
        (lambda rng, k: rng.standard_t(2, size=k), "normal-scores"),
    ],
)
def test_a_column_far_off_is_named_with_a_remedy(rng, draw, remedy):
    X = rng.standard_normal((200, 3))
    X[:, 1] = draw(rng, 200)
    words = far_from_gaussian(X, NAMES)
    assert "1 of 3 columns" in words
    assert "most of all b (" in words
    assert repr(remedy) in words
    X[:, 1] = transform_table(pd.DataFrame(X[:, 1:2]), remedy)[0]
    assert far_from_gaussian(X, NAMES) is None


def test_scale_and_place_do_not_matter(rng):
    X = rng.lognormal(size=(100, 3))
    told = [far_from_gaussian(Y, NAMES) for Y in (X, 1e-9 * X, 1e9 * X)]
    assert told[0] is not None
    assert len(set(told)) == 1


def test_few_empty_and_constant_columns_are_not_judged():
    for X in (np.zeros((50, 3)), np.full((50, 3), np.nan), np.exp(np.arange(30.0)).reshape(10, 3)):
        assert far_from_gaussian(X, NAMES) is None


def test_a_model_notes_it(rng):
    X = np.exp(2 * rng.standard_normal((100, 3)))
    with notes() as words:
        model = PartialGGM(None).fit(X)
    assert any("far from Gaussian" in line for line in words)
    assert any("far from Gaussian" in line for line in model.notes_)
