"""The file of a stream monitor: what is saved is read, to the last bit, and nothing that no stream can have."""

import numpy as np
import pytest
from streams import noisy_copies as rows

import hld
from hld.streams.stream_file import FORMAT, STATE, VERSION, read_stream, stream_parts
from pcircuit.files.archive import read_archive, write_archive


def test_a_file_with_more_money_is_refused(monitor, detector, tmp_path):
    monitor.update(rows(40, np.random.default_rng(5)))
    path = tmp_path / "stream.hld"
    monitor.save(path)
    header, arrays = read_archive(path, FORMAT, VERSION)
    header.pop("library")
    for name, change in (
        ("races.money", lambda a: a * 2),
        ("races.log_weights", np.zeros_like),
        ("races.counts", lambda a: a - 10**6),
        ("means", lambda a: a[:1]),
    ):
        write_archive(path, header, arrays | {name: change(arrays[name])})
        with pytest.raises(ValueError, match="cannot read"):
            hld.StreamMonitor.load(path, detector)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("races.ages", (0,), 2**63 - 1),
        ("races.ages", (-1,), 2**63 - 1),
        ("races.ages", (1,), 3),
        ("races.counts", (0, 0), 2**62),
        ("races.counts", (-1, 5), 2**62),
        ("races.log", (0,), 1e308),
        ("races.log", (0,), -1e308),
        ("races.log_weights", (-1,), -30.0),
        ("races.log_weights", (0,), -1.0),
        ("races.num_edges", (0,), -1),
        ("races.num_edges", (0,), 64),
        ("means", (0, 3), 1.7e308),
        ("directions", (0, 0), 1e300),
        ("junk", (0,), 1.0),
        ("num_rows", None, 41),
        ("num_rows", None, 2**53),
        ("num_starts", None, 40),
        ("best", None, 1e308),
    ],
)
def test_one_number_that_cannot_be_is_refused(monitor, detector, name, place, value, tmp_path):
    from hld.streams.stream_file import _read

    monitor.update(rows(40, np.random.default_rng(5)))
    header, arrays = stream_parts(monitor)
    header["library"] = hld.__version__
    assert (
        _read(hld.StreamMonitor.__new__(hld.StreamMonitor), detector, header, arrays).num_rows == 40
    )
    if place is None:
        header[name] = value
    else:
        arrays[name] = arrays.get(name, np.zeros(1)).copy()
        arrays[name][place] = value
    with pytest.raises(
        ValueError, match=r"races in the file|the edges of bins|array '|the file has|does not fit"
    ):
        _read(hld.StreamMonitor.__new__(hld.StreamMonitor), detector, header, arrays)


def test_files_of_long_streams_and_of_either_engine_are_read(
    monitor, detector, tmp_path, monkeypatch
):
    for engine, num in [("numba", 90), ("numpy", 30), ("numba", 700)]:
        monkeypatch.setenv("PCIRCUIT_ENGINE", engine)
        expected = monitor.update(rows(num, np.random.default_rng(num)))
        monitor.save(tmp_path / "stream.hld")
        monitor = hld.StreamMonitor.load(tmp_path / "stream.hld", detector)
        assert monitor.update(rows(0, np.random.default_rng(0))).pvalue == expected.pvalue


def written(monitor, path, header=(), arrays=()):
    """The file of a monitor with some entries changed."""
    told, state = stream_parts(monitor)
    write_archive(path, told | dict(header), state | dict(arrays))
    return path


