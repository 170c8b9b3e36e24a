"""Whether log Bayes factors mean what they say, pooled over simulated pairs."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit


def worst_bin(log_bf, truth, bins, fewest, record_property):
    """How far frequencies are from probabilities beyond 0.02, in standard errors, at the worst."""
    log_odds = log_bf + logit(truth.mean())
    p, worst = expit(log_odds), 0.0
    for low, high in bins:
        here = (log_odds >= low) & (log_odds < high)
        assert here.sum() > fewest
        standard_error = np.sqrt((p * (1 - p))[here].sum()) / here.sum()
        error = truth[here].mean() - p[here].mean()
        record_property(f"frequency_minus_probability_from_{low}_at_{p[here].mean():.3f}", error)
        worst = max(worst, (abs(error) - 0.02) / standard_error)
    record_property("worst_bin_in_standard_errors", worst)
    return worst


def slope(log_bf, truth, record_property):
    """Slope of a logistic regression of the truth on the log Bayes factor, and its error."""

    def loss(x):
        z = x[0] + x[1] * np.clip(log_bf, -8, 8)
        return (np.logaddexp(0, z) - truth * z).sum()

    fit = minimize(loss, [logit(truth.mean()), 1.0])
    standard_error = np.sqrt(fit.hess_inv[1, 1])
    record_property("slope", fit.x[1])
    record_property("standard_error", standard_error)
    return fit.x[1], standard_error
