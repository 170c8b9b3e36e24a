"""One precision matrix after another: every entry of Theta drawn given the other columns.

The likelihood of column j is Gaussian in its entries, given all else but the diagonal entry
Theta_jj, which moves along so that Theta stays definite and is then drawn from a Gamma. Which
entries are edges is drawn one by one, with the strengths of the column's other edges integrated
out: of variables that nearly are sums of others, single entries could not leave 0 alone.
Compiled, for each draw depends on the one before.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from graphprior.evidence.slab import LARGEST_SLAB

ABSENT, UNKNOWN, EDGE = 0, 1, 2
REFRESH = 25  # sweeps after which the inverse is made anew: rounding adds up
LEAST = 1e-15
# Before the data: the logarithm of an edge's mean square strength is normal about that of USUAL,
# with deviation SPREAD. The share of humps in it has the density of Beta(1, WEAK): edges that are
# never weak are likelier than many weak ones, which could not be told from none. Every share of
# positive strengths is as likely.
USUAL, SPREAD, WEAK = 0.05, 0.7, 0.5
FLATTEST, SHARPEST = 1e-4, 0.97  # humps
ONE_SIGN = 1e-3
# The slab is drawn so often in a sweep, each time by so many steps: edges and slab follow each
# other, and drawn once a sweep they need three times as many sweeps to forget where they were.
SLAB_DRAWS, SLAB_STEPS = 5, 6
MOST_TOGETHER = 30  # edges of a variable whose strengths are integrated out together
SUMS = {"reassoc", "contract", "nsz", "arcp"}  # terms of sums may be added in any order


@njit(cache=True, fastmath=SUMS)
def many_sweeps(  # type: ignore[no-untyped-def]
    rng, names, Theta, edges, S, k, free, unknown, share, offset, learn_rate, slab, learn_slab,
    rate, slack, visits, p, strength, square, precision, total, slabs,
):  # fmt: skip
    """Sweeps over all entries, in which the slab (variance, rate, hump, positive) is drawn too."""
    n, sweeps = len(S), len(slabs)
    log_odds = offset.copy()
    # Fixed for the run: were it chosen by the edges that it draws, the draws would not be exact.
    together = np.zeros(n, np.bool_)
    is_exact = slack == 0 and share.min() == share.max()
    for j in range(n):
        together[j] = is_exact and edges[j].sum() <= MOST_TOGETHER
    strengths = np.empty(n * (n - 1) // 2)
    W = Theta.copy()
    for done in range(sweeps):
        if done % REFRESH == 0:
            W[:] = np.linalg.inv(Theta)
        order = rng.permutation(n)
        for part in range(SLAB_DRAWS):
            if learn_rate:
                log_odds[:] = offset + np.log(slab[1] / (1 - slab[1]))
            _sweep(
                rng, names, order[part * n // SLAB_DRAWS : (part + 1) * n // SLAB_DRAWS], together,
                Theta, W, edges, S, k, free, share, log_odds, slab, slack, visits, p, strength,
                square, precision,
            )  # fmt: skip
            count, found, asked = 0, 0, 0
            for i in range(n):
                for j in range(i):
                    asked += unknown[i, j] == UNKNOWN
                    if edges[i, j]:
                        strengths[count] = Theta[i, j]
                        count += 1
                        found += unknown[i, j] == UNKNOWN
            if learn_slab:
                _draw_slab(rng, strengths[:count], slab, slack)
            if learn_rate:
                drawn = rng.beta(rate[0] + found, rate[1] + asked - found)
                slab[1] = min(max(drawn, LEAST), 1 - LEAST)
        slabs[done] = slab
        total += Theta


@njit(cache=True, fastmath=SUMS)
def _sweep(  # type: ignore[no-untyped-def]
    rng, names, order, together, Theta, W, edges, S, k, free, share, log_odds, slab, slack,
    visits, p, strength, square, precisions,
):  # fmt: skip
    """Draw the columns of Theta at ``order``, in place; W is its inverse.

    Strengths of a column are integrated out while it is drawn which of them are edges. With
    slack all entries have strengths, with very many edges that costs too much, and where pairs
    are worth different numbers of rows there is no joint likelihood to integrate: then each entry
    is drawn given the strengths of the others.
    """
    n = len(S)
    u, y = np.zeros(n), np.zeros(n)
    for c in order:
        j = names[c]
        row = W[j].copy()
        if together[j]:
            _column_together(
                rng, names, j, Theta, W, row, u, y, edges, S, k, free, share, log_odds,
                slab, visits, p, strength, square, precisions,
            )  # fmt: skip
        else:
            _column_one_by_one(
                rng, names, j, Theta, W, row, u, y, edges, S, k, free, share, log_odds,
                slab, slack, visits, p, strength, square, precisions,
            )  # fmt: skip
        _replace_column(rng, j, k * share[j] * share[j], S[j, j], Theta, W, u, y, row)


@njit(cache=True, fastmath=SUMS)
def _look(  # type: ignore[no-untyped-def]
    rng, i, j, code, log_odds, slab, slack, precision, shift,
    visits, p, strength, square, precisions,
):  # fmt: skip
    """Whether a pair is an edge, the hump it is of (1 or -1), and the mean of its strength.

    Its likelihood is exp(shift t - precision t**2 / 2).
    """
    m, v = np.sqrt(slab[2] * slab[0]), (1 - slab[2]) * slab[0] + slack
    full = precision + 1 / v
    up, down = (shift + m / v) / full, (shift - m / v) / full
    # Of the two humps, how the log of one's weight differs from that of the other.
    ahead = 0.5 * (up * up - down * down) * full + np.log(slab[3] / (1 - slab[3]))
    behind = np.exp(-abs(ahead))
    is_up = (1.0 if ahead > 0 else behind) / (1 + behind)
    chance = 1.0
    if code == UNKNOWN:
        best = up if ahead > 0 else down
        eta = log_odds + np.log((slab[3] if ahead > 0 else 1 - slab[3]) * (1 + behind))
        eta += 0.5 * (best * best * full - np.log(v * full) - m * m / v)
        if slack > 0:
            less = precision + 1 / slack
            eta += 0.5 * np.log(slack * less) - 0.5 * shift * shift / less
        chance = 1 / (1 + np.exp(-min(max(eta, -700.0), 700.0)))
    elif code == ABSENT:
        chance = 0.0
    a, b = min(i, j), max(i, j)
    visits[a, b] += 1
    p[a, b] += chance
    strength[a, b] += chance * (is_up * up + (1 - is_up) * down)
    square[a, b] += chance * (is_up * up * up + (1 - is_up) * down * down + 1 / full)
    precisions[a, b] += precision
    is_edge = rng.random() < chance
    side = 1 if is_edge and rng.random() < is_up else -1
    return is_edge, side, up if side > 0 else down


@njit(cache=True, fastmath=SUMS)
def _column_one_by_one(  # type: ignore[no-untyped-def]
    rng, names, j, Theta, W, row, u, y, edges, S, k, free, share, log_odds, slab, slack,
    visits, p, strength, square, precisions,
):  # fmt: skip
    """Entries of column j into ``u``, each given the others, and inv(Theta without j) u into y."""
    n, own = len(S), row[j]
    v = (1 - slab[2]) * slab[0] + slack
    y[:], u[:] = -row / own, Theta[j]
    y[j] = u[j] = 0.0
    for i in names:
        if i == j or (free[i, j] == ABSENT and slack == 0):
            continue
        worth = k * share[i] * share[j]
        spread = W[i, i] - row[i] * row[i] / own
        precision = worth * S[j, j] * spread
        shift = -worth * (S[i, j] + S[j, j] * (y[i] - spread * u[i]))
        is_edge, _, mean = _look(
            rng, i, j, free[i, j], log_odds[i, j], slab, slack, precision, shift,
            visits, p, strength, square, precisions,
        )  # fmt: skip
        new = 0.0
        if is_edge:
            new = mean + rng.standard_normal() / np.sqrt(precision + 1 / v)
        elif slack > 0:
            less = precision + 1 / slack
            new = shift / less + rng.standard_normal() / np.sqrt(less)
        edges[i, j] = edges[j, i] = is_edge
        move = new - u[i]
        if move != 0:
            u[i] = new
            slope = row[i] / own
            for a in range(n):
                y[a] += move * (W[i, a] - slope * row[a])
            y[j] = 0.0


@njit(cache=True, fastmath=SUMS)
def _through(j, u, W, row, y):  # type: ignore[no-untyped-def]
    """inv(Theta without j) u into y; W is the inverse of Theta, ``row`` its row j."""
    y[:] = 0.0
    for i in range(len(u)):
        if u[i] != 0:
            slope = row[i] / row[j]
            for a in range(len(u)):
                y[a] += u[i] * (W[i, a] - slope * row[a])
    y[j] = 0.0


@njit(cache=True, fastmath=SUMS)
def _column_together(  # type: ignore[no-untyped-def]
    rng, names, j, Theta, W, row, u, y, edges, S, k, free, share, log_odds, slab,
    visits, p, strength, square, precisions,
):  # fmt: skip
    """The same, with the strengths of the other edges of the column integrated out.

    Given the edges ``at`` and their humps, strengths are Gaussian with precision P + 1/v on these
    and linear term r; G is its inverse, and z = G r their mean.
    """
    n, own = len(S), row[j]
    m, v = np.sqrt(slab[2] * slab[0]), (1 - slab[2]) * slab[0]
    at, r = np.empty(n, np.int64), np.empty(n)
    size = 0
    for i in names:
        if i != j and edges[i, j]:
            odds = np.log(slab[3] / (1 - slab[3])) + 2 * Theta[i, j] * m / v
            side = 1 if rng.random() < 1 / (1 + np.exp(-min(max(odds, -700.0), 700.0))) else -1
            at[size], r[size] = i, side * m / v - k * share[i] * share[j] * S[i, j]
            size += 1
    G, z, c, w = np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n)
    P = _precision(j, at[:size], W, row, S, k, share, v)
    for a in range(size):
        _put_in(a, P[a], P[a, a], r[a], G, z, w)
    for i in names:
        if i == j or free[i, j] == ABSENT:
            continue
        pull = -k * share[i] * share[j] * S[i, j]
        if edges[i, j]:
            here = _place(i, at, size)
            # What it is told by all but its own slab, which it has beside that now.
            own_pull = r[here] - pull
            precision = max(1 / G[here, here] - 1 / v, 0.0)
            shift = z[here] / G[here, here] - own_pull
        else:
            worth = k * share[i] * share[j] * S[j, j]
            alone = worth * (W[i, i] - row[i] * row[i] / own)
            less, down = _beside(i, at, size, worth, W, row, own, c, G, z)
            precision, shift = max(alone - less, 0.0), pull - down
        is_edge, side, _ = _look(
            rng, i, j, free[i, j], log_odds[i, j], slab, 0.0, precision, shift,
            visits, p, strength, square, precisions,
        )  # fmt: skip
        if is_edge and edges[i, j]:
            change = side * m / v - own_pull
            if change != 0:
                r[here] += change
                for a in range(size):
                    z[a] += G[a, here] * change
        elif is_edge:
            at[size], r[size] = i, pull + side * m / v
            _put_in(size, c, alone + 1 / v, r[size], G, z, w)
            size += 1
        elif edges[i, j]:
            size = _take_out(here, at, r, G, z, size)
        edges[i, j] = edges[j, i] = is_edge
    P = _precision(j, at[:size], W, row, S, k, share, v)
    u[:] = 0.0
    _draw_gaussian(rng, P, r, z)
    for a in range(size):
        u[at[a]] = z[a]
    _through(j, u, W, row, y)


@njit(cache=True, fastmath=SUMS)
def _beside(i, at, size, worth, W, row, own, c, G, z):  # type: ignore[no-untyped-def]
    """What the edges of a column take from precision and shift of entry i, which is none.

    Its precisions with them go into c.
    """
    for a in range(size):
        c[a] = worth * (W[i, at[a]] - row[i] * row[at[a]] / own)
    less, down = 0.0, 0.0
    for a in range(size):
        told = 0.0
        for b in range(size):
            told += G[a, b] * c[b]
        less += c[a] * told
        down += c[a] * z[a]
    return less, down


@njit(cache=True, fastmath=SUMS)
def _draw_gaussian(rng, P, r, z):  # type: ignore[no-untyped-def]
    """A draw of precision P and linear term r into z; P becomes its Cholesky factor."""
    size = len(P)
    for a in range(size):
        for b in range(a + 1):
            total = P[a, b]
            for c in range(b):
                total -= P[a, c] * P[b, c]
            P[a, b] = np.sqrt(max(total, 1e-300)) if a == b else total / P[b, b]
    for a in range(size):
        z[a] = r[a]
        for b in range(a):
            z[a] -= P[a, b] * z[b]
        z[a] /= P[a, a]
    for a in range(size):
        z[a] += rng.standard_normal()
    for a in range(size - 1, -1, -1):
        for b in range(a + 1, size):
            z[a] -= P[b, a] * z[b]
        z[a] /= P[a, a]


@njit(cache=True, fastmath=SUMS)
def _put_in(size, c, alone, r, G, z, w):  # type: ignore[no-untyped-def]
    """With one edge more, in place: its precision ``alone``, with the others c, linear term r."""
    full, mean = alone, r
    for a in range(size):
        w[a] = 0.0
        for b in range(size):
            w[a] += G[a, b] * c[b]
    for a in range(size):
        full -= c[a] * w[a]
        mean -= c[a] * z[a]
    full = max(full, 1e-300)
    mean /= full
    for a in range(size):
        for b in range(size):
            G[a, b] += w[a] * w[b] / full
        G[a, size] = G[size, a] = -w[a] / full
        z[a] -= w[a] * mean
    G[size, size], z[size] = 1 / full, mean


@njit(cache=True, fastmath=SUMS)
def _precision(j, at, W, row, S, k, share, v):  # type: ignore[no-untyped-def]
    """Of the strengths of edges ``at`` of column j: what the data tell, and the slab's."""
    size = len(at)
    P = np.empty((size, size))
    for a in range(size):
        for b in range(size):
            worth = k * share[j] * share[j]  # the same for all
            P[a, b] = worth * S[j, j] * (W[at[a], at[b]] - row[at[a]] * row[at[b]] / row[j])
        P[a, a] += 1 / v
    return P


