"""The attributes' names are those of the published semantic conventions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("opentelemetry.semconv")

from opentelemetry.semconv._incubating.attributes import error_attributes, gen_ai_attributes

KNOWN = {
    value
    for module in (gen_ai_attributes, error_attributes)
    for name, value in vars(module).items()
    if name.isupper() and isinstance(value, str)
}


def written():
    """Every such name in the plugin's source."""
    import dshhooks_tracing

    found = set()
    for folder in dshhooks_tracing.__path__:
        for file in sorted(Path(folder).glob("*.py")):
            found |= set(re.findall(r'"((?:gen_ai|error)\.[a-z_.]+)"', file.read_text(encoding="utf-8")))
    return found


def test_every_name_is_the_conventions():
    """A misspelled attribute would be one nobody looks for."""
    assert written() - KNOWN == set()
    assert len(written()) > 20
