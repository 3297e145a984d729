"""What is imported later is there for whoever uses it."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
from dshhooks.clients.later import put_off
put_off()
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


TOKENIZER = """
import sys, threading
from dshhooks.clients.later import put_off
put_off()
import inspect, linecache, tokenize
waits = "_waiting" in vars(tokenize)
found = []
threads = [threading.Thread(target=lambda: found.append(callable(tokenize.open))) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
try:
    tokenize.no_such_name
except AttributeError:
    print(waits, found == [True] * 8, tokenize.__loader__ is tokenize.__spec__.loader, "_waiting" in vars(tokenize))
"""


def test_a_module_waits_through_imports_and_runs_once_for_all_threads() -> None:
    """Importing it twice does not run it; whoever looks first does, and the others wait until it is whole."""
    done = subprocess.run([sys.executable, "-c", TOKENIZER], capture_output=True, text=True, check=True)
    assert done.stdout == "True True True False\n"
