"""Detectors of most rooms settle with a tenth of the draws from which size on the law judges."""

import pytest

# where the p-values themselves are tested, all are drawn
WITH_ALL_DRAWS = {"export", "nulls", "results", "testing", "variation"}


@pytest.fixture(scope="module", autouse=True)
def _few_draws(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.path.parent.name not in WITH_ALL_DRAWS:
            patch.setattr("hld.laws.auto.GRID_FACTOR", 1)
        yield
