"""The table ``[plugin.metrics]``: defaults and refusals."""

from __future__ import annotations

import pytest
from dshhooks_metrics import Metrics, MetricsOptions


def test_defaults():
    """Without options no arguments are recorded and nothing listens."""
    assert MetricsOptions() == MetricsOptions(record_arguments=False, prometheus_port=None, max_tools=256)
    assert Metrics().prometheus_url is None


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_impossible_flag(value):
    """Whether arguments are recorded is true or false."""
    with pytest.raises(ValueError, match=r"^record_arguments must be true or false"):
        MetricsOptions(record_arguments=value)


@pytest.mark.parametrize("port", [-1, 65536, True, "9464"])
def test_impossible_port(port):
    """A port is a port."""
    with pytest.raises(ValueError, match=r"^prometheus_port must be a port"):
        MetricsOptions(prometheus_port=port)


@pytest.mark.parametrize("count", [0, -1, True, 1.5])
def test_impossible_bound(count):
    """At least one tool is counted apart."""
    with pytest.raises(ValueError, match=r"^max_tools must be a whole number of at least 1"):
        MetricsOptions(max_tools=count)
