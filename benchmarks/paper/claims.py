"""Every claim and every printed row of the paper in one table: claim, paper, ours, verdict.

    theory       `claims_theory`    statements that are proved or computed, each with the test that shows it
    text         `claims_tabular`, `claims_images`: sentences, judged by a rule on the stored results
    rows         `claims_rows`      rows of the printed tables, number by number

Verdicts are computed.  Of a sentence: "holds", "in part", "fails".  Of a row: "agrees", "differs", or which of its
numbers agree: within a `tolerance` and three of our standard errors.  Where we have nothing to compare: "not done".
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

HOLDS, PARTLY, FAILS, NOT_DONE = "holds", "in part", "fails", "not done"
AGREES, DIFFERS = "agrees", "differs"
STANDARD_ERRORS = 3
SLACK = 0.02  # of "at least as good"


class Claim(NamedTuple):
    """One row of the table; `detail` says more about the verdict."""

    claim: str
    paper: str
    ours: str
    verdict: str
    detail: str = ""


def all_claims(findings) -> dict:
    """{heading: claims}, in the order of the paper."""
    from .claims_images import image_claims
    from .claims_rows import row_claims
    from .claims_tabular import tabular_claims
    from .claims_theory import theory_claims

    return {
        **theory_claims(findings),
        **tabular_claims(findings),
        **image_claims(findings),
        **row_claims(findings),
    }


def judged(*conditions) -> str:
    """A verdict: "holds" if all conditions do, "fails" if none does."""
    return HOLDS if all(conditions) else PARTLY if any(conditions) else FAILS


def near(ours, theirs, tolerance=0.05) -> str:
    """Verdict on numbers one by one."""
    return judged(*(abs(a - b) <= tolerance for a, b in zip(ours, theirs, strict=True)))


def sizes_text(found) -> str:
    """Batch sizes, or none."""
    return ", ".join(map(str, found)) if found else "none"


def agreement(names, theirs, ours, kind) -> tuple:
    """Verdict of a row and its detail: which of the named means agree with the printed numbers."""
    compared = [
        (name, abs(mean.mean - value) <= tolerance(kind, value) + STANDARD_ERRORS * mean.error)
        for name, value, mean in zip(names, theirs, ours, strict=True)
        if mean is not None
    ]
    if not compared:
        return NOT_DONE, ""
    good = [name for name, agrees in compared if agrees]
    if len(good) == len(compared):
        return AGREES, ""
    return (PARTLY, ", ".join(good)) if good else (DIFFERS, "")


def tolerance(kind, value) -> float:
    """How far apart rates may be that agree: .05 for detection, .01 under the model, between for FPR_data."""
    return {"ood": 0.05, "model": 0.01, "data": min(0.05, 0.01 + value / 4)}[kind]


def claims_table(groups) -> str:
    """The table in Markdown; headings are rows."""
    lines = ["| claim | paper | ours | verdict |", "| --- | --- | --- | --- |"]
    for heading, claims in groups.items():
        lines.append(f"| **{heading}** | | | |")
        lines += [f"| {c.claim} | {c.paper} | {c.ours} | {_verdict_text(c)} |" for c in claims]
    return "\n".join(lines) + "\n"


def summary_table(groups) -> str:
    """How many claims of each group have which verdict."""
    columns = [HOLDS, AGREES, PARTLY, FAILS, DIFFERS, NOT_DONE]
    lines = ["| | " + " | ".join(columns) + " |", "| --- |" + " ---: |" * len(columns)]
    for heading, claims in groups.items():
        counts = Counter(claim.verdict for claim in claims)
        lines.append(
            f"| {heading.partition(':')[0]} | "
            + " | ".join(str(counts[c] or "") for c in columns)
            + " |"
        )
    return "\n".join(lines) + "\n"


def _verdict_text(claim) -> str:
    return claim.verdict + (f": {claim.detail}" if claim.detail else "")
