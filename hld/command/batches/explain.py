"""What ``hld explain`` says: which nodes and which columns carry the shift of a batch.

The squared distance d^2 = sum_j delta_j^2 is a sum over nodes, and by `hld.results.localization` also a sum over
variables.  A share is the part of one of them in that sum, between 0 and 1.  Beside the shares of the columns
are the counts of unusual cells, before any test: missing, of a level that training did not
have, out of range.

The distance weighs all nodes alike, so a node with small likelihoods can depart clearly by itself and yet hardly
move it: that is why the number of such nodes is given, whatever the test finds.
"""

from __future__ import annotations

from typing import Any

from hld.command.console.output import print_table, print_text, save_figure

SHOWN_NAMES = 6  # columns named for the scope of a node


def explanation(detector: Any, result: Any, top: int) -> dict[str, Any]:
    """The result of a test with its localisation, in names of columns."""
    names = detector.encoder_.names
    found = result.localize(top=top)
    total = float(result.deltas @ result.deltas) or 1.0  # all shares are 0 where nothing differs
    odd = result.data_quality.columns
    nodes = [
        {
            "node": shift.node,
            "kind": shift.kind,
            "variables": [names[v] for v in shift.scope],
            "delta": shift.delta,
            "zscore": shift.zscore,
            "own_zscore": shift.own_zscore,
            "pvalue": shift.pvalue,
            "share": shift.delta**2 / total,
        }
        for shift in found.nodes
    ]
    variables = [
        {
            "name": names[v],
            "share": float(found.variable_scores[v]) / total,
            "num_missing": odd[v].num_missing,
            "num_unseen": odd[v].num_unseen,
            "num_out_of_range": odd[v].num_out_of_range,
        }
        for v in (-found.variable_scores).argsort(kind="stable")[:top].tolist()
    ]
    num_shifted = int((result.node_pvalues <= result.alpha).sum())
    return result.to_dict() | {
        "num_nodes": len(result.node_pvalues),
        "num_nodes_shifted": num_shifted,
        "nodes": nodes,
        "variables": variables,
    }


def print_explanation(result: Any, found: Any) -> None:
    """Print the verdict, the columns and the nodes."""
    print_text(f"{result}\n\ncolumns, by their share of the squared distance")
    print_table(
        ("column", "share", "missing", "unseen", "out of range"),
        [
            (
                entry["name"],
                entry["share"],
                entry["num_missing"],
                entry["num_unseen"],
                entry["num_out_of_range"],
            )
            for entry in found["variables"]
        ],
    )
    print_text(
        f"\nnodes, by their share; p-values adjusted for their number "
        f"({found['num_nodes_shifted']} of {found['num_nodes']} nodes shifted by themselves at level "
        f"{result.alpha:g})"
    )
    print_table(
        ("node", "kind", "delta", "z", "own z", "p (adj.)", "share", "columns"),
        [
            (
                entry["node"],
                entry["kind"],
                entry["delta"],
                entry["zscore"],
                entry["own_zscore"],
                entry["pvalue"],
                entry["share"],
                _listed(entry["variables"]),
            )
            for entry in found["nodes"]
        ],
    )


def draw_shares(detector: Any, result: Any, top: Any, path: Any) -> None:
    """Draw the columns' shares of a shift into a picture file."""
    from hld.answers.words import p_text
    from hld.plots import new_figure, variable_shares

    names = detector.encoder_.names
    figure = new_figure((7.0, 1.6 + 0.32 * min(top, len(names))))
    ax = variable_shares(result.localize(top=1), names, figure.add_subplot(), top=top)
    ax.set_title(
        f"{'Shift' if result.reject else 'No shift'} found: {p_text(result.pvalue, result.alpha)}, "
        f"{result.num_samples} row{'s' * (result.num_samples != 1)}",
        loc="left",
    )
    save_figure(figure, path, dpi=150)


def _listed(names: Any) -> str:
    """The first names of a scope, and how many more there are."""
    more = len(names) - SHOWN_NAMES
    return ", ".join(names[:SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")
