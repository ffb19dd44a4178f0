"""The one place with Numba: functions in machine code.  Imported only when one of them is first needed.

Kernels are written over flat arrays and numbers, and compiled as C functions of pointers: an array of Numba is seven
arguments, with shape, strides and an owner, and to call such a function from Python is a second one to compile.  The
types follow from the names of the arguments (`ARRAYS`).  Nobody checks how long an array is, or of which type.  Only
operators, `range` and constants are known: Numba reads, types and lowers what it needs for them, and nothing else.
That takes parts of Numba that are not its public interface; setup.cfg allows the versions that have them.

Numba keeps machine code on disk where it finds a writable folder; a cache that cannot be read or written costs a
compilation and never an exception.
"""

import ctypes
import inspect
import logging
import pathlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

try:
    import numba
    from llvmlite import ir
    from numba import types
    from numba.core import typed_passes, untyped_passes
    from numba.core.caching import FunctionCache, NullCache
    from numba.core.ccallback import CFunc
    from numba.core.compiler import CompilerBase
    from numba.core.compiler_machinery import PassManager
    from numba.core.cpu import CPUContext
    from numba.core.registry import CPUTarget
    from numba.core.runtime import rtsys
    from numba.core.typing import BaseContext, signature
    from numba.core.typing.templates import (
        AbstractTemplate,
        Registry,
        builtin_registry,
        infer_global,
    )
    from numba.extending import lower_builtin
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error}: install Numba, or set the environment variable PCIRCUIT_ENGINE=numpy, which "
        "runs everything on plain NumPy",
        name=error.name,
    ) from error

from pcircuit.kernels.operations import call

logger = logging.getLogger(__name__)

ARRAYS = {
    types.float64: "values numbers table weights tables sums edges counts flows old new between inputs",
    types.int64: "bits",
    types.uint64: "operations lines ends offsets line sizes words turned wrong slices broken",
    types.uint16: "codes categories",
}
ARGUMENTS = {name: types.CPointer(kind) for kind, names in ARRAYS.items() for name in names.split()}
ARGUMENTS["pseudocount"] = types.float64  # others are whole numbers
SINGLE = {name: types.CPointer(types.float32) for name in ("values", "numbers", "table")}
SINGLE["bits"] = types.CPointer(types.int32)

# The lock of the interpreter is released, so tiles run in plain threads.  `contract` lets a*b + c be one fused
# operation, and `reassoc` lets a sum over rows run in vector lanes; infinities, NaN, signed zeros keep their meaning.
EMPTY = ctypes.c_char * 0  # what may lie at any place
OPTIONS = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy", "_nrt": False}


@infer_global(call)
class _Call(AbstractTemplate):
    """A call by an address gives nothing back."""

    def generic(self, args, kws):
        return signature(types.void, *args)


@lower_builtin(call, types.uint64, types.VarArg(types.Any))
def _lowered(context: Any, builder: Any, kinds: Any, arguments: Any) -> Any:
    """A call by an address, of a function that takes what is passed."""
    kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments[1:]])
    builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
    return context.get_dummy_value()


def compiled(function: Callable[..., Any], is_single: bool) -> Any:
    """`function` in machine code, which takes whole numbers and the places of arrays; maybe for values of float32."""
    if numba.config.DISABLE_JIT:  # as coverage and a debugger want it
        return function
    known = ARGUMENTS | SINGLE if is_single else ARGUMENTS
    kinds = [known.get(name, types.uint64) for name in inspect.signature(function).parameters]
    kernel = _Kernel(function, (tuple(kinds), types.void), {}, OPTIONS, _Passes)
    kernel._cache = _cache(function)
    kernel.compile()
    return ctypes.CFUNCTYPE(
        None, *(ctypes.c_double if kind == types.float64 else ctypes.c_void_p for kind in kinds)
    )(kernel.address)


def addresses(operations: list[Any]) -> Any:
    """Where compiled functions begin in memory; None where one is not needed."""
    if numba.config.DISABLE_JIT:
        return operations
    return np.array(
        [ctypes.cast(code, ctypes.c_void_p).value or 0 for code in operations], np.uint64
    )


def place(array: Any) -> Any:
    """Where a contiguous array that may be written begins, or the array for functions that are not compiled."""
    return array if numba.config.DISABLE_JIT else ctypes.addressof(EMPTY.from_buffer(array))


def compile_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` compiled for what it is called with, at its first call, without fast-math: it rounds like Python."""
    dispatcher = numba.njit(nogil=True, error_model="numpy")(function)
    if not numba.config.DISABLE_JIT:
        dispatcher._cache = _cache(function)
    return dispatcher


class _Typing(BaseContext):
    """Types of what Python does with numbers and pointers."""

    def init(self):
        plain = Registry()  # without attributes, most of which are of arrays
        plain.functions, plain.globals = builtin_registry.functions, builtin_registry.globals
        self.install_registry(plain)

    def refresh(self):
        """Nothing is added later."""


class _Lowering(CPUContext):
    """Machine code of the same: Numba's own context imports all that it can compile, and SciPy, in half a second."""

    def load_additional_registries(self):
        from numba.cpython import builtins, numbers, rangeobj, tupleobj  # noqa: F401

        rtsys.initialize(self)


class _Target(CPUTarget):
    """The processor, with these two."""

    typing_context = _Typing()
    target_context = _Lowering(typing_context, "cpu")


class _Passes(CompilerBase):
    """What a plain loop needs of Numba's compiler: no rewriting, and one type for each name in a function."""

    def define_pipelines(self):
        passes = PassManager("kernels")
        for one in (
            untyped_passes.TranslateByteCode,
            untyped_passes.FixupArgs,
            untyped_passes.IRProcessing,
            typed_passes.NopythonTypeInference,
            typed_passes.AnnotateTypes,
            typed_passes.NativeLowering,
            typed_passes.NoPythonBackend,
        ):
            passes.add_pass(one, "")
        passes.finalize()
        return [passes]


class _Kernel(CFunc):
    """A C function for that target."""

    _targetdescr = _Target("cpu")


class _KernelCache(FunctionCache):
    """Numba's cache of one function, where the sources of all kernels are part of the signature.

    Constants come from other files, and Numba itself looks at that of the function only.  A full disk or a damaged file
    means compiling, not an exception.
    """

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload((sig, _sources()), target_context)
        except Exception as error:  # whatever a damaged file causes
            logger.debug("compilation cache not read: %s", error)
            return None

    def save_overload(self, sig, data):
        try:
            super().save_overload((sig, _sources()), data)
        except Exception as error:
            logger.debug("compilation cache not written: %s", error)


def _cache(function):
    """An on-disk cache, if Numba finds a folder for it."""
    try:
        return _KernelCache(function)
    except RuntimeError as error:  # no folder is writable
        logger.debug("no compilation cache: %s", error)
        return NullCache()


@cache
def _sources() -> tuple[tuple[str, float, int], ...]:
    """Name, time and size of every file of the package that has kernels."""
    files = sorted(pathlib.Path(__file__).parents[1].rglob("kernels/*.py"))
    return tuple((path.name, path.stat().st_mtime, path.stat().st_size) for path in files)
