# %% [markdown]
# # 11 · Monitoring and e-values
#
# A test of one batch answers once. In production rows keep arriving, and whoever looks every hour will sooner or later
# see a small p-value, shift or not. A gambler's wealth solves the problem: it may be looked at after every row. About 20
# minutes.

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import hld
import pcircuit

os.environ["PCIRCUIT_ENGINE"] = "numpy"  # small circuits: compiling takes longer than the lesson

data = load_breast_cancer()
columns = [0, 1, 4, 7]
rows = (data.data[:, columns] > np.median(data.data[:, columns], axis=0)).astype(int)
circuit, _ = pcircuit.hclt(rows, num_latents=2).fit_em(rows, num_epochs=10)
test = hld.HLDTest(circuit)

# %% [markdown]
# ## Looking again and again
#
# Take 60 streams without any shift. Every 20 rows we test the last 20, at level 5 %, and stop at the first alarm.

# %%
streams = [circuit.sample(400, rng=seed) for seed in range(60)]
first_alarm = []
for stream in streams:
    alarms = [t for t in range(20, 401, 20) if test(stream[t - 20 : t]).reject]
    first_alarm.append(alarms[0] if alarms else np.inf)
first_alarm = np.array(first_alarm)
for t in (20, 100, 200, 400):
    print(
        f"after {t:3} rows: {(first_alarm <= t).mean():.0%} of the streams have raised a false alarm"
    )
assert (first_alarm <= 400).mean() > 0.3  # 1 - 0.95^20 is 64 %

# %% [markdown]
# ## Betting
#
# Start with a wealth of 1. Before each row, stake a part of it on a *fair* game under the null hypothesis: multiply by
#
# $$1 + \lambda_t\, \frac{a_t \cdot (L(x_t) - \mu)}{b_t},$$
#
# where direction $a_t$ and stake $\lambda_t$ depend on earlier rows only. The factor has expectation 1, because
# $\mu$ is the *exact* mean, and is never negative, because the circuit knows the bound $b_t$. Such a wealth is a test
# martingale, and Ville's inequality (1939) says
#
# $$P(\text{wealth ever reaches } 1/\alpha) \le \alpha .$$
#
# By hand, with one unit and a fixed small stake:

# %%
moments = circuit.exact_moments()
j = len(moments.nodes) - 1  # the root
mean = moments.mean[j]


def wealth_of(stream, direction, stake):
    values = circuit.node_likelihoods(stream, nodes=moments.nodes[[j]])[:, 0]
    bound = mean if direction > 0 else 1 - mean  # a likelihood lies between 0 and 1
    return np.cumprod(1 + stake * direction * (values - mean) / bound)


paths = np.array([wealth_of(stream, 1, 0.3) for stream in streams])
print(
    f"mean wealth after 50 rows: {paths[:, 49].mean():.2f}; ever above 20: {(paths.max(axis=1) >= 20).mean():.1%} "
    "of 60 streams (at most 5 % of all, with a standard error of 3 %)"
)
assert (paths > 0).all()

# %% [markdown]
# ## Ranks
#
# That game needs the exact mean, and only a circuit has one. A game for real rows: put the root's likelihoods of 200
# reference rows and of the stream so far into a bag. Without a shift the rank of the next row is uniform, whatever the
# rows are, and so any density on $(0, 1)$ is a fair bet. Here one that hopes for large ranks:


# %%
def ranks_of(stream, reference, rng):
    bag = list(circuit.log_likelihood(reference))
    for value in circuit.log_likelihood(stream):
        bag.append(value)
        above, same = np.sum(np.array(bag) > value), np.sum(np.array(bag) == value)
        yield (above + rng.random() * same) / len(bag)


