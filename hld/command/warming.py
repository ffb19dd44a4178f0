"""``hld warm-up``: kernels compiled before they are needed, and kept on disk for later processes."""

from __future__ import annotations

import os
import pathlib
import sys
import time
from typing import Any

import pcircuit
from hld.command.output import print_text, step
from pcircuit.kernels.engine import compile_kernel, engine_is_numpy


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
