# %% [markdown]
# # 13 · Leaves of your own
#
# So far every variable had a table of categories. Nothing in a circuit asks for that: a leaf may be any distribution of one
# variable. This lesson uses the families that are there, and then adds one in thirty lines: the **von Mises** distribution,
# for angles. About 25 minutes.

# %%
import os
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import i0e, ive
from sklearn.datasets import load_digits

import pcircuit
from pcircuit.leaves import LeafFamily

os.environ["PCIRCUIT_ENGINE"] = "numpy"  # small circuits: compiling takes longer than the lesson

# %% [markdown]
# ## Angles in real data
#
# A handwritten digit leans. The second moments of its ink give the direction of its long axis, an angle $\theta$ that is the
# same as $\theta + \pi$. The doubled angle $2\theta$ lives on a circle. With it go three ordinary numbers: the amount of
# ink, the length of the digit and its width.

# %%
images = load_digits().images
y, x = np.mgrid[:8, :8]
ink = images.sum(axis=(1, 2))
centre = [(images * axis).sum(axis=(1, 2)) / ink for axis in (x, y)]
dx, dy = x - centre[0][:, None, None], y - centre[1][:, None, None]
xx, yy, xy = ((images * product).sum(axis=(1, 2)) / ink for product in (dx**2, dy**2, dx * dy))
angle = np.arctan2(2 * xy, xx - yy)
spread = np.hypot(xx - yy, 2 * xy)
rows = np.column_stack(
    [angle, ink, np.sqrt((xx + yy + spread) / 2), np.sqrt((xx + yy - spread) / 2)]
)
train, test = rows[::2], rows[1::2]
plt.hist(angle, 60)
# %% [markdown]
# Most digits stand upright, at $\pm\pi$: the two ends of the axis are neighbours. A normal distribution does not know that.
#
# ## Densities instead of tables
#
# `leaves=` says which family the columns get. The structure comes from quantiles of the columns, the start values too.

# %%
normal, history = pcircuit.hclt(train, num_latents=6, leaves="gaussian").fit_em(
    train, pseudocount=1
)
normal, normal.regions[0], normal.log_likelihood(test).mean()

# %% [markdown]
# Everything that the lessons before computed by sums over states is an integral now. Missing values are NaN.

# %%
holes = test[:3].copy()
holes[:, 1] = np.nan
normal.log_likelihood(holes), normal.sample(given=holes[:1], rng=0)

# %% [markdown]
# ## A family is a class
#
# $$p_k(x) = \frac{\exp(\kappa_k \cos(x - \mu_k))}{2 \pi I_0(\kappa_k)}$$
#
# An object is all $K$ units of a variable, with arrays of which row $k$ belongs to unit $k$. Each method answers one
# question. EM needs two: `statistics` adds up what rows say, here $\sum f$, $\sum f \cos x$ and $\sum f \sin x$;
# `maximize` turns sums into parameters. The mean direction is that of the sum, and $\kappa$ solves
# $I_1(\kappa) / I_0(\kappa) = R$ for its mean length $R$. Newton's method does it.


