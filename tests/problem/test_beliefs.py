import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from enumeration import at_estimate, exact_posterior, random_prior, small_problem
from graphprior import PartialGGM
from graphprior.engines.bootstrap import Bootstrap
from graphprior.engines.direct import Direct, posterior_probabilities, reason
from graphprior.engines.gibbs import Gibbs, Sweeps, sample
from graphprior.engines.langevin import Langevin, sample_graphs
from graphprior.errors import GraphPriorError, notes
from graphprior.evidence.evidence import data_evidence
from graphprior.graphs.matrices import nothing_known, unvech, vech
from graphprior.plots import plot_reasons
from graphprior.priors.exact import IndependentEdges
from graphprior.priors.fit_check import check_prior
from graphprior.priors.noise import Schedule
from graphprior.problem.problem import Problem
from graphprior.results.folder import read_result, write_result
from graphprior.results.result import Result
from oracles import engine_with, random_problem, relabel

NAN = np.nan
SHORT = Schedule.linear(L=3, T=5)
X3 = np.array([[1.0, 2, 0], [2, 1, 5], [0, 3, 1], [4, 1, 1]])


def beliefs_about(n, told):
    P = np.full((n, n), NAN)
    for (i, j), p in told.items():
        P[i, j] = P[j, i] = p
    return P


def believed_problem(seed=0, n=8, k=60, p=0.9, count=3):
    """A problem, and a belief about the first unknown pairs."""
    _, problem = random_problem(np.random.default_rng(seed), n=n, k=k)
    pairs = np.argwhere(np.triu(problem.U))[:count]
    return problem, beliefs_about(n, {tuple(pair): p for pair in pairs})


# What is read.


def test_beliefs_are_log_odds_of_their_pair(rng):
    P = beliefs_about(3, {(0, 1): 0.9, (1, 2): 0.2})
    problem = Problem.create(X3, beliefs=P)
    np.testing.assert_allclose(problem.belief[[0, 1], [1, 2]], logit([0.9, 0.2]))
    assert (problem.belief == problem.belief.T).all()
    assert problem.believed.sum() == 4
    assert not problem.belief[~problem.believed].any()
    assert not Problem.create(X3).belief.any()


def test_a_data_frame_of_beliefs_is_matched_by_name():
    X = pd.DataFrame(X3, columns=list("abc"))
    P = beliefs_about(3, {(0, 1): 0.9, (1, 2): 0.2})
    order = [2, 0, 1]
    table = pd.DataFrame(P, index=list("abc"), columns=list("abc")).iloc[order, order[::-1]]
    np.testing.assert_array_equal(Problem.create(X, beliefs=table).beliefs, P)
    with pytest.raises(GraphPriorError, match=r"names of beliefs do not match.*missing \['c'\]"):
        Problem.create(X, beliefs=table.rename(columns={"c": "z"}))


@pytest.mark.parametrize("empty", [NAN, None, "", "NA", pd.NA])
@pytest.mark.parametrize("words", [False, True])
def test_an_edge_table_tells_what_is_known_and_what_is_believed(empty, words):
    X = pd.DataFrame(X3, columns=list("abc"))
    table = pd.DataFrame(
        {
            "source": ["a", "c", "b"],
            "target": ["b", "a", "c"],
            "present": [1, empty, 0],
            "probability": [empty, 0.25, empty],
        }
    )
    if words:
        table = table.map(lambda entry: entry if entry is empty else str(entry))
    for columns in (list(table.columns), list(table.columns)[::-1]):
        problem = Problem.create(X, table[columns])
        np.testing.assert_array_equal(problem.known, [[0, 1, NAN], [1, 0, 0], [NAN, 0, 0]])
        np.testing.assert_array_equal(problem.beliefs, beliefs_about(3, {(0, 2): 0.25}))


