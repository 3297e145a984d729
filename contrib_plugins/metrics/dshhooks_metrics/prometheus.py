"""The Prometheus endpoint: a registry of its own, served on 127.0.0.1."""

from __future__ import annotations

import weakref
from typing import Any, Final

from dshhooks import ConfigError
from dshhooks_metrics.otel import SECONDS
from dshhooks_metrics.summary import Outcome

__all__ = ["Endpoint"]

HOST: Final = "127.0.0.1"


class Endpoint:
    """Serves ``/metrics`` from a daemon thread until :meth:`close`, or until nobody holds the endpoint any more.

    Args:
        port: Where to listen; 0 takes a free port.

    Raises:
        ConfigError: ``prometheus_client`` is not installed, or the port is taken.
    """

    def __init__(self, port: int) -> None:
        try:
            import prometheus_client as client
        except ImportError as exc:
            raise ConfigError(
                "plugin.metrics.prometheus_port needs prometheus_client: pip install 'dshhooks-metrics[prometheus]'"
            ) from exc
        registry = client.CollectorRegistry()
        self._calls = client.Counter(
            "dshhooks_tool_calls", "Tool calls by their final outcome.", ("tool", "outcome"), registry=registry
        )
        self._seconds = client.Histogram(
            "dshhooks_tool_duration_seconds", "Duration of dispatch.", ("tool",), registry=registry, buckets=SECONDS
        )
        server, thread = _serve(client, port, registry)
        self.url = f"http://{HOST}:{server.server_port}/metrics"
        self._close = weakref.finalize(self, _stop, server, thread)

    def count(self, label: str, outcome: Outcome) -> None:
        """Count a call that is over."""
        self._calls.labels(label, str(outcome)).inc()

    def time(self, label: str, seconds: float) -> None:
        """Record how long a dispatch took."""
        self._seconds.labels(label).observe(seconds)

    def close(self) -> None:
        """Stop serving and free the port; calling it again does nothing."""
        self._close()


def _serve(client: Any, port: int, registry: Any) -> tuple[Any, Any]:
    try:
        return client.start_http_server(port, addr=HOST, registry=registry)  # type: ignore[no-any-return]
    except OSError as exc:
        raise ConfigError(
            f"plugin.metrics.prometheus_port: cannot listen on {HOST}:{port} ({exc.strerror}); take another port, or 0"
        ) from exc


def _stop(server: Any, thread: Any) -> None:
    server.shutdown()
    server.server_close()
    thread.join()
