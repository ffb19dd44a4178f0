# %% [markdown]
# # 3 · Evaluating in one pass
#
# The value of a circuit is computed in one pass, from the inputs to the root. The same pass gives marginals, for free. We
# write it in ten lines, compare with the library, and run into the smallest number that a computer knows. About 20 minutes.

# %%
import inspect
import os
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import pcircuit
from pcircuit import InputRegion

os.environ["PCIRCUIT_ENGINE"] = "numpy"  # small circuits: compiling takes longer than the lesson

digits = load_digits()
rows = (
    (digits.images[:, 1:7, 1:7] > 7).reshape(len(digits.images), 36).astype(int)
)  # 36 pixels, black or white
circuit, _ = pcircuit.fit_em(pcircuit.hclt(rows[:300], num_latents=4), rows[:300], num_epochs=5)
circuit

# %% [markdown]
# (The next two notebooks explain where such a circuit comes from.)
#
# ## Ten lines
#
# | unit | value |
# | --- | --- |
# | input $k$ of variable $v$ | $p_k(x_v)$, and 1 where $x_v$ is missing |
# | product $p$ | $\prod_c$ of unit `products[p, c]` of child $c$ |
# | sum $k$ | $\sum_p$ `weights[k, p]` $\cdot$ product $p$ |
#
# Regions come in post-order, so children are ready when their parent needs them.


# %%
def values(circuit, row):
    """Values of the units that each region shows."""
    shown = []
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            level = row[region.variable]
            shown.append(region.probs.sum(axis=1) if level < 0 else region.probs[:, level])
            continue
        product = 1.0
        for a, child in enumerate(circuit.vtree.children(r)):
            product = product * shown[child][region.products[:, a]]
        shown.append(region.weights @ product)
    return shown


mine = [np.log(values(circuit, row)[-1][0]) for row in rows[:20]]
assert np.allclose(mine, circuit.log_likelihood(rows[:20]))
print("the first rows have log-likelihoods", np.round(mine[:4], 2))

# %% [markdown]
# The library's own code is the same three lines, on many rows at a time, with one addition that we come to below. Read
# it; the compiled engine computes exactly this.

# %%
print(inspect.getsource(pcircuit.inference.likelihood.upward).split('"""')[2])

# %% [markdown]
# ## Marginals for free
#
# Summing a missing variable out of the circuit means summing it out of its inputs: sums and products let it through,
# because scopes of factors are disjoint. And the entries of an input sum to one. So *missing* just means: write 1.
# $2^{18}$ completions of half a picture cost as much as one row.

# %%
half = rows[0].copy()
half[18:] = -1  # the lower half is not observed
assert np.isclose(np.log(values(circuit, half)[-1][0]), circuit.log_likelihood([half])[0])

small = pcircuit.marginalize(circuit, keep=range(8))  # eight variables are few enough to enumerate
states = np.array(list(np.ndindex(*[2] * 8)))
partly = np.array([1, -1, 0, -1, -1, 1, -1, -1])
agree = ((partly < 0) | (states == partly)).all(axis=1)
assert np.isclose(
    np.exp(small.log_likelihood(states[agree])).sum(), np.exp(small.log_likelihood([partly]))[0]
)

# %% [markdown]
# ## What it costs
#
# Each parameter is used once for each row: time is linear in the size of the circuit, not exponential in the number of
# variables. Evaluating all rows at once replaces Python's loop by matrix products.

# %%
start = time.perf_counter()
circuit.log_likelihood(rows)
seconds = time.perf_counter() - start
print(
    f"{circuit.num_parameters} parameters, {len(rows)} rows: {1e6 * seconds / len(rows):.1f} microseconds a row"
)
worst, best = np.argsort(circuit.log_likelihood(rows))[[0, -1]]
figure, axes = plt.subplots(1, 2, figsize=(5, 2.5), layout="constrained")
for ax, n, label in zip(axes, (best, worst), ("most likely", "least likely"), strict=True):
    ax.imshow(rows[n].reshape(6, 6), cmap="gray_r")
    ax.set(title=f"{label}: a {digits.target[n]}", xticks=[], yticks=[])

# %% [markdown]
# ## What goes wrong, and why
#
# Likelihoods of many variables are tiny. The smallest positive double is about $5\cdot10^{-324}$; a thousand fair coins
# already give $2^{-1000} \approx 10^{-301}$, and 1100 give zero. The ten lines then say $\ln 0 = -\infty$.

# %%
coins = pcircuit.rat_spn([2] * 1200, num_units=2, depth=2, rng=0)
row = np.zeros(1200, dtype=int)
with np.errstate(divide="ignore"):
    naive = np.log(values(coins, row)[-1][0])
print("ten lines:", naive, " library:", coins.log_likelihood([row])[0])
assert naive == -np.inf

# %% [markdown]
# One cure is a logarithm in every unit: safe, and slow. The other is in the code above: where numbers get small, take a
# power of two out of all units of a row (`power`, exact in binary arithmetic), sum its exponents, and put them back into
# the logarithm at the root. Only rows in which one unit falls hopelessly far behind another need logarithms everywhere.
#
# ## Exercises
#
# 1. Which pixels, when missing, change the log-likelihood of the first picture most?
# 2. Change `values` so that it survives the 1200 coins: divide each region's numbers by their maximum, and keep the sum
#    of the logarithms.

# %%
# Solutions
masked = np.repeat(rows[:1], 36, axis=0)
np.fill_diagonal(masked, -1)
gain = circuit.log_likelihood(masked) - circuit.log_likelihood(rows[:1])
assert (gain >= -1e-12).all()  # a marginal is never smaller
print("most surprising pixels:", np.argsort(-gain)[:3].tolist())


def log_value(circuit, row):
    shown, logs = [], []
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            value, log = region.probs[:, row[region.variable]], 0.0
        else:
            children = circuit.vtree.children(r)
            product = np.prod(
                [shown[c][region.products[:, a]] for a, c in enumerate(children)], axis=0
            )
            value, log = region.weights @ product, sum(logs[c] for c in children)
        shown.append(value / value.max())
        logs.append(log + np.log(value.max()))
    return logs[-1] + np.log(shown[-1][0])


assert np.isclose(log_value(coins, row), coins.log_likelihood([row])[0])
assert np.isclose(
    log_value(circuit, rows[0]), mine[0]
)  # where nothing underflows, it agrees with `values`
