"""The metrics of a service for Prometheus: requests, verdicts, monitors, models, threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hld.apps.serve.models import LoadedModel, Models
    from hld.apps.serve.pool import Pool

SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


class Numbers:
    """Counters and gauges in a registry of their own, so that two services in one process do not mix."""

    def __init__(self, models: Models, pool: Pool) -> None:
        import prometheus_client as prometheus

        self.registry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=self.registry)
        prometheus.GCCollector(registry=self.registry)
        self.requests = prometheus.Counter(
            "hld_requests", "Requests answered.", ("endpoint", "status"), registry=self.registry
        )
        self.seconds = prometheus.Histogram(
            "hld_request_seconds",
            "From the head of a request to the end of its answer.",
            ("endpoint",),
            buckets=SECONDS,
            registry=self.registry,
        )
        self.tests = prometheus.Counter(
            "hld_tests", "Batches tested.", ("model", "verdict"), registry=self.registry
        )
        self.rows = prometheus.Counter(
            "hld_rows", "Rows tested and observed.", ("model", "endpoint"), registry=self.registry
        )
        self.pvalue = prometheus.Gauge(
            "hld_last_pvalue", "p-value of the last batch.", ("model",), registry=self.registry
        )
        self.effect = prometheus.Gauge(
            "hld_last_effect",
            "Share of the rows of the last batch that are others.",
            ("model",),
            registry=self.registry,
        )
        self.registry.register(_State(models, pool))

    def tested(self, answer: dict[str, Any]) -> None:
        """Count a tested batch."""
        self.tests.labels(answer["model"], "shift" if answer["reject"] else "calm").inc()
        self.rows.labels(answer["model"], "test").inc(answer["num_samples"])
        self.pvalue.labels(answer["model"]).set(answer["pvalue"])
        self.effect.labels(answer["model"]).set(answer["effect"])

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)


class _State:
    """Metrics read from the models and the pool on request."""

    def __init__(self, models: Models, pool: Pool) -> None:
        self.models, self.pool = models, pool

    def collect(self) -> Iterator[Any]:
        """Gauges of monitors, models and threads."""
        from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily

        loaded = self.models.loaded.values()
        gauges: dict[str, tuple[str, Callable[[LoadedModel], float]]] = {
            "hld_monitor_log_e_value": (
                "Natural logarithm of the e-value.",
                lambda one: one.watch.last.log_e_value,
            ),
            "hld_monitor_pvalue": ("Anytime-valid p-value.", lambda one: one.watch.last.pvalue),
            "hld_monitor_alarm": (
                "1 from the alarm to the reset.",
                lambda one: float(one.watch.last.alarm),
            ),
            "hld_monitor_rows": (
                "Rows observed since the reset.",
                lambda one: one.watch.last.num_rows,
            ),
            "hld_model_loaded_timestamp_seconds": (
                "When the model was loaded.",
                lambda one: one.loaded,
            ),
            "hld_model_reload_failed": (
                "1 if its file could not be read again.",
                lambda one: float(one.name in self.models.errors),
            ),
        }
        for name, (text, value) in gauges.items():
            family = GaugeMetricFamily(name, text, labels=("model",))
            for one in loaded:
                family.add_metric((one.name,), value(one))
            yield family
        info = InfoMetricFamily("hld_model", "Version of the model.", labels=("model",))
        for one in loaded:
            info.add_metric((one.name,), {"digest": one.digest})
        yield info
        yield GaugeMetricFamily(
            "hld_pool_busy",
            "Requests that are computed or wait for a thread.",
            value=self.pool.num_busy,
        )
        yield GaugeMetricFamily(
            "hld_pool_capacity", "Requests that may be computed or wait.", value=self.pool.capacity
        )
