# %% [markdown]
# # 12 · Scores and Fisher information
#
# How does a log-likelihood respond to a small change in a parameter? The answer, the **score**, is already in the flows of
# EM. Its covariance is the **Fisher information**, which says how well parameters can be estimated, and which shifts a
# test can see. The last notebook ties the course together. About 25 minutes.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import hld
import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion

os.environ["PCIRCUIT_ENGINE"] = "numpy"  # small circuits: compiling takes longer than the lesson

data = load_breast_cancer()
columns = [0, 1, 4, 7]
rows = (data.data[:, columns] > np.median(data.data[:, columns], axis=0)).astype(int)
circuit, _ = pcircuit.hclt(rows, num_latents=2).fit_em(rows, num_epochs=10)
states = np.array(list(np.ndindex(*[2] * 4)))
p = np.exp(circuit.log_likelihood(states))

# %% [markdown]
# ## The score is a flow
#
# With respect to the logarithm of a weight, the derivative of $\ln p(x)$ is the expected number of times that the row
# uses the weight:
#
# $$\frac{\partial \ln p(x)}{\partial \ln w_{kp}} = F_k(x)\, \frac{w_{kp}\, f_p(x)}{f_k(x)} = \text{flow of the edge } (k, p).$$
#
# Weights of a sum have to stay normalised. In softmax parameters $\theta$, $w = \mathrm{softmax}(\theta)$, the score is
# flow minus expectation: $s_{kp}(x) = F_{kp}(x) - w_{kp} \sum_{p'} F_{kp'}(x)$.


# %%
def score(circuit, row):
    """Scores of all softmax parameters of a row: sum weights and input probabilities."""
    parts = []
    for region, flow in zip(
        circuit.regions, circuit.expected_flows(row[None]).by_region(circuit), strict=True
    ):
        table = region.probs if isinstance(region, InputRegion) else region.dense_weights()
        parts.append((flow - table * flow.sum(axis=1, keepdims=True)).ravel())
    return np.concatenate(parts)


scores = np.array([score(circuit, row) for row in states])
scores.shape

# %% [markdown]
# Check one by a difference quotient: nudge a parameter of the root.


# %%
def nudged(circuit, k, amount):
    """The circuit with the k-th softmax parameter of the root changed."""
    root = circuit.regions[-1]
    logits = np.log(root.dense_weights())
    logits[0, k] += amount
    weights = np.exp(logits) / np.exp(logits).sum()
    return Circuit(circuit.vtree, [*circuit.regions[:-1], InnerRegion(root.products, weights)])


first = scores.shape[1] - circuit.regions[-1].num_products
for k in range(circuit.regions[-1].num_products):
    slope = (
        nudged(circuit, k, 1e-5).log_likelihood(states)
        - nudged(circuit, k, -1e-5).log_likelihood(states)
    ) / 2e-5
    assert np.allclose(slope, scores[:, first + k], atol=1e-8)

# %% [markdown]
# ## Expectation zero
#
# Under the circuit's own distribution every score has mean zero: $\sum_x p(x)\, \partial_\theta \ln p(x) =
# \partial_\theta \sum_x p(x) = 0$. And at the end of EM the mean over the *training rows* is zero as well: that is what a
# maximum of the likelihood is. EM's fixed points are exactly these.

# %%
assert np.allclose(p @ scores, 0, atol=1e-12)
gradients = [np.abs(np.mean([score(circuit, row) for row in rows], axis=0)).max()]
for epochs in (10, 40):
    further, _ = circuit.fit_em(rows, num_epochs=epochs, pseudocount=0)
    gradients.append(np.abs(np.mean([score(further, row) for row in rows], axis=0)).max())
print("largest mean score of the training rows, as EM goes on:", np.round(gradients, 5))
assert gradients[-1] < gradients[0]

# %% [markdown]
# ## Fisher information
#
# $$I = \sum_x p(x)\, s(x)\, s(x)^{\mathsf T}.$$
#
# Its inverse over $N$ is the covariance of an estimate from $N$ rows, in the directions where it can be inverted.

