# %% [markdown]
# # 7 · Products and overlaps
#
# The product of two circuits on one v-tree is a circuit again, and the sum of a product over all states never needs it
# to be formed. This single trick gives expectations, distances between distributions, and in the next notebook the exact
# moments that the HLD test stands on. About 20 minutes.

# %%
import os

import numpy as np
from sklearn.datasets import load_breast_cancer

import pcircuit

os.environ["PCIRCUIT_ENGINE"] = "numpy"  # small circuits: compiling takes longer than the lesson

data = load_breast_cancer()
columns = [0, 1, 4, 6, 7, 8]
rows = (data.data[:, columns] > np.median(data.data[:, columns], axis=0)).astype(int)
sick, well = rows[data.target == 0], rows[data.target == 1]
tree = pcircuit.chow_liu_tree(rows, num_categories=[2] * 6)
start = pcircuit.hclt(
    rows, num_latents=3, num_categories=[2] * 6, tree=tree
)  # one structure for both
p, _ = start.fit_em(sick, num_epochs=10)
q, _ = start.fit_em(well, num_epochs=10)
states = np.array(list(np.ndindex(*[2] * 6)))
P, Q = (np.exp(c.log_likelihood(states)) for c in (p, q))

# %% [markdown]
# ## The product
#
# For units $a$ of one circuit and $b$ of the other, on the same scope,
#
# $$\Big(\sum_p w_{ap}\, A_p\Big)\Big(\sum_{p'} v_{bp'}\, B_{p'}\Big) = \sum_{p,p'} w_{ap} v_{bp'}\, A_p B_{p'},
# \qquad A_p B_{p'} = \prod_c a_c\, b_c ,$$
#
# because both split their scope in the same way. Pairs of units become units.

# %%
product = p.multiply(q)
assert np.allclose(np.exp(product.log_likelihood(states)), P * Q)
print(p)
print(product)

# %%
few = pcircuit.marginalize(p, keep=[0, 1])  # small enough to look at
ax = few.multiply(few).plot(names=["radius", "texture"])

# %% [markdown]
# ## The overlap
#
# Sum the lines above over $x$: each line becomes a line about *numbers*, and tables of pairs of units are all one needs.
# Ten lines of Python:


# %%
def overlap(a, b):
    """Sum over all states of a(x) b(x)."""
    tables = []
    for r, (left, right) in enumerate(zip(a.regions, b.regions, strict=True)):
        if isinstance(left, pcircuit.InputRegion):
            tables.append(left.probs @ right.probs.T)
            continue
        M = 1.0
        for i, child in enumerate(a.vtree.children(r)):
            M = M * tables[child][np.ix_(left.products[:, i], right.products[:, i])]
        tables.append(left.weights @ M @ right.weights.T)
    return tables[-1].item()


assert np.isclose(overlap(p, q), P @ Q)
assert np.isclose(overlap(p, q), pcircuit.overlap(p, q))

# %% [markdown]
# ## What it is good for
#
# | question | as overlaps |
# | --- | --- |
# | expectation of a function $f$ that is a circuit | $\langle p, f\rangle$ |
# | its variance | $\langle p, f, f\rangle - \langle p, f\rangle^2$ |
# | squared distance of two distributions | $\langle p,p\rangle - 2\langle p,q\rangle + \langle q,q\rangle$ |
# | probability that two draws agree | $\langle p, q\rangle$ |
#
# A likelihood is itself a circuit. So "how likely does the model of the healthy find a sick patient, on average" is an
# expectation, exact, without drawing anybody:

# %%
print(f"E of q(x) under p: {p.expectation(q):.5f}, standard deviation {np.sqrt(p.variance(q)):.5f}")
assert np.isclose(p.expectation(q), P @ Q)
assert np.isclose(p.variance(q), P @ (Q - P @ Q) ** 2)
distance = pcircuit.overlap(p, p) - 2 * pcircuit.overlap(p, q) + pcircuit.overlap(q, q)
assert np.isclose(distance, ((P - Q) ** 2).sum())

# %% [markdown]
# ## What goes wrong, and why
#
# **Growth.** Products multiply sizes: $f^n$ has up to $K^n$ units per region. Squares and cubes are fine, high powers are not.
#
# **V-trees.** Two circuits that split their variables differently have no common pairs of scopes; the product of two such
# circuits can be exponentially large. The library refuses, with a sentence:

# %%
for n in (1, 2, 3):
    print(f"power {n}: {p.power(n)}")
other = pcircuit.hclt(rows[:, ::-1], num_latents=2, num_categories=[2] * 6)
try:
    p.multiply(other)
except ValueError as error:
    print("refused:", error)

# %% [markdown]
# **Logarithms.** $\ln p(x)$ is not a circuit. The Kullback-Leibler divergence is exact for deterministic circuits, and
# where the states are few enough to be summed one by one; otherwise it is an estimate from draws. The library says which
# of the two it is.

# %%
print(pcircuit.kl_divergence(p, q))  # 64 states: summed
big_p, big_q = (
    pcircuit.rat_spn([4] * 12, num_units=3, depth=2, rng=0).fit_em(
        np.random.default_rng(seed).integers(0, 4, (50, 12)), num_epochs=2
    )[0]
    for seed in (1, 2)
)
print(pcircuit.kl_divergence(big_p, big_q, num_samples=500, rng=0))

# %% [markdown]
# ## Exercises
#
# 1. The collision probability of a distribution is $\sum_x p(x)^2$. Which of the two populations is more diverse?
# 2. Use `sum_indicator` and `multiply` for the distribution of sick patients *given* that exactly three of the six
#    measurements are high. Check one marginal by enumeration.
# 3. By the inequality of Cauchy and Schwarz, $\langle p,q\rangle^2 \le \langle p,p\rangle\langle q,q\rangle$. Compute the
#    cosine of the angle between the two distributions.

# %%
# Solutions
diversity = {name: 1 / pcircuit.overlap(c, c) for name, c in (("sick", p), ("well", q))}
print("effective numbers of states:", {name: round(value, 1) for name, value in diversity.items()})
assert np.isclose(diversity["sick"], 1 / (P**2).sum())

three = pcircuit.sum_indicator(p.vtree, [[0, 1]] * 6, {3})
given_three = p.multiply(three).normalize()
inside = states.sum(axis=1) == 3
assert np.isclose(
    given_three.marginal_tables()[0][1], P[inside & (states[:, 0] == 1)].sum() / P[inside].sum()
)

cosine = pcircuit.overlap(p, q) / np.sqrt(pcircuit.overlap(p, p) * pcircuit.overlap(q, q))
assert 0 <= cosine <= 1
print(f"cosine {cosine:.3f}")
