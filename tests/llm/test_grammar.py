"""StreamGrammar: what an adapter may send, and in which order (spec/core.md 6)."""

from __future__ import annotations

import pytest

from dshhooks.llm.grammar import StreamGrammar
from hookspecs.errors import HarnessError
from hookspecs.model import (
    BlockEnd,
    BlockStart,
    FinishChunk,
    ReasoningDelta,
    StopFinish,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    UsageChunk,
)
from hookspecs.values import ReasoningBlock, TextBlock

START, END, FINISH, USAGE = (
    BlockStart(0, "text"), BlockEnd(0, TextBlock("a")), FinishChunk(StopFinish()), UsageChunk(TokenUsage(1, 1)),
)  # fmt: skip


@pytest.mark.parametrize(
    ("chunks", "problem"),
    [
        ([BlockStart(-1, "text")], "needs an index of 0 or more"),
        ([BlockStart(True, "text")], "needs an index of 0 or more"),
        ([START, START], "starts block 0 again"),
        ([START, END, START], "starts block 0 again"),
        ([TextDelta(0, "a")], "needs an open text block 0"),
        ([START, ReasoningDelta(0, "a")], "needs an open reasoning block 0"),
        ([START, ToolCallDelta(0, "c")], "needs an open tool-call block 0"),
        ([START, END, TextDelta(0, "a")], "needs an open text block 0"),
        ([END], "ends a text; what is open is: None"),
        ([START, BlockEnd(0, ReasoningBlock("a"))], "ends a reasoning; what is open is: text"),
        ([USAGE, USAGE], "comes a second time"),
        ([START, FINISH], r"leaves blocks open: \[0\]"),
        ([FINISH, USAGE], "comes after the finish"),
        ([FINISH, FINISH], "comes after the finish"),
        (["hello"], "str is no stream chunk"),
    ],
)
def test_what_is_refused(chunks, problem):
    """The last chunk is, saying why."""
    grammar = StreamGrammar()
    for chunk in chunks[:-1]:
        grammar.push(chunk)
    with pytest.raises(HarnessError, match=problem) as caught:
        grammar.push(chunks[-1])
    assert caught.value.code == "INVALID_CHUNK"


def test_a_finish_must_come():
    """A stream that just stops is refused."""
    grammar = StreamGrammar()
    grammar.push(START)
    with pytest.raises(HarnessError, match="without a finish"):
        grammar.end()
