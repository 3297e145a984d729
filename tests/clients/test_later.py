"""What is imported later is there for whoever uses it."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
from dshhooks.clients.later import put_off_validators
put_off_validators()
import attrs
ran = "in_" in object.__getattribute__(sys.modules["attr.validators"], "__dict__")
@attrs.frozen
class Options:
    level: int = attrs.field(validator=attrs.validators.in_([1, 2]))
try:
    Options(3)
except ValueError:
    print(ran, Options(2).level)
"""


def test_validators_are_there_when_used() -> None:
    """Importing attrs does not run its validators; using one does, and it validates."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout == "False 2\n"
