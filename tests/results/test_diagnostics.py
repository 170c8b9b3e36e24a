"""Diagnostics: plain values on disk, the same again when read, and old or damaged ones."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from graphprior.choices import LikelihoodName, Use
from graphprior.engines.facts import FACTS, DirectFacts, EngineFacts, GibbsFacts, LangevinFacts
from graphprior.engines.langevin import Langevin
from graphprior.errors import notes
from graphprior.estimator import PartialGGM
from graphprior.evidence.evidence import EvidenceFacts
from graphprior.evidence.precision import PrecisionFacts
from graphprior.observations.observations import ObservationFacts
from graphprior.observations.series import Order
from graphprior.priors.fit_check import PriorGain
from graphprior.priors.noise import Schedule
from graphprior.results.diagnostics import Diagnostics

SHORT = Schedule.relaxed(T=2)
FITS = {
    "direct": ({}, EvidenceFacts, DirectFacts),
    "gibbs": ({"engine": "gibbs"}, EvidenceFacts, GibbsFacts),
    "langevin": ({"engine": Langevin(schedule=SHORT)}, PrecisionFacts, LangevinFacts),
    "prior alone": ({"use": Use.PRIOR, "prior": "ergm"}, type(None), DirectFacts),
}
GAIN = PriorGain("ergm", 0.2, 0.1, 50, True, rate=0.2)
WHOLE = Diagnostics(
    ObservationFacts(4, 9, effective_k=8.5, least_k=8.0), 3, 0.5, "gibbs", LikelihoodName.MARGINAL,
    prior_gain=GAIN, prior_gains=(GAIN,),
    row_order=Order(["a", "b"], 0.5, 2.0), data=EvidenceFacts(edge_rate=0.2),
    posterior=GibbsFacts(3, 4, 0.1, 1.01, 300.0), other={"of_another_release": [1]},
)  # fmt: skip


@pytest.fixture(scope="module", params=FITS)
def fitted(request):
    """Diagnostics of a fit, and the kinds of their parts."""
    settings, data, posterior = FITS[request.param]
    X = np.random.default_rng(0).standard_normal((30, 5))
    with notes():
        model = PartialGGM(**{"prior": None, "random_state": 0, **settings}).fit(X)
    return model.diagnostics_, data, posterior


def test_each_engine_and_each_kind_of_data_has_its_part(fitted):
    found, data, posterior = fitted
    assert isinstance(found.data, data)
    assert isinstance(found.posterior, posterior)
    assert found.observations.k == 30
    assert found.unknown_pairs == 10


def test_what_is_written_is_plain_and_read_back_as_it_was(fitted):
    found, *_ = fitted
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    again = Diagnostics.from_dict(told)
    assert again == found
    assert again.to_dict() == told
    assert not again.other


def test_every_part_is_read_back_and_so_is_what_this_release_does_not_know():
    told = json.loads(json.dumps(WHOLE.to_dict()))
    assert Diagnostics.from_dict(told) == WHOLE
    assert told["row_order"]["inflation"] == 2.0
    assert told["r_hat"] == 1.01
    assert told["of_another_release"] == [1]


def test_no_two_parts_write_under_one_name():
    for kind in FACTS.values():
        for data in (EvidenceFacts(edge_rate=0.1), PrecisionFacts()):
            found = replace(WHOLE, posterior=kind(), data=data)
            parts = (found.observations, data, found.posterior)
            own = {"unknown_pairs", "believed_pairs", "fixed_by_bootstrap", "threshold", "engine"}
            own |= {"likelihood", "precision_shrinkage", "prior_gain", "prior_gains", "row_order"}
            count = len(own) + len(found.other) + sum(len(asdict(part)) for part in parts)
            assert len(found.to_dict()) == count


def test_an_engine_of_ones_own_is_read_back_as_plain_values():
    class Own(EngineFacts):
        pass

    found = replace(WHOLE, engine="Own", posterior=Own(), other={"steps_of_mine": 3})
    assert Diagnostics.from_dict(found.to_dict()).other == {"steps_of_mine": 3}


def test_what_older_folders_lack_is_taken_as_usual():
    least = ("n", "k", "unknown_pairs", "threshold", "engine", "likelihood", "prior_gain")
    told = {name: WHOLE.to_dict()[name] for name in (*least, "precision_shrinkage")}
    found = Diagnostics.from_dict(told)
    assert found.observations.effective_k == found.observations.least_k == told["k"]
    assert found.data is None
    assert found.posterior is None
    assert found.row_order is None


@pytest.mark.parametrize("name", ["n", "k", "threshold", "engine", "likelihood", "prior_gain"])
def test_damaged_diagnostics_are_refused(name):
    told = WHOLE.to_dict()
    with pytest.raises((ValueError, TypeError)):
        Diagnostics.from_dict({key: value for key, value in told.items() if key != name})
    with pytest.raises((ValueError, TypeError)):
        Diagnostics.from_dict(told | {name: [{}]})


def test_all_of_it_is_shown_a_line_each():
    lines = repr(WHOLE).splitlines()
    assert lines[0] == "Diagnostics"
    for name in ("k", "r_hat", "inflation", "edge_rate", "of_another_release"):
        assert sum(line.strip().startswith(f"{name}: ") for line in lines) == 1, name
