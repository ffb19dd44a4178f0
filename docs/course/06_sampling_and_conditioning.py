# %% [markdown]
# # 6 · Sampling and conditioning
#
# A circuit that can be evaluated can also be drawn from, exactly, and conditioned on whatever is known, exactly. This
# notebook completes pictures, asks for the most probable ones, and finds out which question is hard after all. About 20
# minutes.

# %%
import math
import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import pcircuit

os.environ["PCIRCUIT_ENGINE"] = "numpy"  # small circuits: compiling takes longer than the lesson

digits = load_digits()
rows = (digits.images[:600, 1:7, 1:7] > 7).reshape(600, 36).astype(int)
circuit, _ = pcircuit.hclt(rows, num_latents=4).fit_em(rows, num_epochs=8)


def show(pictures, title):
    figure, axes = plt.subplots(
        1, len(pictures), figsize=(len(pictures), 1.3), layout="constrained"
    )
    for ax, picture in zip(axes, pictures, strict=True):
        ax.imshow(np.ma.masked_less(np.reshape(picture, (6, 6)), 0), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[], facecolor="#a0a0a0")  # seen where a pixel is missing
    figure.suptitle(title)


# %% [markdown]
# ## Drawing rows
#
# Start at the root. At a sum, draw one product with the probabilities of its weights; at a product, go on in every
# child; at an input, draw a category. No chain, no burn-in: the rows are independent draws from $p$.


# %%
def draw(circuit, rng):
    """One row: `todo` holds the units that were asked for, as pairs of a region and a unit in it."""
    row, todo = np.zeros(circuit.num_variables, dtype=int), [(circuit.num_regions - 1, 0)]
    while todo:
        r, k = todo.pop()
        region, children = circuit.regions[r], circuit.vtree.children(r)
        if len(children) == 0:
            row[region.variable] = rng.choice(region.num_categories, p=region.probs[k])
            continue
        product = rng.choice(region.num_products, p=region.dense_weights()[k])
        todo += zip(children, region.products[product], strict=True)
    return row


rng = np.random.default_rng(7)
by_hand = np.array([draw(circuit, rng) for _ in range(500)])
exact = np.array([table[1] for table in circuit.marginal_tables()])
assert np.abs(by_hand.mean(axis=0) - exact).max() < 4.5 * 0.5 / np.sqrt(500)

# %% [markdown]
# The library draws many rows at a time:

# %%
drawn = circuit.sample(500, rng=0)
show(drawn[:10], "drawn from the circuit")
print(
    "mean log-likelihood of drawn rows:",
    circuit.log_likelihood(drawn).mean().round(2),
    " of real ones:",
    circuit.log_likelihood(rows).mean().round(2),
)

# %% [markdown]
# ## Completing pictures
#
# With evidence the same walk uses *posterior* weights, $w_{kp}\, f_p(x) / f_k(x)$, which one upward pass provides. The
# upper half is given (grey is missing), the lower half is drawn:

# %%
half = rows[:6].copy()
half[:, 18:] = -1
completed = pcircuit.sample(circuit, given=half, rng=1)
show(half, "given")
show(completed, "completed")
assert (completed[:, :18] == rows[:6, :18]).all()

# %% [markdown]
# ## A conditional is a circuit
#
# `condition` returns $p(x \mid E)$ as a circuit of its own, normalised, over what is left. So all questions can be asked
# again: marginals, samples, further conditions. Events may be sets of levels for each variable.

# %%
event = {v: int(rows[0, v]) for v in range(18)}
rest = circuit.condition(event)
print(rest)
print(f"P(event) = {np.exp(circuit.log_probability(event)):.2e}")
tables = rest.marginal_tables()
plt.figure(figsize=(3, 2), layout="constrained")
plt.imshow(np.reshape([table[1] for table in tables], (3, 6)), cmap="gray_r", vmin=0, vmax=1)
plt.title("P(black) below, given above")
# %% [markdown]
# Bayes' rule, checked:

# %%
row = rows[0]
joint = circuit.log_likelihood([row])[0]
assert np.isclose(joint, circuit.log_probability(event) + rest.log_likelihood([row[18:]])[0])

