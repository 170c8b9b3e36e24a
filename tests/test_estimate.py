import pickle
import warnings
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.covariance import EmpiricalCovariance
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from graphprior import posterior_summary
from graphprior.diagnosis.notes import dependent_names
from graphprior.engines.bootstrap import Bootstrap, bootstrapped_glasso, fix_edges
from graphprior.engines.direct import Direct
from graphprior.engines.gibbs import Gibbs
from graphprior.engines.langevin import Langevin
from graphprior.engines.posterior import default_threshold, threshold_estimate
from graphprior.engines.run import engine_of
from graphprior.errors import GraphPriorError, GraphPriorWarning, notes
from graphprior.estimator import PartialGGM
from graphprior.gaussian.linalg import partial_correlations
from graphprior.gaussian.simulate import simulate_observations
from graphprior.graphs.matrices import hide
from graphprior.priors.exact import IndependentEdges, StochasticBlocks
from graphprior.priors.load import refuse_too_large
from graphprior.priors.networks.edp_gnn import EDPGNN, EDPGNNPrior
from graphprior.priors.noise import Schedule
from graphprior.problem.problem import Problem
from oracles import random_graph, random_precision, random_problem, relabel

SHORT = Schedule.linear(L=3, T=5)
QUICK = Langevin(draws=3, schedule=SHORT)
quick = {"engine": QUICK, "random_state": 0}
alone = {"engine": replace(QUICK, bootstrap=None), "random_state": 0}


