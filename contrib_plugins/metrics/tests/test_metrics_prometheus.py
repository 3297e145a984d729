"""The Prometheus endpoint, read over its socket."""

from __future__ import annotations

import gc
import socket
import sys
import urllib.request
from urllib.parse import urlsplit

import pytest
from anyio import to_thread
from dshhooks_metrics import Metrics, MetricsOptions

from dshhooks import ConfigError, Deny, hookimpl

pytest.importorskip("prometheus_client")

pytestmark = pytest.mark.anyio


def read(url):
    with urllib.request.urlopen(url, timeout=10) as response:
        return response.read().decode()


@pytest.fixture
def metrics():
    metrics = Metrics(MetricsOptions(prometheus_port=0))
    yield metrics
    metrics.close()


async def test_scrape(anyio_backend, work, registry_of, metrics):
    """Calls and durations can be scraped, denied calls too."""

    class Policy:
        @hookimpl
        def tools_pre_execute(self, execution):
            return Deny("no") if execution.arguments.get("deny") else None

    registry = registry_of(work(), metrics, Policy())
    await registry.call("work")
    await registry.call("work", {"deny": True})
    text = await to_thread.run_sync(read, metrics.prometheus_url)
    assert 'dshhooks_tool_calls_total{outcome="ok",tool="work"} 1.0' in text
    assert 'dshhooks_tool_calls_total{outcome="denied",tool="work"} 1.0' in text
    assert 'dshhooks_tool_duration_seconds_count{tool="work"} 1.0' in text
    assert 'dshhooks_tool_duration_seconds_bucket{le="0.01",tool="work"}' in text


def test_registering_starts_it(registry_of, work, metrics):
    """The endpoint starts when the plugin is registered and not when it is made, and only on the loopback address."""
    assert metrics.prometheus_url is None
    registry_of(work(), metrics)
    assert urlsplit(metrics.prometheus_url).hostname == "127.0.0.1"


def test_no_port(registry_of, work):
    """Without a port nothing listens."""
    metrics = Metrics()
    registry_of(work(), metrics)
    assert metrics.prometheus_url is None


def test_start_twice(metrics):
    """Starting again changes nothing."""
    metrics.start()
    url = metrics.prometheus_url
    metrics.start()
    assert metrics.prometheus_url == url


def can_listen(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def test_close_frees_the_port(metrics):
    """Closing frees the port; closing again does nothing."""
    metrics.start()
    port = urlsplit(metrics.prometheus_url).port
    assert not can_listen(port)
    metrics.close()
    metrics.close()
    assert (metrics.prometheus_url, can_listen(port)) == (None, True)


def test_forgotten_plugin_frees_the_port():
    """A plugin nobody holds any more does not keep its port."""
    metrics = Metrics(MetricsOptions(prometheus_port=0))
    metrics.start()
    port = urlsplit(metrics.prometheus_url).port
    del metrics
    gc.collect()
    assert can_listen(port)


def test_taken_port():
    """A taken port is a configuration error that names the option and the address."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        metrics = Metrics(MetricsOptions(prometheus_port=port))
        with pytest.raises(ConfigError, match=rf"^plugin.metrics.prometheus_port: cannot listen on 127.0.0.1:{port} "):
            metrics.start()
    assert metrics.prometheus_url is None


def test_without_prometheus_client(monkeypatch):
    """Without ``prometheus_client`` the option says what to install."""
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(ConfigError, match=r"pip install 'dshhooks-metrics\[prometheus\]'"):
        Metrics(MetricsOptions(prometheus_port=0)).start()
