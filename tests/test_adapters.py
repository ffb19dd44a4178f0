"""The adapters in examples/adapters: each runs where its program is installed, and says what it should."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest
from live_server import Client, csv_bytes, orders, served

import hld

pytestmark = pytest.mark.thorough

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "examples" / "adapters"
SCRIPTS = {  # what each needs, and what it prints
    "river_detector.py": ("river", [r"^drift at row 1[01]\d\d$"]),
    "mlflow_model.py": (
        "mlflow.pyfunc",
        [r"^calm: \{'shift': False", r"^moved: \{'shift': True.*'columns': 'size'"],
    ),
    "sklearn_gate.py": ("sklearn", [r"accuracy on a calm batch: 0\.\d", r"^stopped: shift: p "]),
    "fastapi_app.py": (
        "fastapi",
        [r"^calm \{'shift': False", r"^moved \{'shift': True.*'amount'", r"^wrong 422 \{'detail'"],
    ),
    "starlette_app.py": (
        "starlette",
        [r"^amounts x 1: .*'alarm': False", r"^amounts x 2: .*'alarm': True, 'alarm_row': 3\d\d\}"],
    ),
    "pandera_check.py": (
        "pandera.pandas",
        [r"^calm: 500 rows pass$", r"^mixed up: .*does not follow"],
    ),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_adapters_run(name, tmp_path):
    module, patterns = SCRIPTS[name]
    pytest.importorskip(module)
    environment = {
        **os.environ,
        "PCIRCUIT_ENGINE": "numpy",
        "PYTHONPATH": str(ROOT),
        "MLFLOW_TRACKING_URI": str(tmp_path),
    }
    run = subprocess.run(
        [sys.executable, "-W", "ignore", str(FOLDER / name)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    for pattern in patterns:
        assert re.search(pattern, run.stdout, re.MULTILINE), f"{pattern!r} is not in\n{run.stdout}"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A folder with a model, two batches, and the command ``hld``."""
    folder, rng = tmp_path_factory.mktemp("shop"), np.random.default_rng(7)
    hld.HLDDetector(num_epochs=5, num_latents=3).fit(orders(rng, 800)).save(folder / "orders.hld")
    (folder / "calm.csv").write_bytes(csv_bytes(orders(rng, 300)))
    (folder / "moved.csv").write_bytes(csv_bytes(orders(rng, 300, 5.0)))
    (folder / "hld").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m hld "$@"\n')
    (folder / "hld").chmod(0o755)
    return folder


