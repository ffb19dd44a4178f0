# %% [markdown]
# # 2 · Circuits as code
#
# A mixture of products of mixtures of products ... of small tables: that is a **probabilistic circuit**. This notebook
# writes one down, number by number, looks at it, and shows which mistakes cannot be made. About 20 minutes.
#
# A circuit has three kinds of units:
#
# * an **input** is a distribution of one variable,
# * a **product** multiplies units over disjoint scopes,
# * a **sum** is a mixture of units over one common scope.
#
# Units with the same scope live in one **region**, and there is one region for each node of a v-tree.

# %%
import numpy as np

from pcircuit import Circuit, InnerRegion, InputRegion, VTree

# %% [markdown]
# ## Two coins and a hidden state
#
# There are two kinds of days. A rainy day is cloudy with probability 0.9 and windy with probability 0.7; a dry day, 0.3 and
# 0.4. A quarter of the days are rainy. We never see which kind of day it is.

# %%
cloud = InputRegion(
    0,
    [
        [0.1, 0.9],  # unit 0: rainy days, P(clear), P(cloudy)
        [0.7, 0.3],
    ],
)  # unit 1: dry days
wind = InputRegion(1, [[0.3, 0.7], [0.6, 0.4]])
days = InnerRegion(
    products=[
        [0, 0],  # product 0: unit 0 of cloud times unit 0 of wind
        [1, 1],
    ],  # product 1: both dry
    weights=[[0.25, 0.75]],
)  # one sum over the two products
weather = Circuit(VTree.from_nested([0, 1]), [cloud, wind, days])
print(weather.describe())

# %%
ax = weather.plot(names=["cloud", "wind"])

# %% [markdown]
# Circles are sums, squares are products, and the small bars are the tables of the inputs. Lines from a sum are as thick as
# their weights are large. The circuit is a function of the two variables:
#
# $$p(x) = 0.25\; p_0(x_0)\,q_0(x_1) + 0.75\; p_1(x_0)\,q_1(x_1).$$

# %%
by_hand = 0.25 * 0.9 * 0.7 + 0.75 * 0.3 * 0.4
states = [[0, 0], [0, 1], [1, 0], [1, 1]]
likelihood = np.exp(weather.log_likelihood(states))
assert np.isclose(likelihood[3], by_hand)
likelihood, likelihood.sum()

# %% [markdown]
# ## Rows show units to the region above
#
# Think of each region as a *vector-valued* function: it shows $K$ numbers to its parent, one for each unit. A deeper
# circuit is the same step again. Here a third variable, umbrellas, joins: its region pairs with the region of days,
# which now shows two units instead of one.

# %%
days_two = InnerRegion([[0, 0], [1, 1]], [[1.0, 0.0], [0.0, 1.0]])
umbrella = InputRegion(2, [[0.2, 0.8], [0.95, 0.05]])
top = InnerRegion([[0, 0], [1, 1]], [[0.25, 0.75]])
street = Circuit(VTree.from_nested([[0, 1], 2]), [cloud, wind, days_two, umbrella, top])
ax = street.plot([1, -1, 1], names=["cloud", "wind", "umbrella"])

# %% [markdown]
# We gave the picture a row: cloudy, wind not observed (-1), umbrellas. Orange lines show the flow of the row through the
# units: nearly all of it goes through the rainy half, although rain is nowhere in the data.
#
# ## What cannot go wrong
#
# Two properties make sums tractable. A circuit is **smooth** if each sum mixes units over the same scope, and
# **decomposable** if each product multiplies units over disjoint scopes. In region form one cannot even write down a
# circuit that violates them; everything else is checked once, when a circuit is built.

# %%
print(weather.properties())

# %%
for wrong in (
    lambda: Circuit(weather.vtree, [cloud, wind]),
    lambda: Circuit(weather.vtree, [cloud, wind, InnerRegion([[0, 2]], [[1.0]])]),
    lambda: InputRegion(0, [[0.5, -0.5]]),
):
    try:
        wrong()
    except ValueError as error:
        print("refused:", error)

# %% [markdown]
# ## What goes wrong, and why
#
# Nothing forces weights to sum to one: those of products of circuits, which we meet in notebook 7, do not. Then the numbers
# are values of a function, but not probabilities. Ask `is_normalized`, or `properties` for a witness.

# %%
careless = Circuit(weather.vtree, [cloud, wind, InnerRegion([[0, 0], [1, 1]], [[0.25, 0.25]])])
print(careless.properties())
print("sum over all states:", np.exp(careless.log_likelihood([[-1, -1]]))[0])

# %% [markdown]
# ## Exercises
#
# 1. Write down a circuit for two dice that always show the same number.
# 2. Write down a circuit over three binary variables in which all are independent, with $P(x_v = 1) = 0.1, 0.5, 0.9$.
# 3. How many parameters does a circuit on a binary v-tree with $V$ leaves have if each region holds $K$ units and $K$
#    products, and each variable has $C$ categories? Check it on a circuit that you build yourself.

# %%
# Solutions
faces = np.eye(6)
twins = Circuit(
    VTree.from_nested([0, 1]),
    [
        InputRegion(0, faces),
        InputRegion(1, faces),
        InnerRegion([[k, k] for k in range(6)], [[1 / 6] * 6]),
    ],
)
assert np.isclose(np.exp(twins.log_likelihood([[3, 3]]))[0], 1 / 6)
assert twins.log_likelihood([[3, 4]])[0] == -np.inf

tables = [InputRegion(v, [[1 - p, p]]) for v, p in enumerate((0.1, 0.5, 0.9))]
independent = Circuit(VTree.from_nested([0, 1, 2]), [*tables, InnerRegion([[0, 0, 0]], [[1.0]])])
assert np.isclose(np.exp(independent.log_likelihood([[1, 1, 1]]))[0], 0.1 * 0.5 * 0.9)

V, K, C = 8, 3, 4
tree = VTree.balanced(V)
regions = [
    InputRegion(v, np.full((K, C), 1 / C))
    if v >= 0
    else InnerRegion([[k, k] for k in range(K)], np.full((1 if r == tree.root else K, K), 1 / K))
    for r, v in enumerate(tree.variables.tolist())
]
assert Circuit(tree, regions).num_parameters == V * K * C + (V - 2) * K * K + K
print("all right")
