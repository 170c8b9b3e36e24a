"""Do probabilities mean what they say on the user's own problem? A check by simulation.

Graphs and precision matrices are drawn from the posterior, a table is simulated
from each, and each table is fitted as the user's was. There the graph behind the
table is known, so that probabilities can be held against it: of pairs that are
edges with 90%, are 90% edges?

All tables come from the posterior of one data set. The check therefore speaks of
graphs like the one found; it cannot tell whether the data are of the model's kind.
And what these data happened to say of a pair is in all tables: only on average over data
are right probabilities calibrated, so as few pairs as are unknown may be off together.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import logit
from scipy.stats import chi2, kstest, norm
from sklearn.base import clone

from graphprior._parameters import generator
from graphprior.batch.work import Place
from graphprior.choices import Missing
from graphprior.errors import GraphPriorError, GraphPriorWarning, notes
from graphprior.gaussian.simulate import simulate_observations
from graphprior.graphs.matrices import vech
from graphprior.types import Mask, Matrix, Progress, Vector

Counts = npt.NDArray[np.int64]

TRUSTED, UNTOLD = "trusted", "cannot tell"
CONFIDENT, CAUTIOUS = "too confident", "too cautious"
MANY, FEW = "too many edges", "too few edges"
VERDICTS = (TRUSTED, UNTOLD, CONFIDENT, CAUTIOUS, MANY, FEW)
MOST_BINS, PAIRS_IN_BIN = 10, 10
CHANCES = 200  # times that chance is simulated
# Errors are judged against how unsure the probabilities are, the mean of 2p(1 - p): below the
# first share of it they do not matter, and where right ones may reach the second (the third, if
# these are off by more than chance) nothing is told. Log-odds that are twice too large are off by
# about .6 of it, halved ones by about .3.
SMALL, BLURRED, SUSPECT = 0.1, 1 / 3, 1 / 4
CERTAIN = 0.02  # chance that is smaller than this never keeps from telling
LARGEST_LOGIT, LEAST = 8.0, 1e-9
FEWEST_RANKS, RARE = 5, 0.01  # ranks that can be judged, and a p-value that counts


class Bin(NamedTuple):
    """Pairs of about one probability: its mean, the share that are edges, and how many."""

    p: float
    share: float
    pairs: int


@dataclass(frozen=True)
class SelfCheck:
    """What simulated data sets say of the probabilities.

    Attributes
    ----------
    simulations, asked : int
        Data sets that were fitted, and those asked for: more after an interruption.
    rows, unknown_pairs : int
        Size of each data set, and unknown pairs of its graph.
    threshold : float
        Probability from which on a pair is called an edge.
    expected_edges, true_edges : float, int
        Among the unknown pairs of all data sets: the sum of the probabilities, and the truth.
    error : float
        Calibration error: the mean distance of probability and share of edges over ``bins``.
    chance, chance_high : float
        What it would be if every pair were an edge with its probability, apart from all others:
        on average, and what 95 of 100 do not exceed.
    limit : float
        What right probabilities rarely exceed, given that all data sets have the same unknown
        pairs, each with what the data said of it. ``chance_high`` where that is more.
    bins : tuple of Bin
        All pairs by probability, as nearly equal in number as equal probabilities allow.
    called, called_right : int
        Pairs called edges, and those of them that are.
    ranks : tuple of int
        For each data set, at how many of its ``draws`` graphs the number of edges is below the
        true one; equal ones are put at random. Empty where no graphs are drawn.
    ranks_p : float or None
        p-value of uniform ranks (Kolmogorov and Smirnov). Right graphs may lean to one side too,
        to that of what the one data set said, so it is told and no verdict follows from it.
    alike_p : float or None
        p-value of ranks that are no more at the ends than they should be, apart from how they
        lean. Where it is small the graphs drawn are too much alike.
    verdict : str
        "trusted", "too confident", "too cautious", "too many edges", "too few edges" or
        "cannot tell".
    """

    simulations: int
    asked: int
    rows: int
    unknown_pairs: int
    threshold: float
    expected_edges: float
    true_edges: int
    error: float
    chance: float
    chance_high: float
    limit: float
    bins: tuple[Bin, ...]
    called: int
    called_right: int
    ranks: tuple[int, ...]
    draws: int
    ranks_p: float | None
    alike_p: float | None
    verdict: str

    @property
    def pairs(self) -> int:
        """Unknown pairs of all data sets."""
        return self.simulations * self.unknown_pairs

    @property
    def edge_ratio(self) -> float | None:
        """Expected over true number of edges; None where there is no edge."""
        return self.expected_edges / self.true_edges if self.true_edges else None

    @property
    def right_share(self) -> float | None:
        """Of the pairs called edges, the share that are; None where none was called one."""
        return self.called_right / self.called if self.called else None

    @property
    def found_share(self) -> float | None:
        """Of the edges, the share that was found; None where there is none."""
        return self.called_right / self.true_edges if self.true_edges else None

    @property
    def too_alike(self) -> bool:
        """Whether the graphs drawn differ less than they should."""
        return self.alike_p is not None and self.alike_p < RARE

    def words(self) -> str:
        """One sentence: what follows."""
        sets = f"{self.simulations} simulated data set{'s' * (self.simulations != 1)}"
        if self.verdict == TRUSTED:
            said = (
                f"Probabilities on a problem like this one can be trusted: in {sets} they are off "
                f"by {self.error:.3f} on average, and right ones may be off by {self.limit:.3f} "
                "by chance"
            )
        elif self.verdict == UNTOLD:
            said = (
                f"Whether probabilities can be trusted cannot be told from {self.pairs} pairs in "
                f"{sets}: right ones may be off by {self.limit:.2f} by chance; "
            )
            few = self.limit > 2 * self.chance_high  # that part stays in any number of data sets
            said += "too few pairs are unknown" if few else "more simulations tell more"
        elif self.verdict in (CONFIDENT, CAUTIOUS):
            said = f"Probabilities on a problem like this one are {self.verdict}: {self._example()}"
        else:
            said = (
                f"On a problem like this one {self.verdict} are expected, "
                f"{self.expected_edges:.0f} where there are {self.true_edges}: {self._example()}"
            )
        if self.too_alike:
            said += (
                "; the graphs drawn are too much alike, for the true number of edges lies beyond "
                f"theirs too often (p = {self.alike_p:.1g}): do not trust intervals of whole graphs"
            )
        return said + "."

    def _example(self) -> str:
        """The bin that shows best what is wrong; confidence may be in an edge or in none."""
        bins = self.bins
        if self.verdict in (CONFIDENT, CAUTIOUS):
            side = -1 if self.verdict == CONFIDENT else 1
            bins = tuple(b for b in bins if side * (b.share - b.p) * (b.p - 0.5) > 0) or bins
        p, share, _ = max(bins, key=lambda b: abs(b.share - b.p))
        what, are = "edges", "are"
        if p < 0.5 and self.verdict in (CONFIDENT, CAUTIOUS):
            p, share, what, are = 1 - p, 1 - share, "no edges", "are none"
        only = "only " if share < p else ""
        return f"of pairs said to be {what} with about {_percent(p)}, {only}{_percent(share)} {are}"

    def table(self) -> list[tuple[str, str]]:
        """All numbers for people: what each is, and its value."""
        ratio, right, found = self.edge_ratio, self.right_share, self.found_share
        wanted = f" of {self.asked} asked for" if self.simulations < self.asked else ""
        rows = [
            ("data sets simulated", f"{self.simulations}{wanted}, of {self.rows} rows"),
            ("unknown pairs", f"{self.pairs:,} ({self.unknown_pairs:,} in each)"),
            (
                "edges expected, and true",
                f"{self.expected_edges:.1f}, {self.true_edges}"
                + ("" if ratio is None else f" (ratio {ratio:.2f})"),
            ),
            ("calibration error", f"{self.error:.3f}"),
            ("the same by chance", f"{self.chance:.3f}, rarely above {self.chance_high:.3f}"),
            ("tolerated, for the unknown pairs stay the same", f"{self.limit:.3f}"),
            (
                f"called edges (from {self.threshold:.2f} on)",
                f"{self.called}" + ("" if right is None else f", of which {right:.0%} are"),
            ),
            ("edges found", "there is none" if found is None else f"{found:.0%}"),
        ]
        if self.ranks_p is not None:
            rows.append(("graphs drawn of each data set", f"{self.draws}"))
            rows.append(("ranks of the number of edges uniform", f"p = {self.ranks_p:.2g}"))
            rows.append(("no more at the ends than they should", f"p = {self.alike_p:.2g}"))
        return rows

    def facts(self) -> dict[str, Any]:
        """All of it as JSON has it, with the sentence."""
        shares = ("edge_ratio", "right_share", "found_share")
        return {
            "words": self.words(),
            **asdict(self),
            "bins": [b._asdict() for b in self.bins],
            "ranks": list(self.ranks),
            **{name: getattr(self, name) for name in shares},
        }

    @classmethod
    def from_facts(cls, facts: Any) -> SelfCheck:
        """What `facts` wrote; other things raise whatever they raise."""
        told = {field.name: facts[field.name] for field in fields(cls)}
        whole = ("simulations", "asked", "rows", "unknown_pairs", "true_edges", "called", "draws")
        for name in (*whole, "called_right"):
            told[name] = int(told[name])
        for name in ("threshold", "expected_edges", "error", "chance", "chance_high", "limit"):
            told[name] = float(told[name])
        told["bins"] = tuple(
            Bin(float(b["p"]), float(b["share"]), int(b["pairs"])) for b in told["bins"]
        )
        told["ranks"] = tuple(int(rank) for rank in told["ranks"])
        for name in ("ranks_p", "alike_p"):
            told[name] = None if told[name] is None else float(told[name])
        if told["verdict"] not in VERDICTS or not told["bins"] or told["simulations"] < 1:
            raise ValueError(f"verdict {told['verdict']!r}, bins {told['bins']}")
        return cls(**told)


class _Refit(NamedTuple):
    """The answer on one simulated data set."""

    p: Vector
    threshold: float
    drawn_edges: Counts


@dataclass(frozen=True, eq=False)
class _Again:
    """Simulates a table and fits it as the user's was; processes get one to work with."""

    model: Any
    known: Matrix
    beliefs: Matrix | None
    mean: Vector
    rows: int
    gaps: Mask | None

    @classmethod
    def of(cls, model: Any) -> _Again:
        """The same settings. Rows of a series become as many independent ones as they are worth."""
        problem, rows, gaps = model.problem_, model.problem_.k, None
        fresh = clone(model).set_params(verbose=False, random_state=None)
        if problem.observations.time_series:
            rows = max(round(model.diagnostics_.observations.effective_k), 2)
            fresh.set_params(time_series=False)
        elif problem.observations.missing != Missing.REFUSE and np.isnan(problem.X).any():
            gaps = np.isnan(problem.X)
        return cls(fresh, problem.known, problem.beliefs, model.location_, rows, gaps)

    def __call__(self, text: str) -> _Refit:
        """The answer on the table that ``text`` (JSON) tells how to make."""
        told = json.loads(text)
        rng = np.random.default_rng(told["seed"])
        X = self.mean + simulate_observations(np.array(told["Theta"]), self.rows, rng)
        if self.gaps is not None:
            X[self.gaps] = np.nan
        model = clone(self.model).set_params(random_state=_seed(rng))
        try:
            with notes():  # they are about data that nobody has
                model.fit(X, known=self.known, beliefs=self.beliefs)
        except GraphPriorError as error:
            raise GraphPriorError(f"a simulated data set could not be fitted: {error}") from error
        U = vech(model.problem_.U)
        drawn = vech(model.samples_)[:, U].sum(axis=1, dtype=np.int64)
        return _Refit(vech(model.edge_probabilities_)[U], float(model.threshold_), drawn)


