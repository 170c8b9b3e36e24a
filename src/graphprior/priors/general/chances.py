"""Graphs whose pairs are drawn one by one, each with its own chance."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from graphprior.types import Matrix

Draws = np.random.Generator
Adjacency = npt.NDArray[np.bool_]


def log_uniform(rng: Draws, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(max(low, high)))))


def mean_degree(rng: Draws, n: int) -> float:
    """How many edges a node has on average: mostly a few, in a sixth of the graphs any share."""
    if rng.random() < 1 / 6:
        return float(rng.uniform(0.05, 0.7) * (n - 1))
    return min(log_uniform(rng, 0.8, 10.0), 0.7 * (n - 1))


def toss(rng: Draws, chance: Matrix) -> Adjacency:
    """Each pair once, with its chance."""
    A = np.triu(rng.random(chance.shape) < chance, 1)
    return A | A.T


def toss_scaled(rng: Draws, weight: Matrix, degree: float) -> Adjacency:
    """Pairs with chances that grow with ``weight`` and sum to the mean degree wanted.

    A chance is w / (1 + w) of the scaled weight, so that none exceeds one.
    """
    n, weight = len(weight), np.maximum(weight, 1e-12)
    above = np.triu_indices(n, 1)
    wanted, low, high = degree * n / 2, -40.0, 40.0
    for _ in range(25):
        middle = (low + high) / 2
        scaled = np.exp(middle) * weight[above]
        low, high = (middle, high) if (scaled / (1 + scaled)).sum() < wanted else (low, middle)
    scaled = np.exp(low) * weight
    return toss(rng, scaled / (1 + scaled))


def groups_of(rng: Draws, n: int, most: int = 8) -> npt.NDArray[np.intp]:
    """Which group each node is in, even or lopsided."""
    count = int(rng.integers(2, max(3, min(most, n // 2) + 1)))
    shares = rng.dirichlet(np.full(count, log_uniform(rng, 0.5, 20.0)))
    return rng.choice(count, n, p=shares)


def independent(rng: Draws, n: int) -> Adjacency:
    """All pairs alike."""
    return toss(rng, np.full((n, n), mean_degree(rng, n) / max(n - 1, 1)))


def uneven_degrees(rng: Draws, n: int) -> Adjacency:
    """Chances proportional to the product of two propensities."""
    spread = log_uniform(rng, 0.3, 2.0)
    power_law = rng.pareto(rng.uniform(1.0, 3.0), n) + 1
    propensity = power_law if rng.random() < 0.5 else np.exp(spread * rng.normal(size=n))
    return toss_scaled(rng, np.outer(propensity, propensity), mean_degree(rng, n))


def blocks(rng: Draws, n: int) -> Adjacency:
    """Groups with a rate of edges for each pair of groups."""
    group = groups_of(rng, n)
    count, kind = group.max() + 1, rng.random()
    rates = np.exp(rng.normal(size=(count, count)) * rng.uniform(0.5, 2.5))
    rates = np.triu(rates) + np.triu(rates, 1).T
    if kind < 0.5:  # within groups
        rates = np.exp(-rng.uniform(1, 6)) + np.diag(rng.uniform(0.3, 1, count))
    elif kind < 0.65:  # between groups
        rates = rates * (1 - np.eye(count)) + 1e-3
    uneven = np.exp(rng.normal(size=n) * rng.uniform(0, 1.2) * (rng.random() < 0.5))
    return toss_scaled(rng, rates[np.ix_(group, group)] * np.outer(uneven, uneven),
                       mean_degree(rng, n))  # fmt: skip


def nested_groups(rng: Draws, n: int) -> Adjacency:
    """Groups in groups: a pair's chance falls with the level at which its nodes part."""
    levels = int(rng.integers(2, 6))
    codes = rng.integers(0, int(rng.integers(2, 4)), (n, levels))
    alike = np.cumprod(codes[:, None] == codes[None], axis=2).sum(2)
    return toss_scaled(rng, np.exp(rng.uniform(0.7, 3.0) * alike), mean_degree(rng, n))