# %%
fisher = scores.T @ (p[:, None] * scores)
eigenvalues = np.linalg.eigvalsh(fisher)[::-1]
plt.figure(figsize=(5, 3), layout="constrained")
plt.semilogy(
    np.arange(1, len(eigenvalues) + 1),
    np.maximum(eigenvalues, 1e-18),
    "o",
    color="#0072b2",
    markersize=4,
)
plt.xlabel("eigenvalue number")
plt.ylabel("Fisher information")
rank = int((eigenvalues > 1e-10).sum())
print(
    f"{len(eigenvalues)} parameters, rank {rank}; {len(states)} states leave room for at most {len(states) - 1}"
)
assert rank <= len(states) - 1

# %% [markdown]
# ## What goes wrong, and why
#
# Many eigenvalues are zero: changes of parameters that change *nothing*. Some are trivial, since softmax parameters may all
# be shifted together. Others are not: hidden states can be swapped, and a hidden tree can trade weights against inputs.
# So "the" parameters cannot be estimated, while the distribution can. Never compare parameters of two circuits; compare
# distributions.
#
# ## Scores and the HLD test
#
# A shift of the data moves the mean of $L$, the likelihood vector, by $\sum_x (p'(x) - p(x)) L(x)$. For a small shift in the
# direction of a parameter $\theta$, $p' \approx p\,(1 + \epsilon s_\theta)$, and the move is $\epsilon\,
# \mathrm{Cov}(s_\theta, L)$. The test sees it if that covariance is large compared with $S$.

# %%
moments = circuit.exact_moments()
L = circuit.node_likelihoods(states, nodes=moments.nodes)
cross = scores.T @ (p[:, None] * (L - moments.mean))  # Cov(score, L), one row for each parameter
moved = nudged(circuit, 0, 0.3)
shift = np.exp(moved.log_likelihood(states)) @ L - moments.mean
print(
    "predicted:",
    np.round(0.3 * np.linalg.norm(cross[first]), 4),
    " true:",
    np.round(np.linalg.norm(shift), 4),
)
assert np.isclose(0.3 * np.linalg.norm(cross[first]), np.linalg.norm(shift), rtol=0.4)

# %% [markdown]
# ## Exercises
#
# 1. For a single coin the Fisher information about $\theta$, $p = 1/(1+e^{-\theta})$, is $p(1-p)$. Check `score` on it.
# 2. Estimate a coin from 200 rows, 2000 times. Is the variance of the estimate of $p$ equal to $p(1-p)/N$?
# 3. The **score test** rejects if the mean score of a batch is far from zero. For the root's weights, compare it with
#    the HLD test on batches of 100 rows of the `moved` circuit.

# %%
# Solutions
coin = Circuit(pcircuit.VTree([-1], [0]), [InputRegion(0, [[0.7, 0.3]])])
s = np.array([score(coin, np.array([x]))[1] for x in (0, 1)])
assert np.isclose([0.7, 0.3] @ s**2, 0.3 * 0.7)

draws = np.random.default_rng(0).binomial(200, 0.3, 2000) / 200
assert abs(draws.var() / (0.3 * 0.7 / 200) - 1) < 4.5 * np.sqrt(2 / 2000)

test = hld.HLDTest(circuit)
far = nudged(circuit, 0, 0.7)
table = {tuple(x): value for x, value in zip(states.tolist(), scores[:, first], strict=True)}
information, hits = fisher[first, first], np.zeros(2)
for seed in range(40):
    batch = far.sample(100, rng=seed)
    z = np.mean([table[tuple(row)] for row in batch.tolist()]) * np.sqrt(100 / information)
    hits += abs(z) > 1.96, test(batch).reject
print(f"power of the score test {hits[0] / 40:.0%}, of the HLD test {hits[1] / 40:.0%}")
assert hits[0] >= hits[1] - 4  # on this shift the two are about equally powerful
