"""The same circuit as a programmer of JAX or PyTorch writes it: twenty lines, linear, rescaled in each region.

What is learned is flows by automatic differentiation: those of a parameter are it times the derivative of the rows'
log-likelihood.  `jax.jit` compiles the whole pass; PyTorch runs it operation by operation.
"""

import os

import numpy as np

from pcircuit import InputRegion

os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)


def log_likelihood(xp, circuit, parameters, columns):
    """(N,) of columns (V, N), in the arrays of a library; `parameters` are tables and weights, region by region."""
    shown, shift = [], 0.0
    for r, region in enumerate(circuit.regions):
        if isinstance(region, InputRegion):
            codes, table = columns[region.variable], parameters[r]
            if region.num_categories == 2:
                shown.append(xp.where(codes == 1, table[:, 1:], table[:, :1]))
            else:
                shown.append(table[:, codes])
            continue
        product = 1.0
        for a, c in enumerate(circuit.vtree.children(r).tolist()):
            units = region.products[:, a]
            is_all = np.array_equal(units, np.arange(len(shown[c])))
            product = product * (shown[c] if is_all else shown[c][units])
        top = xp.amax(product, 0)
        shift = shift + xp.log(top)
        shown.append(parameters[r] @ (product / top))
    return xp.log(shown[-1][0]) + shift


def parameters_of(circuit) -> list:
    """Tables and weights, region by region."""
    return [
        region.probs if isinstance(region, InputRegion) else region.weights
        for region in circuit.regions
    ]


class JAX:
    """The pass compiled by `jax.jit`."""

    def __init__(self, circuit, dtype):
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)
        self._jnp = jnp
        self._parameters = [jnp.asarray(part, dtype=dtype) for part in parameters_of(circuit)]
        self._evaluate = jax.jit(lambda *given: log_likelihood(jnp, circuit, *given))
        self._gradients = jax.jit(
            jax.grad(lambda *given: log_likelihood(jnp, circuit, *given).sum())
        )

    def as_input(self, rows):
        """(V, N) on the device."""
        return self._jnp.asarray(rows.T.astype(np.int32))

    def evaluate(self, columns):
        """(N,) log-likelihoods."""
        return np.asarray(self._evaluate(self._parameters, columns))

    def flows(self, columns):
        """Flows of each region."""
        found = self._gradients(self._parameters, columns)
        return [np.asarray(p * g) for p, g in zip(self._parameters, found, strict=True)]


class Torch:
    """The pass run by PyTorch, in one thread."""

    def __init__(self, circuit, dtype):
        import torch

        torch.set_num_threads(1)
        self._torch, self._circuit = torch, circuit
        self._parameters = [
            torch.tensor(part, dtype=getattr(torch, dtype), requires_grad=True)
            for part in parameters_of(circuit)
        ]

    def as_input(self, rows):
        """(V, N)."""
        return self._torch.from_numpy(np.ascontiguousarray(rows.T.astype(np.int64)))

    def evaluate(self, columns):
        """(N,) log-likelihoods."""
        with self._torch.no_grad():
            found = log_likelihood(self._torch, self._circuit, self._parameters, columns)
        return found.numpy()

    def flows(self, columns):
        """Flows of each region."""
        total = log_likelihood(self._torch, self._circuit, self._parameters, columns).sum()
        found = self._torch.autograd.grad(total, self._parameters)
        return [(p * g).detach().numpy() for p, g in zip(self._parameters, found, strict=True)]


LIBRARIES = {"jax": JAX, "torch": Torch}
