"""The container recipe: its lines are what they should be, and its steps run as they stand under another prefix."""

import json
import os
import pathlib
import re
import shutil
import socket
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
    assert entry[2].endswith('"$@"')  # arguments of `hld serve` follow the name of the image
    subprocess.run(["sh", "-n", "-c", entry[2]], check=True)
    defaults = dict(
        one.split("=", 1) for word, rest in found if word == "ENV" for one in rest.split()
    )
    assert set(re.findall(r"\$([A-Z_]+)", entry[2])) <= set(defaults)


def test_the_image_pins_its_base_and_leaves_the_sources_behind():
    found = instructions()
    words = [word for word, _ in found]
    base = next(rest for word, rest in found if word == "ARG").removeprefix("BASE=")
    assert re.search(r":\d+\.\d+\.\d+-slim-\w+$", base)
    last = len(words) - 1 - words[::-1].index("FROM")
    copies = [rest for word, rest in found[last:] if word == "COPY"]
    assert copies == ["--from=build $PREFIX $PREFIX"]
    assert any("rm -rf $PREFIX/source" in rest for word, rest in found[:last] if word == "RUN")


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
    check = next(rest for word, rest in instructions() if word == "HEALTHCHECK")
    environment |= {
        "NUMBA_CACHE_DIR": str(kernels),
        "HLD_HOST": "127.0.0.1",
        "HLD_PORT": str(free_port()),
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
            probe = json.loads(check.partition("CMD ")[2])
            subprocess.run(probe, env=environment, check=True)
            assert subprocess.run(
                probe, env=environment | {"HLD_PORT": "1"}, capture_output=True, check=False
            ).returncode
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


def free_port():
    """A port that nobody listens at now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


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
    }  # what ARG has otherwise
    environment.pop("PYTHONPATH", None)
    for word, rest in instructions():
        if word == "COPY" and not rest.startswith("--from"):
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
            for one in rest.split():
                name, _, value = one.partition("=")
                environment[name] = re.sub(
                    r"\$([A-Z]+)", lambda found: environment[found[1]], value
                )
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
