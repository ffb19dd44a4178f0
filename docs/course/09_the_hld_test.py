# %% [markdown]
# # 9 · The HLD test and its calibration
#
# A model was learned last year. Does today's batch still follow it? The **Hierarchical Likelihood Distance** compares
# means of likelihood vectors: what each unit of the circuit says about the batch, on average, with what it must say if
# nothing has changed. Its null distribution comes from the moments of notebook 8, so no old data are needed. About 25
# minutes.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import hld
import pcircuit
from hld import plots

os.environ["PCIRCUIT_ENGINE"] = "numpy"  # small circuits: compiling takes longer than the lesson

data = load_breast_cancer()
columns = [0, 1, 4, 6, 7, 8, 9, 20]
names = [str(data.feature_names[c]) for c in columns]
rows = (
    data.data[:, columns, None] > np.quantile(data.data[:, columns], [1 / 3, 2 / 3], axis=0).T
).sum(axis=2)
rng = np.random.default_rng(0)
order = rng.permutation(len(rows))
train, rest = rows[order[:300]], rows[order[300:]]
circuit, _ = pcircuit.hclt(train, num_latents=2).fit_em(train, num_epochs=15)

# %% [markdown]
# ## The statistic
#
# For a batch $x_1, \dots, x_T$,
#
# $$d = \Big\| \frac1T \sum_t L(x_t) - \mu \Big\|, \qquad \mu = E_p[L(X)].$$
#
# If the batch follows the circuit, the mean in the norm has expectation zero and covariance $S/T$. By the central limit
# theorem, $T d^2$ is then distributed like
#
# $$Q = \sum_i \lambda_i Z_i^2, \qquad \lambda_i \text{ the eigenvalues of } S,\; Z_i \text{ standard normal.}$$

# %%
moments = circuit.exact_moments()
batch = circuit.sample(40, rng=1)
d = np.linalg.norm(
    pcircuit.mean_node_likelihoods(circuit, batch, nodes=moments.nodes) - moments.mean
)
eigenvalues = moments.eigenvalues(len(moments.nodes))
pvalue = hld.gchi2.sf(40 * d**2, eigenvalues)

test = hld.HLDTest(circuit)
result = test(batch)
assert np.isclose(result.statistic, d)
assert np.isclose(
    result.pvalue, pvalue, rtol=1e-2
)  # the test leaves the smallest eigenvalues to two moments
print(result)

# %%
ax = plots.null_law(test, result)

# %% [markdown]
# ## Is it calibrated?
#
# A p-value must be uniform when nothing has changed: below 0.05 in 5 % of the batches. That can be checked, because we
# can draw from the circuit. The band holds 99 % of all curves that uniform p-values make.

# %%
pvalues = np.sort([test(circuit.sample(40, rng=seed)).pvalue for seed in range(200)])
uniform = (np.arange(200) + 0.5) / 200
figure, ax = plt.subplots(figsize=(4, 4), layout="constrained")
ax.plot(uniform, pvalues, color="#0072b2")
ax.fill_between(
    uniform, uniform - 1.63 / np.sqrt(200), uniform + 1.63 / np.sqrt(200), color="#d5dee7"
)
ax.set(xlabel="uniform", ylabel="p-value", xlim=(0, 1), ylim=(0, 1))
rate = (pvalues <= 0.05).mean()
print(f"{rate:.1%} of 200 batches rejected at 5 %")
assert abs(rate - 0.05) < 3.5 * np.sqrt(0.05 * 0.95 / 200)

# %% [markdown]
# ## A shift, and where it sits
#
# The clinic changes: only malignant tumours come in.

# %%
malignant = rows[data.target == 0][:40]
found = test(malignant)
print(found)
where = found.localize()
ax = plots.variable_shares(where, names)

# %% [markdown]
# ## What goes wrong, and why
#
# **The model is not the data.** The null hypothesis is the *circuit*. Real rows follow it approximately, and with enough
# of them the test will notice: correctly, but it is not the answer to your question. Here are batches of held-out rows, of
# increasing size; this circuit is good enough for 269 of them. Fit it with one hidden state, and see what happens:

# %%
poor = hld.HLDTest(pcircuit.hclt(train, num_latents=1).fit_em(train, num_epochs=5)[0])
for T in (20, 80, 269):
    print(
        f"T = {T:3}: p = {test(rest[:T]).pvalue:.3f}, and with one hidden state {poor(rest[:T]).pvalue:.1e}"
    )

# %% [markdown]
# `HLDTest` has two remedies: `num_train`, which widens the null by the estimation error of a model fitted to $n$ rows, and
# `reference="training"`, which compares with the training rows themselves, and keeps only sums over them. The default of
# `hld.HLDDetector` is a third: it holds half of the rows out of learning, and compares with these.

# %%
honest = hld.HLDTest(circuit, reference="training", training_data=train, rng=0)
for T in (20, 80, 269):
    print(f"T = {T:3}: p = {honest(rest[:T]).pvalue:.3f}")
print("and the shift:", honest(malignant).pvalue)
assert honest(malignant).reject

# %% [markdown]
# ## Exercises
#
# 1. How much does a batch have to be contaminated with malignant cases before the test notices? Mix 0, 20, 40, 60 % into
#    a batch of 60 drawn rows.
# 2. Blank out 20 % of the entries of a batch. Is the test still calibrated? Try 100 batches.
# 3. Swap the values of two columns in a batch. Does `localize` name them?

# %%
# Solutions
powers = []
for share in (0.0, 0.2, 0.4, 0.6):
    k = int(60 * share)
    hits = [
        test(
            np.concatenate([circuit.sample(60 - k, rng=s), malignant[:k]])
            if k
            else circuit.sample(60, rng=s)
        ).reject
        for s in range(20)
    ]
    powers.append(np.mean(hits))
    print(f"{share:.0%} contaminated: found in {powers[-1]:.0%} of the batches")
assert powers[0] < 0.35
assert powers[-1] == 1

blanked = []
for s in range(100):
    holes = circuit.sample(40, rng=s).astype(float)
    holes[np.random.default_rng(s).random(holes.shape) < 0.2] = np.nan
    blanked.append(test(holes).pvalue)
assert abs(np.mean(np.array(blanked) <= 0.05) - 0.05) < 3.5 * np.sqrt(0.05 * 0.95 / 100)

swapped = circuit.sample(200, rng=5)
swapped[:, [1, 4]] = swapped[:, [4, 1]]
shares = test(swapped).localize().variable_scores
print("largest shares:", [names[v] for v in np.argsort(-shares)[:3]])
# One of the two, texture, is among the first three; the other, concave points, is not.  A swap breaks dependences, and
# a node of several columns divides its share among them all: concavity and radius have parts of what was swapped.
assert {1, 4} & set(np.argsort(-shares)[:3].tolist())