@pytest.mark.filterwarnings("ignore::graphprior.errors.GraphPriorWarning")
@parametrize_with_checks(
    [
        PartialGGM(),
        PartialGGM(engine=Gibbs(draws=2)),
        PartialGGM(engine=Langevin(draws=2, schedule=SHORT, bootstrap=Bootstrap(samples=3))),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_known_pairs_keep_their_value_and_the_graph_is_the_thresholded_mean(rng):
    _, problem = random_problem(rng, n=7)
    model = PartialGGM(threshold=0.6, **quick).fit(problem.X, known=problem.known)
    O, P = problem.O, model.edge_probabilities_  # noqa: E741
    assert np.array_equal(P[O], problem.known[O])
    assert np.array_equal(P, model.samples_.mean(0))
    assert np.array_equal(model.adjacency_, threshold_estimate(P, 0.6))
    low, high = model.edge_intervals_
    assert np.array_equal(low[O], high[O])
    assert ((low < high) & (low <= P) & (P <= high))[problem.U].all()


def test_the_precision_has_the_support_of_the_graph(rng):
    _, problem = random_problem(rng, n=7, k=60)
    model = PartialGGM(**quick).fit(problem.X, known=problem.known)
    assert np.array_equal(model.precision_ != 0, model.adjacency_ + np.eye(7) != 0)
    np.testing.assert_allclose(model.covariance_ @ model.precision_, np.eye(7), atol=1e-8)
    np.testing.assert_allclose(model.location_, problem.X.mean(0))


def test_a_threshold_is_reached_by_equality():
    P = np.array([[0, 0.5], [0.5, 0]])
    assert threshold_estimate(P, 0.5)[0, 1] == 1
    assert threshold_estimate(P, 0.51)[0, 1] == 0


def test_the_default_threshold_rises_to_one(rng):
    taus = [
        default_threshold(Problem.create(rng.standard_normal((k, 2)))) for k in (2, 1600, 10_000)
    ]
    assert taus == [0.95, 0.95, pytest.approx(0.98)]
    model = PartialGGM(**quick).fit(rng.standard_normal((30, 3)))
    assert model.threshold_ == 0.95


@pytest.mark.slow
@pytest.mark.parametrize("schedule", [None, Schedule.linear(T=100)], ids=["own", "paper's"])
def test_theorem_1_more_data_and_more_samples_find_the_graph(schedule):
    """k and M grow, tau_k goes to 1: the share of wrong pairs goes to 0."""
    rng = np.random.default_rng(3)
    A = random_graph(rng, 6, 0.4)
    Theta_0 = random_precision(rng, A, 0.8)
    known = hide(A, rng, share=0.7)

    def wrong(k, M, tau):
        X = simulate_observations(Theta_0, k, rng)
        model = PartialGGM(
            IndependentEdges(0.5), engine=Langevin(M, schedule=schedule), threshold=tau,
            random_state=k,
        )  # fmt: skip
        return np.mean(model.fit(X, known=known).adjacency_[np.isnan(known)] != A[np.isnan(known)])

    settings = [(20, 2, 0.5), (500, 10, 0.8), (20_000, 40, 0.95), (1_000_000, 40, 0.98)]
    errors = [wrong(*setting) for setting in settings]
    assert errors[0] > 0
    assert errors[0] >= errors[1] >= errors[2] == errors[3] == 0


@pytest.mark.parametrize("use", ["both", "prior", "data"])
def test_only_what_is_used_matters(rng, use):
    """The paper's LPr must not look at the data, LL not at the prior, LPost at both."""
    _, problem = random_problem(rng, n=6, k=40, share=1.0)
    other = rng.permuted(problem.X, axis=0)

    def fit(X, prior):
        model = PartialGGM(
            prior, engine=Langevin(20, schedule=Schedule.linear(T=60), bootstrap=None), use=use,
            random_state=0,
        )  # fmt: skip
        return model.fit(X).edge_probabilities_

    here = fit(problem.X, IndependentEdges(0.02))
    assert np.array_equal(here, fit(other, IndependentEdges(0.02))) == (use == "prior")
    assert np.array_equal(here, fit(problem.X, IndependentEdges(0.98))) == (use == "data")


def test_a_prior_moves_the_answer_its_way(rng):
    X = rng.standard_normal((4, 8))
    blocks = StochasticBlocks([0] * 4 + [1] * 4, [[0.95, 0.02], [0.02, 0.95]])
    model = PartialGGM(blocks, engine=Gibbs(30), use="prior", random_state=0)
    P = model.fit(X).edge_probabilities_
    inside = np.kron(np.eye(2), np.ones((4, 4))) - np.eye(8) == 1
    outside = np.kron(1 - np.eye(2), np.ones((4, 4))) == 1
    assert P[inside].mean() > 0.85
    assert P[outside].mean() < 0.1


def test_same_seed_same_answer_whatever_kind_of_seed(rng):
    _, problem = random_problem(rng, n=6)
    fit = lambda seed: (  # noqa: E731
        PartialGGM(engine=Langevin(draws=4, schedule=SHORT), random_state=seed)
        .fit(problem.X, known=problem.known)
        .samples_.tobytes()
    )
    assert fit(3) == fit(3)
    assert fit(np.random.default_rng(3)) == fit(3)
    assert fit(np.random.RandomState(3)) == fit(np.random.RandomState(3))


def test_units_and_order_of_observations_do_not_matter(rng):
    _, problem = random_problem(rng, n=6)
    fit = lambda X: PartialGGM(**quick).fit(X, known=problem.known).samples_  # noqa: E731
    here = fit(problem.X)
    assert np.array_equal(here, fit(problem.X * [1, 8, 0.25, 1024, 1, 2]))
    assert np.array_equal(here, fit(problem.X[::-1]))


def test_data_frames_carry_names_and_are_matched_by_name(rng):
    _, problem = random_problem(rng, n=4)
    names = ["a", "b", "c", "d"]
    X = pd.DataFrame(problem.X, columns=names)
    order = [2, 0, 3, 1]
    known = pd.DataFrame(problem.known, names, names).iloc[order, order]
    model = PartialGGM(**quick).fit(X, known=known)
    plain = PartialGGM(**quick).fit(problem.X, known=problem.known)
    assert np.array_equal(model.edge_probabilities_, plain.edge_probabilities_)
    assert list(model.feature_names_in_) == names
    assert set(model.to_networkx().nodes) == set(names)


def test_networkx_graph_is_the_estimate(rng):
    _, problem = random_problem(rng, n=6)
    model = PartialGGM(**quick).fit(problem.X, known=problem.known)
    graph = model.to_networkx()
    A = nx.to_numpy_array(graph, nodelist=list(model.problem_.names), weight=None)
    assert np.array_equal(A, model.adjacency_)
    rho = partial_correlations(model.precision_)
    for u, v, data in graph.edges(data=True):
        i, j = model.problem_.names.index(u), model.problem_.names.index(v)
        assert data["partial_correlation"] == pytest.approx(rho[i, j])


def test_partial_correlation_is_that_of_regression_residuals(rng):
    X = rng.standard_normal((200, 4)) @ rng.standard_normal((4, 4))
    X = X - X.mean(0)
    rest = X[:, 2:]
    residual = X[:, :2] - rest @ np.linalg.lstsq(rest, X[:, :2], rcond=None)[0]
    expected = np.corrcoef(residual.T)[0, 1]
    rho = partial_correlations(np.linalg.inv(X.T @ X / 200))
    assert rho[0, 1] == pytest.approx(expected)


def test_nothing_unknown_gives_back_what_is_known_with_a_notice(rng):
    A, problem = random_problem(rng, n=5)
    with pytest.warns(GraphPriorWarning, match="nothing is unknown"):
        model = PartialGGM().fit(problem.X, known=A)
    assert np.array_equal(model.adjacency_, A)
    assert np.array_equal(model.edge_probabilities_, A)


def test_nothing_known_uses_the_bootstrap_and_does_not_call_it_certain(rng):
    _, problem = random_problem(rng, n=8, k=120)
    model = PartialGGM(
        engine=replace(QUICK, bootstrap=Bootstrap(0.3, samples=20)), random_state=0
    ).fit(problem.X)
    A_boot = bootstrapped_glasso(problem.X, np.random.default_rng(0), B=20)
    fixed = ~np.isnan(fix_edges(A_boot, 0.3)) & ~np.eye(8, dtype=bool)
    assert fixed.any()
    assert np.array_equal(model.edge_probabilities_[fixed], A_boot[fixed])
    low, high = model.edge_intervals_[:, fixed]
    assert (low < high).all()
    assert np.array_equal(model.adjacency_[fixed], fix_edges(A_boot, 0.3)[fixed])
    assert model.diagnostics_.fixed_by_bootstrap == fixed.sum() // 2
    assert model.diagnostics_.unknown_pairs == 28


def test_too_few_observations_are_told_in_warning_and_diagnostics(rng):
    X = rng.standard_normal((4, 10))
    with pytest.warns(GraphPriorWarning, match="k = 4 observations are too few"):
        model = PartialGGM(**alone).fit(X)
    assert model.diagnostics_.data.mle_exists is False
    assert model.diagnostics_.data.shrinkage > 0


@pytest.mark.parametrize("use", ["both", "data"])
def test_more_columns_than_memory_are_refused_before_anything_starts(use):
    X = np.zeros((2, 300_000))
    X[1] = 1
    model = PartialGGM(EDPGNNPrior(EDPGNN()), engine="langevin", use=use)
    with pytest.raises(GraphPriorError, match="300000 columns: about"):
        model.fit(X)


def test_a_prior_that_does_not_fit_in_memory_is_refused():
    with pytest.raises(GraphPriorError, match="200000 columns: about"):
        refuse_too_large(200_000, 10, EDPGNNPrior(EDPGNN()))


def test_words_in_a_data_frame_are_refused_by_column(rng):
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]})
    with pytest.raises(GraphPriorError, match="column 'b' of X is not numeric"):
        PartialGGM().fit(X)


