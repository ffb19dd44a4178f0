"""``hld serve``: models behind HTTP.

``hld warm-up``: kernels compiled before they are needed, and kept on disk for later processes.
"""

import os
import signal
import sys
import tempfile
import time
from typing import Any

import pcircuit
from hld.apps.command.output import flush_output, print_text, step
from pcircuit.arguments import check_number
from pcircuit.kernels.engine import engine_is_numpy


def serve(args: Any) -> int:
    """Load the models and serve until the process is told to stop."""
    try:
        from hld.apps.serve import limits, models, server
    except ImportError as error:
        raise ImportError(
            f"serving needs {error.name}, which is not installed: pip install 'hld[serve]'"
        ) from None
    names = ("max_bytes", "max_rows", "seconds", "workers", "queue")
    bounds = limits.Limits(**{name: getattr(args, name) for name in names})
    token, watch = server.token_of(args.token_file), check_number(args.watch, "watch", least=0)
    server.check_token(token, args.host)

    def told(address: str) -> None:
        print_text(f"serving {', '.join(loaded.loaded)} at {address}")
        flush_output()

    # it would end the process; from when it serves it is a reload
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with step(f"loading {', '.join(args.models)}"):
        loaded = models.Models(models.model_paths(args.models), args.state, args.alpha)
    server.serve(
        loaded,
        bounds,
        host=args.host,
        port=args.port,
        token=token,
        watch_seconds=watch,
        told=told,
    )
    return 0


def warm_up(args: Any) -> int:
    """Compile all kernels, with a line on standard error for each kind."""
    if engine_is_numpy():
        print_text("nothing to compile: PCIRCUIT_ENGINE=numpy never uses kernels")
        return 0
    started, folder = time.perf_counter(), os.environ.get("NUMBA_CACHE_DIR")
    where = "beside the package or, where that is read-only, in the user's cache folder"
    if folder:
        where = f"in {folder}"
        # where it cannot write Numba looks elsewhere, and says nothing
        tempfile.TemporaryFile(dir=folder).close()
    with step("compiling kernels"):
        pcircuit.warm_up(report=_say)
    seconds = time.perf_counter() - started
    print_text(f"kernels ready after {seconds:.1f} s; Numba keeps them {where}")
    return 0


def _say(name: Any) -> None:
    """A line about a kind of kernels."""
    if sys.stderr is not None:
        print(f"kernels for {name}: compiled, or found in the cache", file=sys.stderr, flush=True)
