"""A model and batches for the tests of the service."""

import numpy as np
import pytest
from live_server import Client, orders, served

import hld
from hld.apps.serve.limits import Limits

for name in ("starlette", "uvicorn", "prometheus_client"):
    pytest.importorskip(name)


@pytest.fixture(scope="session")
def shop(tmp_path_factory):
    """A folder with two models, and a calm and a shifted batch."""
    folder, rng = tmp_path_factory.mktemp("shop"), np.random.default_rng(7)
    for name, shift in (("orders", 0.0), ("other", 1.0)):
        hld.HLDDetector(num_epochs=5, num_latents=3).fit(orders(rng, 2000, shift)).save(
            folder / f"{name}.hld"
        )
    return {
        "folder": folder,
        "orders": folder / "orders.hld",
        "other": folder / "other.hld",
        "calm": orders(rng, 300),
        "moved": orders(rng, 300, 5.0),
    }


@pytest.fixture(scope="module")
def client(shop):
    """A client of a service with one model."""
    with served({"orders": shop["orders"]}) as (address, _):
        client = Client(address)
        yield client
        client.close()


@pytest.fixture(scope="module")
def guarded(shop):
    """A client of a service with two models, a token and narrow limits, and this service."""
    token = "a-token-of-the-tests"
    with served(
        {"a": shop["orders"], "b": shop["other"]},
        token=token,
        limits=Limits(threads=1, max_bytes=20_000, max_rows=200),
    ) as (address, service):
        client = Client(address, token)
        yield client, service
        client.close()
