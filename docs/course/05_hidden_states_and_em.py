# %% [markdown]
# # 5 · Hidden states and EM: by hand, then by the library
#
# A Chow-Liu tree explains each variable by one other *observed* one. Give each variable a hidden partner instead, with a
# few states, and let the hidden variables form the tree: a **hidden Chow-Liu tree**. It is far more expressive, and can
# no longer be learned by counting, because nobody saw the hidden states. Expectation maximisation counts them anyway.
# About 25 minutes.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, VTree

os.environ["PCIRCUIT_ENGINE"] = "numpy"  # small circuits: compiling takes longer than the lesson

digits = load_digits()
rows = (
    (digits.images[:, 2:6, 2:6] > 7).reshape(len(digits.images), 16).astype(int)
)  # the 16 pixels in the middle
train, test = rows[:700], rows[700:1400]

# %% [markdown]
# ## EM by hand
#
# Take two pixels and a mixture of two products, as in notebook 2. If we knew for each row from which product it came, we
# would count. We do not know, but a guess of the parameters gives probabilities (**E-step**):
#
# $$r_{nk} = P(\text{product } k \mid x_n) = \frac{w_k\, p_k(x_{n0})\, q_k(x_{n1})}{\sum_j w_j\, p_j(x_{n0})\, q_j(x_{n1})}$$
#
# and then we count with fractions (**M-step**): $w_k = \frac1N \sum_n r_{nk}$, and likewise for the inputs.

# %%
pair = train[:, [1, 9]]
rng = np.random.default_rng(0)
w, p, q = np.array([0.5, 0.5]), rng.dirichlet([1, 1], 2), rng.dirichlet([1, 1], 2)
start = Circuit(
    VTree.from_nested([0, 1]),
    [InputRegion(0, p), InputRegion(1, q), InnerRegion([[0, 0], [1, 1]], [w])],
)

for _ in range(5):
    terms = w * p[:, pair[:, 0]].T * q[:, pair[:, 1]].T  # (N, 2)
    r = terms / terms.sum(axis=1, keepdims=True)  # E-step
    w = r.mean(axis=0)  # M-step
    p = np.array([np.bincount(pair[:, 0], r[:, k], minlength=2) for k in (0, 1)])
    q = np.array([np.bincount(pair[:, 1], r[:, k], minlength=2) for k in (0, 1)])
    p, q = p / p.sum(axis=1, keepdims=True), q / q.sum(axis=1, keepdims=True)

# %% [markdown]
# The library does the same for every circuit. The fractions $r$ become **flows**: how often each edge is used, given the
# row, from the root down. Pseudocounts are switched off here, so the result must be the same to rounding.

# %%
fitted, history = start.fit_em(pair, num_epochs=5, pseudocount=0)
assert np.allclose(fitted.regions[2].weights[0], w)
assert np.allclose(fitted.regions[0].probs, p)
flows = start.expected_flows(pair)
print("expected uses of the two products:", flows.edges.round(1), "of", len(pair), "rows")
history

# %% [markdown]
# ## A hidden tree for all pixels

# %%
steps = [pcircuit.hclt(train, num_latents=4)]
for _ in range(20):
    steps.append(steps[-1].fit_em(train, num_epochs=1)[0])
circuit = steps[-1]
ax = pcircuit.plot_learning(steps, train)

# %% [markdown]
# Each epoch raises the training likelihood: EM maximises a lower bound that touches the likelihood at the old
# parameters, so it cannot go down (Dempster, Laird and Rubin 1977). (With pseudocounts, which `fit_em` adds by default, it
# is the likelihood times a prior that cannot.) The gains are large at first, and then smaller with every epoch.
#
# `pcircuit.write_learning_html(steps, "em.html")` writes the same as a page with a slider, on which you can watch single
# weights move.
#
# Did it pay? Compare with the Chow-Liu tree of notebook 4, on rows that neither has seen:

# %%
tree = pcircuit.chow_liu_circuit(train, num_categories=[2] * 16)
for name, model in (("Chow-Liu tree", tree), ("hidden Chow-Liu tree", circuit)):
    print(
        f"{name:22} {model.num_parameters:5} parameters, test {model.log_likelihood(test).mean():8.3f} nats a row"
    )
assert circuit.log_likelihood(test).mean() > tree.log_likelihood(test).mean()

# %% [markdown]
# ## What the hidden states mean
#
# This is the posterior of the hidden variable at the root, for each row. No label was used to learn it.

# %%
posterior = np.array(
    [
        max(range(4), key=lambda k: flow[k])
        for flow in (
            circuit.expected_flows(row[None]).by_region(circuit)[-1][0] for row in test[:150]
        )
    ]
)
table = np.zeros((10, 4), dtype=int)
np.add.at(table, (digits.target[700:850], posterior), 1)
plt.figure(figsize=(4, 3), layout="constrained")
plt.imshow(table, cmap="Blues")
plt.xlabel("hidden state at the root")
plt.ylabel("digit")
plt.yticks(range(10))
# %% [markdown]
# ## What goes wrong, and why
#
# **Symmetric starts.** If all units of a region are equal, so are their flows, and they stay equal forever: EM cannot
# break a tie. That is why `hclt` starts at random values.
#
# **Local maxima.** Different starts end in different places. Try several, and judge on held-out rows.
#
# **Overfitting.** Training likelihood only grows; test likelihood need not.

# %%
equal = Circuit(
    start.vtree,
    [
        InputRegion(0, [[0.5, 0.5]] * 2),
        InputRegion(1, [[0.5, 0.5]] * 2),
        InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5]]),
    ],
)
stuck, _ = equal.fit_em(pair, num_epochs=10, pseudocount=0)
assert np.allclose(stuck.regions[0].probs[0], stuck.regions[0].probs[1])

for seed in range(3):
    other, climb = pcircuit.hclt(train, num_latents=4, rng=seed).fit_em(train, num_epochs=20)
    print(f"start {seed}: training {climb[-1]:.3f}, test {other.log_likelihood(test).mean():.3f}")

# %% [markdown]
# ## Exercises
#
# 1. Check that the flows out of the root sum to the number of rows, and that an epoch of EM without pseudocount sets the
#    root's weights to their shares.
# 2. Rows may have holes. Hide each pixel of `train` with probability 0.3, fit again, and compare on `test`.
# 3. How does the number of hidden states affect training and test likelihood? Try 1, 2, 8.

# %%
# Solutions
flows = steps[0].expected_flows(train).by_region(steps[0])[-1]
assert np.isclose(flows.sum(), len(train))
once = steps[0].fit_em(train, num_epochs=1, pseudocount=0)[0]
assert np.allclose(once.regions[-1].dense_weights(), flows / flows.sum())

holes = np.where(
    np.random.default_rng(1).random(train.shape) < 0.3, np.nan, train
)  # NaN is missing
patchy, _ = pcircuit.hclt(train, num_latents=4).fit_em(holes, num_epochs=20)
loss = circuit.log_likelihood(test).mean() - patchy.log_likelihood(test).mean()
print(f"30 % of the pixels missing cost {loss:.3f} nats a row")
assert loss < 1

scores = {}
for K in (1, 2, 8):
    model, climb = pcircuit.hclt(train, num_latents=K).fit_em(train, num_epochs=20)
    scores[K] = climb[-1], model.log_likelihood(test).mean()
    print(f"{K} hidden states: training {scores[K][0]:.3f}, test {scores[K][1]:.3f}")
assert scores[1][0] < scores[2][0] < scores[8][0]  # K = 1 is independence
