"""The metrics of a service for Prometheus: requests, verdicts, monitors, models, the pool."""

from collections.abc import Callable
from typing import Any

import prometheus_client as prometheus

from hld.apps.serve.models import LoadedModel, Models
from hld.apps.serve.pool import Pool
from hld.apps.serve.work import Verdict

SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
# what is read of a model when somebody asks
OF_MODELS: dict[str, tuple[str, Callable[[LoadedModel], float]]] = {
    "hld_monitor_log_e_value": (
        "Natural logarithm of the e-value.",
        lambda one: one.watch.last.log_e_value,
    ),
    "hld_monitor_pvalue": ("Anytime-valid p-value.", lambda one: one.watch.last.pvalue),
    "hld_monitor_alarm": ("1 from the alarm to the reset.", lambda one: one.watch.last.alarm),
    "hld_monitor_rows": ("Rows observed since the reset.", lambda one: one.watch.last.num_rows),
    "hld_model_loaded_timestamp_seconds": ("When it was loaded.", lambda one: one.loaded),
}


class Numbers:
    """Counters and gauges in a registry of their own, so that two services in one process do not mix."""

    def __init__(self, models: Models, pool: Pool) -> None:
        self.models, self.registry = models, prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=self.registry)
        prometheus.GCCollector(registry=self.registry)

        def made(kind: Any, name: str, text: str, *labels: str, **options: Any) -> Any:
            return kind(name, text, labels, registry=self.registry, **options)

        counter, gauge, info = prometheus.Counter, prometheus.Gauge, prometheus.Info
        self.requests = made(counter, "hld_requests", "Requests answered.", "endpoint", "status")
        self.seconds = made(
            prometheus.Histogram,
            "hld_request_seconds",
            "From the head of a request to the end of its answer.",
            "endpoint",
            buckets=SECONDS,
        )
        self.tests = made(counter, "hld_tests", "Batches tested.", "model", "verdict")
        self.rows = made(counter, "hld_rows", "Rows tested and observed.", "model", "endpoint")
        self.pvalue = made(gauge, "hld_last_pvalue", "p-value of the last batch.", "model")
        self.effect = made(
            gauge,
            "hld_last_effect",
            "Share of the rows of the last batch that are others.",
            "model",
        )
        self.of_models = {
            name: made(gauge, name, text, "model") for name, (text, _) in OF_MODELS.items()
        }
        self.failed = made(
            gauge, "hld_model_reload_failed", "1 if its file could not be read again.", "model"
        )
        self.version = made(info, "hld_model", "Version of the model.", "model")
        made(gauge, "hld_pool_busy", "Requests computed or waiting.").set_function(
            lambda: pool.num_busy
        )
        made(gauge, "hld_pool_capacity", "Requests that may compute or wait.").set(pool.capacity)

    def tested(self, model: str, verdict: Verdict) -> None:
        """Count a tested batch."""
        self.tests.labels(model, "shift" if verdict.reject else "calm").inc()
        self.rows.labels(model, "test").inc(verdict.num_rows)
        self.pvalue.labels(model).set(verdict.pvalue)
        self.effect.labels(model).set(verdict.effect)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        for name, one in self.models.loaded.items():
            for metric, (_, value) in OF_MODELS.items():
                self.of_models[metric].labels(name).set(value(one))
            self.failed.labels(name).set(name in self.models.errors)
            self.version.labels(name).info({"digest": one.digest})
        return prometheus.generate_latest(self.registry)
