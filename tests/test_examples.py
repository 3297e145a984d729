"""The examples run, and the README and the how-tos show exactly them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

PAGES = (
    "README.md",
    "docs/how-to/embed-an-agent.md",
    "docs/how-to/run-commands.md",
    "docs/how-to/trace-with-opentelemetry.md",
)

# A line each example must print: what it is there to show.
SHOWS = {
    "agent_blocking": "assistant: Hello.",
    "agent_turn": "It is three.",
    "approve_by_rule": "the user refused to let tool 'send' run",
    "audit": "turn 1 completed",
    "embed": "3 (TextBlock(text='3'),)",
    "first_tool": "7.0",
    "house_rules": "['step 2 went well', 'step 3 went well'] True",
    "no_secrets": "",
    "own_hook_kind": "psql prod-db: deny these words are not for agents: prod-db",
    "token_budget": "turn was denied by a guard",
    "read_only": "no deleting tools in read-only mode",
    "run_commands": "it was ended after 0.5 seconds",
    "traced": "invoke_agent support 20 4",
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_shows_what_it_is_for(example, tmp_path):
    """Each ends with 0, in an empty folder, without a word on stderr."""
    command = [sys.executable, str(example)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert SHOWS[example.stem] in done.stdout.splitlines() or not SHOWS[example.stem]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_the_examples(page):
    """A block marked with an example's path holds that file, to the letter."""
    text = (ROOT / page).read_text(encoding="utf-8")
    shown = re.findall(r"<!-- example: (\S+) -->\n```python\n(.*?)```", text, re.DOTALL)
    assert shown
    for path, code in shown:
        assert (ROOT / path).read_text(encoding="utf-8") == code
