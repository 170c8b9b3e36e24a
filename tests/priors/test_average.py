import numpy as np
import pytest
import torch
from scipy.special import expit, logit

from enumeration import random_prior
from graphprior import Gibbs, PartialGGM, Sweeps
from graphprior.errors import GraphPriorError, notes
from graphprior.graphs.matrices import nothing_known, unvech, vech
from graphprior.priors.average import AveragedPrior, ShiftedPrior, mean_log_odds
from graphprior.priors.exact import FiniteGraphs, IndependentEdges, LearnedRate
from graphprior.priors.load import AUTO, GENERAL, INDEPENDENT, resolve_priors
from graphprior.problem.problem import Problem

PATH = unvech(np.array([1.0, 0, 0, 1, 0, 1]))


def some_evidence(rng, batch=3, n=4):
    """Evidence about all pairs, some of it certain, some nothing."""
    ell = unvech(rng.normal(0, 2, (batch, n * (n - 1) // 2)))
    ell[:, 0, 1] = ell[:, 1, 0] = np.inf
    ell[1:, 2, 3] = ell[1:, 3, 2] = -np.inf
    ell[:, 0, 2] = ell[:, 2, 0] = 0.0
    return torch.as_tensor(ell)


def off_diagonal(eta):
    return eta[..., ~torch.eye(eta.shape[-1], dtype=torch.bool)]


def test_probabilities_are_the_weighted_mean(rng):
    priors, weights, ell = (
        [random_prior(rng) for _ in range(3)],
        (0.5, 0.3, 0.2),
        some_evidence(rng),
    )
    found = AveragedPrior(priors, weights).posterior_logits(ell)
    each = [prior.posterior_logits(ell).sigmoid() for prior in priors]
    expected = sum(w * p for w, p in zip(weights, each, strict=True))
    torch.testing.assert_close(off_diagonal(found).sigmoid(), off_diagonal(expected))


def test_of_one_prior_it_is_that_prior(rng):
    prior, ell = random_prior(rng), some_evidence(rng)
    found = AveragedPrior([prior], [1.0]).posterior_logits(ell)
    torch.testing.assert_close(off_diagonal(found), off_diagonal(prior.posterior_logits(ell)))


def test_large_log_odds_keep_their_digits():
    """No probability is rounded to 0 or 1: far out the likeliest times its weight is left."""
    each = torch.tensor([[60.0], [-60.0]], dtype=torch.float64)
    assert float(mean_log_odds(each, (0.25, 0.75))) == pytest.approx(logit(0.25))
    both = torch.tensor([[-500.0], [-900.0]], dtype=torch.float64)
    assert float(mean_log_odds(both, (0.25, 0.75))) == pytest.approx(-500 + np.log(0.25))


def test_what_is_known_stays_known(rng):
    ell = some_evidence(rng)
    found = AveragedPrior([random_prior(rng), IndependentEdges(0.3)], (0.4, 0.6)).posterior_logits(
        ell
    )
    assert torch.equal(found[ell.isinf()], ell[ell.isinf()])
    assert torch.equal(found, found.mT)
    assert off_diagonal(found)[~off_diagonal(ell).isinf()].isfinite().all()


def test_graphs_that_one_prior_forbids_are_as_likely_as_the_others_say():
    """The path is certain of the third edge; the other halves what is left."""
    paths = FiniteGraphs.up_to_relabelling([PATH])
    ell = torch.zeros(4, 4, dtype=torch.float64)
    for i, j in ((0, 1), (1, 2)):  # a third edge at 1 is no path
        ell[i, j] = ell[j, i] = torch.inf
    found = AveragedPrior([paths, IndependentEdges(0.3)], (0.5, 0.5))
    assert float(found.posterior_logits(ell)[1, 3].sigmoid()) == pytest.approx(0.15)
    assert found.nodes == 4
    assert found.allows_all_graphs
    assert not AveragedPrior([paths], [1.0]).allows_all_graphs


def test_a_batch_equals_its_parts(rng):
    ell = some_evidence(rng, 5)
    prior = AveragedPrior([random_prior(rng), IndependentEdges(0.2)], (0.6, 0.4))
    whole = prior.posterior_logits(ell)
    for own, expected in zip(ell, whole, strict=True):
        torch.testing.assert_close(prior.posterior_logits(own), expected)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 10, 57])
@pytest.mark.parametrize("weights", [(0.62, 0.33, 0.05), (1 / 3, 1 / 3, 1 / 3), (0.98, 0.01, 0.01)])
def test_chains_are_shared_out_by_weight(count, weights):
    """Rounded to a neighbouring number, but each prior has a chain where there are enough."""
    prior = AveragedPrior([IndependentEdges(p) for p in (0.1, 0.2, 0.3)], weights)
    shares = np.array(prior.share_out(count))
    assert shares.sum() == count
    if count >= len(weights):
        assert shares.min() >= 1
    wanted = count * np.array(weights)
    assert (shares < wanted + 1.001).all()
    assert (shares > wanted - len(weights)).all()


def test_probabilities_of_chains_are_weighed_and_not_counted():
    """Few chains say what many do: the mean by the weights of the priors, whatever was rounded."""
    known, X = nothing_known(5), np.random.default_rng(0).standard_normal((20, 5))
    known[0, 1] = known[1, 0] = 1.0
    prior = AveragedPrior([IndependentEdges(0.1), IndependentEdges(0.7)], (0.9, 0.1))
    for draws in (2, 3, 10):
        engine = Gibbs(draws=draws, sweeps=Sweeps(keep=12))
        model = PartialGGM(
            prior, engine=engine, use="prior", unknown_at_random=True, random_state=0
        ).fit(X, known=known)
        np.testing.assert_allclose(vech(model.edge_probabilities_)[1:], 0.16)
        r_hat = model.diagnostics_.posterior.r_hat
        assert r_hat is None or r_hat < 1.1


def test_a_prior_that_forbids_what_is_known_has_no_weight():
    """Its answer is an error by itself; beside others it is left out."""
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((6, 6)) < 0.5, 1).astype(float)
    A = A + A.T
    known = A.copy()
    known[0, 1] = known[1, 0] = np.nan
    other = FiniteGraphs([np.ones((6, 6)) - np.eye(6), 1 - A - np.eye(6)])
    X = rng.standard_normal((30, 6))
    with pytest.raises(GraphPriorError, match="no graph of the finite prior"):
        PartialGGM(other).fit(X, known=known)
    with notes() as told:
        model = PartialGGM([other, None], random_state=0).fit(X, known=known)
    assert {gain.name: gain.weight for gain in model.prior_gains_}["FiniteGraphs"] < 1e-6
    assert isinstance(model.prior_used_, LearnedRate)
    assert any("FiniteGraphs" in line for line in told)


