"""Model files: the same results after saving and loading, and every file that is none refused by name."""

import os

import numpy as np
import pytest
from tables import mixed_table

import hld
import pcircuit
from hld import HLDDetector
from pcircuit.files.archive import read_archive, write_archive


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
    again.save(tmp_path / "copy.hld")
    assert (tmp_path / "copy.hld").read_bytes() == path.read_bytes()


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


@pytest.mark.parametrize("change", ["truncate", "flip", "other kind", "nonsense"])
def test_damaged_files_are_refused(detector, tmp_path, change):
    path = tmp_path / "model.hld"
    detector.save(path)
    data = bytearray(path.read_bytes())
    if change == "truncate":
        path.write_bytes(data[: len(data) // 2])
    elif change == "flip":
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(data)
    elif change == "other kind":
        pcircuit.save(detector.circuit_, path)
    else:
        path.write_bytes(b"PK nonsense")
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


def test_only_fitted_detectors_are_saved(tmp_path):
    path = tmp_path / "x.hld"
    for other in (
        "model",
        None,
        HLDDetector,
        pcircuit.rat_spn([2] * 4, num_units=2, depth=1, rng=0),
    ):
        with pytest.raises(
            TypeError,
            match=f"`detector` must be an HLDDetector, found {type(other).__name__}; save",
        ):
            hld.save(other, path)
    with pytest.raises(ValueError, match="not fitted"):
        hld.save(HLDDetector(), path)
    assert not path.exists()


def test_save_is_the_method_and_what_is_loaded_is_a_detector(detector, tmp_path):
    hld.save(detector, tmp_path / "a.hld")
    detector.save(str(tmp_path / "b.hld"))
    assert (tmp_path / "a.hld").read_bytes() == (tmp_path / "b.hld").read_bytes()
    again = hld.load(str(tmp_path / "a.hld"))
    assert isinstance(again, HLDDetector)
    assert again.get_params() == detector.get_params()


def test_files_that_are_not_there_or_newer_or_empty_are_told_apart(detector, tmp_path):
    with pytest.raises(FileNotFoundError, match="none"):
        hld.load(tmp_path / "none.hld")
    with pytest.raises(OSError, match="no/such"):
        hld.save(detector, tmp_path / "no" / "such" / "folder.hld")
    (tmp_path / "empty.hld").write_bytes(b"")
    with pytest.raises(ValueError, match=r"empty\.hld"):
        hld.load(tmp_path / "empty.hld")
    write_archive(tmp_path / "newer.hld", {"format": "hld.detector", "version": 99}, {})
    with pytest.raises(ValueError, match=r"newer\.hld.*99"):
        hld.load(tmp_path / "newer.hld")
