"""What every null can do: say what is a verdict."""

import numpy as np
import pytest

from hld.nulls.null import check_verdict


def test_only_a_number_with_a_probability_is_a_verdict():
    check_verdict(np.inf, 0.0)
    for statistic, pvalue in ((np.nan, 0.5), (1.0, np.nan), (1.0, -0.1), (1.0, 1.1)):
        with pytest.raises(ArithmeticError, match="is no verdict"):
            check_verdict(statistic, pvalue)