def test_an_edge_table_and_a_matrix_are_joined_unless_they_speak_of_the_same_pair():
    X = pd.DataFrame(X3, columns=list("abc"))
    table = pd.DataFrame({"source": ["a"], "target": ["b"], "present": [""], "probability": [0.25]})
    found = Problem.create(X, table, beliefs_about(3, {(1, 2): 0.7}))
    np.testing.assert_array_equal(found.beliefs, beliefs_about(3, {(0, 1): 0.25, (1, 2): 0.7}))
    with pytest.raises(GraphPriorError, match="both have a probability of a - b: give it once"):
        Problem.create(X, table, beliefs_about(3, {(0, 1): 0.25}))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (0.0, "a belief is a probability between 0 and 1, both excluded; what is certain"),
        (1.0, "what is certain is `known`"),
        (-0.2, r"beliefs\[0, 1\] = -0.2"),
        (np.inf, r"beliefs\[0, 1\] = inf"),
        ("often", "beliefs is not a matrix of numbers"),
    ],
)
def test_what_is_no_probability_is_refused(entry, message):
    P = np.full((3, 3), NAN, dtype=object)
    P[0, 1] = P[1, 0] = entry
    with pytest.raises(GraphPriorError, match=message):
        Problem.create(X3, beliefs=P)


def test_one_sided_misplaced_and_misshapen_beliefs_are_refused():
    P = beliefs_about(3, {(0, 1): 0.9})
    one_sided, diagonal = P.copy(), P.copy()
    one_sided[1, 0] = NAN
    diagonal[2, 2] = 0.5
    for wrong, message in (
        (one_sided, "not symmetric"),
        (diagonal, "the diagonal must be nan"),
        (P[:2], "square matrix"),
        (P[:2, :2], "beliefs is 2 x 2 but X has 3 columns"),
    ):
        with pytest.raises(GraphPriorError, match=message):
            Problem.create(X3, beliefs=wrong)
    np.fill_diagonal(P, 0.0)  # as matrices of pairs often come
    assert Problem.create(X3, beliefs=P).believed.sum() == 2


def test_a_belief_about_a_known_pair_is_refused():
    known = nothing_known(3)
    known[0, 1] = known[1, 0] = 1.0
    with pytest.raises(GraphPriorError, match=r"belief 0.9 about x0 - x1, which is known \(1\)"):
        Problem.create(X3, known, beliefs_about(3, {(0, 1): 0.9}))


@pytest.mark.parametrize(
    ("present", "probability", "message"),
    [
        (
            ["1", "0"],
            ["0.5", ""],
            "row 2 has present = '1' and probability = '0.5': expected exac",
        ),
        (["", "0"], ["", ""], "row 2 has present = '' and probability = ''"),
        (["", "0"], ["1.5", ""], "row 2: probability = '1.5': expected a number between 0 and 1"),
        (["", "0"], ["often", ""], "row 2: probability = 'often'"),
        (["yes", "0"], ["", ""], "row 2: present = 'yes'"),
        (["", "0"], ["0.5", ""], "row 3 contradicts an earlier row about 'b' and 'a'"),
        (["", ""], ["0.5", "0.6"], "row 3 contradicts"),
    ],
)
def test_rows_that_say_too_much_or_too_little_are_refused(present, probability, message):
    X = pd.DataFrame(X3, columns=list("abc"))
    table = pd.DataFrame(
        {
            "source": ["a", "b"],
            "target": ["b", "a"],
            "present": present,
            "probability": probability,
        }
    )
    with pytest.raises(GraphPriorError, match=message):
        Problem.create(X, table)


def test_another_known_part_keeps_beliefs_where_it_is_silent():
    problem = Problem.create(X3, beliefs=beliefs_about(3, {(0, 1): 0.9, (1, 2): 0.2}))
    known = nothing_known(3)
    known[0, 1] = known[1, 0] = 1.0
    moved = problem.with_known(known)
    np.testing.assert_array_equal(moved.beliefs, beliefs_about(3, {(1, 2): 0.2}))
    assert moved.X is problem.X


# What follows from them.


