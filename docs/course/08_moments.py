# %% [markdown]
# # 8 · Moments: enumeration, then products, then linear time
#
# Let each unit $j$ of a circuit report its likelihood of a row: $l_j(x) = p_j(x_{S_j})$. If $x$ is drawn from the
# circuit, this **hierarchical likelihood vector** has a mean $\mu$ and a covariance $S$. The HLD test is built on them.
# We compute both in three ways, always exactly. For nine variables enumeration is still the fastest; its cost doubles
# with each variable, that of the third way grows by a constant. About 25 minutes.

# %%
import os
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import pcircuit

os.environ["PCIRCUIT_ENGINE"] = "numpy"  # small circuits: compiling takes longer than the lesson

digits = load_digits()
rows = (
    (digits.images[:, 2:5, 2:5] > 7).reshape(len(digits.images), 9).astype(int)
)  # nine pixels: enumerable
circuit, _ = pcircuit.hclt(rows, num_latents=3).fit_em(rows[:400], num_epochs=8)
nodes = pcircuit.select_nodes(circuit)  # inputs and sums
circuit, len(nodes)

# %% [markdown]
# ## 1 · Enumeration
#
# $\mu_j = \sum_x p(x)\, l_j(x)$ and $S_{ij} = \sum_x p(x)\, l_i(x)\, l_j(x) - \mu_i \mu_j$: write it down, and wait.

# %%
start = time.perf_counter()
states = np.array(list(np.ndindex(*[2] * 9)))
p = np.exp(circuit.log_likelihood(states))
L = circuit.node_likelihoods(states, nodes=nodes)
mean = p @ L
S = (L - mean).T @ (p[:, None] * (L - mean))
print(
    f"{len(states)} states, {1e3 * (time.perf_counter() - start):.1f} ms; "
    f"36 pixels would need {2**36:.2g} states"
)

# %% [markdown]
# ## 2 · Products: algorithm 1 of the paper
#
# A unit is a circuit on the variables of its scope: `pcircuit.subcircuit`. Three operations of notebook 7 give the
# moments. *Marginalise* the circuit to the smallest region that holds both scopes. *Multiply* it by the two units.
# *Sum* over all states, which is an overlap. The cost is polynomial, but there are $m^2$ pairs, each with a product
# circuit of its own. Twelve nodes are enough to see it.


# %%
def algorithm_1(circuit, nodes):
    """The mean and covariance of the likelihoods of some nodes, pair by pair."""
    vtree, region = circuit.vtree, circuit.nodes.region
    marginals = {}
    mean, S = np.empty(len(nodes)), np.empty((len(nodes), len(nodes)))

    def marginal(top):  # p on the scope of a region
        if top not in marginals:
            marginals[top] = pcircuit.marginalize(circuit, keep=vtree.scope(top))
        return marginals[top]

    for i, node in enumerate(nodes):
        own = int(region[node])
        mean[i] = pcircuit.overlap(marginal(own), pcircuit.subcircuit(circuit, node))
        for j, other in enumerate(nodes[: i + 1]):
            top = vtree.lowest_common_ancestor(own, int(region[other]))
            left, right = (pcircuit.subcircuit(circuit, n, top) for n in (node, other))
            product = pcircuit.multiply(marginal(top), left)
            S[i, j] = S[j, i] = pcircuit.overlap(product, right) - mean[i] * mean[j]
    return mean, S


start, some = time.perf_counter(), np.linspace(0, len(nodes) - 1, 12).astype(int)
mean_1, S_1 = algorithm_1(circuit, nodes[some].tolist())
print(f"12 of {len(nodes)} nodes: {1e3 * (time.perf_counter() - start):.0f} ms")
assert np.allclose(mean_1, mean[some])
assert np.allclose(S_1, S[np.ix_(some, some)])

# %% [markdown]
# ## 3 · Linear time
#
# Scopes of two units are equal, nested or disjoint. *Disjoint*: given the hidden state at the region where they meet,
# they are independent. *Nested*: the inner one is integrated against a part of the outer. So one recursion over regions
# serves all pairs at once, and what the test needs, $\mu$, $\mathrm{tr}\,S$ and $\mathrm{tr}\,S^2$, takes time *linear*
# in the number of variables. $S$ itself is never formed.

# %%
start = time.perf_counter()
moments = circuit.exact_moments()
print(f"{1e3 * (time.perf_counter() - start):.1f} ms")
assert np.allclose(moments.mean, mean)
assert np.allclose(moments.covariance(), S)
assert np.isclose(moments.trace, np.trace(S))
assert np.isclose(moments.trace_sq, (S**2).sum())
assert np.allclose(moments.mean[some], mean_1)  # algorithm 1 again
assert np.allclose(moments.covariance()[np.ix_(some, some)], S_1)

# %% [markdown]
# ## Looking at S

# %%
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
pcircuit.plot_covariance(moments, ax=axes[0])
pcircuit.plot_eigenvalues(moments, ax=axes[1])
# %% [markdown]
# Light grey lines separate regions. Units of one region answer the same question, and vary together; brown is positive,
# purple negative. The eigenvalues fall fast: likelihood vectors of rows live in few directions. Their effective number,
# $(\mathrm{tr}\,S)^2/\mathrm{tr}\,S^2$, will matter in notebook 10.
#
# ## What goes wrong, and why
#
# **Sampling instead.** Draw rows, take the sample covariance: easy, and good to a few percent. But a *test* compares a
# batch with $\mu$; if $\mu$ itself has an error from $n$ draws, the variance of the difference is $1 + T/n$ times what the test
# assumes for batches of $T$ rows, and the false alarms come later, in production.

# %%
for n in (100, 1000, 5000):
    drawn = circuit.node_likelihoods(circuit.sample(n, rng=n), nodes=nodes)
    error = np.abs(np.cov(drawn.T) - S).max() / np.abs(S).max()
    print(f"{n:6} draws: largest error of an entry {error:.1%} of the largest entry")

# %% [markdown]
# **Cancellation.** $E\,l^2 - (E\,l)^2$ subtracts nearly equal numbers where a likelihood hardly varies. The library
# works with centred quantities and bounds its rounding errors: what is below the bound is set to zero.
#
# ## Exercises
#
# 1. Show that the mean of the root's likelihood is $\sum_x p(x)^2$, an overlap.
# 2. Verify $\mathrm{tr}\,S^2 = \sum_i \lambda_i^2$ with the eigenvalues.
# 3. `moments.operator()` multiplies $S$ with a vector without forming it. Find its largest eigenvalue by power
#    iteration.
# 4. How does the time of `exact_moments` grow with the number of variables? Try random circuits of 100, 200, 400, 800.

# %%
# Solutions
assert np.isclose(moments.mean[-1], pcircuit.overlap(circuit, circuit))

eigenvalues = np.linalg.eigvalsh(moments.covariance())
assert np.isclose((eigenvalues**2).sum(), moments.trace_sq)

S_times, v = moments.operator(), np.ones(len(nodes))
for _ in range(200):
    v = S_times @ v
    v = v / np.linalg.norm(v)
assert np.isclose(v @ (S_times @ v), eigenvalues[-1])

for V in (100, 200, 400, 800):  # in smaller ones the cost of a call hides the growth
    large = pcircuit.rat_spn([2] * V, num_units=3, depth=4, rng=0)
    large.exact_moments()  # what is imported at the first call is not counted
    start = time.perf_counter()
    large.exact_moments()
    print(f"{V} variables: {1e3 * (time.perf_counter() - start):.1f} ms")