@njit(cache=True, fastmath=SUMS)
def _place(i, at, size):  # type: ignore[no-untyped-def]
    """Where edge i stands among those of the column."""
    here = 0
    while here < size and at[here] != i:
        here += 1
    return here


@njit(cache=True, fastmath=SUMS)
def _take_out(here, at, r, G, z, size):  # type: ignore[no-untyped-def]
    """Without the edge at a place, in place; how many are left."""
    last = size - 1
    for a in range(size):
        G[a, here], G[a, last] = G[a, last], G[a, here]
    for a in range(size):
        G[here, a], G[last, a] = G[last, a], G[here, a]
    at[here], r[here] = at[last], r[last]
    z[here], z[last] = z[last], z[here]
    for a in range(last):
        share = G[a, last] / G[last, last]
        z[a] -= share * z[last]
        for b in range(last):
            G[a, b] -= share * G[last, b]
    return last


@njit(cache=True, fastmath=SUMS)
def _replace_column(rng, j, rows, s, Theta, W, u, y, row):  # type: ignore[no-untyped-def]
    """Column j of Theta is ``u`` now; draw its diagonal entry, and bring the inverse up to date."""
    n, own = len(Theta), row[j]
    rest = rng.standard_gamma(rows / 2 + 1) * 2 / (rows * s)
    for a in range(n):
        down, up = row[a] / own, y[a] / rest
        for b in range(n):
            W[a, b] += up * y[b] - down * row[b]
    Theta[j] = Theta[:, j] = u
    Theta[j, j] = rest + (u * y).sum()
    W[j] = W[:, j] = -y / rest
    W[j, j] = 1 / rest