def test_a_prior_about_other_nodes_is_refused(rng):
    _, problem = random_problem(rng, n=5)
    blocks = StochasticBlocks([0, 0, 1], [[0.5, 0.1], [0.1, 0.5]])
    with pytest.raises(GraphPriorError, match="about 3 nodes, but X has 5 columns"):
        PartialGGM(blocks, **quick).fit(problem.X, known=problem.known)


def test_known_given_as_second_argument_is_refused(rng):
    _, problem = random_problem(rng, n=5)
    for y in (problem.known, pd.DataFrame(problem.known)):
        with pytest.raises(GraphPriorError, match="pass known="):
            PartialGGM(**quick).fit(problem.X, y)


def test_dependent_columns_are_named_and_not_called_too_few_observations(rng):
    X = pd.DataFrame(rng.standard_normal((50, 4)), columns=list("abcd"))
    X["e"] = 2 * X["b"]
    with pytest.warns(GraphPriorWarning, match=r"columns b, e are \(nearly\) dependent"):
        PartialGGM(**alone).fit(X)


def test_without_data_the_number_of_observations_is_not_blamed(rng):
    X = rng.standard_normal((4, 10))
    model = PartialGGM(use="prior", **alone).fit(X)  # a warning would be an error
    assert model.Theta_hat_ is None


