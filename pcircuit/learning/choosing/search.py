"""What `learn` tries: sizes, smoothing, how many trees, and when it stops.

What `learn` found, and how it got there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pcircuit.arguments import Floats, Ints, check_flag, check_number, check_whole_number
from pcircuit.circuit import Circuit, Mixture
from pcircuit.evidence import MOST_WEIGHT

MAY_BE_EMPTY = ("num_parts", "bandwidths")


@dataclass(frozen=True, eq=False)
class Trial:
    """One circuit, or the mixture, while it was fitted; shapes epochs (E,), training, validation (E,)."""

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
        from pcircuit.pictures.scene import axes_or_new

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
        ax.spines[["top", "right"]].set_visible(False)
        return ax


@dataclass(frozen=True)
class LearnSearch:
    """The choices that `learn` makes on validation rows.

    Parameters
    ----------
    num_latents : sequence of int
        States K of the hidden variables, in the order in which they are tried; the search ends with the first that is
        no better than the one before.  Default 8, 16, 32, 64.
    pseudocounts : sequence of float
        Smoothing, from 0 to 1e100; the first is used while K is chosen.  Default 0.1, 1.0, 0.01.
    num_trees : int
        Largest number of models that are made in one way.  1 gives a single circuit, which has exact moments.  Default
        32.
    num_parts : sequence of int
        Numbers of parts into which random cuts divide the rows, so that each part has a tree of its own; all that leave
        a part at least as many rows as columns are tried.  Default 4, 16, 64, 256; () for no cuts.
    num_points : int
        Points of mixtures over a continuous hidden variable, at most; rounded down to a power of two, and no more than
        rows, or than `max_parameters` allows two of them.  Below 256 there are none.  Default 8192; 0 leaves them out.
    bandwidths : sequence of float
        Of kernels around the rows, above 0 and at most 1, each a model of the mixture, which then holds these rows: ()
        for none, also where training rows must not leave.  Default 0.01, 0.03, 0.1, 0.3.
    num_epochs : int
        Largest number of EM epochs for each circuit.  Default 200.
    joint : bool
        Whether to go on with EM for the whole mixture where that helps.  Default True.
    tolerance : float
        Nats per validation row that count as better.  Default 0.001.
    grow : bool
        Whether circuits also begin with the states of a smaller one, each split into two.  Default True.
    max_work : float
        Where the search ends: n K (S K + 6 V) for each epoch of each circuit that it fits, with n rows that differ, V
        columns and, in the Chow-Liu tree, S + 1 columns with others below them; and half of the multiplications in the
        matrix products of continuous mixtures.  The first size is always fitted; then nothing is tried that would take
        more than a quarter of what is left, but for a larger size where the last one still gained: that is tried if the
        quarter pays for twenty epochs, and ends with it.  One core does about 4 times 10^9 in a second with two
        categories, fewer with many.  Default 2.5e12, about six minutes of two cores; 1e300
        for no limit.
    max_parameters : float
        Of the mixture: no member is added that would take it beyond them, but for the first two of each way and the
        kernels, which have at most so many by themselves.  Default 2^26, which take 512 MB.

    Raises
    ------
    TypeError, ValueError
        If a number is out of range, or a sequence is empty.

    Notes
    -----
    Of these defaults most were compared on the validation rows of some of ten binary sets, and `docs/learning.md` has
    results, also for these sets; ranges to choose from were not compared, and `max_work` is a choice of time.

    Examples
    --------
    >>> LearnSearch(num_trees=1).num_latents
    (8, 16, 32, 64)
    """

    num_latents: Sequence[int] = (8, 16, 32, 64)
    pseudocounts: Sequence[float] = (0.1, 1.0, 0.01)
    num_trees: int = 32
    num_parts: Sequence[int] = (4, 16, 64, 256)
    num_points: int = 8192
    bandwidths: Sequence[float] = (0.01, 0.03, 0.1, 0.3)
    num_epochs: int = 200
    joint: bool = True
    tolerance: float = 1e-3
    grow: bool = True
    max_work: float = 2.5e12
    max_parameters: float = 2.0**26

    def __post_init__(self) -> None:
        for name, check, limits in (
            ("num_latents", check_whole_number, {"least": 1}),
            ("pseudocounts", check_number, {"least": 0, "most": MOST_WEIGHT}),
            ("num_parts", check_whole_number, {"least": 2}),
            ("bandwidths", check_number, {"above": 0, "most": 1}),
        ):
            values = getattr(self, name)
            values = values.tolist() if isinstance(values, np.ndarray) else values
            is_sequence = isinstance(values, Sequence) and not isinstance(values, str)
            if not is_sequence or not (len(values) or name in MAY_BE_EMPTY):
                raise TypeError(
                    f"`{name}` must be a sequence of at least one number, found {values!r}"
                )
            found = tuple(check(one, f"{name}[{i}]", **limits) for i, one in enumerate(values))
            object.__setattr__(self, name, found)
        for name, least in (("num_trees", 1), ("num_epochs", 1), ("num_points", 0)):
            object.__setattr__(self, name, check_whole_number(getattr(self, name), name, least))
        check_flag(self.grow, "grow")
        check_flag(self.joint, "joint")
        object.__setattr__(self, "tolerance", check_number(self.tolerance, "tolerance", least=0))
        for name in ("max_work", "max_parameters"):
            object.__setattr__(self, name, check_number(getattr(self, name), name, above=0))
