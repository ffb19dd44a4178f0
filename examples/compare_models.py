"""Which structure explains fresh rows best?  Chow-Liu tree, hidden Chow-Liu trees and RAT-SPN on the same rows."""

import numpy as np
from sklearn.datasets import load_digits

import hld
import pcircuit
from pcircuit.io.circuit_file import to_arrays

images, digit = load_digits(return_X_y=True)
rows = (images[digit == 8][:, 16:48] > 7).astype(
    np.int64
)  # the four lines in the middle, black and white
rows = rows[np.random.default_rng(0).permutation(len(rows))]
train, fresh = rows[:120], rows[120:]


def fitted(circuit):
    """The circuit after EM."""
    return pcircuit.fit_em(circuit, train, num_epochs=12, pseudocount=1.0)[0]


models = {
    "Chow-Liu tree": pcircuit.chow_liu_circuit(train, pseudocount=1.0),
    "hidden Chow-Liu tree, 2 states": fitted(pcircuit.hclt(train, num_latents=2, rng=0)),
    "hidden Chow-Liu tree, 4 states": fitted(pcircuit.hclt(train, num_latents=4, rng=0)),
    "RAT-SPN, 4 units": fitted(pcircuit.rat_spn([2] * 32, num_units=4, depth=3, rng=0)),
}

print(f"{'model':<32} {'parameters':>10} {'fresh rows':>16} {'p-value':>8}")
for name, circuit in models.items():
    scores = pcircuit.log_likelihood(circuit, fresh)
    error = scores.std(ddof=1) / np.sqrt(len(scores))
    # is the circuit itself a good description?  Its own moments are the reference, as in the paper
    pvalue = hld.HLDTest(circuit, metric="standardized")(fresh).pvalue
    size = sum(array.size for array in to_arrays(circuit).values() if array.dtype.kind == "f")
    print(f"{name:<32} {size:>10} {scores.mean():>9.2f} +- {error:.2f} {pvalue:>8.3g}")

# two models on one tree, compared with each other: how much worse the second explains rows of the first
first, second = models["hidden Chow-Liu tree, 4 states"], models["hidden Chow-Liu tree, 2 states"]
print(
    "divergence KL(4 states, 2 states) =",
    pcircuit.kl_divergence(first, second, num_samples=500, rng=0),
)