def test_progress_covers_bootstrap_and_chains(rng):
    seen = []
    X = random_problem(rng, n=6, k=60)[1].X
    engine = replace(QUICK, bootstrap=Bootstrap(samples=4))
    PartialGGM(engine=engine, verbose=lambda *a: seen.append(a), random_state=0).fit(X)
    assert seen[:4] == [(b, 4) for b in range(1, 5)]
    assert seen[4:] in ([], [(step, 15) for step in range(1, 16)])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"engine": "magic"}, "engine"),
        ({"engine": Gibbs}, "engine"),
        ({"use": "L"}, "use"),
        ({"threshold": 0.0}, "threshold"),
        ({"threshold": 1.1}, "threshold"),
        ({"prior": 3}, "prior is 3: expected"),
        ({"prior": IndependentEdges}, "prior is <class"),
        ({"random_state": "a"}, "random_state"),
        ({"prior": "no-such-prior"}, "no shipped prior is called"),
        ({"device": "no-such-device"}, "cannot be used"),
    ],
)
def test_impossible_parameters_are_refused(rng, parameters, message):
    _, problem = random_problem(rng, n=5)
    with pytest.raises(GraphPriorError, match=message):
        PartialGGM(**{**quick, **parameters}).fit(problem.X, known=problem.known)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Gibbs(0), "draws = 0"),
        (lambda: Gibbs(2.5), "draws = 2.5"),
        (lambda: Gibbs(True), "draws = True"),
        (lambda: Gibbs(sweeps=3), "sweeps = 3"),
        (lambda: Direct(0), "passes = 0"),
        (lambda: Langevin(likelihood="both"), "likelihood = 'both'"),
        (lambda: Langevin(schedule="paper"), "schedule = 'paper'"),
        (lambda: Bootstrap(margin=0.7), "margin = 0.7"),
        (lambda: Bootstrap(margin="x"), "margin = 'x'"),
        (lambda: Bootstrap(penalty=-1.0), "penalty = -1.0"),
        (lambda: Bootstrap(samples=0), "samples = 0"),
        (lambda: engine_of("magic"), "engine = 'magic'"),
        (lambda: engine_of("direct", draws=3), "'gibbs' and 'langevin' have it"),
        (lambda: engine_of("gibbs", likelihood="marginal"), "'langevin' has it"),
    ],
)
def test_impossible_settings_of_engines_are_refused(make, word):
    with pytest.raises(GraphPriorError, match=word):
        make()


def test_clone_and_pipeline(rng):
    _, problem = random_problem(rng, n=5)
    model = PartialGGM(IndependentEdges(0.3), **quick)
    assert clone(model).get_params()["engine"] == QUICK
    pipeline = make_pipeline(StandardScaler(), model)
    pipeline.fit(problem.X, partialggm__known=problem.known)
    direct = PartialGGM(IndependentEdges(0.3), **quick).fit(problem.X, known=problem.known)
    assert np.array_equal(pipeline[-1].samples_, direct.samples_)


