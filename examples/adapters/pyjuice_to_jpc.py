"""Turn a circuit that PyJuice saved into a text file that `pcircuit.read_jpc` reads, on a machine with PyJuice:

    python pyjuice_to_jpc.py saved_by_pyjuice.jpc text.jpc

PyJuice saves a pickle, and whoever loads a pickle runs what is in it: convert files that you trust.
"""

import pickle
import sys

import numpy as np


def convert(source, target):
    """Write the units of the file `source`, one a line, to the file `target`."""
    lines, units = [], []  # units: the ids of the units of each entry

    def write(kind, *words):
        lines.append(" ".join([kind, str(len(lines)), "0", *map(str, words)]))
        return len(lines) - 1

    with open(source, "rb") as file:
        entries = pickle.load(file)
    for entry in entries:
        blocks, size, kind = entry["num_node_blocks"], entry["block_size"], entry["type"]
        below = [np.array(units[c]) for c in entry["chs"]]
        if kind == "Product":  # an edge names a block, or a unit, of each child
            edges = np.asarray(entry["edge_ids"])
            step = size if len(edges) == blocks else 1
            edges = (edges[:, None] * step + np.arange(step)[:, None]).reshape(-1, len(below))
            children = [[child[u] for child, u in zip(below, row, strict=True)] for row in edges]
            units.append([write("P", len(row), *row) for row in children])
            continue
        source_entry = entries[entry["source_node"]] if "source_node" in entry else entry
        params = np.asarray(source_entry["params"], dtype=np.float64)
        if kind == "Input":
            probs, family = params.reshape(blocks * size, -1), type(pickle.loads(entry["dist"]))
            if family.__name__ == "Bernoulli":  # the probability of the second value
                probs = np.hstack([1 - probs, probs])
            elif family.__name__ != "Categorical":
                raise SystemExit(f"inputs of the kind {family.__name__} are not discrete")
            variable = next(iter(entry["scope"])) + 1  # the text counts from 1
            units.append([write("C", variable, *row) for row in np.log(probs).tolist()])
            continue
        edges, rows = np.asarray(entry["edge_ids"]), []  # pairs: a block of sums, one below
        params = params.reshape(edges.shape[1], size, -1)
        width, below = params.shape[2], np.concatenate(below)
        for k in range(blocks * size):
            mine = np.flatnonzero(edges[0] == k // size)
            children = below[(edges[1, mine][:, None] * width + np.arange(width)).ravel()]
            logs = np.log(params[mine, k % size].ravel()).tolist()
            terms = [f"{child} {log!r}" for child, log in zip(children, logs, strict=True)]
            rows.append(write("S", len(terms), *terms))
        units.append(rows)
    with open(target, "w", encoding="utf-8") as file:
        print(f"jpc {len(lines)}", *lines, sep="\n", file=file)


if __name__ == "__main__":
    with np.errstate(divide="ignore"):  # a weight of zero has the logarithm -inf
        convert(*sys.argv[1:])
