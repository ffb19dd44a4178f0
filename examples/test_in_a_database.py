"""A table is tested where it is stored: the database counts, and sends counts, never rows.

Needs ``pip install '.[sql]'`` in the cloned folder: DuckDB, embedded, and ibis.
"""

import duckdb
import numpy as np
import pandas as pd

import hld
import hld.sql


def orders(num_rows: int, seed: int) -> pd.DataFrame:
    """Orders of a shop: express ones are small, and rarely of furniture."""
    rng = np.random.default_rng(seed)
    express = rng.random(num_rows) < 0.3
    kind = np.where(
        express & (rng.random(num_rows) < 0.7),
        "book",
        rng.choice(["book", "chair", "lamp"], num_rows),
    )
    return pd.DataFrame(
        {"express": express, "kind": kind, "price": rng.gamma(2.0, np.where(express, 10.0, 40.0))}
    )


def main() -> None:
    """Fit here, count there."""
    detector = hld.HLDDetector(num_latents=2, num_epochs=10, num_resamples=99).fit(
        orders(2000, seed=0)
    )
    with (
        duckdb.connect() as database
    ):  # or duckdb.connect("shop.db"), or the URL of a PostgreSQL server
        database.register("arriving", orders(5000, seed=1))
        database.execute("CREATE TABLE orders AS SELECT * FROM arriving")
        result = hld.sql.test(detector, database, "orders")
        print(result)
        print(f"{result.num_queries} query; p-values of", ", ".join(result.metrics))
        print(
            hld.sql.test(
                detector, database, "SELECT express, kind, price * 1.5 AS price FROM orders"
            )
        )
        # every column as before, but express no longer goes with the kind
        print(
            hld.sql.test(
                detector,
                database,
                """
            SELECT express, kind, price FROM (SELECT express, price, row_number() OVER () AS i FROM orders)
            JOIN (SELECT kind, row_number() OVER () % 5000 + 1 AS i FROM orders) USING (i)""",
            )
        )


if __name__ == "__main__":
    main()