@njit(cache=True, fastmath=SUMS)
def _draw_slab(rng, strengths, slab, slack):  # type: ignore[no-untyped-def]
    """Size, shape and sign of the strengths of edges, by Metropolis steps, in place."""
    z = np.array([
        np.log(slab[0]), np.log(slab[2] / (1 - slab[2])), np.log(slab[3] / (1 - slab[3]))
    ])  # fmt: skip
    now = _log_density(strengths, z, slack)
    for step in range(SLAB_STEPS):
        new, which = z.copy(), step % 3
        wide = 0.4 if which == 0 else 1.5
        new[which] += (wide if rng.random() < 0.5 else wide / 4) * rng.standard_normal()
        then = _log_density(strengths, new, slack)
        if np.log(rng.random()) < then - now:
            z, now = new, then
    slab[0], slab[2], slab[3] = np.exp(z[0]), 1 / (1 + np.exp(-z[1])), 1 / (1 + np.exp(-z[2]))


@njit(cache=True, fastmath=SUMS)
def _log_density(strengths, z, slack):  # type: ignore[no-untyped-def]
    """Of strengths and slab together; z are log variance, log-odds of hump and of positive."""
    variance, hump, positive = np.exp(z[0]), 1 / (1 + np.exp(-z[1])), 1 / (1 + np.exp(-z[2]))
    if variance > LARGEST_SLAB or not FLATTEST < hump < SHARPEST:
        return -np.inf
    if not ONE_SIGN < positive < 1 - ONE_SIGN:
        return -np.inf
    m, v = np.sqrt(hump * variance), (1 - hump) * variance + slack
    up, down = np.log(positive), np.log(1 - positive)
    # Of variance, hump and sign, in the logarithm and in log-odds.
    out = -0.5 * ((z[0] - np.log(USUAL)) / SPREAD) ** 2
    out += np.log(hump) + WEAK * np.log(1 - hump) + up + down
    out -= 0.5 * len(strengths) * np.log(v)
    for t in strengths:
        first, second = up - 0.5 * (t - m) ** 2 / v, down - 0.5 * (t + m) ** 2 / v
        higher = max(first, second)
        out += higher + np.log(np.exp(first - higher) + np.exp(second - higher))
    return out
