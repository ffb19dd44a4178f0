# %% [markdown]
# # 4 · Chow-Liu from counts
#
# This is the first circuit that we learn. Chow and Liu (1968) showed that among all distributions in which each variable
# depends on at most one other, the one nearest to the data is found by counting pairs and a maximum spanning tree. It is
# exact, needs no iterations, and in circuit form is one of the best-behaved models there are. About 20 minutes.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

import pcircuit

os.environ["PCIRCUIT_ENGINE"] = "numpy"  # small circuits: compiling takes longer than the lesson

wine = load_wine()
thirds = np.quantile(wine.data, [1 / 3, 2 / 3], axis=0)
rows = (wine.data[:, None, :] > thirds).sum(axis=1)  # 178 wines, 13 measurements: low, middle, high
names = [name.replace("_", " ")[:14] for name in wine.feature_names]
rows[:3]

# %% [markdown]
# ## Mutual information
#
# How much does knowing one variable tell about another? In nats,
#
# $$I(u; v) = \sum_{i,j} P(x_u = i, x_v = j)\, \ln \frac{P(x_u = i, x_v = j)}{P(x_u = i)\,P(x_v = j)} \ge 0,$$
#
# with equality exactly if they are independent. All it needs is counts of pairs.


# %%
def pair_table(u, v, pseudocount=0.1):
    """Smoothed joint frequencies of two variables."""
    counts = np.full((3, 3), pseudocount / 9)
    np.add.at(counts, (rows[:, u], rows[:, v]), 1)
    return counts / counts.sum()


def information(table):
    return float((table * np.log(table / np.outer(table.sum(1), table.sum(0)))).sum())


V = rows.shape[1]
info = np.zeros((V, V))
for u in range(V):
    for v in range(u + 1, V):
        info[u, v] = info[v, u] = information(pair_table(u, v))
plt.figure(figsize=(5, 4), layout="constrained")
plt.imshow(info, cmap="Blues")
plt.xticks(range(V), names, rotation=90, fontsize=8)
plt.yticks(range(V), names, fontsize=8)
plt.colorbar(label="mutual information (nats)")

# %% [markdown]
# ## The best tree
#
# The log-likelihood of a tree is a constant plus $N$ times the sum of the informations on its edges. So the best tree is
# the spanning tree with the largest sum, and greedy algorithms find that. Prim's: grow a tree from any variable, always
# adding the heaviest edge that leaves it.


# %%
def spanning_tree(weights):
    """Edges of the maximum spanning tree."""
    inside, edges = {0}, []
    while len(inside) < len(weights):
        u, v = max(
            ((u, v) for u in inside for v in range(len(weights)) if v not in inside),
            key=lambda edge: weights[edge],
        )
        inside.add(v)
        edges.append((u, v))
    return edges


edges = spanning_tree(info)
parents = pcircuit.chow_liu_tree(rows, num_categories=[3] * V)
theirs = {frozenset((v, int(p))) for v, p in enumerate(parents) if p >= 0}
mine_total = sum(info[edge] for edge in edges)
assert np.isclose(mine_total, sum(info[tuple(edge)] for edge in theirs), rtol=1e-6)
print(f"{mine_total:.3f} nats on the tree, {info.sum() / 2:.3f} on all pairs")

# %% [markdown]
# ## As a circuit
#
# A tree of variables becomes a circuit like this: for each value of the parent there is one sum unit, which mixes over the
# values of the child with weights $P(x_v \mid x_{\text{parent}})$; an input that puts all mass on one value stands for "the
# child has this value".

# %%
circuit = pcircuit.chow_liu_circuit(rows, num_categories=[3] * V)
ax = circuit.plot(names=names, detail="regions")
print(circuit.properties())

# %% [markdown]
# It is **deterministic**: for each row at most one term of every sum is positive, because hidden choices are choices of
# observed values. Then entropies and most probable states are exact and cheap.

# %%
best = circuit.most_probable_state()
print("most probable wine:", dict(zip(names, best.state.tolist(), strict=True)))
print("entropy:", circuit.entropy(), " of independent measurements:", round(13 * np.log(3), 2))

# %% [markdown]
# ## What goes wrong, and why
#
# Counts are not probabilities. The pair tables come from 178 rows, and information computed from counts is *never*
# negative, so independent variables look dependent. Shuffle the columns, which makes them independent, and look:

# %%
rng = np.random.default_rng(0)
shuffled = np.column_stack([rng.permutation(column) for column in rows.T])
real, rows = rows, shuffled
noise = [information(pair_table(u, v)) for u in range(V) for v in range(u)]
rows = real
print(
    f"information of independent columns: {np.mean(noise):.4f} nats on average, at most {np.max(noise):.4f}"
)
print(f"theory, (levels - 1)^2 / 2N: {4 / (2 * len(rows)):.4f}")

# %% [markdown]
# The tree still picks the largest of these. With few rows and many levels, a Chow-Liu tree fits noise; the remedies are the
# `pseudocount`, and evaluation on rows that it has not seen:

# %%
train, test = rows[::2], rows[1::2]
for pseudocount in (0.001, 0.1, 1, 10, 100):
    model = pcircuit.chow_liu_circuit(train, num_categories=[3] * V, pseudocount=pseudocount)
    print(
        f"{pseudocount:7}: training {model.log_likelihood(train).mean():7.3f}, "
        f"test {model.log_likelihood(test).mean():7.3f} nats a row"
    )

# %% [markdown]
# ## Exercises
#
# 1. Show with numbers that no other tree has more information: try 200 random spanning trees.
# 2. The mean training log-likelihood of the tree equals (sum of edge informations) minus (sum of entropies of single
#    variables), without smoothing. Check it.
# 3. Add the kind of wine (`wine.target`) as a 14th variable. Which are its neighbours in the tree?

# %%
# Solutions
for seed in range(200):
    random_tree = spanning_tree(np.random.default_rng(seed).random((V, V)))
    assert sum(info[edge] for edge in random_tree) <= mine_total + 1e-12

exact = pcircuit.chow_liu_circuit(rows, num_categories=[3] * V, pseudocount=1e-9)
frequencies = [np.bincount(column, minlength=3) / len(rows) for column in rows.T]
entropies = sum(-(p * np.log(p)).sum() for p in frequencies)
informations = sum(
    information(pair_table(v, int(p), 1e-9))
    for v, p in enumerate(pcircuit.chow_liu_tree(rows, num_categories=[3] * V, pseudocount=1e-9))
    if p >= 0
)
assert np.isclose(exact.log_likelihood(rows).mean(), informations - entropies, atol=1e-6)

with_kind = np.column_stack([rows, wine.target])
tree = pcircuit.chow_liu_tree(with_kind, num_categories=[3] * 14)
neighbours = [v for v in range(13) if tree[v] == 13 or tree[13] == v]
print("the kind of wine is next to", [names[v] for v in neighbours])
assert len(neighbours) >= 1
