"""Models of a service: replaced when their files change, kept when these cannot be read, each with one monitor."""

import gc
import os
import shutil
import weakref

import numpy as np
import pandas as pd
import pytest

import hld
from hld.apps.serve.limits import Limits
from hld.apps.serve.models import Models, model_paths, trial_table
from hld.apps.serve.work import Batch, judge, warm_up

OPTIONS = {"num_latents": 2, "num_epochs": 2, "num_resamples": 99}


@pytest.mark.thorough
def test_monitors_of_old_versions_are_kept_in_files_or_in_memory_not_in_both(shop, tmp_path):
    """A service of a model that is learned anew every hour would hold thousands of them."""
    path = tmp_path / "orders.hld"
    for state in (tmp_path, None):
        shutil.copy(shop["orders"], path)
        models = Models({"orders": path}, state)
        models.loaded["orders"].watch.observe(np.zeros((5, 3), dtype=int))
        first = weakref.ref(models.loaded["orders"].watch)
        for name, number in (("other", 0), ("orders", 5)):
            shutil.copy(shop[name], tmp_path / "new")
            os.replace(tmp_path / "new", path)
            assert models.reload() == {"orders": "loaded"}
            gc.collect()
            assert (first() is None) == (state is not None)
            assert models.loaded["orders"].watch.last.num_rows == number
        models.close()


@pytest.mark.thorough
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


def tables():
    """A table with a column that is left out, one with parts of dates, and an array whose first column is left out."""
    rng = np.random.default_rng(0)
    size, kind = rng.normal(size=300).round(2), rng.integers(0, 3, 300)
    when = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 90 * 24, 300), "h")
    parts = hld.TableSchema(hld.calendar_columns("when"))
    return {
        "left out": (
            pd.DataFrame({"id": [f"id {i}" for i in range(300)], "size": size, "kind": kind}),
            None,
        ),
        "parts of dates": (pd.DataFrame({"when": when, "kind": kind}), parts),
        "array": (np.column_stack([np.arange(300), kind, kind % 2]), None),
    }


@pytest.mark.parametrize("name", ["left out", "parts of dates", "array"])
def test_models_with_columns_that_are_left_out_or_derived_are_served(tmp_path, name):
    """Their rows were tried without these columns, so that no such model could be served."""
    table, given = tables()[name]
    detector = hld.HLDDetector(schema=hld.learn_schema(table, given=given), **OPTIONS).fit(table)
    detector.save(tmp_path / "m.hld")
    trial = trial_table(detector)
    assert {*detector.encoder_.table_names, *detector.encoder_.names} == set(trial)
    quality = detector.test(trial).data_quality
    assert (quality.absent, quality.extra, quality.num_rows) == ((), (), 50)
    models = Models({"m": tmp_path / "m.hld"})
    warm_up(models.loaded["m"], Limits())
    body = pd.DataFrame(table).rename(
        columns=lambda name: f"x{name}" if isinstance(name, int) else name
    )[:40]
    batch = Batch(body.to_csv(index=False).encode(), "csv", 0.05)
    answer = judge(models.loaded["m"], batch, False, {}, Limits())
    assert (answer.num_rows, answer.pvalue) == (40, detector.test(table[:40]).pvalue)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["models/orders.hld", "eu=a/b.hld"], {"orders": "models/orders.hld", "eu": "a/b.hld"}),
        (["orders.hld"], {"orders": "orders.hld"}),
        (["a=b=c.hld"], {"a": "b=c.hld"}),
        (["v1.2/x-y_z.hld"], {"x-y_z": "v1.2/x-y_z.hld"}),
        ([], {}),
    ],
)
def test_names_are_given_or_those_of_the_files(arguments, found):
    assert model_paths(arguments) == found


@pytest.mark.parametrize(
    "arguments",
    [
        ["a/x.hld", "b/x.hld"],
        ["x=a", "x=b"],
        ["x="],
        ["a/x y.hld"],
        ["=x.hld"],
        ["a/=b.hld"],
        [""],
        ["x" * 65 + ".hld"],
    ],
)
def test_names_that_cannot_be_are_refused(arguments):
    with pytest.raises(ValueError, match=r"`models` has '.*', expected files with distinct names"):
        model_paths(arguments)


def test_a_state_needs_a_folder(shop, tmp_path):
    with pytest.raises(
        ValueError, match=r"`state` '.*nothing' is not a folder, expected one that can be written"
    ):
        Models({"orders": shop["orders"]}, tmp_path / "nothing")
