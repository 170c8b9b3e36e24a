from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import expit, logit

from enumeration import random_prior
from graphprior import PartialGGM
from graphprior.diagnosis.notes import misfit
from graphprior.errors import notes
from graphprior.evidence.evidence import data_evidence
from graphprior.gaussian.simulate import simulate_observations
from graphprior.graphs.matrices import hide, nothing_known, unvech, vech
from graphprior.priors.exact import FiniteGraphs, IndependentEdges, StochasticBlocks
from graphprior.priors.fit_check import LARGE, _questions, check_prior, check_priors
from graphprior.problem.problem import Problem
from oracles import random_graph, random_precision, relabel

N = 20
GROUPS = np.repeat([0, 1], N // 2)
LIKELY, UNLIKELY = 0.6, 0.05
BLOCKS = StochasticBlocks(GROUPS, [[LIKELY, UNLIKELY], [UNLIKELY, LIKELY]])
OPPOSITE = StochasticBlocks(GROUPS, [[UNLIKELY, LIKELY], [LIKELY, UNLIKELY]])
TRIANGLES = np.kron(np.eye(2), np.ones((3, 3))) - np.eye(6)


def probabilities(prior):
    return expit(vech(prior.log_odds.numpy()))


def draw(rng, prior=BLOCKS):
    p = probabilities(prior)
    return unvech((rng.random(len(p)) < p).astype(float))


def bits_of(p, q):
    """Cross-entropy of coins p coded as q."""
    return -(p * np.log2(q) + (1 - p) * np.log2(1 - q))


def test_the_right_prior_gains_what_it_knows_beyond_the_rate(record_property):
    """On graphs drawn from it: its divergence from the rate, and beyond two standard errors."""
    p = probabilities(BLOCKS)
    expected = (bits_of(p, p.mean()) - bits_of(p, p)).mean()
    rng = np.random.default_rng(0)
    gains = [check_prior(draw(rng), BLOCKS, None, rng) for _ in range(30)]
    bits, errors = (np.array([getattr(g, f) for g in gains]) for f in ("bits", "standard_error"))
    record_property("mean_gain", bits.mean())
    record_property("expected_gain", expected)
    assert abs(bits.mean() - expected) < 4 * bits.std(ddof=1) / np.sqrt(len(bits)) + 1 / len(p)
    assert (bits > 2 * errors).mean() > 0.8
    assert all(g.known and misfit(g) is None for g in gains)
    # The standard error is what gains differ by.
    assert 0.5 < bits.std(ddof=1) / errors.mean() < 1.5


def test_a_prior_whose_pairs_hang_together_gains():
    """Two triangles, in any labelling: most of a graph tells the rest."""
    prior = FiniteGraphs.up_to_relabelling([TRIANGLES])
    rng = np.random.default_rng(0)
    graphs = [relabel(TRIANGLES, rng.permutation(6)) for _ in range(20)]
    bits = np.array([check_prior(A, prior, None, rng).bits for A in graphs])
    assert bits.mean() > 2 * bits.std(ddof=1) / np.sqrt(len(bits))
    assert bits.mean() > 0.5


def test_an_opposite_prior_is_flagged(rng):
    gain = check_prior(draw(rng), OPPOSITE, None, rng)
    assert gain.bits < -2 * gain.standard_error
    assert "does not fit" in misfit(gain)
    assert "known pairs that were hidden from it" in misfit(gain)
    assert f"{gain.bits:.3f}" in misfit(gain)


def test_the_rate_alone_gains_nothing(rng):
    A = draw(rng)
    rate = (vech(A).sum() + 0.5) / (N * (N - 1) / 2 + 1)
    gain = check_prior(A, IndependentEdges(rate), None, rng)
    assert gain.bits == pytest.approx(0, abs=1e-12)
    assert gain.rate == pytest.approx(rate)
    near = check_prior(A, IndependentEdges(rate + 0.01), None, rng)
    assert abs(near.bits) < 0.01


def test_a_prior_is_not_shown_what_it_is_asked(rng):
    """One that only repeats its evidence knows nothing of hidden pairs: one bit for each."""
    gains = [check_prior(draw(rng), IndependentEdges(0.5), None, rng) for _ in range(20)]
    bits = np.array([g.bits for g in gains])
    expected = np.array([bits_of(g.rate, g.rate) - 1 for g in gains])
    noise = (bits - expected).std(ddof=1) / np.sqrt(len(bits))
    assert abs((bits - expected).mean()) < 4 * noise
    assert expected.mean() < -4 * noise


def test_of_two_priors_the_right_one_gets_the_weight(rng):
    right = []
    for _ in range(9):
        priors = {"right": BLOCKS, "wrong": OPPOSITE, "none": None}
        found = check_priors(draw(rng), priors, None, rng)
        assert sum(found.weights) == pytest.approx(1)
        weights = {gain.name: gain.weight for gain in found.gains}
        right.append(weights["right"])
        assert weights["wrong"] < 0.001
        assert {gain.name: gain.bits for gain in found.gains}["none"] == 0
    assert np.median(right) > 0.95


def test_priors_that_predict_alike_weigh_alike(rng):
    """Copies of a prior share its weight, whatever its name."""
    priors = {"one": BLOCKS, "two": BLOCKS, "three": BLOCKS}
    found = check_priors(draw(rng), priors, None, rng)
    np.testing.assert_allclose(found.weights, 1 / 3)


def test_the_order_of_priors_does_not_matter(rng):
    A = hide(draw(rng), rng, share=0.5)
    near = StochasticBlocks(GROUPS, [[0.5, 0.1], [0.1, 0.5]])
    here = check_priors(A, {"a": BLOCKS, "b": near, "c": None}, None, np.random.default_rng(2))
    there = check_priors(A, {"c": None, "b": near, "a": BLOCKS}, None, np.random.default_rng(2))
    for gain in here.gains:
        assert next(g for g in there.gains if g.name == gain.name).weight == pytest.approx(
            gain.weight
        )


def test_few_pairs_do_not_decide_between_priors_that_are_close():
    """Weights of a prior beside one that differs by a little, over many graphs: near one half."""
    near = StochasticBlocks(GROUPS, [[0.55, 0.07], [0.07, 0.55]])
    weights = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        known = hide(draw(rng), rng, share=0.85)
        found = check_priors(known, {"right": BLOCKS, "near": near}, None, rng)
        if found is not None:
            weights.append(found.weights[0])
    assert len(weights) > 10
    assert min(weights) > 0.1
    assert max(weights) < 0.9


def test_known_pairs_and_the_datas_evidence_are_both_heard(rng):
    """Where both are there, the weights follow the sum of the log scores of both."""
    A = draw(rng)
    X = simulate_observations(random_precision(rng, A, 0.8), 400, rng)
    problem = Problem.create(X, hide(A, rng, share=0.5))
    priors = {"right": BLOCKS, "wrong": OPPOSITE}
    known = _questions(problem.known, None, np.random.default_rng(0))
    both = _questions(problem.known, data_evidence(problem), np.random.default_rng(0))
    assert [q.are_known for q in known] == [True]
    assert [q.are_known for q in both] == [True, False]
    for questions in both:
        right, wrong = (
            questions.nats(questions.answers(prior, "cpu")).mean() for prior in priors.values()
        )
        assert right > wrong


class Learned(IndependentEdges):
    """As if its rate had been learned from examples."""

    is_learned = True


@pytest.mark.parametrize("expected", [0.02, 0.1, 0.4])
def test_a_learned_prior_that_expects_too_many_or_too_few_edges_is_moved(expected):
    """With many known pairs what it says becomes their rate; beside none, for it is not alone."""
    rng = np.random.default_rng(0)
    A = random_graph(rng, 120, 0.1)
    found = check_priors(hide(A, rng, share=0.1), {"": Learned(expected), "none": None}, None, rng)
    gain = found.gains[0]
    assert expit(logit(expected) + gain.offset) == pytest.approx(gain.rate, abs=0.01)
    assert 0.3 < found.weights[0] < 0.7
    alone = check_prior(A, Learned(expected), None, rng)
    assert alone.offset == 0
    exact = check_priors(A, {"": IndependentEdges(expected), "none": None}, None, rng)
    assert exact.gains[0].offset == 0


def test_few_pairs_hardly_move_a_prior(rng):
    gains = [
        check_priors(hide(draw(rng), rng, share=0.9), {"": Learned(0.4), "none": None}, None, rng)
        for _ in range(5)
    ]
    assert all(abs(found.gains[0].offset) < 1.2 for found in gains if found is not None)


def test_evidence_counts_by_variable_and_known_pairs_one_by_one(rng):
    """Weights are those of scores in which the pairs of the evidence count as two a variable."""
    problem = Problem.create(simulate_observations(random_precision(rng, draw(rng), 0.8), 400, rng))
    evidence, priors = data_evidence(problem), {"right": BLOCKS, "none": None}
    (questions,) = _questions(problem.known, evidence, np.random.default_rng(0))
    assert questions.counts_as == pytest.approx(2 * N / (N * (N - 1) / 2))
    (known,) = _questions(draw(rng), None, rng)
    assert known.counts_as == 1
    found = check_priors(problem.known, priors, evidence, np.random.default_rng(0), False)
    right = questions.by_pair(questions.nats(questions.answers(BLOCKS, "cpu"))).sum()
    none = questions.by_pair(
        questions.nats(np.full(len(questions.asked), logit(questions.rate)))
    ).sum()
    log_odds = questions.counts_as * (right - none)
    # The bootstrap draws weights towards each other, never beyond what the sums say.
    assert 0.5 < found.weights[0] <= expit(log_odds) + 0.01


def test_a_batch_of_folds_equals_its_parts(rng):
    """Asked fold by fold a prior says the same."""
    known = hide(draw(rng), rng, share=0.5)
    (questions,) = _questions(known, None, rng)
    whole = questions.answers(BLOCKS, "cpu")
    singly = [
        replace(questions, rounds=[[part]]).answers(BLOCKS, "cpu") for part in questions.parts
    ]
    np.testing.assert_array_equal(whole, np.concatenate(singly))


def test_what_being_unknown_says_does_not_condemn_a_prior():
    """Edges are hidden five times as often: the right prior is blamed less for expecting fewer."""
    blamed, not_blamed = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        A = draw(rng)
        X = simulate_observations(random_precision(rng, A, 0.8), 400, rng)
        u, v = rng.random(A.shape), np.where(A == 1, 0.9, 0.18)
        hidden = np.triu(u < v, 1)
        known = np.where(hidden | hidden.T, np.nan, A)
        evidence = data_evidence(Problem.create(X, known))
        for found, by_value in ((not_blamed, True), (blamed, False)):
            rng = np.random.default_rng(seed)
            priors = {"right": BLOCKS, "none": None}
            found.append(check_priors(known, priors, evidence, rng, by_value).weights[0])
    assert (np.array(not_blamed) > blamed).all()
    assert np.mean(not_blamed) > np.mean(blamed) + 0.05


def test_the_labels_of_nodes_do_not_matter():
    order = np.random.default_rng(5).permutation(N)
    A = draw(np.random.default_rng(0))
    prior = IndependentEdges(relabel(unvech(probabilities(BLOCKS)), order))
    # Averages over how pairs were parted.
    here, there = (
        [check_prior(*question, None, np.random.default_rng(s)).bits for s in range(40)]
        for question in ((A, BLOCKS), (relabel(A, order), prior))
    )
    noise = np.hypot(np.std(here), np.std(there)) / np.sqrt(40)
    assert abs(np.mean(here) - np.mean(there)) < 4 * noise


def test_same_seed_same_gain_and_known_pairs_are_left_as_they_were(rng):
    A = hide(draw(rng), rng, share=0.3)
    before = A.copy()
    one, two = (check_prior(A, BLOCKS, None, np.random.default_rng(3)) for _ in range(2))
    assert one == two
    np.testing.assert_array_equal(A, before)


def test_where_there_is_nothing_to_check_there_is_no_gain(rng):
    prior = random_prior(rng, 4)
    assert check_prior(nothing_known(4), prior, None, rng) is None
    assert check_prior(random_graph(rng, 4), prior, None, rng) is None
    assert check_prior(nothing_known(N), BLOCKS, None, rng) is None
    evidence = observed(rng, random_graph(rng, 4), 50)
    assert check_prior(nothing_known(4), prior, evidence, rng) is None


def test_what_a_prior_is_worth_does_not_hang_on_one_cut(rng):
    """Where half is unknown a round has two parts: every known pair is asked in several rounds."""
    known = hide(random_graph(rng, N, 0.3), rng, share=0.5)
    asked = []

    class Watched(IndependentEdges):
        def posterior_logits(self, log_odds):
            asked.extend(torch.isinf(vech_of(one)) for one in log_odds)
            return super().posterior_logits(log_odds)

    check_prior(known, Watched(0.3), None, rng)
    is_known = torch.as_tensor(~np.isnan(vech(known)))
    hidden = [is_known & ~told for told in asked]
    times = torch.stack(hidden).sum(0)[is_known]
    assert times.min() >= 3
    assert len({tuple(h.tolist()) for h in hidden}) == len(hidden)  # each cut is another


def vech_of(log_odds):
    i, j = np.triu_indices(len(log_odds), 1)
    return log_odds[i, j]


def test_large_graphs_are_checked_on_one_part(rng):
    n = LARGE + 1
    A = random_graph(rng, n, 0.05)
    gain = check_prior(hide(A, rng, share=0.2), IndependentEdges(0.05), None, rng)
    assert 10 <= gain.pairs <= 0.5 * n * (n - 1) / 2
    assert abs(gain.bits) < 0.01


def observed(rng, A, k):
    """The evidence of k observations of a graph of which nothing is known."""
    X = simulate_observations(random_precision(rng, A, 0.8), k, rng)
    return data_evidence(Problem.create(X))


def test_where_nothing_is_known_the_datas_evidence_is_predicted(record_property):
    """With good data a fitting prior gains and its opposite loses."""
    groups = np.repeat([0, 1], 6)
    fitting = StochasticBlocks(groups, [[0.6, 0.05], [0.05, 0.6]])
    wrong = StochasticBlocks(groups, [[0.05, 0.6], [0.6, 0.05]])
    gains, losses = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        evidence = observed(rng, draw(rng, fitting), 1000)
        known = nothing_known(12)
        gains.append(check_prior(known, fitting, evidence, rng))
        losses.append(check_prior(known, wrong, evidence, rng))
        rate_only = check_prior(known, IndependentEdges(evidence.slab.rate), evidence, rng)
        assert rate_only.bits == pytest.approx(0, abs=1e-9)
    bits = np.array([g.bits for g in gains])
    record_property("mean_gain", bits.mean())
    assert bits.mean() > 2 * bits.std(ddof=1) / np.sqrt(len(bits))
    assert bits.mean() > 0.1
    assert not any(g.known for g in gains)
    assert all("the data's evidence" in misfit(g) for g in losses)


def surprise(P, A, U):
    """Bits for each hidden pair."""
    p = np.clip(P[U], 1e-9, 1 - 1e-9)
    return bits_of(A[U], p).mean()


def test_the_estimator_warns_and_averaging_takes_the_harm_away(record_property):
    """A wrong prior believed in full, averaged with none, none, and the right one."""
    costs = {"full": [], "averaged": [], "none": [], "right": []}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        A = draw(rng)
        X = simulate_observations(random_precision(rng, A, 0.8), 60, rng)
        known = hide(A, rng, share=0.3)
        U = np.isnan(known)
        for name, prior in (
            ("full", OPPOSITE), ("averaged", [OPPOSITE, None]), ("none", None), ("right", BLOCKS),
        ):  # fmt: skip
            with notes() as told:
                model = PartialGGM(prior, random_state=0).fit(X, known=known)
            costs[name].append(surprise(model.edge_probabilities_, A, U))
            warned = any("the prior does not fit" in line for line in told)
            assert warned == (name in ("full", "averaged"))
            if name == "averaged":
                assert model.prior_gain_.bits < 0
                assert model.prior_gain_.weight < 0.01
                assert model.diagnostics_.prior_gain.bits == model.prior_gain_.bits
    mean = {name: np.mean(bits) for name, bits in costs.items()}
    for name, bits in mean.items():
        record_property(f"bits_{name}", bits)
    assert mean["right"] < mean["none"] < mean["full"] - 0.1
    np.testing.assert_allclose(costs["averaged"], costs["none"], atol=0.03)


@pytest.mark.parametrize(("n", "told"), [(3, True), (20, False)])
def test_priors_that_cannot_be_checked_have_the_same_weight_and_it_is_said(n, told):
    X = np.random.default_rng(0).standard_normal((100, n))
    with notes() as lines:
        model = PartialGGM("egonets", random_state=0).fit(X)
    assert any("too little to check the priors on" in line for line in lines) == told
    if told:
        assert model.prior_used_.weights == (0.5, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "unseen"), [(7, True), (8, False), (48, False), (50, True)])
def test_a_size_far_from_the_examples_is_told(n, unseen):
    """The examples of this prior have 16 to 24 nodes."""
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((n, n)) < 0.3, 1).astype(float)
    known = np.where(rng.random((n, n)) < 0.5, np.nan, A + A.T)
    known = np.triu(known, 1) + np.triu(known, 1).T
    with notes() as told:
        PartialGGM("egonets", random_state=0).fit(rng.standard_normal((20, n)), known=known)
    assert any("learned from graphs of 16 to 24 nodes" in line for line in told) == unseen
