"""Run the jobs of one library in its own environment and print a JSON object: python jobs.py with_NAME FOLDER.

The import of the library, `prepare` and every job are timed in processor seconds; memory is the peak of
the process until the batches are judged, and again at the end.
"""

import importlib
import json
import os
import pathlib
import resource
import subprocess
import sys
import time
import warnings

import pandas as pd

FEWEST, LONGEST = (
    20,
    30.0,
)  # unshifted batches at least, and seconds after which no further one is judged
SERVE = """
import sys, time; start = 0.0; sys.path.insert(0, {here!r})
import warnings; warnings.simplefilter("ignore")
import pathlib, pandas as pd, {name} as peer
model, batch = peer.load(pathlib.Path({path!r})), pd.read_csv({batch!r}).drop(columns="batch")[:100]
peer.detect(model, batch); first = time.process_time() - start
start = time.process_time(); peer.detect(model, batch); print(first, time.process_time() - start)
"""


def main(name: str, folder: pathlib.Path) -> dict:
    """All that is measured of one library."""
    start = time.process_time()
    peer = importlib.import_module(name)
    found = {
        "import": time.process_time() - start,
        "missing": getattr(peer, "MISSING", {}),
        "notes": getattr(peer, "NOTES", {}),
    }
    train = pd.read_csv(folder / "train.csv")
    start = time.process_time()
    model = peer.prepare(train)
    found["prepare"] = time.process_time() - start
    found |= judged(peer, model, folder)
    found["memory"] = peak()
    shifted = pd.read_csv(folder / "shifted.csv").query("batch == 0 and shift == 'ages + 5'")
    batch = shifted.drop(columns=["batch", "shift"])
    page = folder / f"{name}.html"
    for job, run in (
        ("report", lambda: peer.report(model, batch, page)),
        ("segments", lambda: peer.segments(model, pd.read_csv(folder / "days.csv"), "day")),
        ("stream", lambda: peer.stream(train, pd.read_csv(folder / "stream.csv"))),
        ("size", lambda: peer.size(model)),
    ):
        if hasattr(peer, job):
            found[job] = timed(run)
    if page.exists():
        found["page_bytes"] = page.stat().st_size
    found["serve"] = served(peer, name, model, folder)
    return found | {"memory_at_end": peak()}


def judged(peer, model, folder) -> dict:
    """Verdicts of all batches, the columns that are named in those of each shift, and seconds for each."""
    unshifted, shifted = pd.read_csv(folder / "unshifted.csv"), pd.read_csv(folder / "shifted.csv")
    start, alarms = time.process_time(), []
    for _, rows in unshifted.groupby("batch"):
        alarms.append(bool(peer.detect(model, rows.drop(columns="batch"))))
        if len(alarms) >= FEWEST and time.process_time() - start > LONGEST:
            break
    found = {
        "seconds_a_batch": (time.process_time() - start) / len(alarms),
        "false_alarms": sum(alarms),
        "num_unshifted": len(alarms),
        "shifts": {},
    }
    named = [
        peer.explain(model, rows.drop(columns="batch"))
        for _, rows in list(unshifted.groupby("batch"))[:5]
    ]
    found["falsely_named"] = sum(map(len, named)) / len(named)
    for shift, rows in shifted.groupby("shift", sort=False):
        batches = [one.drop(columns=["batch", "shift"]) for _, one in rows.groupby("batch")]
        found["shifts"][shift] = {
            "found": sum(bool(peer.detect(model, one)) for one in batches),
            "of": len(batches),
            "named": peer.explain(model, batches[0]),
        }
    return found


def timed(run) -> dict:
    """Seconds of a job and what it gave; its error where it fails."""
    start = time.process_time()
    try:
        result = run()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:200]}
    return {"seconds": time.process_time() - start, "result": result}


def served(peer, name, model, folder) -> dict:
    """What is stored, its size, and the first and second answer of a new process to 100 rows."""
    path = folder / f"{name}.model"
    try:
        peer.save(model, path)
        size = sum(one.stat().st_size for one in (path, *path.rglob("*")) if one.is_file())
        code = SERVE.format(
            here=str(pathlib.Path(__file__).parent),
            name=name,
            path=str(path),
            batch=str(folder / "unshifted.csv"),
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
        )
        first, second = map(float, done.stdout.split()[-2:])
    except Exception as error:
        said = getattr(error, "stderr", "") or str(error)
        return {"error": said.strip().split("\n")[-1][:200]}
    return {"bytes": size, "first": first, "second": second}


def peak() -> int:
    """Largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    result = main(sys.argv[1], pathlib.Path(sys.argv[2]))
    print("RESULT " + json.dumps(result, default=str))