@given(st.integers(0, 999), st.floats(0.01, 0.99))
def test_beliefs_multiply_the_odds_of_independent_edges(seed, rate):
    """Without data the posterior odds are prior odds times the expert's, pair by pair."""
    rng = np.random.default_rng(seed)
    P = unvech(rng.uniform(0.01, 0.99, 15))
    np.fill_diagonal(P, NAN)
    found = posterior_probabilities(
        nothing_known(6), IndependentEdges(rate), None, belief=np.nan_to_num(logit(P))
    )
    expected = expit(logit(rate) + logit(vech(P)))
    np.testing.assert_allclose(vech(found.edge_probabilities), expected, atol=1e-9)


@pytest.mark.parametrize("engine", ["direct", "gibbs"])
def test_with_data_odds_are_multiplied_too(engine):
    """One unknown pair: its data's Bayes factor does not depend on what is believed of it."""
    A, problem = random_problem(np.random.default_rng(1), n=6, k=40)
    known = A.copy()
    known[0, 1] = known[1, 0] = NAN
    options = {"prior": IndependentEdges(0.3), "engine": engine_with(engine, draws=2)}
    options |= {"random_state": 0, "unknown_at_random": True}
    with notes():
        plain = PartialGGM(**{"prior": None, **options}).fit(problem.X, known=known)
        told = PartialGGM(**{"prior": None, **options}).fit(
            problem.X, known=known, beliefs=beliefs_about(6, {(0, 1): 0.8})
        )
    gained = logit(told.edge_probabilities_[0, 1]) - logit(plain.edge_probabilities_[0, 1])
    assert gained == pytest.approx(logit(0.8), abs=0.15)  # the error of drawing


@pytest.mark.parametrize(
    "engine",
    [Direct(), Gibbs(3), Langevin(3, schedule=SHORT), Langevin(3, "marginal", schedule=SHORT)],
    ids=["direct", "gibbs", "langevin", "langevin, marginal"],
)
def test_even_odds_change_nothing(engine):
    problem, P = believed_problem(p=0.5)
    options = {"engine": engine, "prior": IndependentEdges(0.3), "random_state": 0}
    with notes():
        here = PartialGGM(**{"prior": None, **options}).fit(problem.X, known=problem.known)
        there = PartialGGM(**{"prior": None, **options}).fit(
            problem.X, known=problem.known, beliefs=P
        )
    np.testing.assert_array_equal(there.edge_probabilities_, here.edge_probabilities_)
    np.testing.assert_array_equal(there.samples_, here.samples_)
    assert there.diagnostics_.believed_pairs == 3


@pytest.mark.parametrize("value", [0, 1])
def test_a_belief_that_tends_to_certainty_tends_to_known(rng, value):
    """Without data the answer about all other pairs becomes that of a known pair."""
    prior = random_prior(rng, 4)
    known = nothing_known(4)
    known[0, 1] = known[1, 0] = value
    exact = posterior_probabilities(known, prior, None, by_value=False).edge_probabilities
    gaps = []
    for p in (0.9, 0.999, 1 - 1e-12):
        belief = np.nan_to_num(logit(beliefs_about(4, {(0, 1): p if value else 1 - p})))
        found = posterior_probabilities(
            nothing_known(4), prior, None, by_value=False, belief=belief
        )
        gaps.append(np.abs(found.edge_probabilities - exact).max())
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-9


def exact_with_belief(known, prior, belief, evidence=None):
    graphs, p = exact_posterior(known, prior, evidence)
    p = p * np.exp((graphs * belief).sum((1, 2)) / 2)
    return np.einsum("g,gij->ij", p / p.sum(), graphs)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_gibbs_with_beliefs_is_enumeration(seed):
    """Within 4 standard errors of the mean over chains."""
    prior, problem, evidence = small_problem(seed)
    without = exact_with_belief(problem.known, prior, np.zeros((4, 4)), evidence)
    doubtful = np.argsort(np.abs(vech(without) - 0.5))[:2]
    belief = np.zeros(6)
    belief[doubtful] = np.where(vech(without)[doubtful] < 0.5, 2.0, -3.0)  # against the rest
    belief = unvech(belief)
    exact = exact_with_belief(problem.known, prior, belief, evidence)
    M = 300
    found = sample(
        problem.known, prior, evidence, np.random.default_rng(seed), M,
        Sweeps(None, 2, 6, None), False, belief=belief,
    )  # fmt: skip
    # `reason` refines the evidence's beliefs, not its likelihood, which gibbs uses.
    error = np.sqrt(np.maximum(exact * (1 - exact), 1e-4) / M)
    assert np.abs(found.edge_probabilities - exact).max() < 0.02 + 4 * error.max()
    assert np.abs(without - exact).max() > 0.1