def test_relabelling_nodes_relabels_the_deterministic_parts(rng):
    _, problem = random_problem(rng, n=6)
    order = rng.permutation(6)
    here = PartialGGM(**quick).fit(problem.X, known=problem.known)
    there = PartialGGM(**quick).fit(problem.X[:, order], known=relabel(problem.known, order))
    np.testing.assert_allclose(there.Theta_hat_, relabel(here.Theta_hat_, order), atol=1e-4)


@pytest.mark.parametrize("engine", ["direct", "gibbs"])
def test_without_a_prior_hidden_edges_are_counted_once(rng, engine):
    """The evidence's own edge rate is that of the unknown pairs; nothing is added to it."""
    _, problem = random_problem(rng, n=10, k=60)
    model = PartialGGM(engine=engine, use="data", random_state=0)
    model.fit(problem.X, known=problem.known)
    assert model.diagnostics_.posterior.hidden_log_odds == 0.0


# Columns that depend on each other


def with_copy(rng, eps, k=1000):
    X = rng.standard_normal((k, 5))
    return np.column_stack([X, X[:, 0] * 1.8 + 32 + 1.8 * eps * rng.standard_normal(k)])


@pytest.mark.filterwarnings("ignore::graphprior.errors.GraphPriorWarning")
@pytest.mark.parametrize("k", [50, 1000])
@pytest.mark.parametrize("eps", [0.1, 1e-2, 1e-3, 1e-4, 1e-6, 0.0])
def test_a_copy_is_joined_to_its_original_and_to_nothing_else(rng, eps, k):
    for _ in range(5):
        P = PartialGGM().fit(with_copy(rng, eps, k)).edge_probabilities_
        assert P[0, 5] > 0.95
        assert P[[0, 5], 1:5].max() < 0.5


@pytest.mark.parametrize(("k", "eps"), [(1000, 1e-5), (1000, 0.0), (4, 0.0)])
def test_copies_are_named(rng, k, eps):
    with pytest.warns(GraphPriorWarning, match=r"columns x0, x5 are \(nearly\) dependent"):
        PartialGGM().fit(with_copy(rng, eps, k))


def test_centred_data_have_other_copies_than_raw_data(rng):
    """x + 5 is a copy of x only where means are estimated."""
    x, z = rng.standard_normal((2, 40))
    X = np.column_stack([x, x + 5, 2 * x, z])
    problem, centred = (Problem.create(X, assume_centered=c) for c in (False, True))
    assert dependent_names(problem) == "x0, x1, x2"
    assert dependent_names(centred) == "x0, x2"


# The prior alone, and what else is asked in vain


def test_the_prior_alone_sees_no_data(rng):
    X = rng.standard_normal((200, 8))
    X[:, 1] += 2 * X[:, 0]
    model = PartialGGM(
        IndependentEdges(0.2), engine=Langevin(schedule=Schedule.linear(T=3)), use="prior",
        random_state=0,
    ).fit(X)  # fmt: skip
    assert model.diagnostics_.fixed_by_bootstrap == 0
    assert model.threshold_ == 0.5


# Wrong input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"threshold": "0.5"}, "threshold"),
        ({"null_scale": "a"}, "null_scale"),
        ({"density": "a"}, "density"),
        ({"density": 1.0}, r"density = 1.0: expected None or a share in \(0, 1\)"),
        ({"density": 0.2, "prior": "egonets"}, "density = 0.2 is the edge rate of independent"),
        ({"density": 0.2, "use": "data"}, "density = 0.2 with use = 'data'"),
        ({"verbose": "much"}, "verbose"),
        ({"prior_weight": "no"}, "prior_weight"),
        ({"time_series": "yes"}, "time_series"),
        ({"assume_centered": "no"}, "assume_centered"),
    ],
)
def test_parameters_of_another_kind_are_refused(rng, parameters, message):
    with pytest.raises(GraphPriorError, match=message):
        PartialGGM(**parameters).fit(rng.standard_normal((20, 3)))


