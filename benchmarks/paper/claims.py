"""Every claim and every printed row of the paper in one table: claim, paper, ours, verdict.

    theory       `claims_theory`    statements that are proved or computed, each with the test that shows it
    text         `claims_tabular`, `claims_images`: sentences, judged by a rule on the stored results
    rows         `claims_rows`      rows of the printed tables, number by number

Verdicts are computed.  Of a sentence: "holds", "in part", "fails".  Of a row: "agrees", "differs", or which of its
numbers agree: within a `tolerance` of the range of ours over splits and starts, or of three standard errors to both
sides where a circuit was run once.  Where we have nothing to compare: "not done".
"""

from collections import Counter
from typing import NamedTuple

HOLDS, PARTLY, FAILS, NOT_DONE = "holds", "in part", "fails", "not done"
AGREES, DIFFERS = "agrees", "differs"
SLACK = 0.02  # of "at least as good"


WHY = {  # the claims of the opening table, and the reason for what came out
    "theorem 1: d_C is the integral probability metric of x -> a . L(x), norm of a at most 1": "checked against "
    "enumeration on every small circuit",
    "mu and S are exact and tractable; algorithm 1": "three routes agree; one pass over regions replaces products of "
    "circuits",
    "the threshold needs tr(S) and tr(S^2) only, and no ID row at deployment": "true, and the price is that the "
    "circuit's own error counts as a shift",
    "HLD is slightly liberal": "the spectrum says so in advance: a few eigenvalues dominate, and the closed form's "
    "true level is above .05 in every circuit",
    "FPR_model stays at the level 0.01, flat in T": "flat, yes; at .01 the closed form's true level is about three "
    "times the nominal one, from the same spectrum",
    "the scalar scores reject held-out rows often: RootLL, Typicality, TDI at T = 1000": "it depends on how EM "
    "smooths: PyJuice adds the pseudocount in each mini-batch; a control with equal steps shows that this is why",
    "HLD has the lowest FPR_data from T = 200 on": "the scalar scores are lower where EM smooths little",
    "HLD has the highest detection rate for T from 10 to 100": "Connect-4 decides: the plain norm mutes directions of "
    "little variance; whitened, HLD leads there",
    "HLD's detection varies substantially less at small and moderate T": "single pairs range from .1 to 1, in the "
    "paper's own tables as well",
    "leaf+sum is better than leaf alone, which that table leaves out": "leaf leads in the paper's own five tables",
    "adding products to leaf+sum costs much of the power": "products are linear functions of the sums: only those of "
    "the root are new, the others reweight the norm",
    "HLD detects little at T = 10 and not all at T = 50, every circuit": "not explained; the paper's own node table "
    "for Adult agrees with ours",
    "HLD remains the best controlled of the five": "as in its own table, it is the most liberal of the five at .01",
    "on held-out rows HLD is the most robust at T = 1000": "the paper's HLD is not reproduced; smoothing explains the "
    "scalar scores only",
    "FPR_data of HLD at T = 1000 goes up from 7 x 7 to 28 x 28": "the fit is worse, as the paper says",
    "0 against 8: the top scopes are at the center and not along the rim": "by eye, as in the paper",
}


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


def agreement(names, theirs, spans, kind) -> tuple:
    """Verdict of a row and its detail: which of the printed numbers lie in the named ranges of ours, or near them."""
    compared = [
        (name, inside(value, span, tolerance(kind, value)))
        for name, value, span in zip(names, theirs, spans, strict=True)
        if span is not None
    ]
    if not compared:
        return NOT_DONE, ""
    good = [name for name, agrees in compared if agrees]
    if len(good) == len(compared):
        return AGREES, ""
    return (PARTLY, ", ".join(good)) if good else (DIFFERS, "")


def inside(value, span, slack) -> bool:
    """Whether a printed value lies in a range of ours, or less than `slack` beside it."""
    return span[0] - slack <= value <= span[1] + slack


def tolerance(kind, value) -> float:
    """How far apart rates may be that agree: .05 for detection, .01 under the model, between for FPR_data."""
    return {"ood": 0.05, "model": 0.01, "data": min(0.05, 0.01 + value / 4)}[kind]


def claims_table(groups) -> str:
    """The table in Markdown; headings are rows."""
    lines = ["| claim | paper | ours | verdict |", "| --- | --- | --- | --- |"]
    for heading, claims in groups.items():
        lines.append(f"| **{heading}** | | | |")
        lines += [f"| {c.claim} | {c.paper} | {c.ours} | {verdict_text(c)} |" for c in claims]
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


def verdict_text(claim) -> str:
    """The verdict and its detail."""
    return claim.verdict + (f": {claim.detail}" if claim.detail else "")
