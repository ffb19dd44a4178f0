# %% [markdown]
# # 15 · Streams, e-values and races of counts
#
# Notebook 11 made one bet. A stream has many columns, each with many levels, and nobody knows beforehand which will move.
# So each column gets a race of its own: a gambler who bets on the counts of that column alone. All that a race needs of
# the past is a table of counts. About 20 minutes.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import hld

os.environ["PCIRCUIT_ENGINE"] = "numpy"  # small circuits: compiling takes longer than the lesson

rng = np.random.default_rng(0)
NUM_COLUMNS, LEVELS = 6, 8


def stream_of(number, rng, moved=None, share=0.0):
    """Rows of six independent columns of eight equally frequent levels; some rows of one column take its last level."""
    rows = rng.integers(0, LEVELS, (number, NUM_COLUMNS))
    if moved is not None:
        rows[rng.random(number) < share, moved] = LEVELS - 1
    return rows


reference = stream_of(1000, rng)
counts = np.array([np.bincount(column, minlength=LEVELS) for column in reference.T])
print(counts)

# %% [markdown]
# These counts are all that is kept; no row is. As in notebook 14 every level is equally frequent, so likelihoods see
# nothing.
#
# ## A fair game from counts
#
# Put the new level into the bag of all levels so far. If stream and reference are exchangeable, the rank of the newcomer
# in the bag, ties divided at random, is uniform:
#
# $$p_t = \frac{\#\{\text{higher}\} + U_t\, \#\{\text{equal}\}}{N_t}, \qquad p_t \sim \mathrm{uniform}(0, 1),$$
#
# and $p_1, p_2, \dots$ are independent. Both numbers are sums of counts. A density $f_t$ on $(0, 1)$, chosen from
# $p_1, \dots, p_{t-1}$, is a fair bet: it pays $f_t(p_t)$, whose expectation is $\int f_t = 1$.
#
# Which density? Let the gambler learn it. Divide $(0, 1)$ into eight cells, count where earlier $p_s$ fell, and bet on
# what was frequent:
#
# $$f_t(p) = \frac{M_c + \kappa/8}{(t - 1 + \kappa)/8} \quad \text{for } p \text{ in cell } c.$$


# %%
def race(column, counts, rng, cells=8, kappa=20.0):
    """Logarithm of the wealth after each row of one column."""
    bag, seen, log = counts.astype(float), np.zeros(cells), np.zeros(len(column))
    for t, level in enumerate(column):
        bag[level] += 1
        p = (bag[level + 1 :].sum() + rng.random() * bag[level]) / bag.sum()
        cell = min(int(p * cells), cells - 1)
        log[t] = np.log((seen[cell] + kappa / cells) / ((t + kappa) / cells))
        seen[cell] += 1
    return np.cumsum(log)


def races(rows, seed):
    """The same for every column, and of all together: (rows, columns), (rows,)."""
    rng = np.random.default_rng(seed)
    each = np.column_stack([race(rows[:, v], counts[v], rng) for v in range(rows.shape[1])])
    return each, each.max(axis=1) - np.log(rows.shape[1])


# %% [markdown]
# ## Many races, one alarm
#
# Six gamblers share one unit of money: each starts with $w = 1/6$. Raise the alarm as soon as one of them has
# $w W \ge 1/\alpha$. By Ville's inequality and the union bound
#
# $$P(\text{any alarm, ever}) \le \sum_v P\Big(\sup_t W_v \ge \frac{1}{\alpha w}\Big) \le \sum_v \alpha w = \alpha,$$
#
# however the columns depend on one another. The price of not knowing the column is $\ln 6$, paid once: a few rows.

# %%
calm = stream_of(400, np.random.default_rng(1))
moved = np.concatenate(
    [stream_of(150, np.random.default_rng(2)), stream_of(250, np.random.default_rng(3), 4, 0.3)]
)
limit = np.log(20)
each, together = races(moved, 0)
alarm = int(np.argmax(together >= limit)) + 1

figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for v in range(NUM_COLUMNS):
    colour = "#0072b2" if v == 4 else "#aab6c2"
    ax.plot(each[:, v] - np.log(NUM_COLUMNS), color=colour, linewidth=2 if v == 4 else 0.8)
ax.axhline(limit, color="#d55e00", linestyle="--", label="1 / alpha")
ax.axvline(150, color="#5d6b7a", linewidth=0.8, linestyle=":", label="column 4 moves")
ax.set(xlabel="row", ylabel="ln of the money", ylim=(-25, 60))
ax.legend(frameon=False)
print(f"alarm at row {alarm}, raised by column {each[alarm - 1].argmax()}")
assert alarm > 150
assert each[alarm - 1].argmax() == 4
assert races(calm, 0)[1].max() < limit

# %% [markdown]
# The alarm names its column. And the guarantee? Fifty streams without a shift, looked at after every row:

