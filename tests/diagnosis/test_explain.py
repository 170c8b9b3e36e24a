import numpy as np
import pytest
from scipy.special import expit

from enumeration import at_estimate, random_prior, simulated_problem
from graphprior import PartialGGM
from graphprior.engines.gibbs import Sweeps
from graphprior.engines.langevin import Langevin
from graphprior.errors import GraphPriorError, notes
from graphprior.gaussian.simulate import simulate_observations
from graphprior.graphs.matrices import nothing_known, unvech
from graphprior.priors.exact import FiniteGraphs
from graphprior.priors.noise import Schedule
from graphprior.priors.protocol import ask
from oracles import engine_with

PATH = unvech(np.array([1.0, 0, 0, 1, 0, 1]))


def fitted(seed=0, n=5, k=80, unknown=7, **options):
    rng = np.random.default_rng(seed)
    prior = random_prior(rng, n, 1.5)
    _, problem = simulated_problem(rng, n, k, unknown)
    return PartialGGM(prior, random_state=0, **options).fit(problem.X, known=problem.known)


def unknown_pairs(model):
    return [tuple(map(int, pair)) for pair in np.argwhere(np.triu(model.problem_.U))]


def test_the_log_odds_add_up_to_the_probability():
    model = fitted()
    for i, j in unknown_pairs(model):
        found = model.explain(i, j)
        total = found.prior + found.data + found.hidden
        assert expit(total) == pytest.approx(found.probability)
        assert found.probability == model.edge_probabilities_[i, j]
        assert (found.source, found.target) == (f"x{i}", f"x{j}")


def test_both_directions_and_names_or_numbers_are_the_same():
    model = fitted()
    i, j = unknown_pairs(model)[0]
    here, there = model.explain(i, j), model.explain(f"x{j}", f"x{i}")
    assert (here.source, here.target) == (there.target, there.source)
    assert (here.prior, here.data, here.hidden, here.tips_at, here.partial_correlation) == (
        there.prior, there.data, there.hidden, there.tips_at, there.partial_correlation
    )  # fmt: skip
    assert {frozenset(c[:2]) | {c.value} for c in here.changes} == {
        frozenset(c[:2]) | {c.value} for c in there.changes
    }


@pytest.mark.parametrize("seed", range(3))
def test_at_the_tipping_point_the_log_odds_are_zero(seed):
    model, tipped = fitted(seed), 0
    for pair in unknown_pairs(model):
        found = model.explain(*pair)
        others = found.prior + found.hidden
        if found.tips_at is None:
            at_zero, at_one = (others + at_estimate(model, pair, r) for r in (0.0, 1.0))
            assert at_zero > 0 or at_one < 0
        else:
            assert others + at_estimate(model, pair, found.tips_at) == pytest.approx(0, abs=1e-9)
            assert 0 <= found.tips_at < 1
            tipped += 1
    assert tipped > 2


@pytest.mark.parametrize("engine", ["direct", "gibbs"])
@pytest.mark.parametrize("seed", range(3))
def test_the_answer_lies_on_the_side_of_the_tipping_point_where_the_estimate_is(seed, engine):
    """The estimate is the one the data's log-odds came from, so all parts tell one story."""
    model = fitted(seed, engine=engine_with(engine, sweeps=Sweeps(2, 0, 1, 2)))
    for pair in unknown_pairs(model):
        found = model.explain(*pair)
        there = at_estimate(model, pair, found.partial_correlation)
        assert abs(found.data) > 5 or there == pytest.approx(found.data)
        if found.tips_at is not None:
            beyond = abs(found.partial_correlation) > found.tips_at
            assert beyond == (found.prior + found.data + found.hidden > 0)


def test_the_partial_correlation_has_the_sign_of_the_data():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 2))
    y = rng.standard_normal((300, 3))
    X = np.column_stack([x[:, 0], x[:, 0] + x[:, 1], y[:, 0], y[:, 1], y[:, 2] - y[:, 1]])
    model = PartialGGM(None).fit(X)
    assert model.explain(0, 1).partial_correlation > 0.5
    assert model.explain(3, 4).partial_correlation < -0.5
    assert abs(model.explain(0, 2).partial_correlation) < 0.2
    assert model.explain(0, 1).probability > 0.99


def test_the_changes_are_what_the_prior_would_say():
    """Each turned pair is one of the two variables', and asking the prior gives the same."""
    model = fitted()
    problem, reasons = model.problem_, model.reasons_
    for i, j in unknown_pairs(model)[:3]:
        found = model.explain(i, j, changes=6)
        effects = []
        for change in found.changes:
            a, b = (problem.names.index(name) for name in change[:2])
            assert len({a, b} & {i, j}) == 1
            known = problem.known.copy()
            now = known[a, b] if not np.isnan(known[a, b]) else reasons.posterior[a, b] > 0
            assert change.value == 1 - now
            known[a, b] = known[b, a] = change.value
            said = ask(model.prior, known, reasons.data + reasons.hidden, "cpu")[i, j]
            assert change.probability == pytest.approx(expit(said))
            effects.append(abs(said - reasons.posterior[i, j]))
        assert effects == sorted(effects, reverse=True)
        assert effects[0] > 0.1
        assert len({frozenset(c[:2]) for c in found.changes}) == 6
        assert model.explain(i, j, changes=2).changes == found.changes[:2]
        assert model.explain(i, j, changes=0).changes == ()