def check_model(
    model: Any,
    simulations: int = 20,
    random_state: Any = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> SelfCheck:
    """Simulate data sets from the posterior of a fitted model, fit each, compare with its graph.

    Each has as many rows as X had and, with ``missing`` other than "refuse", gaps at the same
    places. Where X was a series (``time_series=True``), as many complete, independent rows are
    simulated as it was worth, and fitted as such: the check does not tell whether that worth is
    right. Beliefs and the known part are those of the model.

    Parameters
    ----------
    model : PartialGGM
        Fitted; of a likelihood from which a precision matrix can be drawn.
    simulations : int
        Number of data sets; each costs as much as ``fit`` did.
    random_state : int, Generator, RandomState or None
        Same seed, same answer, whatever ``jobs``.
    jobs : int
        Number of processes.
    progress : callable or None
        Called with (data sets done, data sets in all).

    Returns
    -------
    SelfCheck
        After Ctrl-C of the data sets that were done, with a warning.
    """
    refuse_counts(simulations, jobs)
    _refuse(model)
    rng = generator(random_state)
    graphs, precisions = model.draw(simulations, random_state=_seed(rng))
    seeds, last = [_seed(rng) for _ in range(simulations)], rng.spawn(1)[0]
    units = [
        (str(i), json.dumps({"seed": seed, "Theta": np.asarray(Theta).tolist()}))
        for i, (seed, Theta) in enumerate(zip(seeds, precisions, strict=True))
    ]
    again = _Again.of(model)
    done = _fit_all(again, units, jobs, progress)
    truth = vech(np.asarray(graphs)[sorted(done)])[:, vech(model.problem_.U)].astype(np.int64)
    refits = [done[i] for i in sorted(done)]
    return _compare(truth, refits, simulations, again.rows, last)


def refuse_counts(simulations: Any, jobs: Any) -> None:
    """Numbers of data sets and of processes that are none."""
    for name, value in (("simulations", simulations), ("jobs", jobs)):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise GraphPriorError(f"{name} = {value!r}: expected an integer of at least 1")


def _refuse(model: Any) -> None:
    """Models from which no data can be simulated, and those that have nothing to check."""
    if not model.problem_.U.any():
        raise GraphPriorError("no pair was unknown: there is no probability to check")
    if model.diagnostics_.likelihood is None:
        raise GraphPriorError(
            "use = 'prior' does not look at the data, so no data can be simulated from its "
            "posterior: check a model with use = 'both' or 'data'"
        )
    if model.diagnostics_.is_plugged_in:
        raise GraphPriorError(
            "with the plug-in likelihood numbers are shares of graphs drawn, not probabilities, "
            "and there is no posterior of the precision matrix to simulate from: use engine "
            "'direct' or 'gibbs'"
        )


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31 - 1))


