"""What judges the batches of a detector besides its test, as entries of a file."""

from __future__ import annotations

import reprlib
from typing import Any

from hld.conditional.conditional_test import ConditionalTest
from hld.variation.group_test import GroupTest
from hld.variation.time_test import TimeTest
from pcircuit.files.contents import check_names

JUDGES: dict[str, Any] = {"groups": GroupTest, "time": TimeTest, "covariates": ConditionalTest}


def judge_parts(judge: Any, test: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Entries of the header and arrays; none where the test itself judges."""
    if judge is test:
        return {}, {}
    return {"judge": judge.kind}, judge.to_arrays()


def read_judge(header: dict[str, Any], arrays: dict[str, Any], test: Any) -> Any:
    """What judges batches, from what `judge_parts` gave; raises ValueError where it is no judge."""
    if "judge" not in header:
        check_names(arrays, (), "the file")
        return test
    kind = header["judge"]
    if not isinstance(kind, str) or kind not in JUDGES:
        raise ValueError(f"'judge' must be one of {', '.join(JUDGES)}, found {reprlib.repr(kind)}")
    return JUDGES[kind].from_arrays(test, arrays)