# %%
@dataclass(frozen=True, eq=False, repr=False)
class VonMises(LeafFamily):
    """Distributions on a circle."""

    mu: np.ndarray
    kappa: np.ndarray

    def log_density(self, x):
        logs = self.kappa * (np.cos(x[:, None] - self.mu) - 1) - np.log(2 * np.pi * i0e(self.kappa))
        return np.where(np.isnan(x)[:, None], 0.0, logs)

    def log_bound(self):
        return -np.log(2 * np.pi * i0e(self.kappa))

    def statistics(self, x, flows):
        parts = np.stack([np.ones_like(x), np.cos(x), np.sin(x)], axis=1)
        return flows.T @ np.where(np.isnan(x)[:, None], 0.0, parts)

    def maximize(self, statistics, pseudocount):
        n, c, s = statistics.T
        R = np.minimum(np.hypot(c, s) / (n + pseudocount), 0.999)
        kappa = R * (2 - R**2) / (1 - R**2)
        for _ in range(20):
            A = ive(1, kappa) / ive(0, kappa)
            kappa = np.maximum(kappa - (A - R) / (1 - A / np.maximum(kappa, 1e-9) - A**2), 1e-6)
        return VonMises(np.arctan2(s, c), kappa)

    def overlap2(self, other):
        both = self.kappa[:, None] * np.exp(1j * self.mu[:, None]) + other.kappa * np.exp(
            1j * other.mu
        )
        fall = np.abs(both) - np.add.outer(self.kappa, other.kappa)
        return (
            i0e(np.abs(both))
            * np.exp(fall)
            / (2 * np.pi * np.outer(i0e(self.kappa), i0e(other.kappa)))
        )

    def sample(self, units, rng):
        return rng.vonmises(self.mu[units], self.kappa[units])

    def mode(self):
        return self.mu

    @classmethod
    def like(cls, x, num_units):
        return cls(np.full(num_units, 0.0), np.full(num_units, 1.0))


# %% [markdown]
# That is all. It goes wherever a family goes: a class in place of a name.

# %%
leaves = [VonMises, "gaussian", "gaussian", "gaussian"]
round_one, history = pcircuit.hclt(train, num_latents=6, leaves=leaves).fit_em(train, pseudocount=1)
round_one.log_likelihood(test).mean(), normal.log_likelihood(test).mean()

# %%
drawn = round_one.sample(2000, rng=0)
plt.hist([test[:, 0], drawn[:, 0]], 40, density=True, label=["test rows", "drawn"])
plt.legend()
# %% [markdown]
# ## What goes wrong, and why
#
# **A question that the family cannot answer.** Moments of unit densities need integrals of three densities. The class has
# none, and the error says so.

# %%
try:
    round_one.exact_moments()
except pcircuit.leaves.LeafError as error:
    print(error)

# %% [markdown]
# **A likelihood without a maximum.** A normal unit that closes in on one row has a density as large as you like. So
# `Gaussian` keeps a least standard deviation, 2 % of that of its column; the class above stops at $R = 0.999$.
#
# **Comparing densities with probabilities.** A table of eight bins has a log-likelihood of its codes, not of the numbers.
# Subtract the logarithm of the width of each row's bin to compare the two.
#
# **Units.** A density in metres is a thousand times that in millimetres. Differences of log-likelihoods between models do
# not depend on it; the numbers themselves do.

# %% [markdown]
# ## Exercises
#
# 1. Check by the trapezium rule that each unit of `VonMises` integrates to one, and that `overlap2` is right.
# 2. Add `overlap3` by quadrature over 720 points, and compute the exact moments of the circuit.
# 3. EM should never lose likelihood without a pseudocount. Does it here?

# %%
# Solutions
grid = np.linspace(-np.pi, np.pi, 721)[:-1]
step = grid[1] - grid[0]
units = round_one.inputs[0].leaves
density = np.exp(units.log_density(grid))
assert np.allclose(density.sum(axis=0) * step, 1)
assert np.allclose(density.T @ density * step, units.overlap2(units))


class WithMoments(VonMises):
    """The same, with integrals of three densities."""

    def overlap3(self):
        p = np.exp(self.log_density(grid))
        return np.einsum("xa,xb,xc->abc", p, p, p) * step


regions = [
    pcircuit.InputRegion(0, WithMoments(units.mu, units.kappa))
    if getattr(region, "variable", None) == 0
    else region
    for region in round_one.regions
]
exact = pcircuit.Circuit(round_one.vtree, regions).exact_moments()
many = round_one.node_likelihoods(round_one.sample(100_000, rng=1), nodes=exact.nodes)
assert np.allclose(many.mean(axis=0), exact.mean, rtol=0.05)
_, history = pcircuit.hclt(train, num_latents=3, leaves=leaves).fit_em(
    train, pseudocount=0, num_epochs=30
)
assert np.diff(history).min() > -1e-9
