"""What the encoder refuses is named as the caller of the public function calls it."""
import numpy as np
import pandas as pd
import pytest

import hld

ROWS = np.random.default_rng(0).integers(0, 3, size=(200, 2))
TABLE = pd.DataFrame(ROWS, columns=["a", "b"])
ODD = TABLE.assign(a="text", b="text")


@pytest.fixture(scope="module")
def detector():
    return hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=39).fit(TABLE)


@pytest.mark.parametrize(("name", "call"), [
    ("first", lambda detector, odd: hld.two_sample(detector, odd, TABLE)),
    ("second", lambda detector, odd: hld.two_sample(detector, TABLE, odd)),
    ("batches", lambda detector, odd: hld.distances(detector, [TABLE, odd])),
    ("alternative", lambda detector, odd: detector.power(odd, 100)),
    ("alternative", lambda detector, odd: detector.sample_size(odd)),
    ("batch", lambda detector, odd: detector.test(odd)),
    ("reference", lambda detector, odd: hld.StreamMonitor(detector, odd))])
def test_a_table_is_called_what_the_argument_is_called(detector, name, call):
    for odd in (3, "file.csv", TABLE.rename(columns=str.upper)):
        with pytest.raises(ValueError, match=f"^`{name}` "):
            call(detector, odd)


@pytest.mark.parametrize("odd", [ODD, TABLE.assign(more=1)])
def test_what_only_some_functions_refuse_has_the_name_too(detector, odd):
    with pytest.raises((TypeError, ValueError), match=r"^`second` ") as raised:
        hld.two_sample(detector, TABLE, odd)
    assert "encoder" not in str(raised.value)  # nothing that the caller does not have
