# %% [markdown]
# # 1 · Probability tables and v-trees
#
# A probability distribution over discrete variables is a table: one number for each joint state. Everything one can ask
# of it is a sum of entries. That is the whole theory, and it fails for one reason only: the table is too large. This
# notebook builds such a table from real data, asks it questions, watches it grow out of reach, and meets the idea that
# the rest of the course is about: *split the variables, recursively, and store pieces*.
#
# You need Python and the sum rule of probability. About 20 minutes.

# %%
import numpy as np
from sklearn.datasets import load_breast_cancer

import pcircuit

data = load_breast_cancer()
columns = [0, 1, 4, 7]  # radius, texture, smoothness, concave points
names = ["radius", "texture", "smoothness", "concave"]
x = (data.data[:, columns] > np.median(data.data[:, columns], axis=0)).astype(int)
x = np.column_stack([data.target == 0, x])  # the diagnosis first: 1 is malignant
names = ["malignant", *names]
x.shape, x[:3]

# %% [markdown]
# 569 tumours, five yes-or-no questions each: is it malignant, and are four measurements above their median? The joint
# distribution is a table with $2^5 = 32$ entries. Counting estimates it.

# %%
table = np.zeros((2,) * 5)
np.add.at(table, tuple(x.T), 1 / len(x))
table.sum(), (table > 0).sum()

# %% [markdown]
# ## Asking questions
#
# **Marginals** sum variables out. **Conditionals** fix some and divide. In NumPy both are one line each, because an
# array's axes *are* the variables:
#
# $$P(x_0) = \sum_{x_1,\dots,x_4} P(x_0,\dots,x_4), \qquad P(x_0 \mid x_4 = 1) = \frac{P(x_0, x_4 = 1)}{P(x_4 = 1)}.$$

# %%
p_malignant = table.sum(axis=(1, 2, 3, 4))
joint = table.sum(axis=(1, 2, 3))  # of diagnosis and concave points
p_given_concave = joint[:, 1] / joint[:, 1].sum()
print(
    f"malignant: {p_malignant[1]:.3f}, malignant given many concave points: {p_given_concave[1]:.3f}"
)

# %% [markdown]
# ## What goes wrong, and why
#
# **The table explodes.** $V$ binary variables need $2^V$ numbers. The 64 pixels of a tiny picture already need
# $1.8\cdot 10^{19}$.
#
# **The data run out first.** Already here nine entries are zero, although nothing forbids these states: nobody in the
# sample had them. A test row of that kind would get probability zero, and its logarithm would be $-\infty$. With more
# variables nearly *all* entries are zero.

# %%
for V in (5, 10, 20, 64):
    print(f"{V:2d} binary variables: {2**V:.3g} entries")
print("states never seen:", (table == 0).sum())

# %% [markdown]
# ## Splitting the variables
#
# If the variables in a set $A$ were independent of those in $B$, two small tables would do: $P(x) = P(x_A)\,P(x_B)$.
# They rarely are. But a *mixture* of such products can represent anything, given enough terms:
#
# $$P(x) = \sum_k w_k\, P_k(x_A)\, P_k(x_B).$$
#
# Each $P_k(x_A)$ can be split again. The order in which variables are split is a tree, the **v-tree**: its leaves are
# variables, and an inner node stands for the set of variables below it, its **scope**.

# %%
vtree = pcircuit.VTree.from_nested([[0, 4], [1, [2, 3]]])
ax = pcircuit.plot_vtree(vtree, names=names)

# %% [markdown]
# Nodes are numbered in post-order: children before parents, the root last. So a loop over `range(vtree.num_nodes)` is
# a pass from the leaves to the root, and the reversed loop a pass from the root to the leaves. No recursion is needed.

# %%
for r in range(vtree.num_nodes):
    print(r, "scope", [names[v] for v in vtree.scope(r)], "children", vtree.children(r).tolist())

# %% [markdown]
# Scopes of two nodes are either nested or disjoint, never overlapping in part. Nearly everything exact in this course
# rests on that one fact.

# %%
for r in range(vtree.num_nodes):
    for s in range(vtree.num_nodes):
        a, b = set(vtree.scope(r).tolist()), set(vtree.scope(s).tolist())
        assert a <= b or b <= a or not a & b

# %% [markdown]
# ## Exercises
#
# 1. Compute $P(\text{malignant} \mid \text{small radius, few concave points})$ from the table.
# 2. How many numbers would the table need if diagnosis and radius were independent of the other three variables?
# 3. Build a v-tree in which each inner node splits off one variable, and one of least depth. How deep are they for 64
#    variables?
#
# Try them before you run the next cell.

# %%
# Solutions
few = table[:, 0, :, :, 0].sum(axis=(1, 2))  # 1: fix two axes, sum the others
answer = few[1] / few.sum()
rows = x[(x[:, 1] == 0) & (x[:, 4] == 0)]
assert np.isclose(answer, rows[:, 0].mean())  # counting rows says the same
assert 2**2 + 2**3 == 12  # 2: instead of 32


def depth(tree):  # 3
    levels = np.zeros(tree.num_nodes, dtype=int)
    for node in range(tree.num_nodes - 2, -1, -1):
        levels[node] = levels[tree.parent(node)] + 1
    return levels.max()


assert depth(pcircuit.VTree.right_linear(64)) == 63
assert depth(pcircuit.VTree.balanced(64)) == 6
print(f"P(malignant | small, few concave points) = {answer:.3f}")