# %% [markdown]
# ## What goes wrong, and why
#
# The most probable completion is *not* one of the easy questions. A maximum of a sum is not the sum of maxima: with
# hidden states, a row can be likely because many small terms add up. For deterministic circuits, such as Chow-Liu trees,
# one pass finds it; for others it is NP-hard, and the library searches with bounds, and says whether it finished.

# %%
small = pcircuit.marginalize(circuit, keep=range(10, 20))
found = small.most_probable_state()
states = np.array(list(np.ndindex(*[2] * 10)))
assert np.isclose(found.log_likelihood, small.log_likelihood(states).max())
print(found)

greedy = np.full(10, -1)
for v in range(10):  # the tempting way: fix one variable after the other
    options = np.repeat(greedy[None], 2, axis=0)
    options[:, v] = [0, 1]
    greedy = options[small.log_likelihood(options).argmax()]
print(
    "greedy:", small.log_likelihood([greedy])[0].round(4), " best:", round(found.log_likelihood, 4)
)
assert small.log_likelihood([greedy])[0] < found.log_likelihood - 0.1

# %% [markdown]
# ## Counting
#
# How many pixels are black? The number is a sum of functions of single variables, and its whole distribution follows in
# one pass. As a circuit (`sum_indicator`), the same count can even be conditioned on.

# %%
functions = [[0, 1]] * 36
support, law = circuit.sum_distribution(functions)
plt.figure(figsize=(4, 2.5), layout="constrained")
plt.bar(support, law, color="#a9cfe6", label="circuit")
plt.plot(
    support,
    np.bincount(rows.sum(axis=1), minlength=37) / len(rows),
    "o",
    color="#0072b2",
    markersize=3,
    label="data",
)
plt.xlabel("black pixels")
plt.legend(frameon=False)
# %% [markdown]
# ## Exercises
#
# 1. Check by drawing that `condition` and `sample(given=...)` agree: compare marginals of the lower half.
# 2. What is the probability of at least 20 black pixels, and how does it change if pixel 14 is known to be white?
#    (`condition(..., keep_known=True)` keeps the pixel as a variable, so that all 36 functions still fit.)
# 3. Which of the first six pixels have the largest shares in the log-likelihood of the first picture? The share of a pixel
#    is its **Shapley value**: the change of the log-likelihood when it becomes known, averaged over all orders in which the
#    six can become known. Compute it from all subsets, and compare with `circuit.shapley_values`.

# %%
# Solutions
many = pcircuit.sample(circuit, given=np.repeat(half[:1], 2000, axis=0), rng=2)[:, 18:].mean(axis=0)
exact = np.array([table[1] for table in tables])
error = np.sqrt(exact * (1 - exact) / 2000)
assert (np.abs(many - exact) < 4.5 * error + 1e-3).all()

before = law[support >= 20].sum()
known = circuit.condition({14: 0}, keep_known=True)
after = known.sum_distribution(functions)[1][support >= 20].sum()
print(f"P(20 or more black) = {before:.3f}, with pixel 14 white {after:.3f}")

six = np.where(np.arange(36) < 6, rows[0], -1)
shares, _ = circuit.shapley_values(six)
assert np.isclose(shares.sum(), circuit.log_likelihood([six])[0])
print("shares of the first six pixels:", shares[:6].round(2))

by_hand = np.zeros(6)
subsets = np.array(list(np.ndindex(*[2] * 6)))  # which of the six are known
value = circuit.log_likelihood(
    np.hstack([np.where(subsets == 1, rows[0, :6], -1), np.full((64, 30), -1)])
)
for mask, before in zip(subsets, value, strict=True):
    size = mask.sum()
    for v in np.flatnonzero(mask == 0):  # share of the orders in which exactly these come before v
        after = value[(subsets == np.where(np.arange(6) == v, 1, mask)).all(axis=1)][0]
        by_hand[v] += (
            math.factorial(size) * math.factorial(5 - size) / math.factorial(6) * (after - before)
        )
assert np.allclose(by_hand, shares[:6])
