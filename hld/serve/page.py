"""The page in the browser: one HTML file, whose only script is identified by its hash, so that no other may run."""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.resources
import re

from hld.reports.page import STYLE

REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox"
)


@functools.cache
def page(alpha: float = 0.05) -> str:
    """The page, with the level of the service in its form."""
    text = importlib.resources.files("hld.serve").joinpath("page.html").read_text(encoding="utf-8")
    return text.replace("/* the looks of a report */", STYLE).replace(
        'value="0.05"', f'value="{float(alpha)!r}"'
    )


@functools.cache
def policy() -> str:
    """The Content-Security-Policy of the page: its own script, its own server, nothing else."""
    scripts = re.findall(r"<script>(.*?)</script>", page(), re.DOTALL)
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'"
        for one in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
