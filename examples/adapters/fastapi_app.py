"""A drift check in an application of FastAPI: ``HLD_MODEL=orders.hld uvicorn fastapi_app:app``.

The model is loaded once.  Endpoints are plain functions, which FastAPI runs in threads: a fitted detector does not
change in use, and its kernels release the interpreter's lock.  ``/docs`` shows what the endpoints take.
"""

import contextlib
import os

import fastapi
from pydantic import BaseModel, Field

import hld

MOST_ROWS = 10_000


class Batch(BaseModel):
    """Rows by column."""

    columns: dict[str, list[str | float | None]] = Field(min_length=1)


class Verdict(BaseModel):
    """What a test says of a batch."""

    shift: bool
    pvalue: float
    columns: list[str]


@contextlib.asynccontextmanager
async def lifespan(app):
    """Load the model, and test a batch drawn from it, before the first request."""
    app.state.detector = hld.load(os.environ["HLD_MODEL"])
    app.state.detector.test(app.state.detector.sample(50, rng=0))
    yield


app = fastapi.FastAPI(lifespan=lifespan, title="Has the data changed?")


@app.post("/check")
def check(batch: Batch, request: fastapi.Request, alpha: float = 0.01) -> Verdict:
    """Does a batch follow the model?"""
    if max(map(len, batch.columns.values())) > MOST_ROWS:
        raise fastapi.HTTPException(413, f"a batch has at most {MOST_ROWS} rows")
    try:
        result = request.app.state.detector.test(batch.columns, alpha)
    except (TypeError, ValueError) as error:  # one sentence that says what is wrong with the batch
        raise fastapi.HTTPException(422, str(error)) from None
    moved = [one["name"] for one in result.to_dict()["columns"] if one["adjusted_pvalue"] <= alpha]
    return Verdict(shift=result.reject, pvalue=result.pvalue, columns=moved)


if __name__ == "__main__":  # a model of its own, served for three requests
    import json
    import tempfile
    import threading
    import time
    import urllib.error
    import urllib.request

    import numpy as np
    import uvicorn

    def orders(number, rng, scale=1.0):
        """Rows of a shop."""
        basket = 1 + rng.poisson(3, number)
        amount = np.round(basket * rng.gamma(4, 5 * scale, number), 2)
        return {"basket": basket.tolist(), "amount": amount.tolist()}

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HLD_MODEL"] = f"{folder}/orders.hld"
        hld.HLDDetector(num_epochs=10).fit(orders(800, rng)).save(os.environ["HLD_MODEL"])
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
        thread = threading.Thread(target=server.run)
        thread.start()
        while thread.is_alive() and not server.started:
            time.sleep(0.05)
        port = server.servers[0].sockets[0].getsockname()[1]
        for name, table in (
            ("calm", orders(300, rng)),
            ("moved", orders(300, rng, 2.0)),
            ("wrong", {"basket": [1, 2], "amount": [9.5]}),
        ):
            sent = urllib.request.Request(
                f"http://127.0.0.1:{port}/check",
                json.dumps({"columns": table}).encode(),
                {"Content-Type": "application/json"},
            )
            try:
                with urllib.request.urlopen(sent) as answer:
                    print(name, json.load(answer))
            except urllib.error.HTTPError as error:
                print(name, error.code, json.load(error))
        server.should_exit = True
        thread.join()