def overlapping_groups(rng: Draws, n: int) -> Adjacency:
    """Nodes in several groups; the more they share, the likelier an edge."""
    count = int(rng.integers(2, max(3, n // 3 + 1)))
    member = rng.random((n, count)) < log_uniform(rng, 1.0, 3.0) / count
    shared = (member.astype(float) @ member.T) * rng.uniform(1.0, 3.0)
    within = 1 - np.exp(-shared)
    if rng.random() < 0.5:
        return toss(rng, np.where(shared > 0, within, 0.2 / n))
    return toss_scaled(rng, within + rng.uniform(1e-3, 0.05), mean_degree(rng, n))


def in_space(rng: Draws, n: int) -> Adjacency:
    """Nodes at places; near ones are linked, sharply or softly, some more than others."""
    dimensions = int(rng.integers(1, 4))
    places = rng.random((n, dimensions)) * np.exp(rng.normal(size=dimensions) * 0.4)
    if rng.random() < 0.3:
        places += rng.normal(size=(8, dimensions))[groups_of(rng, n)]
    apart = np.sqrt(((places[:, None] - places[None]) ** 2).sum(2))
    scale = np.median(apart) * log_uniform(rng, 0.05, 0.6)
    weight = np.exp(-np.minimum((apart / max(scale, 1e-9)) ** rng.choice([1.0, 2.0, 6.0]), 25))
    uneven = np.exp(rng.normal(size=n) * rng.uniform(0, 1.3) * (rng.random() < 0.5))
    return toss_scaled(rng, weight * np.outer(uneven, uneven), mean_degree(rng, n))


def hidden_traits(rng: Draws, n: int) -> Adjacency:
    """Nodes with hidden vectors; an edge is as likely as they point the same way, or opposite."""
    traits = rng.normal(size=(n, int(rng.integers(1, 5)))) * rng.uniform(0.5, 2.0)
    signs = np.where(rng.random(traits.shape[1]) < 0.75, 1.0, -1.0)
    return toss_scaled(
        rng, np.exp(np.clip((traits * signs) @ traits.T, -20, 20)), mean_degree(rng, n)
    )


def core_and_rim(rng: Draws, n: int) -> Adjacency:
    """A dense core, a rim that is linked to it, little within the rim."""
    core = rng.permutation(n) < max(2, round(n * rng.uniform(0.05, 0.4)))
    inside, across, outside = 1.0, rng.uniform(0.05, 0.8), rng.uniform(0.0, 0.08)
    weight = np.where(np.outer(core, core), inside, np.where(core[:, None] | core, across, outside))
    if rng.random() < 0.5:
        return toss_scaled(rng, weight + 1e-3, mean_degree(rng, n))
    return toss(rng, weight * rng.uniform(0.3, 1.0))


def few_to_many(rng: Draws, n: int) -> Adjacency:
    """Some nodes each reach a share of all others; these have few edges among themselves."""
    count = max(1, round(n * rng.uniform(0.03, 0.3)))
    reach = np.zeros(n)
    reach[rng.choice(n, count, replace=False)] = rng.beta(0.7, 1.5, count)
    chance = np.maximum(reach[:, None], reach[None]) + rng.uniform(0, 0.3 / n)
    both = np.minimum(reach[:, None], reach[None]) > 0
    return toss(rng, np.where(both, rng.uniform(0, 0.6), chance) * rng.uniform(0.3, 1.0))


def two_sides(rng: Draws, n: int) -> Adjacency:
    """Two or more sides with edges between them only, or nearly."""
    sides = groups_of(rng, n, most=4)
    between = sides[:, None] != sides[None]
    uneven = np.exp(rng.normal(size=n) * rng.uniform(0, 1.5))
    weight = between * np.outer(uneven, uneven) + rng.choice([0.0, 0.02])
    return toss_scaled(rng, weight, min(mean_degree(rng, n), n / 3))


def nested_neighbours(rng: Draws, n: int) -> Adjacency:
    """Each node's neighbours contain those of the lesser ones, up to some noise."""
    rank = rng.random(n)
    total = rank[:, None] + rank[None]
    steep = log_uniform(rng, 5.0, 60.0)
    return toss_scaled(rng, np.exp(np.clip(steep * (total - 1.5), -30, 30)), mean_degree(rng, n))


def along_a_line(rng: Draws, n: int) -> Adjacency:
    """Nodes in an order, linked to those a few steps away; closed to a ring or not."""
    i = np.arange(n)
    apart = np.abs(i[:, None] - i)
    apart = np.minimum(apart, n - apart) if rng.random() < 0.5 else apart
    reach = int(rng.integers(1, max(2, min(6, n // 4) + 1)))
    chance = np.where(apart <= reach, rng.uniform(0.5, 1.0), 0.0)
    return toss(rng, np.maximum(chance, rng.choice([0.0, 0.5]) / n))
