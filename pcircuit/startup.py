"""What a process may do once: kernels are compiled before they are needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pcircuit.arguments import check_flag, shown
from pcircuit.engine import engine_is_numpy


def warm_up(*, moments: bool = False, report: Callable[[str], object] | None = None) -> None:
    """Compile, or load from the on-disk cache, the kernels that likelihoods, EM and sampling need.

    For processes that must not compile later: workers of a service, or the build of a container, where ``hld warm-up``
    does this and more.  Does nothing with ``PCIRCUIT_ENGINE=numpy``.

    Parameters
    ----------
    moments : bool
        Also the kernels of exact moments, of likelihoods expected given a part of a row, and of scores row by row.
    report : callable, optional
        Called with a few words before each step.

    Raises
    ------
    TypeError
        If `moments` is not true or false, or `report` cannot be called.
    ModuleNotFoundError
        If Numba is not installed.

    Notes
    -----
    Seconds with an empty cache, tenths of one after.  Without it kernels are compiled at the first large call.

    Examples
    --------
    >>> import pcircuit
    >>> pcircuit.warm_up()
    """
    with_moments = check_flag(moments, "moments")
    if report is not None and not callable(report):
        raise TypeError(f"`report` must be a function or None, found {shown(report)}")
    if engine_is_numpy():
        return
    from pcircuit.inference.likelihood import EVALUATION
    from pcircuit.inference.scores import SCORES
    from pcircuit.learning.em import EM
    from pcircuit.moments.expected_units import EXPECTATIONS
    from pcircuit.moments.routes import MOMENTS

    for kernels in (EVALUATION, EM, MOMENTS, EXPECTATIONS, SCORES)[: 5 if with_moments else 2]:
        if report is not None:
            report(kernels.name)
        kernels.make_ready()


def compile_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` compiled by Numba at its first call, for packages with kernels of their own; see `compiled.jit`."""
    from pcircuit.compiled.jit import compile_kernel as compiled

    return compiled(function)
