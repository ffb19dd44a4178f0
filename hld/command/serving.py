"""``hld serve``: models behind HTTP."""

from __future__ import annotations

import importlib.util
from typing import Any

from hld.command.output import flush_output, print_text, step
from hld.serve.limits import Limits
from hld.serve.models import Models, model_paths
from hld.serve.server import check_token, reloads_later, token_of
from hld.serve.server import serve as run_server
from pcircuit.arguments import check_number

NEEDED = {
    "starlette": "starlette",
    "uvicorn": "uvicorn",
    "prometheus_client": "prometheus-client",
}


def serve(args: Any) -> int:
    """Load the models and serve until the process is told to stop."""
    absent = [
        package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None
    ]
    if absent:
        are = "is" if len(absent) == 1 else "are"
        raise ImportError(
            f"serving needs {', '.join(absent)}, which {are} not installed: pip install 'hld[serve]'"
        )
    limits = Limits(
        max_bytes=args.max_bytes,
        max_rows=args.max_rows,
        seconds=args.seconds,
        workers=args.workers,
        queue=args.queue,
    )
    token, watch = token_of(args.token_file), check_number(args.watch, "watch", least=0)
    check_token(token, args.host)

    def told(address: Any) -> None:
        print_text(f"serving {', '.join(models.loaded)} at {address}")
        flush_output()

    with reloads_later() as heard:
        with step(f"loading {', '.join(args.models)}"):
            models = Models(model_paths(args.models), args.state, args.alpha)
        if heard:  # the files may have been replaced after they were read
            models.reload()
        run_server(
            models,
            limits,
            host=args.host,
            port=args.port,
            token=token,
            watch_seconds=watch,
            told=told,
        )
    return 0
