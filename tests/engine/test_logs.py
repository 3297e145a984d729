"""Logs that import ``logging`` when they write (issue 5, point 3)."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from dshhooks.engine.logs import Log, catch_up, set_up_later


def printed(program: str) -> str:
    """What a program prints in an interpreter of its own, where nobody has imported ``logging``."""
    head = "import sys\nfrom dshhooks.engine.logs import Log, catch_up, set_up_later\n"
    done = subprocess.run([sys.executable, "-c", head + program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_log_is_the_logger_of_its_name(caplog: pytest.LogCaptureFixture) -> None:
    """Levels, handlers and records are that logger's, and a record names the caller's file."""
    log = Log("dshhooks.test-logs")
    log.warning("%d of %d", 1, 2)
    assert log.level == logging.getLogger("dshhooks.test-logs").level
    assert [(r.name, r.levelname, r.getMessage(), r.filename) for r in caplog.records] == [
        ("dshhooks.test-logs", "WARNING", "1 of 2", "test_logs.py")
    ]


def test_a_log_that_writes_nothing_imports_nothing() -> None:
    """Most processes have nothing to say, and pay for it otherwise."""
    assert printed("Log('x'); set_up_later(print); catch_up(); print('logging' in sys.modules)") == "False"


def test_the_setup_comes_before_the_first_record() -> None:
    """So that the first record is written as all others."""
    program = "set_up_later(lambda: print('set up'))\nlog = Log('x')\nfor _ in 'ab': print(log.name)"
    assert printed(program).split("\n") == ["set up", "x", "x"]


def test_the_setup_comes_with_a_logging_that_somebody_imported() -> None:
    """A plugin may log without us."""
    assert printed("set_up_later(lambda: print('set up'))\nimport logging\ncatch_up(); catch_up()") == "set up"


def test_where_logging_is_there_the_setup_comes_at_once() -> None:
    """Nothing to wait for, and nothing left for later."""
    done: list[str] = []
    set_up_later(lambda: done.append("set up"))
    catch_up()
    assert done == ["set up"]