def test_a_change_that_the_prior_does_not_allow_is_none():
    """Turning an edge of a path into a fourth edge leaves no path: the answer stays."""
    rng = np.random.default_rng(0)
    known = nothing_known(4)
    for i, j, value in ((0, 1, 1.0), (1, 2, 1.0), (0, 2, 0.0)):
        known[i, j] = known[j, i] = value
    prior = FiniteGraphs.up_to_relabelling([PATH])
    X = simulate_observations(np.eye(4) + 0.4 * PATH, 200, rng)
    model = PartialGGM(prior).fit(X, known=known)
    found = model.explain(2, 3)
    triangle = [c for c in found.changes if {c.source, c.target} == {"x0", "x2"}]
    assert triangle[0].value == 1
    assert triangle[0].probability == pytest.approx(found.probability)


def test_known_pairs_and_no_variables_are_refused_in_clear_words():
    model = fitted()
    i, j = np.argwhere(np.triu(model.problem_.O))[0]
    with pytest.raises(GraphPriorError, match=f"x{i} - x{j} is not an unknown pair: it was given"):
        model.explain(i, j)
    for wrong in ("y", 5, -1, 1.5):
        with pytest.raises(GraphPriorError, match=f"{wrong!r} is no variable.*'x0'"):
            model.explain(wrong, 0)


def test_without_reasons_there_is_nothing_to_explain():
    short = Schedule.linear(L=3, T=5)
    model = fitted(engine=Langevin(likelihood="marginal", schedule=short))
    with pytest.raises(GraphPriorError, match="engine 'direct' or 'gibbs'"):
        model.explain(*unknown_pairs(model)[0])


def test_in_words_all_parts_are_told():
    model = fitted()
    for pair in unknown_pairs(model):
        found = model.explain(*pair)
        words = str(found)
        assert words.startswith(f"x{pair[0]} - x{pair[1]}: probability {found.probability:.2f}")
        parts = (
            "the known part and the other pairs say",
            "the data say",
            "being among the unknown",
        )
        lines = words.splitlines()
        for line, start, value in zip(
            lines[1:4], parts, (found.prior, found.data, found.hidden), strict=True
        ):
            assert line.strip().startswith(start)
            if abs(value) < 0.2:
                assert line.endswith("nothing")
            else:
                assert ("no edge" in line) == (value < 0)
                assert f"{value:+.1f}" in line
        assert f"partial correlation {found.partial_correlation:+.2f}" in lines[4]
        assert ("no value would tip it" in lines[4]) == (found.tips_at is None)
        assert len(lines) == 5 + len(found.changes)
        for line, change in zip(lines[5:], found.changes, strict=True):
            assert f"if {change.source} - {change.target} were" in line
            assert ("no edge" in line) == (change.value == 0)


def test_without_data_there_is_no_partial_correlation():
    model = fitted(use="prior")
    found = model.explain(*unknown_pairs(model)[0])
    assert found.data == 0
    assert found.partial_correlation is None
    assert found.tips_at is None
    assert "the data say nothing" in str(found)
    assert "partial correlation" not in str(found)


@pytest.mark.slow
def test_where_a_probability_was_drawn_the_changes_say_where_they_start():
    found = [fitted(engine="gibbs").explain(*pair) for pair in unknown_pairs(fitted())]
    for explained in found:
        differs = abs(explained.probability - explained.undrawn) >= 0.01
        told = f"without drawing it has {explained.undrawn:.2f}" in str(explained)
        assert told == differs
    assert any("without drawing" in str(explained) for explained in found)


def test_where_priors_are_averaged_their_weights_are_told():
    rng = np.random.default_rng(3)
    priors = [random_prior(rng, 5, 1.5), random_prior(rng, 5, 1.5), None]
    _, problem = simulated_problem(rng, 5, 80, 7)
    with notes():
        model = PartialGGM(priors, random_state=0).fit(problem.X, known=problem.known)
    pair = unknown_pairs(model)[0]
    found = model.explain(*pair)
    assert dict(found.priors) == {gain.name: gain.weight for gain in model.prior_gains_}
    total = found.prior + found.data + found.hidden
    assert expit(total) == pytest.approx(found.probability)
    if found.priors:
        name, weight = found.priors[0]
        assert weight == max(gain.weight for gain in model.prior_gains_)
        assert f"{name} (weight {weight:.2f})" in str(found)
