"""The container recipe: its lines are what they should be, and its steps run as they stand under another prefix."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from live_server import Client, csv_bytes, orders, wait_until

import hld

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILDER = next((name for name in ("podman", "docker") if shutil.which(name)), None)


def instructions():
    """(word, rest) of every instruction, lines that are continued joined."""
    text = re.sub(r"\\\n", " ", (ROOT / "Containerfile").read_text(encoding="utf-8"))
    return [
        tuple(line.split(None, 1))
        for line in text.splitlines()
        if line.strip() and not line.startswith("#")
    ]


def test_the_recipe_is_not_root_and_says_what_it_runs():
    found = instructions()
    words = [word for word, _ in found]
    user = next(rest for word, rest in found if word == "USER")
    assert user.split(":")[0].isdecimal()
    assert int(user.split(":")[0]) > 0
    assert words.index("USER") > max(i for i, word in enumerate(words) if word == "RUN")
    entry = json.loads(next(rest for word, rest in found if word == "ENTRYPOINT"))
    assert entry[:2] == ["/bin/sh", "-c"]
    assert "hld serve" in entry[2]
    subprocess.run(["sh", "-n", "-c", entry[2]], check=True)
    prefix = next(rest for word, rest in found if word == "ARG").partition("=")[2]
    assert entry[2].count(prefix + "/") == 2


def has_builder():
    return (
        BUILDER is not None
        and subprocess.run([BUILDER, "info"], capture_output=True, check=False).returncode == 0
    )


@pytest.mark.slow
def test_the_image_is_built_where_there_is_a_builder(tmp_path):
    if not has_builder():
        pytest.skip("no builder of containers runs here")
    subprocess.run(
        [BUILDER, "build", "-f", "Containerfile", "-t", "hld-serve-test", "."],
        cwd=ROOT,
        check=True,
        timeout=1800,
    )
    run = subprocess.run(
        [BUILDER, "run", "--rm", "--read-only", "--tmpfs", "/tmp", "hld-serve-test", "--help"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert "usage: hld serve" in run.stdout


@pytest.mark.slow
def test_the_steps_run_as_they_stand_under_another_prefix(tmp_path):
    """Without a builder: COPY and RUN in a folder, then the entry point, to which that folder is read-only.

    The service then answers a request that needs kernels, and compiles none: those of the build are enough.
    """
    prefix, state, kernels = tmp_path / "hld", tmp_path / "state", tmp_path / "kernels"
    environment = built(prefix, state)
    print(
        f"installed: {megabytes(prefix.rglob('*'))} MB, of which kernels {megabytes(prefix.rglob('*.nb?'))} MB"
    )
    rng = np.random.default_rng(0)
    hld.HLDDetector(num_epochs=3).fit(orders(rng, 600)).save(tmp_path / "orders.hld")
    entry = json.loads(next(rest for word, rest in instructions() if word == "ENTRYPOINT"))
    for old, new in (
        ("/opt/hld/", f"{prefix}/"),
        ("/tmp/kernels", str(kernels)),
        ("--state /state", f"--state {state}"),
        ("--host 0.0.0.0", "--host 127.0.0.1 --port 0"),
    ):
        assert old in entry[2]
        entry[2] = entry[2].replace(old, new)
    environment |= {
        "NUMBA_CACHE_DIR": str(kernels),
        "HLD_TOKEN": "0123456789abcdef",
        "HOME": "/nonexistent",
    }
    alone = without_rights(prefix)
    touched = subprocess.run(
        [*alone, "touch", str(prefix / "venv" / "new")], capture_output=True, check=False
    )
    assert touched.returncode != 0
    try:
        with subprocess.Popen(
            [*alone, *entry, str(tmp_path / "orders.hld")],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        ) as run:
            address = re.search(r"http://\S+", run.stdout.readline())[0]
            client = Client(address, environment["HLD_TOKEN"])
            wait_until(lambda: client.ask("GET", "/readyz")[0] == 200)
            for path in ("/v1/test", "/v1/observe"):
                assert client.json("POST", path, csv_bytes(orders(rng, 300)), "text/csv")[0] == 200
            client.close()
            run.terminate()
            assert run.wait(60) == 0
    finally:
        subprocess.run(["chmod", "-R", "u+w", str(prefix)], check=True)
    compiled = {path.relative_to(kernels) for path in kernels.rglob("*.nbc")}
    assert compiled
    assert compiled == {
        path.relative_to(prefix / "kernels") for path in (prefix / "kernels").rglob("*.nbc")
    }
    assert list(state.glob("orders-*.monitor"))


def megabytes(paths):
    """That files take."""
    return round(sum(path.lstat().st_size for path in paths) / 1e6)


def built(prefix, state):
    """The steps up to the entry point; the environment that they leave."""
    environment = {
        **os.environ,
        "PREFIX": str(prefix),
        "STATE": str(state),
        "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    environment.pop("PYTHONPATH", None)
    for word, rest in instructions():
        if word == "COPY":
            shutil.copytree(
                ROOT,
                prefix / "source",
                ignore=shutil.ignore_patterns(".git", "__pycache__", "*.egg-info"),
            )
        if word == "RUN":
            subprocess.run(
                ["sh", "-c", rest], env=environment, cwd=prefix.parent, check=True, timeout=900
            )
        if word == "ENV":
            environment |= dict(one.split("=", 1) for one in rest.split())
    return environment


def without_rights(prefix):
    """Makes a folder read-only; the words before a command that make this hold for root, too."""
    if os.geteuid() == 0 and shutil.which(
        "setpriv"
    ):  # root without capabilities may do what modes allow, as others
        subprocess.run(["chown", "-hR", "1:1", str(prefix)], check=True)
        return ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]
    subprocess.run(["chmod", "-R", "a-w", str(prefix / "venv")], check=True)
    return []
