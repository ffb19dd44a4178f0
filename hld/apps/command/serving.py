"""``hld serve``: models behind HTTP.

``hld warm-up``: kernels compiled before they are needed, and kept on disk for later processes.
"""

import importlib.util
import os
import pathlib
import sys
import time
from typing import Any

import pcircuit
from hld.apps.command.output import flush_output, print_text, step
from hld.apps.serve.limits import Limits
from hld.apps.serve.models import Models, model_paths
from hld.apps.serve.server import check_token, reloads_later, token_of
from hld.apps.serve.server import serve as run_server
from pcircuit.arguments import check_number
from pcircuit.kernels.engine import compile_kernel, engine_is_numpy

NEEDED = {
    "starlette": "starlette",
    "uvicorn": "uvicorn",
    "prometheus_client": "prometheus-client",
}


def serve(args: Any) -> int:
    """Load the models and serve until the process is told to stop."""
    absent = [
        package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None
    ]
    if absent:
        are = "is" if len(absent) == 1 else "are"
        raise ImportError(
            f"serving needs {', '.join(absent)}, which {are} not installed: pip install 'hld[serve]'"
        )
    limits = Limits(
        max_bytes=args.max_bytes,
        max_rows=args.max_rows,
        seconds=args.seconds,
        workers=args.workers,
        queue=args.queue,
    )
    token, watch = token_of(args.token_file), check_number(args.watch, "watch", least=0)
    check_token(token, args.host)

    def told(address: Any) -> None:
        print_text(f"serving {', '.join(models.loaded)} at {address}")
        flush_output()

    with reloads_later() as heard:
        with step(f"loading {', '.join(args.models)}"):
            models = Models(model_paths(args.models), args.state, args.alpha)
        if heard:  # the files may have been replaced after they were read
            models.reload()
        run_server(
            models,
            limits,
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
    _check_folder(folder)
    with step("compiling kernels"):
        pcircuit.warm_up(report=_say)
    where = (
        f"in {folder}"
        if folder
        else "beside the package or, where that is read-only, in the user's cache folder"
    )
    print_text(
        f"kernels ready after {time.perf_counter() - started:.1f} s; Numba keeps them {where}"
    )
    return 0


def _check_folder(folder: str | None) -> None:
    """Refuse to compile what would not be kept: where Numba cannot write it looks elsewhere, and says nothing."""
    compiled: Any = compile_kernel(_same)
    if not hasattr(compiled, "stats"):  # NUMBA_DISABLE_JIT
        return
    path = compiled.stats.cache_path
    if folder and (
        path is None or pathlib.Path(folder).resolve() not in pathlib.Path(path).resolve().parents
    ):
        raise ValueError(
            f"NUMBA_CACHE_DIR is {folder!r}, where nothing can be written, expected a folder for compiled "
            "kernels: change its access, or name another one"
        )
    if path is None:
        raise ValueError(
            "neither the folder of the package nor the user's cache folder can be written, expected one "
            "for compiled kernels: name another one (NUMBA_CACHE_DIR)"
        )


def _same(x: Any) -> Any:
    return x


def _say(name: Any) -> None:
    """A line about a kind of kernels."""
    if sys.stderr is not None:
        print(f"kernels for {name}: compiled, or found in the cache", file=sys.stderr, flush=True)