def run_in(shop, *command):
    environment = {
        **os.environ,
        "PATH": f"{shop}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PCIRCUIT_ENGINE": "numpy",
    }
    return subprocess.run(
        command, cwd=shop, capture_output=True, text=True, timeout=120, env=environment, check=False
    )


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
def test_the_nightly_job_speaks_of_shifts_only(shop):
    pytest.importorskip("pandas")
    calm, moved, wrong = (
        run_in(shop, "sh", str(FOLDER / "nightly.sh"), "orders.hld", name, ".")
        for name in ("calm.csv", "moved.csv", "nothing.csv")
    )
    assert (calm.returncode, calm.stdout, calm.stderr) == (0, "", "")
    assert (moved.returncode, moved.stderr) == (0, "")
    assert moved.stdout.startswith("Shift found in moved.csv\nshift: p ")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "failed" in wrong.stderr


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
def test_the_tasks_of_the_dag(shop, monkeypatch):
    """Airflow is not needed: a stand-in collects the tasks, whose commands are run."""
    tasks = []

    class Anything:
        def __init__(self, *args, **options):
            tasks.append(options)

        def __enter__(self):
            return self

        def __exit__(self, *args):
            return None

        def __rshift__(self, other):
            return other

    names = [
        "airflow.providers",
        "airflow.providers.standard",
        "airflow.providers.standard.operators",
    ]
    for name in ("airflow", *names, "airflow.providers.standard.operators.bash"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["airflow"].DAG = sys.modules[
        "airflow.providers.standard.operators.bash"
    ].BashOperator = Anything
    text = (FOLDER / "airflow_dag.py").read_text(encoding="utf-8")
    exec(compile(text, "airflow_dag.py", "exec"), {"__name__": "dag"})
    command = (
        tasks[1]["bash_command"]
        .replace("{{ params.model }}", "orders.hld")
        .replace("{{ params.folder }}", ".")
    )
    statuses = [
        run_in(shop, "sh", "-c", command.replace("{{ ds }}", day)).returncode
        for day in ("calm", "moved", "none")
    ]
    assert statuses == [0, tasks[1]["skip_on_exit_code"], 2]


def metrics_of_a_service(shop):
    """Names of everything that a service counts, after a request of each kind."""
    for name in ("starlette", "uvicorn", "prometheus_client", "pyarrow"):
        pytest.importorskip(name)
    with served({"orders": shop / "orders.hld"}) as (address, _):
        client = Client(address)
        for path in ("/v1/test", "/v1/observe"):
            client.json("POST", path, (shop / "calm.csv").read_bytes(), "text/csv")
        text = client.ask("GET", "/metrics")[2].decode()
        client.close()
    return set(re.findall(r"^([a-z_]+)[{ ]", text, re.MULTILINE))


def test_rules_and_dashboard_ask_for_numbers_that_are_there(shop):
    yaml = pytest.importorskip("yaml")
    known = metrics_of_a_service(shop)
    rules = yaml.safe_load((FOLDER / "prometheus-rules.yml").read_text(encoding="utf-8"))["groups"][
        0
    ]["rules"]
    board = json.loads((FOLDER / "grafana-dashboard.json").read_text(encoding="utf-8"))
    asked = [rule["expr"] for rule in rules] + [
        one["expr"] for panel in board["panels"] for one in panel["targets"]
    ]
    names = set(re.findall(r"\b(?:hld|process)_[a-z_]+", " ".join(asked)))
    assert len(names) >= 12
    assert names <= known
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool")
def test_alerts_fire_when_they_should():
    for command in (
        ["check", "rules", "prometheus-rules.yml"],
        ["test", "rules", "prometheus-rules-test.yml"],
    ):
        run = subprocess.run(
            ["promtool", *command],
            cwd=FOLDER,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert run.returncode == 0, run.stdout + run.stderr


def test_all_adapters_are_listed():
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    files = {path.name for path in FOLDER.iterdir() if path.is_file()} - {"README.md"}
    assert set(re.findall(r"\]\(([\w.-]+)\)", page)) == files


def test_rows_of_a_stream_need_not_have_all_keys(monkeypatch):
    """Whichever row of a batch lacks a key, or has one more: what the first one has decides nothing."""
    pytest.importorskip("river")
    monkeypatch.syspath_prepend(str(FOLDER))
    from river_detector import TableDrift

    rng = np.random.default_rng(0)
    table = orders(rng, 400)
    detector = hld.HLDDetector(num_latents=2, num_epochs=2).fit(table)
    rows = table[:20].to_dict("records")
    for at in (0, 5):
        drift, odd = TableDrift(detector), [dict(row) for row in rows]
        del odd[at]["visits"]
        odd[at]["other"] = 1
        for row in odd:
            drift.update(row)
        expected = hld.Monitor(detector, drift.alpha).update(
            table[:20].assign(visits=table["visits"][:20].where(np.arange(20) != at))
        )
        found = drift.monitor.update_codes(np.zeros((0, 3), dtype=int))
        assert (found.num_rows, found.num_missing, found.e_value) == (20, 1, expected.e_value)


@pytest.fixture(scope="module")
def days():
    """A table of days, and detectors of groups, of a series, and given a covariate."""
    pandas, rng = pytest.importorskip("pandas"), np.random.default_rng(0)
    mood = rng.normal(size=60).repeat(20)
    table = pandas.DataFrame(
        {"day": np.arange(60).repeat(20), "a": rng.normal(mood), "b": rng.normal(mood)}
    )
    small, rows = (
        {"num_latents": 2, "num_epochs": 2, "num_bins": 3, "num_resamples": 99},
        table[["a", "b"]],
    )
    return table, [
        hld.HLDDetector(**small).fit(table, groups="day"),
        hld.HLDDetector(**small).fit(quick(pandas), order="time"),
        hld.HLDDetector(covariates=["a"], **small).fit(rows),
    ]


def quick(pandas):
    """A series without memory: stretches of moods that last for days are dependent."""
    return pandas.DataFrame(np.random.default_rng(1).normal(size=(1200, 2)), columns=["a", "b"])


def adapter(name, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return __import__(name)


def test_pandera_tests_each_group_of_a_frame(days, monkeypatch):
    pandera = pytest.importorskip("pandera.pandas")
    follows, (table, detectors) = adapter("pandera_check", monkeypatch).follows, days
    frame = table[:40].copy()
    frame.loc[20:, ["a", "b"]] = [-9.0, 9.0]
    for by in (None, "day"):
        schema = pandera.DataFrameSchema({}, checks=follows(detectors[0], 0.4 if by else 0.001, by))
        if by is None:
            assert len(schema.validate(table[:20])) == 20
        else:
            with pytest.raises(pandera.errors.SchemaError, match="does not follow"):
                schema.validate(frame)


def test_the_gate_hands_on_groups(days, monkeypatch):
    pytest.importorskip("sklearn")
    gate = adapter("sklearn_gate", monkeypatch).DriftGate(
        detector=hld.HLDDetector(num_latents=2, num_epochs=2)
    )
    assert gate.fit(days[0], groups="day").detector_.judge_.kind == "groups"
    assert len(gate.fit_transform(quick(pytest.importorskip("pandas")), order="time")) == 1200
    assert gate.detector_.judge_.kind == "time"
