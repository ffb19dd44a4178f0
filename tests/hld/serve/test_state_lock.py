"""One service for the states of a model: a second one is refused as long as the first lives, and no longer."""

import errno
import os

import pytest

from hld.serve import state_lock
from hld.serve.models import Models
from hld.serve.state_lock import StateLock


def in_use(*_, **__):
    raise PermissionError("the file is open in another process")


@pytest.mark.parametrize("has_flock", [True, False])
def test_a_second_one_is_refused_until_the_first_is_closed(tmp_path, monkeypatch, has_flock):
    if not has_flock:  # as on Windows, where an open file cannot be removed
        monkeypatch.setattr(state_lock, "fcntl", None)
    first = StateLock(tmp_path, "orders")
    with monkeypatch.context() as changed:
        if not has_flock:
            changed.setattr(state_lock.pathlib.Path, "unlink", in_use)
        with pytest.raises(
            ValueError,
            match=f"`state` .* is used for the model 'orders' by another service "
            f"\\(process {os.getpid()} on .*\\): stop that one first",
        ):
            StateLock(tmp_path, "orders")
    StateLock(tmp_path, "other").close()
    first.close()
    first.close()
    StateLock(tmp_path, "orders").close()


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(
        ValueError, match=r"`state` .*nowhere.* cannot be written .*, expected a folder"
    ):
        StateLock(tmp_path / "nowhere", "orders")


def test_a_file_system_without_locks_is_told_of(tmp_path, monkeypatch, caplog):
    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(state_lock.fcntl, "flock", flock)
    with caplog.at_level("WARNING", logger="hld.serve"):
        StateLock(tmp_path, "orders").close()
    assert "file system without locks (No locks available)" in caplog.text


def test_models_hold_their_states_until_they_are_closed(shop, tmp_path):
    models = Models({"orders": shop["orders"]}, tmp_path)
    with pytest.raises(ValueError, match="is used for the model 'orders' by another service"):
        Models({"other": shop["other"], "orders": shop["orders"]}, tmp_path)
    Models(
        {"other": shop["other"]}, tmp_path
    ).close()  # what was refused let go of its own, and another name is free
    models.close()
    Models({"orders": shop["orders"]}, tmp_path).close()
