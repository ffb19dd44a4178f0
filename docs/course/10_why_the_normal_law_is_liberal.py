# %% [markdown]
# # 10 · Why the normal law is liberal
#
# A sum of many small things is normal, says the central limit theorem. The squared distance $T d^2$ looks like such a
# sum, so a normal null with the right mean and variance is tempting: closed form, no eigenvalues. It is *liberal*: at the
# levels that are used, 5 % and less, it rejects too often, and the smaller the level, the worse. This notebook finds out
# why, with exact numbers. About 15 minutes.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats
from sklearn.datasets import load_wine

import hld
import pcircuit
from hld import plots

os.environ["PCIRCUIT_ENGINE"] = "numpy"  # small circuits: compiling takes longer than the lesson

wine = load_wine()
rows = (wine.data[:, :8, None] > np.quantile(wine.data[:, :8], [1 / 3, 2 / 3], axis=0).T).sum(
    axis=2
)
circuit, _ = pcircuit.hclt(rows, num_latents=3).fit_em(rows, num_epochs=10)
moments = circuit.exact_moments()
eigenvalues = np.linalg.eigvalsh(moments.covariance())[::-1]
eigenvalues = eigenvalues[eigenvalues > 1e-12 * eigenvalues[0]]

# %% [markdown]
# ## Two laws with the same mean and variance
#
# $Q = \sum_i \lambda_i Z_i^2$ has mean $\sum \lambda_i = \mathrm{tr}\,S$ and variance $2\sum\lambda_i^2 =
# 2\,\mathrm{tr}\,S^2$. The normal law $N(\mathrm{tr}\,S,\; 2\,\mathrm{tr}\,S^2)$ needs only these two.

# %%
normal = stats.norm(moments.trace, np.sqrt(2 * moments.trace_sq))
q = np.linspace(-0.2 * moments.trace, 4 * moments.trace, 400)
exact_tail = np.array([hld.gchi2.sf(one, eigenvalues) for one in q])
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
axes[0].plot(q[1:], -np.diff(exact_tail) / np.diff(q), color="#0072b2", label="exact")
axes[0].plot(q, normal.pdf(q), "--", color="#d55e00", label="normal")
axes[0].set(xlabel="T d²", ylabel="density")
axes[1].semilogy(q, exact_tail, color="#0072b2", label="exact")
axes[1].semilogy(q, normal.sf(q), "--", color="#d55e00", label="normal")
axes[1].set(xlabel="T d²", ylabel="probability of more", ylim=(1e-6, 1.5))
axes[0].legend(frameon=False)
# %% [markdown]
# Two things are visible. The normal law puts mass *below zero*, where a squared distance cannot be; and its right tail
# falls like $e^{-(q - \mathrm{tr}\,S)^2 / 4\,\mathrm{tr}\,S^2}$, the exact one only like $e^{-q/2\lambda_1}$. The p-value lives in that tail.

# %%
print(f"normal mass below zero: {normal.cdf(0):.3f}")
for alpha in (0.1, 0.05, 0.01, 0.001):
    threshold = normal.isf(alpha)
    true = hld.gchi2.sf(threshold, eigenvalues)
    print(
        f"nominal level {alpha:6}: true level {true:.4f}, {true / alpha:5.1f} times as many false alarms"
    )

# %% [markdown]
# ## How normal is it? Count directions
#
# The skewness of $Q$ is $\sqrt8\, \sum\lambda^3 / (\sum\lambda^2)^{3/2}$. With $m$ equal eigenvalues it is
# $\sqrt{8/m}$. The effective number of directions, $(\sum\lambda)^2/\sum\lambda^2$, is small for circuits, however many
# units they have, because units of nested scopes repeat each other.

# %%
effective = moments.trace**2 / moments.trace_sq
skewness = np.sqrt(8) * (eigenvalues**3).sum() / (eigenvalues**2).sum() ** 1.5
print(
    f"{len(eigenvalues)} eigenvalues, but {effective:.1f} effective directions; skewness {skewness:.2f}"
)

for m in (2, 10, 100, 1000):
    equal = np.ones(m)
    threshold = stats.norm(m, np.sqrt(2 * m)).isf(0.01)
    print(f"{m:5} equal eigenvalues: true level at 1 % is {hld.gchi2.sf(threshold, equal):.4f}")

# %% [markdown]
# Even a thousand *equal* directions are not enough for a level of 1 % to be right. Larger batches do not help: the limit
# $T \to \infty$ makes the mean vector normal, not its squared length.
#
# ## In the library
#
# Both nulls are there, so that the difference can be seen. The default is the exact one.

# %%
batches = [circuit.sample(100, rng=seed) for seed in range(200)]
exact, closed = hld.HLDTest(circuit), hld.HLDTest(circuit, null="normal")
rates = {
    name: np.mean([test(batch, alpha=0.01).reject for batch in batches])
    for name, test in (("exact", exact), ("normal", closed))
}
print("rejected at level 1 %:", {name: f"{rate:.1%}" for name, rate in rates.items()})
ax = plots.null_law(exact, exact(batches[0], alpha=0.01))

# %% [markdown]
# ## What goes wrong, and why
#
# The exact law is a limit, too: it needs the mean vector to be normal. With few rows it is not, for instance when a rare
# state has a large likelihood. Then draw batches from the circuit (`null="monte-carlo"`), which is valid at every size,
# or let `null="auto"` decide.
#
# ## Exercises
#
# 1. Two moments can be matched by a scaled chi-square, $a\,\chi^2_b$, instead of a normal. Find $a$ and $b$, and compute
#    the true level of its 1 % threshold.
# 2. At which nominal level does the normal null reject 1 % of unshifted batches?
# 3. Compare `hld.gchi2.sf` with 200,000 draws of $Q$.

# %%
# Solutions
b = moments.trace**2 / moments.trace_sq  # mean a b, variance 2 a^2 b
a = moments.trace / b
scaled = hld.gchi2.sf(a * stats.chi2(b).isf(0.01), eigenvalues)
assert abs(scaled - 0.01) < abs(hld.gchi2.sf(normal.isf(0.01), eigenvalues) - 0.01)
print(f"scaled chi-square: true level {scaled:.4f}")

threshold = hld.gchi2.isf(0.01, eigenvalues)
print(f"the normal null has to be used at {normal.sf(threshold):.1e}")
assert normal.sf(threshold) < 0.005

draws = (np.random.default_rng(0).standard_normal((200_000, len(eigenvalues))) ** 2) @ eigenvalues
for alpha in (0.1, 0.01):
    found = (draws >= hld.gchi2.isf(alpha, eigenvalues)).mean()
    assert abs(found - alpha) < 4.5 * np.sqrt(alpha * (1 - alpha) / 200_000)
