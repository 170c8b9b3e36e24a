"""Choices: plain words do as well as members, everywhere."""

import copy
import inspect
import json
import pickle
from typing import get_type_hints

import numpy as np
import pytest
from sklearn.base import clone

from graphprior import choices
from graphprior.choices import Choice, EngineName, LikelihoodName, Missing, PriorWeight, Use
from graphprior.cli.estimate import estimate_command
from graphprior.cli.main import main
from graphprior.engines.langevin import Langevin
from graphprior.engines.run import ENGINES, engine_of
from graphprior.errors import GraphPriorError, notes
from graphprior.estimator import PartialGGM

KINDS = Choice.__subclasses__()
PARAMETERS = {"engine": EngineName, "use": Use, "prior_weight": PriorWeight, "missing": Missing}


@pytest.mark.parametrize("kind", KINDS)
def test_a_member_is_its_word(kind):
    for member in kind:
        word = str(member.value)
        assert member == word
        assert hash(member) == hash(word)
        assert (repr(member), f"{member}", json.dumps(member)) == (repr(word), word, f'"{word}"')
        assert kind.of("name", word) is kind.of("name", member) is member
        assert pickle.loads(pickle.dumps(member)) is copy.deepcopy(member) is member


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", ["", "neither", None, 1, [], np.zeros(2)])
def test_other_values_are_refused_with_the_words_that_can_be(kind, wrong):
    with pytest.raises(GraphPriorError, match=r"thing = .*expected one of") as error:
        kind.of("thing", wrong)
    assert all(repr(str(member.value)) in str(error.value) for member in kind)


def test_every_engine_has_its_name():
    assert set(ENGINES) == set(EngineName)
    for name in EngineName:
        assert engine_of(name) == engine_of(str(name))


@pytest.mark.parametrize(("name", "kind"), PARAMETERS.items())
def test_the_estimator_takes_words_and_members_and_keeps_them(name, kind):
    X = np.random.default_rng(0).standard_normal((40, 4))
    assert inspect.signature(PartialGGM).parameters[name].default in set(kind)
    member = [*kind][1]
    given = [PartialGGM(None, **{name: value}, random_state=0) for value in (member, str(member))]
    assert repr(given[0]) == repr(given[1])
    for model in given:
        assert clone(model).get_params()[name] is model.get_params()[name]
    if name != "engine":
        with notes():
            one, other = (model.fit(X).edge_probabilities_ for model in given)
        np.testing.assert_array_equal(one, other)


def test_a_likelihood_is_a_word_or_a_member():
    for name in LikelihoodName:
        assert Langevin(likelihood=name) == Langevin(likelihood=str(name))
        assert Langevin(likelihood=str(name)).plugs_in == (name is LikelihoodName.PLUG_IN)


def test_the_command_line_offers_each_choice(monkeypatch, capsys):
    taken = get_type_hints(estimate_command)
    kinds = PARAMETERS | {
        "likelihood": LikelihoodName,
        "others": choices.Others,
        "transform": choices.TransformKind,
    }
    for name, kind in kinds.items():
        assert taken[name] in (kind, kind | None)
        option = f"--{name.replace('_', '-')}"
        line = ["graphprior", "estimate", "a.csv", "--out", "b", option, "neither"]
        monkeypatch.setattr("sys.argv", line)
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 2
        said = capsys.readouterr().err
        assert option in said
        assert all(repr(str(word)) in said for word in kind)
