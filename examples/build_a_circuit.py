"""A circuit by hand: two kinds of days, three things that we see, and exact answers about them."""

import math

import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, VTree

# variables: 0 sky (sun, clouds, rain), 1 umbrella (no, yes), 2 bus (on time, late)
# hidden: a good day (0) or a bad one (1)
circuit = Circuit(
    VTree.from_nested([0, 1, 2]),
    [
        InputRegion(0, [[0.7, 0.3, 0.0], [0.1, 0.3, 0.6]]),  # sky on a good day, on a bad day
        InputRegion(1, [[0.9, 0.1], [0.3, 0.7]]),
        InputRegion(2, [[0.95, 0.05], [0.6, 0.4]]),
        InnerRegion(
            [[0, 0, 0], [1, 1, 1]], [[0.75, 0.25]]
        ),  # a product of each kind's units, and their mixture
    ],
)
print(circuit)
print(pcircuit.properties(circuit))

UNKNOWN = -1
print("P(rain, umbrella, late)   =", math.exp(pcircuit.log_likelihood(circuit, [[2, 1, 1]])[0]))
print(
    "P(umbrella)               =",
    math.exp(pcircuit.log_likelihood(circuit, [[UNKNOWN, 1, UNKNOWN]])[0]),
)
print("P(clouds or rain, late)   =", math.exp(pcircuit.log_probability(circuit, {0: [1, 2], 2: 1})))

given_umbrella = pcircuit.condition(circuit, {1: 1})  # a circuit over the other two variables
print("P(sky | umbrella)         =", pcircuit.marginal_tables(given_umbrella)[0].round(4))
print("most probable day         =", pcircuit.most_probable_state(circuit).state)
print("what sky tells of the bus =", pcircuit.mutual_information(circuit, [0], [2]).value, "nats")
print("an evening's rows         =", pcircuit.sample(circuit, 3, rng=0).tolist())
