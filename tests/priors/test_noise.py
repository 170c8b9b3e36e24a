import numpy as np
import pytest
import torch

from graphprior.errors import GraphPriorError
from graphprior.priors.noise import Schedule, noise_log_odds, perturb, tweedie_score
from oracles import is_falling, random_graph


def test_the_linear_schedule_is_the_papers():
    schedule = Schedule.linear()
    assert (schedule.L, schedule.T, schedule.epsilon) == (10, 300, 1e-6)
    np.testing.assert_allclose(np.diff(schedule.sigmas), (0.03 - 0.5) / 9)
    assert schedule.sigmas[0] == 0.5
    assert is_falling(schedule.sigmas)


def test_the_step_size_is_epsilon_at_the_last_level_and_grows_with_the_noise():
    schedule = Schedule.linear()
    assert schedule.step_size(schedule.sigmas[-1]) == pytest.approx(schedule.epsilon)
    ratio = schedule.step_size(0.4) / schedule.step_size(0.2)
    assert ratio == pytest.approx(4)


@pytest.mark.parametrize("sigma_L", [0.03, 0.2])
def test_levels_of_the_relaxed_schedule_last_a_tenth_of_their_steps_in_relaxation_times(sigma_L):
    """Whatever the levels are: a level's relaxation time is sigma**2."""
    schedule = Schedule.relaxed(L=5, sigma_L=sigma_L, T=70)
    times = [schedule.T * schedule.step_size(s) / s**2 for s in schedule.sigmas]
    np.testing.assert_allclose(times, 7)
    np.testing.assert_allclose(
        np.divide(schedule.sigmas[1:], schedule.sigmas[:-1]), (sigma_L / 0.5) ** 0.25
    )


def test_shorter_steps_are_made_up_for_by_more_of_them_as_far_as_the_schedule_stretches():
    schedule = Schedule((0.4, 0.2, 0.1), T=10, epsilon=1e-3, stretch=4)
    longest = 2e-3  # the steps would be 16, 4 and 1 thousandths
    assert [level.alpha for level in schedule.levels(longest)] == pytest.approx([2e-3, 2e-3, 1e-3])
    assert [level.steps for level in schedule.levels(longest)] == [40, 20, 10]
    assert [level.steps for level in schedule.levels()] == [10, 10, 10]


def test_the_papers_schedule_never_stretches():
    assert {level.steps for level in Schedule.linear().levels(1e-9)} == {300}


@pytest.mark.parametrize(
    "arguments",
    [
        {"sigmas": ()},
        {"sigmas": (0.1, 0.2)},
        {"sigmas": (0.2, 0.0)},
        {"sigmas": (0.2,), "T": 0},
        {"sigmas": (0.2,), "stretch": 0},
        {"sigmas": (0.2,), "epsilon": 0.0},
        {"sigmas": (0.2,), "epsilon": 0.081},
    ],
)
def test_impossible_schedules_are_refused(arguments):
    with pytest.raises(GraphPriorError):
        Schedule(**arguments)


def test_noise_has_its_level_is_symmetric_and_leaves_the_diagonal(rng):
    A = torch.as_tensor(np.stack([random_graph(rng, 40)] * 2), dtype=torch.float32)
    sigma = torch.tensor([0.1, 0.5])
    noise = perturb(A, sigma, torch.Generator().manual_seed(0)) - A
    assert torch.equal(noise, noise.mT)
    assert not noise.diagonal(dim1=1, dim2=2).any()
    rows, cols = torch.triu_indices(40, 40, 1)
    spread = noise[:, rows, cols].std(1)
    standard_error = sigma / np.sqrt(2 * 780)
    assert (torch.abs(spread - sigma) < 4 * standard_error).all()


def test_log_odds_of_noise_is_the_ratio_of_gaussian_densities():
    a, sigma = torch.linspace(-1, 2, 7), 0.3
    log_density = lambda mean: -((a - mean) ** 2) / (2 * sigma**2)  # noqa: E731
    torch.testing.assert_close(noise_log_odds(a, sigma), log_density(1) - log_density(0))


def test_tweedie_gives_the_slope_of_the_noisy_density():
    """A fair coin plus noise: p(a) is a sum of two Gaussians."""
    sigma = 0.4
    a = torch.linspace(-1, 2, 9, dtype=torch.float64, requires_grad=True)
    density = torch.exp(-(a**2) / (2 * sigma**2)) + torch.exp(-((a - 1) ** 2) / (2 * sigma**2))
    (expected,) = torch.autograd.grad(density.log().sum(), a)
    mean = noise_log_odds(a, sigma).sigmoid()
    torch.testing.assert_close(tweedie_score(mean, a, sigma).detach(), expected)
