"""The worked example of docs/extending/metric.md runs, and does what it says."""

import pathlib
import re
from dataclasses import dataclass

import numpy as np
import pytest
import zoo

import hld
from hld.metrics.named import METRICS
from hld.nulls.named import KINDS, NULLS, NamedNull
from hld.nulls.normal import NormalLaw, normal_null
from hld.nulls.null import PValue
from hld.references.circuit import CircuitReference

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "extending" / "metric.md"


@pytest.fixture
def example(monkeypatch):
    """What the code of the document defines; its entry goes into a copy of the registry."""
    monkeypatch.setattr("hld.metrics.named.METRICS", dict(METRICS))
    names: dict = {}
    for block in re.findall(
        r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL
    ):
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


@dataclass(frozen=True)
class Twice(NormalLaw):
    """A null of another package: the normal law with p-values that are twice as large."""

    def pvalue(self, squared, T):
        value = min(2 * super().pvalue(squared, T).value, 1.0)
        return PValue(value, (value,), None, "twice")

    def to_parts(self):
        return {**super().to_parts()[0], "kind": "twice"}, {}


def test_a_null_in_the_two_lists_works_and_goes_into_model_files(monkeypatch, tmp_path, rng):
    make = NamedNull(lambda *parts: Twice(**vars(normal_null(*parts))))
    monkeypatch.setitem(NULLS, "twice", make)
    monkeypatch.setitem(KINDS, "twice", Twice)
    rows = rng.integers(0, 2, size=(200, 4))
    detector = hld.HLDDetector(null="twice", metric="euclidean", num_epochs=2).fit(rows[:150])
    expected = detector.test(rows[150:])
    assert expected.null == "twice"
    detector.save(tmp_path / "m.hld")
    assert hld.load(tmp_path / "m.hld").test(rows[150:]).pvalue == expected.pvalue
