"""The options of EM in two groups: how a step is taken, and how progress is watched.

`fit_em` takes an object of each kind, or the fields of both as keywords of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np

from pcircuit.arguments import check_flag, check_number, check_whole_number
from pcircuit.array_types import Ints, Seed

T = TypeVar("T")
DECAY = 0.6  # steps have to shrink, by an exponent in (0.5, 1], to converge; Cappe and Moulines advise this one


@dataclass(frozen=True)
class EMSteps:
    """Which rows a step of EM uses, and how far it goes.

    Parameters
    ----------
    batch_size : int, optional
        Rows of a mini-batch; None uses all rows in each step.
    step_size : float, optional
        In (0, 1]: the weight of the newest flows in the moving average that parameters are made of.  Default: 1 for
        full batches; for mini-batches (k + 1)^-0.6 in step k = 1, 2, ....
    rng : int or numpy.random.Generator, optional
        Order of the rows in mini-batches.

    Raises
    ------
    TypeError, ValueError
        If `batch_size` is not a whole number of at least 1, or `step_size` not a number in (0, 1].

    Examples
    --------
    >>> [round(EMSteps(batch_size=64).share(k), 3) for k in (0, 1, 10, 100)]
    [0.66, 0.517, 0.225, 0.062]
    """

    batch_size: int | None = None
    step_size: float | None = None
    rng: Seed = None

    def __post_init__(self) -> None:
        object.__setattr__(
            self,
            "batch_size",
            check_whole_number(self.batch_size, "batch_size", 1, none="all rows"),
        )
        if self.step_size is not None:
            object.__setattr__(
                self, "step_size", check_number(self.step_size, "step_size", above=0, most=1)
            )

    @property
    def is_full(self) -> bool:
        """Whether each step uses all rows and replaces all that was known: `share` is always 1 (bool)."""
        return self.batch_size is None and self.step_size is None

    def share(self, number: int) -> float:
        """Weight s of the newest flows in the moving average, ``F <- (1 - s) F + s F_new``.

        Parameters
        ----------
        number : int
            Of the step, from 0; mini-batches count through all epochs.

        Returns
        -------
        float
            In (0, 1]: `step_size` if given; else 1 for all rows and (number + 2)^-0.6 for mini-batches.

        Examples
        --------
        >>> EMSteps().share(0), EMSteps(step_size=0.5).share(9), round(EMSteps(batch_size=64).share(0), 3)
        (1.0, 0.5, 0.66)
        """
        if self.is_full:
            return 1.0
        return (number + 2.0) ** -DECAY if self.step_size is None else self.step_size

    def batches(self, num_rows: int, rng: np.random.Generator) -> Iterator[slice | Ints]:
        """Yield the rows of each step of one epoch; each row is in exactly one step.

        Parameters
        ----------
        num_rows : int
            N.
        rng : numpy.random.Generator
            For the order of the rows; not used, and left as it is, with all rows in each step.

        Yields
        ------
        slice or int array
            Index of the rows: all of them once, or ceil(N / batch_size) mini-batches, the last of which may be smaller.

        Examples
        --------
        >>> import numpy as np
        >>> [len(rows) for rows in EMSteps(batch_size=4).batches(10, np.random.default_rng(0))]
        [4, 4, 2]
        """
        if self.batch_size is None:
            yield slice(None)
            return
        order = rng.permutation(num_rows)
        for start in range(0, num_rows, self.batch_size):
            yield order[start : start + self.batch_size]


@dataclass(frozen=True)
class EMWatch:
    """When EM stops early, and how progress is shown.

    Parameters
    ----------
    tolerance : float, default 0.0
        Stop when the mean log-likelihood gains less than this in an epoch (nats per row); 0 never stops early.
    callback : callable, optional
        Called after each epoch as ``callback(epoch, mean_log_likelihood)``; a true result stops.
    progress : bool, default False
        Draw a progress bar on standard error (needs `rich`; silent without it, and if that is not a terminal).

    Raises
    ------
    TypeError, ValueError
        If `tolerance` is not a number of at least 0, `callback` cannot be called, or `progress` is not a boolean.

    Examples
    --------
    >>> EMWatch(tolerance=1e-3).stops([-2.0, -1.9995])
    True
    """

    tolerance: float = 0.0
    callback: Callable[[int, float], object] | None = None
    progress: bool = False

    def __post_init__(self) -> None:
        check_number(self.tolerance, "tolerance", least=0)
        check_flag(self.progress, "progress")
        if self.callback is not None and not callable(self.callback):
            raise TypeError(
                f"`callback` must be callable, or None, found {type(self.callback).__name__}"
            )

    def stops(self, history: list[float]) -> bool:
        """Whether EM ends here: the last gain is below `tolerance`, if that is above 0, or else the callback says so.

        Parameters
        ----------
        history : list of float
            Mean log-likelihood of each epoch so far, in nats per row; at least one.

        Returns
        -------
        bool

        Raises
        ------
        TypeError
            If the callback returns what is neither true nor false, such as an array.

        Examples
        --------
        >>> EMWatch(callback=lambda epoch, value: epoch == 1).stops([-3.0, -2.0])
        True
        """
        gain = (
            float(history[-1]) - float(history[-2]) if len(history) > 1 else np.inf
        )  # NaN where both are -inf
        has_converged = self.tolerance > 0 and gain < self.tolerance
        if has_converged or self.callback is None:
            return has_converged
        result = self.callback(len(history) - 1, history[-1])
        try:
            return bool(result)
        except (TypeError, ValueError):  # of an array, a table or pandas' NA
            raise TypeError(
                "`callback` must return what is true, to stop, or false, found "
                f"{type(result).__name__}: return one truth value, or None"
            ) from None

    @contextmanager
    def bar(self, num_epochs: int) -> Iterator[Callable[[float], None]]:
        """A progress bar on standard error, as a context.

        It is drawn only with `progress`, on a terminal, and where `rich` is installed; else nothing is.

        Parameters
        ----------
        num_epochs : int
            Of the whole bar.

        Yields
        ------
        advance : callable
            Takes the mean log-likelihood of an epoch that is done.
        """
        is_seen = (
            sys.stderr is not None and sys.stderr.isatty()
        )  # None in programs without a console
        if not (self.progress and is_seen) or find_spec("rich") is None:
            yield lambda value: None
            return
        from rich.console import Console
        from rich.progress import (
            Progress,
            SpinnerColumn,
            TimeElapsedColumn,
        )  # these two move while nothing else does

        with Progress(
            SpinnerColumn(),
            *Progress.get_default_columns(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        ) as bar:
            task = bar.add_task("EM", total=num_epochs)
            yield lambda value: bar.update(
                task, advance=1, description=f"EM, log-likelihood {value:.4f}"
            )


def grouped(
    steps: EMSteps | None, watch: EMWatch | None, keywords: dict[str, Any]
) -> tuple[EMSteps, EMWatch]:
    """Both groups, from objects or from the `keywords` that name their fields."""
    known = {field.name: kind for kind in (EMSteps, EMWatch) for field in fields(kind)}
    for name in keywords:
        if name not in known:
            raise TypeError(
                f"`fit_em` has no argument `{name}`, expected one of {', '.join(sorted(known))} besides "
                "those of its signature"
            )
    return _one_way("steps", EMSteps, steps, keywords), _one_way("watch", EMWatch, watch, keywords)


def _one_way(name: str, kind: type[T], given: T | None, keywords: dict[str, Any]) -> T:
    """The object `given`, or one made of the keywords that name its fields; not of both."""
    own = {field.name: keywords[field.name] for field in fields(kind) if field.name in keywords}  # type: ignore[arg-type]
    if given is None:
        return kind(**own)
    if own:
        raise TypeError(
            f"`{name}` is given and so is `{next(iter(own))}`, which is a part of it: give one of the two"
        )
    if not isinstance(given, kind):
        raise TypeError(
            f"`{name}` must be a pcircuit.{kind.__name__}, or None, found {type(given).__name__}"
        )
    return given