class ScoresOnly:
    """A prior seen through its score alone, as one of score matching is."""

    def __init__(self, prior):
        self.prior = prior

    def score(self, known):
        return self.prior.score(known)

    def memory(self, n, M):
        return 0


@pytest.mark.parametrize("kind", [lambda prior: prior, ScoresOnly], ids=["evidence", "scores"])
def test_langevin_with_beliefs_multiplies_the_odds(kind):
    """No data, independent edges; within 4 standard errors and what the schedule leaves."""
    known, M = nothing_known(4), 400
    told = {(0, 1): 0.9, (1, 2): 0.1, (2, 3): 0.7}
    belief = np.nan_to_num(logit(beliefs_about(4, told)))
    schedule = Schedule.geometric(L=20, sigma_1=1.0, sigma_L=0.1, T=40, epsilon=5e-4)
    prior = kind(IndependentEdges(0.4))
    rng = np.random.default_rng(0)
    found = sample_graphs(known, prior, None, rng, M, schedule, belief=belief).edge_probabilities
    exact = expit(logit(0.4) + belief)
    error = 4 * np.sqrt(exact * (1 - exact) / M) + 0.03
    off = ~np.eye(4, dtype=bool)
    assert (np.abs(found - exact) < error)[off].all()
    assert (exact[0, 1] - 0.4) > 2 * error[0, 1]


def test_langevin_without_a_prior_refuses_beliefs():
    problem, P = believed_problem()
    model = PartialGGM(None, engine=Langevin(schedule=SHORT), use="data")
    with pytest.raises(GraphPriorError, match="beliefs need a prior"):
        model.fit(problem.X, known=problem.known, beliefs=P)


def test_the_bootstrap_does_not_fix_what_is_believed(rng):
    _, problem = random_problem(rng, n=6, k=150)
    model = PartialGGM(
        engine=Langevin(schedule=SHORT, bootstrap=Bootstrap(margin=0.0, samples=5)), random_state=0
    )
    with notes():
        everything = model.fit(problem.X).diagnostics_.fixed_by_bootstrap
        model.fit(problem.X, beliefs=beliefs_about(6, {(0, 1): 0.9, (2, 4): 0.1}))
    assert model.diagnostics_.fixed_by_bootstrap >= everything - 2
    assert np.isin(model.edge_probabilities_[[0, 2], [1, 4]] * 10, np.arange(11)).all()  # drawn


# What they must not touch.


def test_beliefs_are_no_data_for_rate_hiding_or_the_prior(rng):
    """Rate and size of edges, the fit check and what being hidden says are those without them.

    The last with independent edges: there the other pairs hear nothing of a belief.
    """
    _, problem = random_problem(rng, n=9, k=60)
    everywhere = np.where(problem.U, 0.95, NAN)
    told = Problem.create(problem.X, problem.known, everywhere)
    assert data_evidence(told).slab == data_evidence(problem).slab
    prior = IndependentEdges(0.2)
    here, *_ = reason(problem.known, prior, None)
    there, *_ = reason(told.known, prior, None, belief=told.belief)
    np.testing.assert_array_equal(there.hidden, here.hidden)
    np.testing.assert_allclose(there.prior, here.prior, atol=1e-12)
    with notes():
        gains = [
            PartialGGM("egonets", random_state=0)
            .fit(problem.X, known=problem.known, beliefs=P)
            .prior_gain_
            for P in (None, everywhere)
        ]
    assert gains[0] == gains[1]
    rngs = (np.random.default_rng(0) for _ in range(2))
    assert check_prior(told.known, prior, None, next(rngs)) == check_prior(
        problem.known, prior, None, next(rngs)
    )