def test_odd_tables_are_refused_in_our_words(rng):
    X = pd.DataFrame(rng.standard_normal((20, 3)), columns=["a", "b", "b"])
    with pytest.raises(GraphPriorError, match="'b' occurs more than once"):
        PartialGGM().fit(X)
    X.columns = ["a", "b", "c"]
    X["day"] = pd.date_range("2020-01-01", periods=20)
    with pytest.raises(GraphPriorError, match="column 'day' of X holds datetime"):
        PartialGGM().fit(X)
    with pytest.raises(GraphPriorError, match="to_pandas"):
        PartialGGM().fit(pyarrow.Table.from_pandas(X))
    with pytest.raises(GraphPriorError, match="absent pairs from unknown ones"):
        PartialGGM().fit(X[["a", "b", "c"]], known=nx.path_graph(3))
    with pytest.raises(GraphPriorError, match="columns source, target, present"):
        PartialGGM().fit(X[["a", "b", "c"]], known=pd.DataFrame({"Source": ["a"], "To": ["b"]}))


@pytest.mark.parametrize("size", [1e160, 1e-200])
def test_sizes_whose_squares_are_no_numbers_are_refused(rng, size):
    with pytest.raises(GraphPriorError, match="change its units"):
        PartialGGM().fit(rng.standard_normal((20, 3)) * size)


def test_known_and_beliefs_may_be_of_pandas_own_kinds(rng):
    X = pd.DataFrame(rng.standard_normal((30, 3)), columns=list("abc"))
    entries = [[0, 1, pd.NA], [1, 0, 0], [pd.NA, 0, 0]]
    known = pd.DataFrame(entries, index=X.columns, columns=X.columns).astype("Int64")
    beliefs = pd.DataFrame(pd.NA, index=X.columns, columns=X.columns).astype("Float64")
    beliefs.loc["a", "c"] = beliefs.loc["c", "a"] = 0.9
    model = PartialGGM().fit(X, known=known, beliefs=beliefs)
    assert model.problem_.U.sum() == 2
    assert model.problem_.believed.sum() == 2


def test_a_model_that_was_not_fitted_has_no_answers():
    with pytest.raises(NotFittedError):
        posterior_summary(PartialGGM())


def test_explain_takes_two_variables(rng):
    model = PartialGGM().fit(rng.standard_normal((30, 4)))
    with pytest.raises(GraphPriorError, match="expected two variables"):
        model.explain(0, 0)
    with pytest.raises(GraphPriorError, match="changes = -1"):
        model.explain(0, 1, changes=-1)


@pytest.mark.parametrize("noise", [0.0, 1e-3])
@pytest.mark.parametrize("parts", [2, 4])
def test_a_sum_is_joined_to_its_parts_and_to_nothing_else(parts, noise):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, parts + 3))
        X[:, parts] = X[:, :parts].sum(axis=1) + noise * rng.standard_normal(200)
        with pytest.warns(GraphPriorWarning, match="a copy or a sum"):
            model = PartialGGM(random_state=0).fit(X)
        assert model.edge_probabilities_[parts, :parts].min() > 0.9
        assert model.edge_probabilities_[parts + 1 :, : parts + 1].max() < 0.9


def test_two_rows_make_no_copies(rng):
    with pytest.warns(GraphPriorWarning, match="hardly tell") as told:
        PartialGGM().fit(rng.standard_normal((2, 5)))
    assert len(told) == 1


@pytest.mark.slow
@pytest.mark.parametrize("gaps", [0, 1, 2, 5])
def test_a_list_of_edges_does_not_make_everything_an_edge(gaps):
    """Noise, and eight pairs told to be edges: what else there is does not depend on them."""
    n, reported = 12, []
    known = np.full((n, n), np.nan)
    i, j = np.arange(8), np.arange(gaps)
    known[i, i + 1] = known[i + 1, i] = 1
    known[j, j + 3] = known[j + 3, j] = 0
    note = f"8 of the known pairs are edges and {gaps} are not" if gaps else "all known pairs are"
    for seed in range(10):
        X = np.random.default_rng(seed).standard_normal((40, n))
        with pytest.warns(GraphPriorWarning, match=note):
            model = PartialGGM(random_state=0).fit(X, known=known)
        reported.append(model.adjacency_[np.triu(model.problem_.U)].sum())
    assert np.mean(reported) < 2