def _fit_all(
    again: _Again, units: Sequence[tuple[str, str]], jobs: int, progress: Progress | None
) -> dict[int, _Refit]:
    """The answers by number; fewer than wanted after Ctrl-C."""
    done: dict[int, _Refit] = {}
    try:
        if progress is not None:
            progress(0, len(units))
        with Place(int(jobs)).open() as run:
            for key, refit in run(again, units):
                done[int(key)] = refit
                if progress is not None:
                    progress(len(done), len(units))
    except KeyboardInterrupt:
        if not done:
            raise
        warnings.warn(
            f"stopped after {len(done)} of {len(units)} simulated data sets: the self-check is of "
            "those",
            GraphPriorWarning,
            stacklevel=4,
        )
    return done


def _compare(
    truth: Counts, refits: Sequence[_Refit], asked: int, rows: int, rng: np.random.Generator
) -> SelfCheck:
    """Hold the answers against the graphs (data sets, unknown pairs) behind the data."""
    p, a = np.concatenate([refit.p for refit in refits]), truth.ravel()
    called = np.concatenate([refit.p >= refit.threshold for refit in refits])
    which = _bin_of(p)
    chances = [_error(rng.random(len(p)) < p, p, which) for _ in range(CHANCES)]
    high = float(np.quantile(chances, 0.95))
    limit = max(high, _shared(a - p, which, truth.shape[1], rng))
    error = _error(a, p, which)
    ranks, ranks_p, alike_p = _ranks(truth.sum(axis=1), refits, rng)
    return SelfCheck(
        simulations=len(refits),
        asked=int(asked),
        rows=rows,
        unknown_pairs=truth.shape[1],
        threshold=refits[0].threshold,
        expected_edges=float(p.sum()),
        true_edges=int(a.sum()),
        error=error,
        chance=float(np.mean(chances)),
        chance_high=high,
        limit=limit,
        bins=_bins(a, p, which),
        called=int(called.sum()),
        called_right=int(a[called].sum()),
        ranks=ranks,
        draws=len(refits[0].drawn_edges),
        ranks_p=ranks_p,
        alike_p=alike_p,
        verdict=_verdict(a, p, error, high, limit),
    )


