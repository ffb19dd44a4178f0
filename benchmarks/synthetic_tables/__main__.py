"""Rows drawn by hld and by the Gaussian copula of SDV, on three tables, judged by SDV's own measures.

    python -m venv FOLDER/sdv && FOLDER/sdv/bin/python -m pip install sdv
    python -m benchmarks.synthetic_tables FOLDER          (HLD_DATA)

Each learns 5,000 rows of a table and draws 5,000.  Shape and trend are the two scores of `sdmetrics.QualityReport`: one
less the distance of marginals (Kolmogorov-Smirnov, total variation), one less that of pairs (correlations, contingency
tables), averaged over columns and pairs.  The same scores of 5,000 other real rows show what can be reached.  Times are
processor seconds, for learning and for drawing.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import pandas as pd

import hld
from benchmarks.peers_tables.tables import adult

ROWS = 5_000


def covertype() -> pd.DataFrame:
    """Ten quantities, the wilderness area and the kind of forest."""
    data = np.load(pathlib.Path(os.environ["HLD_DATA"]) / "covertype" / "covertype.npz")
    table = pd.DataFrame(data["X"][:, :10], columns=[str(name) for name in data["columns"][:10]])
    table["area"] = np.array(["Rawah", "Neota", "Comanche", "Cache"])[
        data["X"][:, 10:14].argmax(axis=1)
    ]
    return table.assign(cover=np.array([f"cover {y}" for y in range(8)])[data["y"]])


def census() -> pd.DataFrame:
    """Census-Income with its 40 columns."""
    data = np.load(
        pathlib.Path(os.environ["HLD_DATA"]) / "census_income_kdd" / "census_income_kdd.npz"
    )
    return pd.DataFrame(
        {
            str(name): data[f"cat_{j:02d}"][data["X_train"][:, j]]
            if data["is_categorical"][j]
            else data["X_train"][:, j]
            for j, name in enumerate(data["columns"])
        }
    )


def main(folder: pathlib.Path) -> None:
    """Print the table of docs/peers.md."""
    print("| table | | shape | trend | learn | draw |\n| --- | --- | --- | --- | --- | --- |")
    for name, make in (("Adult", adult), ("Covertype", covertype), ("Census-Income", census)):
        table = make().sample(2 * ROWS, random_state=0, ignore_index=True)
        train, other = table[:ROWS], table[ROWS:]
        start = time.process_time()
        detector = hld.HLDDetector().fit(train)
        learned = time.process_time()
        rows = pd.DataFrame(detector.sample(ROWS, rng=0), columns=list(detector.encoder_.names))
        drawn = time.process_time()
        for kind, part in (("train", train), ("real", other), ("hld", rows)):
            part[list(rows)].to_csv(folder / f"{kind}.csv", index=False)
        here = pathlib.Path(__file__).parent
        done = subprocess.run(
            [
                str(folder / "sdv/bin/python"),
                "-W",
                "ignore",
                str(here / "with_sdv.py"),
                str(folder),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(done.stderr[-2000:])
        found = json.loads(done.stdout.split("RESULT")[1])
        times = {"real": ("", ""), "hld": (learned - start, drawn - learned), "sdv": found["times"]}
        for kind, label in (
            ("real", "other real rows"),
            ("hld", "`hld`"),
            ("sdv", f"SDV {found['version']}"),
        ):
            shown = [f"{one:.2f} s" if one != "" else "" for one in times[kind]]
            shape, trend = found[kind]
            print(
                f"| {name} ({len(rows.columns)} columns) | {label} | {shape:.3f} | {trend:.3f} | "
                f"{' | '.join(shown)} |",
                flush=True,
            )


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).absolute())