rng = np.random.default_rng(0)
held_out = circuit.sample(200, rng=1000)
ranks = np.array(list(ranks_of(streams[0][:100], held_out, rng)))
odd = np.array(list(ranks_of(rows[data.target == 0][:100], held_out, rng)))
print(f"mean rank: {ranks.mean():.2f} of usual rows, {odd.mean():.2f} of malignant cases")
wealth = np.cumprod(0.5 + odd)  # the density 1/2 + p
print(f"wealth after 100 malignant cases: {wealth[-1]:.3g}")
assert abs(ranks.mean() - 0.5) < 4 / np.sqrt(12 * 100)

# %% [markdown]
# ## The monitor
#
# `hld.Monitor` ranks many numbers of a row, mixes many bets on each, and adds up what they win. For a circuit the
# reference is drawn from it; a fitted detector has counts of its held-out rows.

# %%
monitors = [hld.Monitor(circuit, alpha=0.05, seed=seed) for seed in range(6)]
logs = [
    monitor.update(stream[:200]).log_e_values
    for monitor, stream in zip(monitors, streams, strict=False)
]
shifted = streams[0][:200].copy()
shifted[100:] = rows[data.target == 0][:100]  # from row 100 on, only malignant cases
outcome = hld.Monitor(circuit, alpha=0.05).update(shifted)
print(outcome)

plt.figure(figsize=(6, 3), layout="constrained")
for log in logs:
    plt.plot(log, color="#aab6c2", linewidth=0.7)
plt.plot(outcome.log_e_values, color="#0072b2", linewidth=2, label="shift after 100 rows")
plt.axhline(np.log(20), color="#d55e00", linestyle="--", label="1 / alpha")
plt.xlabel("row")
plt.ylabel("ln e-value")
plt.legend(frameon=False)
# %%
false_alarms = sum(monitor.update(np.empty((0, 4), dtype=int)).alarm for monitor in monitors)
print(f"{false_alarms} false alarms in {len(monitors)} streams, looked at after every row")
assert false_alarms <= 3  # binomial(6, 0.05): more with probability 1e-4
assert outcome.alarm
assert outcome.alarm_row > 100

# %% [markdown]
# ## What goes wrong, and why
#
# **Slowness has a price, and buys something.** At a fixed sample size the batch test finds smaller shifts. The monitor
# pays for the right to stop at any time.
#
# **The past is money.** Wealth that was lost before a shift has to be won back. Long quiet streams make the alarm late;
# some start a new monitor every so often, and combine e-values by averaging: the mean of e-values is an e-value, however
# they depend on each other. The mean of p-values is not a p-value.
#
# **The reference decides.** Against rows drawn from a circuit, a long stream of real rows raises the alarm in the end: no
# model is exactly right. Against held-out rows it does not.
#
# ## Exercises
#
# 1. Check Ville's inequality for the hand-made wealth with stakes 0.1, 0.5, 0.9: how often does it ever reach 20?
# 2. Update a monitor with a stream in one go, and in pieces of 7 rows. Do they agree?
# 3. Average the e-values of three monitors of different seeds. Why is the average allowed, and the maximum not?

# %%
# Solutions
for stake in (0.1, 0.5, 0.9):
    ever = np.mean([wealth_of(stream, 1, stake).max() >= 20 for stream in streams])
    print(
        f"stake {stake}: {ever:.1%} of the streams ever reach 20 (of 60 streams: standard error 3 %)"
    )
    assert ever <= 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / len(streams))

whole, pieces = hld.Monitor(circuit), hld.Monitor(circuit)
at_once = whole.update(streams[1][:70])
for start in range(0, 70, 7):
    in_pieces = pieces.update(streams[1][start : start + 7])
assert np.isclose(at_once.log_e_value, in_pieces.log_e_value, rtol=1e-9)

values = [hld.Monitor(circuit, seed=seed).update(streams[2][:50]).e_value for seed in range(3)]
assert min(values) <= np.mean(values) <= max(values)
print(
    "mean of e-values:",
    np.mean(values).round(3),
    "- its expectation is 1 at most; that of a maximum need not be",
)
