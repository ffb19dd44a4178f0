"""The metrics of a service as Prometheus reads them."""

from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hld.apps.serve.numbers import Numbers
from hld.apps.serve.work import Verdict


def model(name, **last):
    """A loaded model whose monitor stands somewhere."""
    values = {"log_e_value": 0.0, "pvalue": 1.0, "alarm": False, "num_rows": 0} | last
    watch = SimpleNamespace(last=SimpleNamespace(**values))
    return SimpleNamespace(name=name, digest="d" * 64, loaded=12.5, watch=watch)


@pytest.fixture
def service():
    """Models and a pool."""
    return (SimpleNamespace(loaded={}, errors={}), SimpleNamespace(num_busy=2, capacity=7))


def read(numbers):
    """(name, values of the labels in the order of their names) -> value of all samples of the service."""
    return {
        (sample.name, *(sample.labels[label] for label in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(numbers.text().decode())
        for sample in family.samples
        if sample.name.startswith("hld_")
    }


def test_tests_and_rows_add_up_and_the_last_batch_is_shown(service):
    numbers = Numbers(*service)
    for name, reject, rows, pvalue in (
        ("a", True, 30, 0.01),
        ("a", False, 12, 0.5),
        ("b", False, 5, 1.0),
    ):
        numbers.tested(
            name,
            Verdict(b"", pvalue, reject, rows, 2 * pvalue),
        )
    numbers.rows.labels("a", "observe").inc(3)
    found = read(numbers)
    assert [found["hld_tests_total", "a", word] for word in ("shift", "calm")] == [1, 1]
    assert found["hld_tests_total", "b", "calm"] == 1
    assert ("hld_tests_total", "b", "shift") not in found
    assert (found["hld_rows_total", "test", "a"], found["hld_rows_total", "observe", "a"]) == (
        42,
        3,
    )
    assert found["hld_rows_total", "test", "b"] == 5
    assert (
        found["hld_last_pvalue", "a"],
        found["hld_last_effect", "a"],
        found["hld_last_pvalue", "b"],
    ) == (0.5, 1, 1)


def test_models_monitors_and_threads_are_as_they_are_when_asked(service):
    models, pool = service
    numbers = Numbers(models, pool)
    assert read(numbers) == {("hld_pool_busy",): 2, ("hld_pool_capacity",): 7}
    models.loaded = {
        "a": model("a", alarm=True, num_rows=9, log_e_value=3.5, pvalue=0.03),
        "b": model("b"),
    }
    models.errors, pool.num_busy = {"b": (None, "damaged")}, 0
    found = read(numbers)
    assert found["hld_pool_busy",] == 0
    for name, first, second in (
        ("monitor_alarm", 1, 0),
        ("monitor_rows", 9, 0),
        ("monitor_pvalue", 0.03, 1),
        ("monitor_log_e_value", 3.5, 0),
        ("model_reload_failed", 0, 1),
        ("model_loaded_timestamp_seconds", 12.5, 12.5),
    ):
        assert (found[f"hld_{name}", "a"], found[f"hld_{name}", "b"]) == (first, second)
    assert found["hld_model_info", "d" * 64, "a"] == 1
