"""A pandera schema that checks types and ranges cell by cell, and the distribution of the whole frame.

Bounds on single columns do not see columns that no longer go together; one test of the frame does.
"""

import numpy as np
import pandas as pd
import pandera.pandas as pa

import hld


def follows(detector, alpha=0.001, by=None):
    """A check of a whole frame: does it follow what a fitted detector learned?

    Of a frame with several groups each is tested; `by` is their column.  A detector of groups takes the whole frame for
    one group without it.
    """

    def is_calm(frame):
        if by is None:
            return not detector.test(frame, alpha).reject
        return not detector.test_by(frame, by, alpha).reject.any()

    return pa.Check(
        is_calm,
        name="follows",
        error=f"the frame does not follow the learned distribution (level {alpha:g})",
    )


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 1500)
    table = pd.DataFrame(
        {"colour": np.array(["red", "green", "blue"])[kind], "size": kind + rng.normal(size=1500)}
    )
    detector = hld.HLDDetector(num_epochs=10).fit(table[:1000])
    schema = pa.DataFrameSchema(
        {
            "colour": pa.Column(str, pa.Check.isin(["red", "green", "blue"])),
            "size": pa.Column(float, pa.Check.in_range(-10, 10)),
        },
        checks=follows(detector),
    )
    calm = table[1000:].reset_index(drop=True)
    print("calm:", len(schema.validate(calm)), "rows pass")
    try:
        # every column by itself is as it was
        schema.validate(calm.assign(size=rng.permutation(calm["size"])))
    except pa.errors.SchemaError as error:
        print("mixed up:", str(error).splitlines()[0])
