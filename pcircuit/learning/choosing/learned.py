"""What `learn` found, and how it got there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pcircuit.array_types import Floats, Ints
from pcircuit.circuit import Circuit
from pcircuit.circuit_mixture import Mixture


@dataclass(frozen=True, eq=False)
class Trial:
    """One circuit, or the mixture, while it was fitted.

    Shapes: epochs (E,), training, validation (E,).
    """

    name: str
    num_latents: int
    pseudocount: float
    epochs: Ints
    training: Floats
    validation: Floats

    @property
    def best(self) -> float:
        """The largest mean log-likelihood of the validation rows."""
        return float(self.validation.max())


@dataclass(frozen=True, eq=False)
class Learned:
    """The result of `learn`.

    Attributes
    ----------
    circuit : Circuit
        The best single circuit: exact moments, overlaps and the HLD test need one.
    mixture : Mixture or None
        The mixture, where it is better than the circuit before its last step by more than the tolerance.
    validation_log_likelihood : float
        Mean of `model` over the validation rows, in nats; before it learned from them, where `learn` set them apart.
    standard_error : float
        Its standard error over these rows; infinite for a single row, or if one is impossible.  Choosing by the same
        rows makes the mean a little optimistic: see Notes.
    trials : tuple of Trial
        Everything that was tried, in order.

    Notes
    -----
    The validation rows chose among a few dozen circuits, so their mean is biased upwards, by less than its standard
    error times sqrt(2 log(number of evaluations)); rows that took no part give an unbiased figure.

    Examples
    --------
    >>> import pcircuit
    >>> rows = np.random.default_rng(0).integers(2, size=(60, 1)) ^ np.zeros((1, 3), dtype=int)  # three equal columns
    >>> learned = pcircuit.learn(rows, search=pcircuit.LearnSearch(num_latents=[2], num_trees=1, num_epochs=20))
    >>> learned.mixture is None, learned.model is learned.circuit
    (True, True)
    """

    circuit: Circuit
    mixture: Mixture | None
    validation_log_likelihood: float
    standard_error: float
    trials: tuple[Trial, ...]

    @property
    def model(self) -> Circuit | Mixture:
        """What to use for likelihoods and samples: the mixture if there is one, else the circuit.

        The moments and the HLD test need one v-tree, so they take `circuit` even where there is a mixture.
        """
        return self.circuit if self.mixture is None else self.mixture

    def __str__(self) -> str:
        lines = [
            f"{'tried':<34}{'states':>7}{'smoothing':>11}{'epochs':>8}{'training':>12}{'validation':>12}"
        ]
        for trial in self.trials:
            at = int(np.argmax(trial.validation))
            lines.append(
                f"{trial.name:<34}{trial.num_latents:>7}{trial.pseudocount:>11g}{trial.epochs[at]:>8}"
                f"{trial.training[at]:>12.4f}{trial.validation[at]:>12.4f}"
            )
        lines.append(
            f"{self.model}: validation {self.validation_log_likelihood:.4f} +- {self.standard_error:.4f}"
        )
        return "\n".join(lines)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the validation curve of each trial (needs matplotlib).

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            If matplotlib is missing.
        """
        from pcircuit.pictures.canvas import axes_or_new, plain_frame

        ax = axes_or_new(ax)
        for trial in self.trials:
            ax.plot(
                trial.epochs,
                trial.validation,
                marker=".",
                label=f"{trial.name}, {trial.num_latents} states",
            )
        ax.set_xlabel("epochs of EM")
        ax.set_ylabel("mean log-likelihood of validation rows (nats)")
        ax.legend(fontsize="small")
        return plain_frame(ax)