def test_what_weighs_next_to_nothing_is_left_out():
    one, two = IndependentEdges(0.1), IndependentEdges(0.4)
    assert AveragedPrior.of([one, two], (0.995, 0.005)) is one
    kept = AveragedPrior.of([one, two, two], (0.6, 0.395, 0.005))
    assert kept.weights == pytest.approx((0.6 / 0.995, 0.395 / 0.995))


@pytest.mark.parametrize("offset", [-1.5, 0.0, 0.7])
def test_an_offset_is_added_to_what_is_not_known(rng, offset):
    ell, prior = some_evidence(rng), random_prior(rng)
    found, plain = (p.posterior_logits(ell) for p in (ShiftedPrior.of(prior, offset), prior))
    known = ell.isinf()
    assert torch.equal(found[known], ell[known])
    assert (ShiftedPrior.of(prior, offset) is prior) == (offset == 0)
    unknown = ~known & ~torch.eye(4, dtype=torch.bool)
    torch.testing.assert_close(found[unknown], plain[unknown] + offset)


def test_what_a_prior_expects_too_many_of_is_not_taken_for_a_sign_of_hiding():
    """A learned prior expects half of all pairs; one in ten of the known ones is an edge."""

    class Learned(IndependentEdges):
        is_learned = True

    rng = np.random.default_rng(4)
    A = np.triu(rng.random((30, 30)) < 0.1, 1).astype(float)
    U = np.triu(rng.random((30, 30)) < 0.2, 1)
    known = np.where(U | U.T, np.nan, A + A.T)
    X = rng.standard_normal((20, 30))
    hidden = []
    for prior in (Learned(0.5), ShiftedPrior(Learned(0.5), -1.5, -1.5 - logit(0.1))):
        with notes():
            model = PartialGGM(prior, prior_weight="full", use="prior", random_state=0)
            model.fit(X, known=known)
        hidden.append(model.diagnostics_.posterior.hidden_log_odds)
    assert hidden[0] > 1.5
    assert abs(hidden[1]) < hidden[0] / 2


