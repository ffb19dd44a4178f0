"""Exported C programs, compiled and called from Python: for the tests, and for the table of doors."""

import ctypes
import subprocess

import numpy as np

from hld.apps.export.c_source import c_source
from hld.apps.export.plan import plan_of

STRICT = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC")
PVALUES = ("pvalue", "distance", "missing", "new_values", "count", "dependence")
COUNTED = ("missing_column", "new_column", "count_column", "count_category", "count_is_cut")
PLACES = (*COUNTED, "first_column", "second_column", "is_weaker")


def compiled(detector, folder, more=""):
    """The program of a detector as a function of codes (T, V): its status and result; and the library."""
    plan, source = plan_of(detector), folder / "model.c"
    source.write_text(c_source(detector) + more, encoding="ascii")
    arguments = ["cc", *STRICT, "-o", folder / "model.so", source, "-lm"]
    subprocess.run(arguments, check=True, timeout=120)
    library = ctypes.CDLL(str(folder / "model.so"))
    arrays = {
        "means": len(plan.arrays["mean"]),
        "distances": len(plan.metrics),
        "pvalues": len(plan.metrics),
    }

    class Result(ctypes.Structure):
        _fields_ = (
            [(name, ctypes.c_double) for name in PVALUES]
            + [(name, ctypes.c_int) for name in PLACES]
            + [(name, ctypes.c_double * size) for name, size in arrays.items()]
        )

    def call(codes):
        codes, result = np.ascontiguousarray(codes, dtype=np.int32), Result()
        rows = ctypes.c_void_p(codes.ctypes.data), ctypes.c_long(len(codes))
        return library.hld_test(*rows, ctypes.byref(result)), result

    return call, library