def _bin_of(p: Vector) -> npt.NDArray[np.intp]:
    """Bins of equal numbers of pairs, from the least p on; equal p are never parted."""
    count = int(np.clip(len(p) // PAIRS_IN_BIN, 1, MOST_BINS))
    cuts = np.sort(p)[np.arange(1, count) * len(p) // count]
    found = np.searchsorted(np.unique(cuts), p, side="right")
    return np.asarray(np.unique(found, return_inverse=True)[1], np.intp)


def _bins(a: npt.NDArray[Any], p: Vector, which: npt.NDArray[np.intp]) -> tuple[Bin, ...]:
    sizes = np.bincount(which)
    means, shares = (np.bincount(which, weights=part) / sizes for part in (p, a))
    return tuple(
        Bin(float(mean), float(share), int(size))
        for mean, share, size in zip(means, shares, sizes, strict=True)
    )


def _error(a: npt.NDArray[Any], p: Vector, which: npt.NDArray[np.intp]) -> float:
    """Mean distance of probability and share of edges, by pairs."""
    return float(np.abs(np.bincount(which, weights=a - p)).sum() / len(p))


def _shared(
    off: Vector, which: npt.NDArray[np.intp], pairs: int, rng: np.random.Generator
) -> float:
    """The error that 95 of 100 do not exceed if each pair is off on either side by chance alone.

    What a pair is off in all data sets together keeps its size and gets a random sign (a wild
    bootstrap, clustered by pair).
    """
    bins = int(which.max()) + 1
    pair = np.arange(len(off)) % pairs
    sums = np.bincount(pair * bins + which, weights=off, minlength=pairs * bins)
    sums = sums.reshape(pairs, bins)
    signs = (rng.choice([-1.0, 1.0], pairs) for _ in range(CHANCES))
    return float(np.quantile([np.abs(sign @ sums).sum() for sign in signs], 0.95) / len(off))


def _verdict(a: Counts, p: Vector, error: float, high: float, limit: float) -> str:
    """What the probabilities are, in a word or three.

    Where they are off by more than chance: one shift of all log-odds, or one factor of them,
    whichever mends more.
    """
    unsure = float(np.mean(2 * p * (1 - p)))
    if error <= max(limit, SMALL * unsure):
        bar = BLURRED if error <= max(high, SMALL * unsure) else SUSPECT
        return UNTOLD if limit > max(bar * unsure, CERTAIN) else TRUSTED
    z = np.clip(logit(p), -LARGEST_LOGIT, LARGEST_LOGIT)

    def loss(eta: Vector) -> float:
        return float((np.logaddexp(0, eta) - a * eta).sum())

    shift = minimize_scalar(lambda x: loss(z + x), bounds=(-5.0, 5.0), method="bounded")
    factor = minimize_scalar(lambda x: loss(z * x), bounds=(0.0, 5.0), method="bounded")
    if shift.fun < factor.fun:
        return MANY if shift.x < 0 else FEW
    return CONFIDENT if factor.x < 1 else CAUTIOUS


def _ranks(
    edges: Counts, refits: Sequence[_Refit], rng: np.random.Generator
) -> tuple[tuple[int, ...], float | None, float | None]:
    """Ranks of the true numbers of edges among those of the graphs drawn, and two p-values.

    A rank is spread evenly over its place, which makes uniform ranks uniform numbers; on the
    scale of a Gaussian their variance about their mean has a chi-squared distribution.
    """
    M = len(refits[0].drawn_edges)
    if not M:
        return (), None, None
    ranks = []
    for true, refit in zip(edges, refits, strict=True):
        ties = int((refit.drawn_edges == true).sum())
        ranks.append(int((refit.drawn_edges < true).sum() + rng.integers(ties + 1)))
    if len(ranks) < FEWEST_RANKS:
        return tuple(ranks), None, None
    uniform = (np.array(ranks) + rng.random(len(ranks))) / (M + 1)
    z = norm.ppf(np.clip(uniform, LEAST, 1 - LEAST))
    alike_p = float(chi2.sf(((z - z.mean()) ** 2).sum(), len(z) - 1))
    return tuple(ranks), float(kstest(uniform, "uniform").pvalue), alike_p


def _percent(p: float) -> str:
    """A share for people: the rare ones keep a digit that tells them apart from none."""
    return f"{p:.0%}" if 0.015 <= p <= 0.985 or p in (0, 1) else f"{p:.1%}"
