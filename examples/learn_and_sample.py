"""Learn structure and parameters, evaluate rows with missing values, complete them, and draw new ones."""

import numpy as np
from sklearn.datasets import load_digits

import pcircuit

# 8 x 8 pictures of threes as 64 binary variables
images, digit = load_digits(return_X_y=True)
threes = (images[digit == 3] > 7).astype(np.int64)
train, fresh = threes[:120], threes[120:]

start = pcircuit.hclt(train, num_latents=4, rng=0)  # the tree of the variables, random parameters
circuit, history = pcircuit.fit_em(start, train, num_epochs=15, pseudocount=1.0)
print(circuit)
print(
    f"training rows: {history[0]:.2f} -> {history[-1]:.2f} nats a row;",
    f"fresh rows: {pcircuit.log_likelihood(circuit, fresh).mean():.2f}",
)

# the lower half is missing: its marginal likelihood is exact, and so is a draw of it given the upper half
upper = fresh[:1].copy()
upper[:, 32:] = -1
print(f"upper half alone: {pcircuit.log_likelihood(circuit, upper)[0]:.2f}")
completed = pcircuit.sample(circuit, 1, given=upper, rng=1)
assert (completed[:, :32] == fresh[:1, :32]).all()


def draw(row):
    """A row as a picture of characters."""
    return ["".join("#" if pixel else "." for pixel in line) for line in np.reshape(row, (8, 8))]


print("a fresh one, its upper half completed, and one that is drawn anew:")
for lines in zip(
    draw(fresh[0]), draw(completed[0]), draw(pcircuit.sample(circuit, 1, rng=2)[0]), strict=True
):
    print("   ".join(lines))
