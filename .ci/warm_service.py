"""Compiles what a service needs, in the build of a container: fits a small table, tests it, feeds its monitor."""

import pathlib
import tempfile

import numpy as np

import hld
import pcircuit
from hld.apps.serve.limits import Limits
from hld.apps.serve.models import Models
from hld.apps.serve.work import warm_up

pcircuit.warm_up()
rng = np.random.default_rng(0)
kind = rng.integers(0, 3, 400)
table = {"level": np.array(["a", "b", "c"])[kind], "number": kind + rng.normal(size=400)}
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "small.hld")
    hld.HLDDetector(num_epochs=2).fit(table).save(path)
    models = Models({"small": path}, state=folder)
    model = models.loaded["small"]
    warm_up(model, Limits())
    codes = model.detector.encoder_.encode(table)[0]
    model.watch.observe(codes)
    codes[:5, 0] = -1  # holes have kernels of their own
    model.watch.observe(codes)
print("kernels compiled")
