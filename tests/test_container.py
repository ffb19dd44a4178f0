"""The container recipe: its lines are what they should be, and its steps run as they stand under another prefix."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILDER = next((name for name in ("podman", "buildah", "docker") if shutil.which(name)), None)


def instructions():
    """(word, rest) of every instruction, lines that are continued joined."""
    text = re.sub(r"\\\n", " ", (ROOT / "Containerfile").read_text(encoding="utf-8"))
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip() and not line.startswith("#")]


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
    return BUILDER is not None and subprocess.run([BUILDER, "info"], capture_output=True, check=False).returncode == 0


@pytest.mark.slow
def test_the_image_is_built_where_there_is_a_builder(tmp_path):
    if not has_builder():
        pytest.skip("no builder of containers runs here")
    subprocess.run([BUILDER, "build", "-t", "hld-serve-test", "."], cwd=ROOT, check=True, timeout=1800)
    run = subprocess.run([BUILDER, "run", "--rm", "--read-only", "--tmpfs", "/tmp", "hld-serve-test", "--help"],
                         capture_output=True, text=True, timeout=300, check=True)
    assert "serve models over HTTP" in run.stdout


@pytest.mark.slow
def test_the_steps_run_as_they_stand_under_another_prefix(tmp_path):
    """Without a builder: COPY and RUN in a folder, then the entry point with that folder not writable."""
    prefix = tmp_path / "hld"
    environment = {**os.environ, "PREFIX": str(prefix), "STATE": str(tmp_path / "state"),
                   "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
    environment.pop("PYTHONPATH", None)
    for word, rest in instructions():
        if word == "COPY":
            shutil.copytree(ROOT, prefix / "source", ignore=shutil.ignore_patterns(".git", "__pycache__", "*.egg-info"))
        if word == "RUN":
            subprocess.run(["sh", "-c", rest], env=environment, cwd=tmp_path, check=True, timeout=900)
        if word == "ENV":
            environment |= dict(one.split("=", 1) for one in rest.split())
    size = sum(path.lstat().st_size for path in prefix.rglob("*"))
    print(f"installed: {size / 1e6:.0f} MB")
    entry = json.loads(next(rest for word, rest in instructions() if word == "ENTRYPOINT"))
    entry[2] = entry[2].replace("/opt/hld/", f"{prefix}/").replace("/tmp/kernels", f"{tmp_path}/kernels")
    environment["NUMBA_CACHE_DIR"] = str(tmp_path / "kernels")
    subprocess.run(["chmod", "-R", "a-w", str(prefix)], check=True)
    try:
        run = subprocess.run([*entry, "--help"], env=environment, capture_output=True, text=True, timeout=120,
                             check=False)
        assert "serve models over HTTP" in run.stdout, run.stderr
        assert any((tmp_path / "kernels").rglob("*.nbi"))
    finally:
        subprocess.run(["chmod", "-R", "u+w", str(prefix)], check=True)