@pytest.mark.parametrize("weights", [(0.5,), (0.5, 0.6), (1.0, 0.0), (-0.5, 1.5)])
def test_weights_that_make_no_sense_are_refused(weights):
    with pytest.raises(GraphPriorError, match="weight"):
        AveragedPrior([IndependentEdges(0.1), IndependentEdges(0.4)], weights)


def problem(n=6):
    return Problem.create(np.random.default_rng(0).standard_normal((30, n)))


@pytest.mark.parametrize(
    ("prior", "guarded", "names"),
    [
        (AUTO, True, [GENERAL, INDEPENDENT]),
        (AUTO, False, [GENERAL]),
        (GENERAL, False, [GENERAL]),
        (None, True, [INDEPENDENT]),
        ("none", True, [INDEPENDENT]),
        ("egonets", True, ["egonets", INDEPENDENT]),
        ("egonets", False, ["egonets"]),
        (["egonets", None, "grids"], True, ["egonets", INDEPENDENT, "grids"]),
        (["egonets", "grids"], True, ["egonets", "grids", INDEPENDENT]),
        (["egonets", "grids"], False, ["egonets", "grids"]),
        (IndependentEdges(0.2), True, ["IndependentEdges"]),
        ([IndependentEdges(0.2), IndependentEdges(0.4)], True,
         ["IndependentEdges", "IndependentEdges 2"]),
    ],
)  # fmt: skip
def test_which_priors_are_averaged(prior, guarded, names):
    assert list(resolve_priors(prior, problem(), None, guarded)) == names


def test_with_a_density_edges_are_independent():
    (found,) = resolve_priors(AUTO, problem(), 0.3).values()
    assert isinstance(found, IndependentEdges)
    assert not isinstance(found, LearnedRate)
    np.testing.assert_allclose(expit(found.log_odds.numpy()), 0.3)


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ([], "empty list"),
        (["egonets", "egonets"], "listed twice"),
        ([None, "none"], "listed twice"),
        (["egonets", "egonets-edp-gnn"], "gives scores only"),
        ([object()], "expected 'auto', None"),
    ],
)
def test_lists_that_make_no_sense_are_refused(prior, words):
    with pytest.raises(GraphPriorError, match=words):
        resolve_priors(prior, problem())


@pytest.mark.parametrize("engine", ["direct", "gibbs"])
def test_on_silent_data_the_answer_is_the_mean_of_what_each_says(engine):
    """Without data each prior answers by itself; both engines agree with their weighted mean."""
    known = nothing_known(5)
    known[0, 1] = known[1, 0] = 1.0
    priors = [IndependentEdges(0.1), IndependentEdges(0.7)]
    X = np.random.default_rng(0).standard_normal((20, 5))
    model = PartialGGM(priors, engine=engine, use="prior", unknown_at_random=True, random_state=0)
    with pytest.warns(UserWarning, match="too little to check"):
        model.fit(X, known=known)
    p = vech(model.edge_probabilities_)[1:]
    if engine == "direct":
        np.testing.assert_allclose(p, 0.4)
    else:
        np.testing.assert_allclose(p, 0.4, atol=1e-9)  # ten chains: five of each
    assert expit(vech(model.reasons_.posterior))[1:] == pytest.approx(0.4)
