"""A model and batches for the tests of the service."""
import numpy as np
import pytest
from live_server import orders

import hld

for name in ("starlette", "uvicorn", "prometheus_client", "pyarrow"):
    pytest.importorskip(name)


@pytest.fixture(scope="session")
def shop(tmp_path_factory):
    """A folder with two models, and a calm and a shifted batch."""
    folder, rng = tmp_path_factory.mktemp("shop"), np.random.default_rng(7)
    for name, shift in (("orders", 0.0), ("other", 1.0)):
        hld.HLDDetector(num_epochs=5, num_latents=3).fit(orders(rng, 2000, shift)).save(folder / f"{name}.hld")
    return {"folder": folder, "orders": folder / "orders.hld", "other": folder / "other.hld",
            "calm": orders(rng, 300), "moved": orders(rng, 300, 5.0)}
