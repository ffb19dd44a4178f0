"""Models of a service: replaced when their files change, kept when these cannot be read, each with one monitor."""
import gc
import os
import shutil
import weakref

import numpy as np
import pytest

from hld.serve.models import Models

pytestmark = pytest.mark.thorough


def test_a_monitor_goes_on_when_its_model_comes_back(shop, tmp_path):
    path = tmp_path / "orders.hld"
    shutil.copy(shop["orders"], path)
    models = Models({"orders": path})
    first = models.loaded["orders"]
    first.watch.observe([np.zeros((5, 3), dtype=int)])
    for name, number in (("other", 0), ("orders", 5)):
        shutil.copy(shop[name], tmp_path / "new")
        os.replace(tmp_path / "new", path)
        models.reload()
        assert models.loaded["orders"].watch.last.num_rows == number
    assert models.loaded["orders"].watch is first.watch


def test_monitors_of_old_versions_are_kept_in_files_or_in_memory_not_in_both(shop, tmp_path):
    """A service of a model that is learned anew every hour would hold thousands of them."""
    path = tmp_path / "orders.hld"
    for state in (tmp_path, None):
        shutil.copy(shop["orders"], path)
        models = Models({"orders": path}, state)
        models.loaded["orders"].watch.observe([np.zeros((5, 3), dtype=int)])
        first = weakref.ref(models.loaded["orders"].watch)
        for name, number in (("other", 0), ("orders", 5)):
            shutil.copy(shop[name], tmp_path / "new")
            os.replace(tmp_path / "new", path)
            assert models.reload() == {"orders": "loaded"}
            gc.collect()
            assert (first() is None) == (state is not None)
            assert models.loaded["orders"].watch.last.num_rows == number
        models.close()


def test_a_file_that_is_gone_is_told_of_once(shop, tmp_path, caplog):
    """Looked for every 2 s, it would be 43,200 lines of the log a day; who asks for a reload is told each time."""
    path = tmp_path / "orders.hld"
    shutil.copy(shop["orders"], path)
    models = Models({"orders": path})
    path.unlink()
    for only_changed, number in ((True, 1), (True, 1), (False, 2), (True, 2)):
        assert models.reload(only_changed=only_changed)["orders"].startswith("FileNotFoundError")
        assert sum("cannot be read" in record.getMessage() for record in caplog.records) == number
    path.mkdir()
    models.reload(only_changed=True)
    assert sum("cannot be read" in record.getMessage() for record in caplog.records) == 3
    assert "not a regular file" in models.errors["orders"][1]
