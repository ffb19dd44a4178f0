"""Model files: the same results after saving and loading, and every file that is none refused by name."""

import os

import numpy as np
import pytest
from tables import mixed_table

import hld
from hld import HLDDetector
from pcircuit.io.archive import read_archive, write_archive


@pytest.fixture(scope="module")
def detector():
    return HLDDetector(num_epochs=5).fit(mixed_table(600))


def test_saved_and_loaded_detectors_give_the_same_results(detector, tmp_path):
    path = tmp_path / "model.hld"
    detector.save(path)
    again = hld.load(path)
    for seed in range(3):
        batch = mixed_table(50, seed=seed, shift=seed == 2)
        left, right = detector.test(batch), again.test(batch)
        assert left.to_dict() == right.to_dict()
        np.testing.assert_array_equal(left.deltas, right.deltas)
    assert again.describe() == detector.describe()
    np.testing.assert_array_equal(
        again.score_samples(mixed_table(5)), detector.score_samples(mixed_table(5))
    )
    hld.save(again, str(tmp_path / "copy.hld"))
    assert (tmp_path / "copy.hld").read_bytes() == path.read_bytes()
    assert again.get_params() == detector.get_params()
    for other, error in (
        (None, TypeError),
        (detector.circuit_, TypeError),
        (HLDDetector(), ValueError),
    ):
        with pytest.raises(error, match=r"`detector` must be an HLDDetector, found|not fitted"):
            hld.save(other, tmp_path / "none.hld")
    assert not (tmp_path / "none.hld").exists()


@pytest.mark.parametrize("null", ["normal", "monte-carlo"])
def test_other_nulls_survive_the_file(null, tmp_path):
    detector = HLDDetector(
        num_epochs=3,
        null=null,
        kinds="input",
        metric="whitened",
        reference="circuit",
        tolerance=0.1,
    )
    detector.fit(mixed_table(200))
    hld.save(detector, tmp_path / "m.hld")
    batch = mixed_table(20, seed=4)
    assert hld.load(tmp_path / "m.hld").test(batch).to_dict() == detector.test(batch).to_dict()


@pytest.mark.parametrize(
    "damaged",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b"\x93NUMPY", b"\x93NUMPz"),
        lambda data: b"PK nonsense",
        lambda data: b"",
    ],
    ids=["truncated", "flipped", "nonsense", "empty"],
)
def test_damaged_files_are_refused(detector, tmp_path, damaged):
    path = tmp_path / "model.hld"
    detector.save(path)
    path.write_bytes(damaged(path.read_bytes()))
    with pytest.raises(ValueError, match=r"model\.hld"):
        hld.load(path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda header, arrays: header["test"].update(null="magic"),
        lambda header, arrays: header.update(num_train=-5),
        lambda header, arrays: header["params"].update(evil=1),
        lambda header, arrays: header.pop("schema"),
        lambda header, arrays: arrays.update({"test.nodes": arrays["test.nodes"] + 10**6}),
        lambda header, arrays: arrays.pop("test.stds"),
        lambda header, arrays: arrays.update({"test.mean": arrays["test.mean"] * np.nan}),
        lambda header, arrays: arrays.update(
            {"test.null.large.0.eigenvalues": -arrays["test.null.large.0.eigenvalues"]}
        ),
        lambda header, arrays: arrays.update(
            {"test.null.tails.sizes": arrays["test.null.tails.sizes"][::-1].copy()}
        ),
        lambda header, arrays: arrays.update(
            {"test.null.large.means": arrays["test.null.large.means"][:5]}
        ),
        lambda header, arrays: arrays.update(
            {"test.metric.3.factors": -arrays["test.metric.3.factors"]}
        ),
        lambda header, arrays: arrays.update(
            {"test.metric.0.weights": arrays["test.metric.0.weights"][:-1]}
        ),
        lambda header, arrays: arrays.update(
            {"test.metric.2.index": arrays["test.metric.2.index"] + 10**6}
        ),
        lambda header, arrays: header["test"]["calibration"]["null"].update(switch=-3),
        lambda header, arrays: header["test"]["calibration"]["null"].update(kind="magic"),
        lambda header, arrays: header["test"]["calibration"]["metrics"].clear(),
        lambda header, arrays: header["test"].update(seed="0"),
        lambda header, arrays: header.update(params=[1, 2]),
    ],
)
def test_well_formed_archives_with_wrong_contents_are_refused(detector, tmp_path, damage):
    path = tmp_path / "model.hld"
    detector.save(path)
    header, arrays = read_archive(path, "hld.detector", 1)
    damage(header, arrays)
    header.setdefault("format", "hld.detector")
    header.setdefault("version", 1)
    write_archive(path, header, arrays)
    with pytest.raises(ValueError, match=r"cannot read .*model\.hld"):
        hld.load(path)


def test_a_failed_save_keeps_the_old_file(detector, tmp_path, monkeypatch):
    path = tmp_path / "model.hld"
    path.write_text("precious")
    monkeypatch.setattr(os, "replace", lambda *a: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        detector.save(path)
    assert path.read_text() == "precious"
    assert [p.name for p in tmp_path.iterdir()] == ["model.hld"]


def test_files_that_are_not_there_or_newer_or_empty_are_told_apart(detector, tmp_path):
    with pytest.raises(FileNotFoundError, match="none"):
        hld.load(tmp_path / "none.hld")
    with pytest.raises(OSError, match="no/such"):
        hld.save(detector, tmp_path / "no" / "such" / "folder.hld")
    write_archive(tmp_path / "newer.hld", {"format": "hld.detector", "version": 99}, {})
    with pytest.raises(ValueError, match=r"newer\.hld.*99"):
        hld.load(tmp_path / "newer.hld")