# %%
false = np.mean(
    [races(stream_of(200, np.random.default_rng(s)), s)[1].max() >= limit for s in range(50)]
)
print(f"{false:.0%} of 50 calm streams raise an alarm")
assert false <= 0.16  # binomial(50, 0.05): more than 8 with probability 1e-3

# %% [markdown]
# ## What e-values are good for
#
# The money is an **e-value**: its expectation is at most 1 without a shift. E-values of different sources may be averaged,
# whatever ties the sources together. P-values may not: their mean is none.
#
# Three sites watch the same product; a fifth of its buyers changes at two of them. Each site alone is slow, the average of
# their e-values is as fast as the fastest site, less $\ln 3$:

# %%
sites = [
    races(
        np.concatenate(
            [
                stream_of(100, np.random.default_rng(10 + i)),
                stream_of(300, np.random.default_rng(20 + i), 1, share),
            ]
        ),
        i,
    )[1]
    for i, share in enumerate((0.0, 0.2, 0.2))
]
average = np.logaddexp.reduce(sites, axis=0) - np.log(3)
for label, log in (*((f"site {i}", log) for i, log in enumerate(sites)), ("average", average)):
    row = int(np.argmax(log >= limit)) + 1 if (log >= limit).any() else None
    print(f"{label}: alarm at row {row}")
assert average.max() >= np.max(sites) - np.log(3) - 1e-9
assert (average <= np.max(sites, axis=0)).all()

# %% [markdown]
# ## The monitor's races
#
# `hld.Monitor` runs such races for every column, missing cells and new values included, and others for pairs, units and
# whole rows. Instead of one gambler it has a crowd: some bet on what a moved mean or a wider spread would do, others learn
# as ours does, and forget at several rates. After each row they share a little of their money, so that bets are alive when
# the shift comes late.

# %%
table = load_breast_cancer().data[:, [0, 1, 4, 7]]
table = np.column_stack([table, np.random.default_rng(3).random(len(table))])  # a column of noise
order = np.random.default_rng(4).permutation(len(table))
detector = hld.HLDDetector(num_epochs=10).fit(table[order[:400]])
stream = table[order[400:]].copy()
stream[60:, 4] = 0.8 + 0.2 * stream[60:, 4]  # from row 60 on, in the uppermost fifth
outcome = hld.Monitor(detector, alpha=0.05).update(stream)
print(outcome)
assert outcome.alarm
assert outcome.alarm_row > 60
assert (outcome.witness, outcome.columns) == ("column", ("x4",))

# %% [markdown]
# ## What goes wrong, and why
#
# **The bag drinks the shift.** New rows stay in the bag. After as many shifted rows as there were reference rows, half of the
# bag is shifted, and ranks look uniform again. An alarm must come before that: keep many reference rows.
#
# **Ranks need an order.** A level is ranked among the others; where levels have no order one is made up, the frequent ones
# first. A change in the middle of the order fills the middle cells, which only a gambler who learns can find.
#
# **A loser needs time.** Money that was lost in a long calm must be won back. Sharing it out again after each row bounds the
# loss; resetting the monitor ends it, and begins a new guarantee.
#
# ## Exercises
#
# 1. How does the delay depend on the share of moved rows? Try 0.1, 0.2, 0.4, 0.8, five streams each.
# 2. Let all rows of column 2 take the middle levels 3 and 4. Does the race find it? Does a bet on the mean of $p_t$ alone,
#    $f(p) = 1 + \lambda (p - \tfrac12)$?
# 3. Multiply the e-values of two monitors that read the *same* rows. Why is the product no e-value?

# %%
# Solutions
delays = []
for share in (0.1, 0.2, 0.4, 0.8):
    ends = [
        races(stream_of(400, np.random.default_rng(s), 0, share), s)[1] >= limit for s in range(5)
    ]
    delays.append(np.median([np.argmax(end) if end.any() else 400 for end in ends]))
    print(f"{share:.0%} of the rows moved: alarm after {delays[-1]:.0f} rows")
assert delays == sorted(delays, reverse=True)

middle = stream_of(200, np.random.default_rng(7))
middle[:, 2] = np.random.default_rng(8).integers(3, 5, 200)
assert race(middle[:, 2], counts[2], np.random.default_rng(9)).max() > limit + np.log(NUM_COLUMNS)
bag, log = counts[2].astype(float), 0.0
for level in middle[:, 2]:
    bag[level] += 1
    p = (bag[level + 1 :].sum() + 0.5 * bag[level]) / bag.sum()
    log += np.log(1 + 0.5 * (p - 0.5))
print(f"a bet on the mean of the ranks alone wins a factor of {np.exp(log):.2f}")
assert log < limit

one = np.array(
    [np.exp(races(stream_of(60, np.random.default_rng(s)), s)[1][-1]) for s in range(100)]
)
print(f"mean of e: {one.mean():.2f}, of e times e: {(one**2).mean():.2f} (100 calm streams)")
# E[e e'] of equal e is E[e^2] >= E[e]^2: nothing bounds it by 1. Independent e-values may be multiplied, these may not.
assert (one**2).mean() >= one.mean() ** 2
