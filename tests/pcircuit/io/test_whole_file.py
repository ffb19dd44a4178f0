"""Writing: whole or not at all, with the mode of before, and nothing left behind by a failure."""

import errno
import io
import os
import pathlib
import re
import stat
import subprocess
import sys

import pytest
import zoo

from pcircuit import load, save
from pcircuit.io.whole_file import replace_file


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pc"


def test_paths_may_be_strings_or_paths(tmp_path, monkeypatch):
    save(zoo.two_coins(), str(tmp_path / "a"))
    save(zoo.two_coins(), pathlib.Path(tmp_path / "b"))
    monkeypatch.chdir(tmp_path)
    save(zoo.two_coins(), "c")
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c"]
    assert load("a") == load(pathlib.Path("b")) == load(str(tmp_path / "c")) == zoo.two_coins()


def test_permissions_follow_the_umask(path):
    before = os.umask(0o027)
    try:
        save(zoo.two_coins(), path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o666])
def test_a_file_keeps_its_mode(path, mode):
    save(zoo.two_coins(), path)
    path.chmod(mode)
    save(zoo.one_region(), path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert load(path) == zoo.one_region()


def test_a_link_without_a_file_gets_one(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "second")
    (tmp_path / "second").symlink_to("target")
    save(zoo.one_region(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert load(tmp_path / "target") == zoo.one_region()


@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt()])
@pytest.mark.parametrize("place", ["numpy.lib.format.write_array", "os.fsync", "os.replace"])
@pytest.mark.parametrize("existing", [False, True])
def test_a_failure_leaves_everything_as_it_was(path, monkeypatch, error, place, existing):
    if existing:
        save(zoo.two_coins(), path)

    def fail(*args, **kwargs):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(place, fail)
        with pytest.raises(type(error)):
            save(zoo.hclt_like(), path)
    assert os.listdir(path.parent) == ([path.name] if existing else [])
    assert not existing or load(path) == zoo.two_coins()


KILLED_WRITERS = """
import os, random, signal, sys, time
import numpy as np
import zoo
from pcircuit import load, save
path, runs = sys.argv[1], int(sys.argv[2])
kinds, seen, left = [zoo.two_coins(), zoo.hclt_like()], set(), 0
save(kinds[0], path)
draw = random.Random(0)
for _ in range(runs):
    ready, tell = os.pipe()
    writer = os.fork()
    if writer == 0:
        while True:
            for circuit in kinds:
                save(circuit, path)
                os.write(tell, b"1")
    os.read(ready, 1)
    time.sleep(draw.uniform(0, 0.01))
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    os.close(ready)
    os.close(tell)
    seen.add(kinds.index(load(path)))
    left += len(os.listdir(os.path.dirname(path))) - 1
print(sorted(seen), left)
"""


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_writers_killed_at_any_moment(path):
    command = [sys.executable, "-c", KILLED_WRITERS, str(path), "100"]
    root = pathlib.Path(__file__).parents[3]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(root), str(root / "tests")]),
        "OPENBLAS_NUM_THREADS": "1",
    }
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    seen, left = re.fullmatch(r"(\[.*?\]) (\d+)\n", done.stdout).groups()
    assert seen == "[0, 1]"  # the old file and the new one, both met, and always one of them
    assert int(left) > 0  # the test does kill writers while they write


def test_the_folder_must_exist(tmp_path):
    message = "`path` is in the folder .*nowhere', which does not exist: create it first"
    with pytest.raises(FileNotFoundError, match=message):
        save(zoo.two_coins(), tmp_path / "nowhere" / "a")


def test_the_path_must_be_a_file(tmp_path):
    with pytest.raises(ValueError, match="is a folder or a device, expected the name of a file"):
        save(zoo.two_coins(), tmp_path)
    with pytest.raises(ValueError, match="is an open stream or a device"):
        save(zoo.two_coins(), os.devnull)


@pytest.mark.parametrize("bad", [None, 3, b"a", "", io.BytesIO()])
def test_the_path_must_be_a_path(bad):
    with pytest.raises(TypeError, match=r"`path` must be a non-empty str or os\.PathLike, found"):
        save(zoo.two_coins(), bad)
    with pytest.raises(TypeError, match=r"`path` must be a non-empty str or os\.PathLike, found"):
        load(bad)


def test_the_path_must_not_hold_a_zero_byte():
    for call in (load, lambda path: save(zoo.two_coins(), path)):
        with pytest.raises(
            ValueError, match=r"`path` 'a\\x00b' holds a zero byte, expected the name of a file"
        ):
            call("a\0b")


def test_a_full_disk_is_named(tmp_path):
    """Which file did not fit is in the error, and what was there stays."""
    (tmp_path / "a").write_text("old")
    with pytest.raises(OSError, match="No space") as caught, replace_file(tmp_path / "a"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.filename == str(tmp_path / "a")
    assert (tmp_path / "a").read_text() == "old"
