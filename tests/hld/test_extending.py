"""The worked examples of docs/extending run, and do what they say."""

import json
import pathlib
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
import zoo

import hld
import hld.dask
import hld.sql
from hld.features.odd_rows import ODDNESS
from hld.laws.limit_law import NormalLaw, normal_null
from hld.laws.named import KINDS, NULLS, NamedNull
from hld.laws.null import PValue
from hld.references.circuit import CircuitReference
from hld.tables.schemas.counts import one_sided
from hld.witnesses.metrics.named import METRICS
from hld.witnesses.witnesses import WITNESSES

PAGES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "extending"


@pytest.fixture
def example(monkeypatch):
    """What the code of the document defines; its entry goes into a copy of the registry."""
    monkeypatch.setattr("hld.witnesses.metrics.named.METRICS", dict(METRICS))
    monkeypatch.setattr("hld.features.odd_rows.ODDNESS", dict(ODDNESS))
    names: dict = {}
    for page in ("metric.md", "witness.md"):
        text = (PAGES / page).read_text(encoding="utf-8")
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            exec(compile(block, page, "exec"), names)
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


def calm(rng, n):
    """Six columns with a rare category each, never two of them together."""
    table = rng.integers(0, 3, size=(n, 6))
    rare = rng.random(n) < 0.05
    table[rare, rng.integers(0, 6, size=rare.sum())] = 3
    return table


def together(rng, n):
    """The same columns, their rare categories in the same rows: every column and pair by itself is nearly as before."""
    table, odd = rng.integers(0, 3, size=(n, 6)), rng.random(n) < 0.02
    table[odd, :3] = 3
    return table


def counted_ones(held, batch):
    """A witness that is no number of rows: whether category 1 of the first column is more frequent."""
    (k, n), (j, T) = (
        (np.array([one.counts[0][1]]), np.array([one.counts[0][:-1].sum()]))
        for one in (held.counts, batch)
    )
    return one_sided(n, k, T, j, 0.05)


def test_an_added_witness_is_heard_at_every_door_or_named_there(example, monkeypatch, tmp_path):
    monkeypatch.setitem(ODDNESS, "rare", example["ODDNESS"]["rare"])
    monkeypatch.setitem(WITNESSES, "ones", counted_ones)
    rng = np.random.default_rng(0)
    options = {"num_latents": 2, "num_epochs": 5, "num_resamples": 99, "rng": 0}
    detector = hld.HLDDetector(**options).fit(calm(rng, 3000))
    own, batch = ("rare", "ones"), together(rng, 400)
    found = detector.test(batch)
    assert found.reject
    assert found.witnesses["rare"].pvalue < 0.005
    assert found.witnesses["rare"].share == 0.05
    assert "odd by their rare" in str(found)
    assert found.effect_interval[0] > 0
    assert json.loads(json.dumps(found.to_dict()))["witnesses"].keys() >= {*own}
    halves, dask = (batch[:150], batch[150:]), pytest.importorskip("dask.array")
    others = {
        "chunks": hld.judge_chunks(detector, halves),
        "summary": detector.test(sum(map(detector.summarize, halves))),
        "dask": hld.dask.judge(detector, dask.from_array(batch, chunks=(150, 6))),
        "segments": detector.test_by(batch, np.zeros(400, int)).results[0],
    }
    detector.save(tmp_path / "model.hld")
    others["file"] = hld.load(tmp_path / "model.hld").test(batch)
    for other in others.values():
        for name in own:
            assert other.witnesses[name].to_dict() == found.witnesses[name].to_dict()
        assert other.not_heard == ()
    monitor = hld.Monitor(detector)
    kinds = [kind.name for kind in detector.watched_.scores.kinds]
    assert kinds[-3:] == ["magnitude", "likelihood", "rare"]
    monitor.update(calm(rng, 100))
    before = monitor._races.log[-1]
    monitor.update(together(rng, 1500))
    assert monitor._races.log[-1] > before + 5
    given = hld.HLDDetector(**options, covariates=["x5"]).fit(calm(rng, 3000)).test(batch)
    assert given.witnesses["rare"].pvalue < 0.005
    assert given.not_heard == ("largest_dependence",)
    rows, odd = calm(rng, 3000), np.concatenate([together(rng, 200), together(rng, 200)])
    for fitting in ({"groups": np.arange(3000) // 50}, {"order": "time"}):
        among = hld.HLDDetector(**options).fit(rows, **fitting)
        heard = among.test(odd)
        assert (
            heard.witnesses["rare"].pvalue
            < 0.05
            < among.test(calm(rng, 50)).witnesses["rare"].pvalue
        )
        assert heard.not_heard == ("levels", "ones")  # which need counts
        among.save(tmp_path / "among.hld")
        assert hld.load(tmp_path / "among.hld").test(odd).to_dict() == heard.to_dict()
    circuit = hld.HLDDetector(**options, reference="circuit").fit(calm(rng, 300))
    assert {*own} <= {*circuit.test(batch[:30]).not_heard}
    duckdb, pandas = pytest.importorskip("duckdb"), pytest.importorskip("pandas")
    connection = duckdb.connect()
    names = [f"x{v}" for v in range(6)]
    connection.register("batch", pandas.DataFrame(batch, columns=names))
    counted = hld.sql.judge(detector, connection, "batch")
    assert counted.witnesses["ones"].to_dict() == found.witnesses["ones"].to_dict()
    assert counted.not_heard == ("magnitude", "likelihood", "rare")  # numbers of rows
    monkeypatch.delitem(example["ODDNESS"], "rare")
    with pytest.raises(ValueError, match="rows are ranked by 'rare', which is none of magnitude"):
        hld.load(tmp_path / "model.hld")


def test_witnesses_that_have_more_than_the_level_are_refused(monkeypatch, rng):
    monkeypatch.setitem(WITNESSES, "ones", lambda *given: replace(counted_ones(*given), share=0.9))
    detector = hld.HLDDetector(num_latents=1, num_epochs=1).fit(calm(rng, 200))
    with pytest.raises(ValueError, match="of the level together, expected at most 100%"):
        detector.test(calm(rng, 60))
