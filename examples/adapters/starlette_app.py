"""A monitor in an application of Starlette: ``HLD_MODEL=orders.hld uvicorn starlette_app:app``.

Every order that the application takes is a row for the monitor, which may be looked at as often as one likes.  The
event loop must not compute: rows are counted in a thread.  The state is written after every request, so that a
restarted process goes on where it stood.
"""

import contextlib
import os
import pathlib

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse
from starlette.routing import Route

import hld


@contextlib.asynccontextmanager
async def lifespan(app):
    """Load the model and the state of its monitor, or begin anew."""
    app.state.path = pathlib.Path(os.environ["HLD_MODEL"] + ".monitor")
    detector = hld.load(os.environ["HLD_MODEL"])
    known = app.state.path.exists()
    app.state.monitor = (
        hld.Monitor.load(app.state.path, detector) if known else hld.Monitor(detector, alpha=0.01)
    )
    yield


async def take_orders(request):
    """POST /orders: columns of rows; the state of the monitor after them."""
    table = await request.json()
    try:
        result = await run_in_threadpool(observe, request.app.state, table)
    except (TypeError, ValueError) as error:
        return JSONResponse({"error": str(error)}, 422)
    return JSONResponse(
        {"rows": result.num_rows, "alarm": result.alarm, "alarm_row": result.alarm_row}
    )


def observe(state, table):
    """Count rows and keep the state; a monitor has a lock of its own."""
    result = state.monitor.update(table)
    state.monitor.save(state.path)
    return result


app = Starlette(routes=[Route("/orders", take_orders, methods=["POST"])], lifespan=lifespan)


if __name__ == "__main__":  # a model of its own, and 600 orders, the last 300 of doubled amounts
    import json
    import tempfile
    import threading
    import time
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
        while not server.started:
            time.sleep(0.05)
        port = server.servers[0].sockets[0].getsockname()[1]
        for scale in (1.0, 2.0):
            table = orders(300, rng, scale)
            for start in range(0, 300, 20):
                part = {name: cells[start : start + 20] for name, cells in table.items()}
                sent = urllib.request.Request(
                    f"http://127.0.0.1:{port}/orders", json.dumps(part).encode()
                )
                with urllib.request.urlopen(sent) as answer:
                    state = json.load(answer)
            print(f"amounts x {scale:g}:", state)
        server.should_exit = True
        thread.join()