def test_relabelling_relabels_beliefs():
    problem, P = believed_problem()
    order = np.random.default_rng(5).permutation(8)
    with notes():
        here = PartialGGM("egonets").fit(problem.X, known=problem.known, beliefs=P)
        there = PartialGGM("egonets").fit(
            problem.X[:, order], known=relabel(problem.known, order), beliefs=relabel(P, order)
        )
    np.testing.assert_allclose(
        there.reasons_.belief, relabel(here.reasons_.belief, order), atol=1e-12
    )


# How they are told.


@pytest.fixture(scope="module")
def model():
    problem, P = believed_problem(seed=2)
    with notes():
        return PartialGGM("egonets", random_state=0).fit(problem.X, known=problem.known, beliefs=P)


def test_the_reasons_add_up(model):
    U, told = model.problem_.U, model.reasons_
    np.testing.assert_array_equal(told.belief, model.problem_.belief)
    total = told.prior + told.data + told.hidden + told.belief
    np.testing.assert_allclose(expit(total[U]), model.edge_probabilities_[U])


def test_an_explanation_has_a_line_for_a_belief_and_none_for_none(model):
    believed = np.argwhere(np.triu(model.problem_.believed))[0]
    plain = np.argwhere(np.triu(model.problem_.U & ~model.problem_.believed))[0]
    found, other = model.explain(*believed), model.explain(*plain)
    assert found.belief == pytest.approx(logit(0.9))
    total = found.prior + found.data + found.hidden + found.belief
    assert expit(total) == pytest.approx(found.probability)
    assert "the belief given says edge, clearly (log-odds +2.2)" in str(found)
    assert other.belief == 0
    assert "belief" not in str(other)
    assert len(str(found).splitlines()) == len(str(other).splitlines()) + 1


def test_at_the_tipping_point_the_belief_counts():
    _, problem = random_problem(np.random.default_rng(4), n=6, k=60)
    P, tipped = np.where(problem.U, 0.7, NAN), 0
    model = PartialGGM(IndependentEdges(0.1), unknown_at_random=True)
    model.fit(problem.X, known=problem.known, beliefs=P)
    for pair in np.argwhere(np.triu(problem.U)):
        found = model.explain(*pair)
        if found.tips_at is not None:
            beyond = abs(found.partial_correlation) > found.tips_at
            assert beyond == (found.probability > 0.5)
            # At that size the data's log-odds make up for prior and belief.
            data = at_estimate(model, tuple(pair), found.tips_at)
            assert data + found.prior + found.belief == pytest.approx(0, abs=1e-9)
            tipped += 1
    assert tipped > 2


def test_a_result_with_beliefs_is_written_and_read_back(tmp_path, model):
    wrote = Result.of(model)
    write_result(tmp_path, wrote)
    read = read_result(tmp_path)
    for here, there in zip(wrote.reasons, read.reasons, strict=True):
        np.testing.assert_array_equal(here, there)
    table = read.edge_table()
    assert (table["belief_log_odds"].dropna() != 0).sum() == 3


def test_a_result_written_before_there_were_beliefs_is_refused(tmp_path, model):
    write_result(tmp_path, Result.of(model))
    with np.load(tmp_path / "result.npz", allow_pickle=False) as file:
        kept = {name: file[name] for name in file.files if name != "reasons_belief"}
    np.savez_compressed(tmp_path / "result.npz", **kept)
    with pytest.raises(GraphPriorError, match=r"not a whole result of this release.*estimate it"):
        read_result(tmp_path)


def test_the_picture_shows_beliefs_where_there_are_some(model):
    from matplotlib.figure import Figure

    shown = plot_reasons(model, ax=Figure().subplots()).get_legend_handles_labels()[1]
    assert shown[-1] == "belief"
    problem, _ = believed_problem(seed=2)
    with notes():
        plain = PartialGGM(None).fit(problem.X, known=problem.known)
    shown = plot_reasons(plain, ax=Figure().subplots()).get_legend_handles_labels()[1]
    assert "belief" not in shown