@pytest.mark.parametrize("num", [0, 1, 40, 200])
@pytest.mark.parametrize("moved", [False, True])
def test_all_of_a_monitor_is_in_its_file(monitor, detector, tmp_path, num, moved):
    stream = (
        rows(num, np.random.default_rng(5)) if not moved else np.tile([0, 1, 0, 1, -1], (num, 1))
    )
    monitor.update_codes(stream.astype(np.int64))
    found = read_stream(hld.StreamMonitor, written(monitor, tmp_path / "s.hld"), detector)
    for name in (
        "alpha",
        "seed",
        "best",
        "alarm_row",
        "num_rows",
        "num_starts",
        "num_missing",
        "leader",
    ):
        assert getattr(found, name) == getattr(monitor, name)
    for name in (*STATE, "codes", "sizes"):
        np.testing.assert_array_equal(getattr(found, name), getattr(monitor, name))
    for name, own in monitor.races._asdict().items():
        np.testing.assert_array_equal(getattr(found.races, name), own, err_msg=name)
    assert (monitor.alarm_row is not None) == (moved and num >= 40)


def test_groups_of_the_reference_are_kept(detector, tmp_path):
    table = rows(200, np.random.default_rng(6))
    monitor = hld.StreamMonitor(detector, table, groups=np.arange(200) // 5)
    found = read_stream(hld.StreamMonitor, written(monitor, tmp_path / "s.hld"), detector)
    assert found.sizes.tolist() == [5] * 40
    assert found.update(table[:5]).log_e_value == monitor.update(table[:5]).log_e_value


def test_a_file_without_a_race_is_refused_in_our_words(monitor, detector, tmp_path):
    """It had been an error of NumPy about shapes."""
    monitor.update(rows(40, np.random.default_rng(5)))
    weights = np.ones(len(monitor.races.log))  # the number that stands for a race that is not run
    path = written(monitor, tmp_path / "s.hld", arrays={"races.log_weights": weights})
    with pytest.raises(
        ValueError, match="the races in the file are not those of a stream of 40 rows"
    ):
        read_stream(hld.StreamMonitor, path, detector)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"alpha": 1.0}, "'alpha' is 1"),
        ({"alpha": "x"}, "'alpha' must be a number"),
        ({"seed": -1}, "'seed' must be"),
        ({"circuit": "0" * 64}, "the monitor is of another detector"),
        ({"leader": 10**6}, "the alarm does not fit"),
        ({"alarm_row": 3}, "the alarm does not fit the evidence"),
        ({"alarm_row": 41}, "'alarm_row' must be"),
        ({"num_missing": 0.5}, "'num_missing' must be"),
        ({"more": 1}, "the header"),
    ],
)
def test_a_header_that_cannot_be_is_refused(monitor, detector, tmp_path, changed, said):
    monitor.update(rows(40, np.random.default_rng(5)))
    with pytest.raises(ValueError, match=f"cannot read .*{said}"):
        read_stream(hld.StreamMonitor, written(monitor, tmp_path / "s.hld", changed), detector)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("reference", lambda a: a + 7, "`reference` holds"),
        ("reference", lambda a: a[:1], "do not fit its rows"),
        (
            "races.counts",
            lambda a: a + np.eye(len(a), a.shape[1], dtype=a.dtype),
            "are not those of a stream of 0 rows",
        ),
        ("sizes", lambda a: np.array([599]), "do not fit its rows"),
        ("sizes", lambda a: np.array([0, 600]), "do not fit"),
        ("sizes", lambda a: np.array([[600]]), "'sizes'"),
        ("means", lambda a: a * np.nan, "'means'"),
        ("races.edges", lambda a: a[:, ::-1], "the edges of bins in the file do not ascend"),
    ],
)
def test_arrays_that_cannot_be_are_refused(monitor, detector, tmp_path, name, change, said):
    array = stream_parts(monitor)[1][name]
    path = written(monitor, tmp_path / "s.hld", arrays={name: np.ascontiguousarray(change(array))})
    with pytest.raises(ValueError, match=f"cannot read .*{said}"):
        read_stream(hld.StreamMonitor, path, detector)


def test_a_monitor_of_the_largest_seed_is_read_back(detector, tmp_path):
    """One of a larger seed had been saved to a file that could not be read."""
    monitor = hld.StreamMonitor(detector, rows(50, np.random.default_rng(6)), seed=2**53)
    monitor.save(tmp_path / "s.hld")
    assert hld.StreamMonitor.load(tmp_path / "s.hld", detector).seed == 2**53
