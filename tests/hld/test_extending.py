"""The worked example of docs/extending.md runs, and does what it says."""
import pathlib
import re

import numpy as np
import pytest
import zoo

import hld
from hld.metrics.named import METRICS
from hld.references.circuit import CircuitReference

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "extending.md"


@pytest.fixture
def example(monkeypatch):
    """What the code of the document defines; its entry goes into a copy of the registry."""
    monkeypatch.setattr("hld.metrics.named.METRICS", dict(METRICS))
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, str(DOCUMENT), "exec"), names)
    return names


def test_the_example_is_what_its_docstring_says(example, rng):
    circuit = zoo.circuits()["hclt_like"]
    nodes = hld.select_nodes(circuit)
    metric = example["wide"](CircuitReference(circuit, nodes))
    stds = np.sqrt(hld.exact_moments(circuit, nodes).diagonal())
    z = rng.normal(size=len(nodes))
    wide = [2 * len(circuit.scope(node)) >= circuit.num_variables for node in nodes]
    assert metric.squared(z) == pytest.approx(((z / stds)[wide] ** 2).sum())
