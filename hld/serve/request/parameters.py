"""What a request asks for: its parameters, each checked, and none that the endpoint does not have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hld.serve.refusals import Refusal
from hld.serve.work import DETAILS

if TYPE_CHECKING:
    from starlette.requests import Request

    from hld.serve.models import LoadedModel, Models


class Asked:
    """The parameters of a request."""

    def __init__(self, request: Request, known: Sequence[str]) -> None:
        self.values: dict[str, str] = {}
        for name, value in request.query_params.multi_items():
            if name not in known:
                raise Refusal(
                    400,
                    name[:64],
                    f"`{name[:64]}` is not a parameter here: expected {', '.join(known) or 'none'}",
                )
            if name in self.values:
                raise Refusal(400, name, f"`{name}` is given twice, expected one value")
            self.values[name] = value

    def model(self, models: Models) -> LoadedModel:
        """The requested model; the only one if none is named."""
        loaded, name = models.loaded, self.values.get("model")
        if name is None and len(loaded) > 1:
            raise Refusal(400, "model", f"`model` is missing: expected one of {', '.join(loaded)}")
        if name is not None and name not in loaded:
            raise Refusal(
                404, "model", f"`model` is {name[:64]!r}, expected one of {', '.join(loaded)}"
            )
        return loaded[next(iter(loaded)) if name is None else name]

    def number(self, name: str, default: float) -> float:
        """A finite number."""
        text = self.values.get(name, str(default))
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise Refusal(400, name, f"`{name}` must be a finite number, found {text[:64]!r}")
        return value

    def count(self, name: str) -> int | None:
        """A whole number of at least 0, or None."""
        text = self.values.get(name)
        if text is not None and not (text.isascii() and text.isdecimal() and len(text) < 18):
            raise Refusal(
                400, name, f"`{name}` must be a whole number of at least 0, found {text[:64]!r}"
            )
        return None if text is None else int(text)

    def detail(self) -> str:
        """How much of the result is wanted."""
        value = self.values.get("detail", DETAILS[0])
        if value not in DETAILS:
            raise Refusal(
                400, "detail", f"`detail` must be one of {', '.join(DETAILS)}, found {value[:64]!r}"
            )
        return value
