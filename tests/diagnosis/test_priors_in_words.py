import pytest

from graphprior.diagnosis.priors import weights_in_words
from graphprior.priors.fit_check import PriorGain
from graphprior.priors.load import INDEPENDENT


def gain(name, weight, bits=0.1, known=True):
    return PriorGain(name, bits, 0.02, 50, known, 0.2, weight)


def test_nothing_is_said_where_nothing_was_checked():
    assert weights_in_words(()) is None


@pytest.mark.parametrize("known", [True, False])
def test_the_prior_that_weighs_most_comes_first(known):
    none, best = gain(INDEPENDENT, 0.2, 0.0, known), gain("rivers", 0.8, 0.1, known)
    words = weights_in_words((none, best))
    assert words == weights_in_words((best, none))
    assert words.startswith("the graph looks most like prior rivers (weight 0.80)")
    assert f"{INDEPENDENT} have weight 0.20" in words
    assert ("known pairs that were hidden from it" in words) == known


def test_that_no_prior_fits_is_said():
    words = weights_in_words((gain("rivers", 0.001, -0.4), gain(INDEPENDENT, 0.999, 0.0)))
    assert words.startswith("no prior predicts much better")
    assert "above 0.99" in words
    assert "prior rivers has weight below 0.01 (gain -0.400" in words


def test_one_prior_alone_is_told_by_what_it_gains():
    assert weights_in_words((gain("rivers", 1.0),)).startswith("prior rivers gains 0.100 ± 0.020")


def test_weights_that_rest_on_nothing_are_told_as_such():
    gains = tuple(PriorGain.unchecked(name, 0.5) for name in ("rivers", INDEPENDENT))
    assert weights_in_words(gains) == (
        "there was too little to check the priors on; weights: prior rivers 0.50, "
        f"{INDEPENDENT} 0.50"
    )