def test_a_rate_that_was_told_is_not_doubted(rng):
    known = np.full((6, 6), np.nan)
    known[0, 1] = known[1, 0] = 1
    model = PartialGGM(IndependentEdges(0.05)).fit(rng.standard_normal((50, 6)), known=known)
    assert not any("a list of edges" in note for note in model.notes_)
    with pytest.warns(GraphPriorWarning, match=r"begin at 0\.20"):
        PartialGGM(None).fit(rng.standard_normal((50, 6)), known=known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphPriorWarning)
        model = PartialGGM("egonets").fit(rng.standard_normal((50, 6)), known=known)
    assert any("a learned prior, which takes known pairs" in note for note in model.notes_)


def test_where_every_pair_is_an_edge_the_data_are_not_called_silent(rng):
    shared = rng.standard_normal((200, 1))
    X = shared + 0.3 * rng.standard_normal((200, 3))
    model = PartialGGM(random_state=0).fit(X)
    assert model.edge_probabilities_[np.triu_indices(3, 1)].min() > 0.99
    assert not any("hardly tell" in note for note in model.notes_)


def test_score_is_the_mean_log_density(rng):
    X, new = rng.standard_normal((60, 5)), rng.standard_normal((7, 5))
    X[:, 1] += X[:, 0]
    model = PartialGGM(random_state=0).fit(X)
    density = multivariate_normal(model.location_, model.covariance_)
    assert model.score(new) == pytest.approx(density.logpdf(new).mean())
    assert np.isfinite(cross_val_score(PartialGGM(random_state=0), X, cv=3)).all()


def test_score_of_rows_with_gaps_is_the_density_of_what_is_there(rng):
    X, new = rng.standard_normal((60, 4)), rng.standard_normal((6, 4))
    X[:, 1] += X[:, 0]
    new[[0, 1, 3], [2, 2, 0]] = new[3, 1] = new[5, :3] = np.nan
    model = PartialGGM(missing="em", random_state=0).fit(X)
    expected = []
    for row in new:
        there = np.flatnonzero(~np.isnan(row))
        part = multivariate_normal(model.location_[there], model.covariance_[np.ix_(there, there)])
        expected.append(part.logpdf(row[there]))
    assert model.score(new) == pytest.approx(np.mean(expected))
    X[rng.random(X.shape) < 0.1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphPriorWarning)
        found = cross_val_score(PartialGGM(missing="em", random_state=0), X, cv=3)
    assert np.isfinite(found).all()
    with pytest.raises(ValueError, match="NaN"):
        PartialGGM(random_state=0).fit(rng.standard_normal((60, 4))).score(new)


# As scikit-learn's covariance estimators


def test_precision_and_distances_are_those_of_a_covariance_estimator(rng):
    """On the same matrices scikit-learn says the same."""
    _, problem = random_problem(rng, n=5, k=60)
    model = PartialGGM(random_state=0).fit(problem.X, known=problem.known)
    same = EmpiricalCovariance(store_precision=True).fit(problem.X)
    same.covariance_, same.precision_, same.location_ = (
        model.covariance_, model.precision_, model.location_
    )  # fmt: skip
    np.testing.assert_array_equal(model.get_precision(), same.get_precision())
    other = rng.standard_normal((7, 5))
    np.testing.assert_allclose(model.mahalanobis(other), same.mahalanobis(other), rtol=1e-9)


@pytest.mark.parametrize("engine", [Direct(), Gibbs(3), QUICK], ids=["direct", "gibbs", "langevin"])
def test_a_fitted_model_survives_a_pickle(rng, engine):
    _, problem = random_problem(rng, n=5, k=60)
    with notes():
        model = PartialGGM(engine=engine, random_state=0).fit(problem.X, known=problem.known)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.edge_probabilities_, model.edge_probabilities_)
    assert again.get_params() == model.get_params()
    assert again.score(problem.X) == model.score(problem.X)
    assert again.diagnostics_ == model.diagnostics_
