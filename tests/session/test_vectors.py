"""Golden vectors: what stands in a file or a row, byte by byte. Changing one means a new format version."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dshhooks.session import events as e
from dshhooks.session.event import APPEND, Event, Replace
from dshhooks.session.jsonl import JsonlStore
from dshhooks.session.records import Reader, event_text, header_from_wire, header_to_wire
from dshhooks.session.sqlite import SqliteStore
from dshhooks.session.text import loads
from hookspecs.model import (
    AbortedFinish,
    BlockEnd,
    BlockStart,
    FinishChunk,
    LlmCallConfig,
    LlmFailure,
    StopFinish,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    ToolSchema,
    UnknownFinish,
    UsageChunk,
)
from hookspecs.values import (
    AssistantProvenance,
    Message,
    PluginSource,
    ReasoningBlock,
    ToolCallBlock,
    ToolResultBlock,
    UnknownBlock,
    UnknownSource,
    UserSource,
)
from tests.session.kit import CODEC, header

USER = UserSource()
FAILURE = LlmFailure("busy", "RATE_LIMIT", 429, 1.5, "req-1")

DATA: dict[str, Any] = {
    '"turn/start"|{"turn":1,"trigger":{"kind":"message","source":{"kind":"user"}}}':
        e.TurnStart(1, e.MessageTrigger(USER)),
    '"turn/start"|{"turn":2,"trigger":{"kind":"injection","source":{"kind":"plugin","plugin":"p"}}}':
        e.TurnStart(2, e.InjectionTrigger(PluginSource("p"))),
    '"turn/start"|{"turn":3,"trigger":{"kind":"timer","at":[1,null]}}':
        e.TurnStart(3, e.UnknownTrigger("timer", {"kind": "timer", "at": [1, None]})),
    '"turn/end"|{"turn":1,"reason":{"kind":"completed"}}': e.TurnEnd(1, e.CompletedEnd()),
    '"turn/end"|{"turn":1,"reason":{"kind":"aborted"}}': e.TurnEnd(1, e.AbortedEnd()),
    '"turn/end"|{"turn":1,"reason":{"kind":"error","step":2,"message":"no","code":"X"}}':
        e.TurnEnd(1, e.ErrorEnd(2, "no", "X")),
    '"turn/end"|{"turn":1,"reason":{"kind":"error","step":1,"failure":{"message":"busy","code":"RATE_LIMIT","status":429,'
    '"providerRetryAfterMs":1500,"requestId":"req-1"}}}': e.TurnEnd(1, e.ErrorEnd(1, failure=FAILURE)),
    '"turn/end"|{"turn":1,"reason":{"kind":"rejected","reason":"policy"}}': e.TurnEnd(1, e.RejectedEnd("policy")),
    '"turn/end"|{"turn":1,"reason":{"kind":"interrupted"}}': e.TurnEnd(1, e.InterruptedEnd()),
    '"turn/end"|{"turn":1,"reason":{"kind":"max-tokens"}}': e.TurnEnd(1, e.MaxTokensEnd()),
    '"turn/end"|{"turn":1,"reason":{"kind":"disposed"}}': e.TurnEnd(1, e.DisposedEnd()),
    '"turn/end"|{"turn":1,"reason":{"kind":"budget","left":0}}':
        e.TurnEnd(1, e.UnknownEnd("budget", {"kind": "budget", "left": 0})),
    '"step/start"|{"turn":1,"step":2}': e.StepStart(1, 2),
    '"step/end"|{"turn":1,"step":2}': e.StepEnd(1, 2),
    '"user/message"|{"content":[{"type":"text","text":"\\u00e9"}],"source":{"kind":"user"}}': e.UserMessage("é", USER),
    '"user/message"|{"content":[{"type":"image","url":"x"}],"source":{"kind":"bot","v":1},"envelope":{"displayContent":'
    '[{"type":"text","text":"d"}],"prefixContexts":[{"source":{"kind":"plugin","plugin":"p"},"meta":null}]},"meta":null}':
        e.UserMessage(
            (UnknownBlock("image", {"type": "image", "url": "x"}),),
            UnknownSource("bot", {"kind": "bot", "v": 1}),
            e.Envelope("d", (e.PrefixContext(PluginSource("p"), None),)),
            None,
        ),
    '"prompt/blocked"|{"content":[{"type":"text","text":"x"}],"source":{"kind":"user"},"reason":"no"}':
        e.PromptBlocked("x", USER, "no"),
    '"assistant/chunk"|{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"a"}}':
        e.AssistantChunk(1, 1, TextDelta(0, "a")),
    '"assistant/chunk"|{"turn":1,"step":1,"chunk":{"type":"block-start","index":0,"blockType":"text"}}':
        e.AssistantChunk(1, 1, BlockStart(0, "text")),
    '"assistant/chunk"|{"turn":1,"step":1,"chunk":{"type":"tool-call-delta","index":0,"id":"c","argumentsDelta":"{"}}':
        e.AssistantChunk(1, 1, ToolCallDelta(0, "c", None, "{")),
    '"assistant/chunk"|{"turn":1,"step":1,"chunk":{"type":"block-end","index":0,"block":{"type":"reasoning","text":"r"}}}':
        e.AssistantChunk(1, 1, BlockEnd(0, ReasoningBlock("r"))),
    '"assistant/chunk"|{"turn":1,"step":1,"chunk":{"type":"usage","usage":{"inputTokens":3,"outputTokens":4}}}':
        e.AssistantChunk(1, 1, UsageChunk(TokenUsage(3, 4))),
    '"assistant/chunk"|{"turn":1,"step":1,"chunk":{"type":"finish","reason":{"kind":"stop"},"replayState":null}}':
        e.AssistantChunk(1, 1, FinishChunk(StopFinish(), None)),
    '"assistant/chunk"|{"turn":1,"step":1,"chunk":{"type":"finish","reason":{"kind":"aborted","failure":{"message":"m",'
    '"code":"C"}}}}': e.AssistantChunk(1, 1, FinishChunk(AbortedFinish(LlmFailure("m", "C")))),
    '"assistant/chunk"|{"turn":1,"step":1,"chunk":{"type":"finish","reason":{"kind":"pause","n":1}}}':
        e.AssistantChunk(1, 1, FinishChunk(UnknownFinish("pause", {"kind": "pause", "n": 1}))),
    '"assistant/message"|{"turn":1,"step":1,"content":[{"type":"tool-call","id":"c","name":"n","arguments":"{}"}],'
    '"provenance":{"provider":"p","model":"m","replayState":{"k":[1]}},"usage":{"inputTokens":1,"outputTokens":2,'
    '"cacheReadTokens":3}}':
        e.AssistantMessage(1, 1, (ToolCallBlock("c", "n", "{}"),), AssistantProvenance("p", "m", {"k": [1]}),
                           TokenUsage(1, 2, 3)),
    '"tool/call"|{"turn":1,"step":1,"callId":"c","name":"n","arguments":"{\\"a\\": 1}"}':
        e.ToolCallStarted(1, 1, "c", "n", '{"a": 1}'),
    '"tool/result"|{"turn":1,"step":1,"callId":"c","content":[{"type":"tool-result","toolCallId":"d","content":[],'
    '"isError":false}],"isError":true,"error":{"name":"N","code":"C"},"meta":{"m":1.5}}':
        e.ToolResultRecorded(1, 1, "c", (ToolResultBlock("d", ()),), True, e.ToolErrorInfo("N", "C"), {"m": 1.5}),
    '"steering/message"|{"turn":1,"content":[],"source":{"kind":"user"}}': e.SteeringMessage(1, (), USER),
    '"todo/write"|{"todos":[{"content":"c","status":"pending"}]}': e.TodoWrite((e.TodoItem("c", "pending"),)),
    '"request/header"|{"header":{"config":{"provider":"p","model":"m","temperature":0.5},"system":"s","tools":[{"name":"t",'
    '"description":"d","parameters":{"type":"object"}}],"messagePrefix":[{"role":"user","content":[{"type":"text",'
    '"text":"x"}]}]},"reason":"initial"}':
        e.RequestHeader(
            e.HeaderSnapshot(LlmCallConfig("p", "m", temperature=0.5), "s", (ToolSchema("t", "d", {"type": "object"}),),
                             (Message("user", "x"),)),
            "initial",
        ),
    '"approval/asked"|{"id":"a","toolName":"t","callId":"c","digest":"00"}':
        e.ApprovalAsked("a", "t", "c", digest="00"),
    '"approval/decided"|{"id":"a","outcome":"allowed-once"}': e.ApprovalDecided("a", "allowed-once"),
    '"approval/policy"|{"policy":"never"}': e.ApprovalPolicyChanged("never"),
    '"llm/retry"|{"turn":1,"step":1,"retry":1,"maxRetries":2,"delayMs":500,"failure":{"message":"m","code":"C"}}':
        e.LlmRetry(1, 1, 1, 2, 500, LlmFailure("m", "C")),
    '"input/rejected"|{"input":"message-1","source":{"kind":"user"},"outcome":"rejected","reason":"no"}':
        e.InputRejected("message-1", USER, "rejected", "no"),
    '"hook/decision"|{"hook":"h","plugin":"p","outcome":"deny","detail":"d"}': e.HookDecision("h", "p", "deny", "d"),
    '"acme/note"|{"any":["thing"]}': e.UnknownEvent("acme/note", {"any": ["thing"]}),
}  # fmt: skip

SURFACE = {"user/message", "assistant/message", "tool/result", "steering/message"}


def made(data: Any, seq: int = 0, **surface: Any) -> Event:
    """An event of a fixed time."""
    return Event(seq, data.type, 1_700_000_000_123, CODEC, data=data, **surface)


@pytest.mark.parametrize(("text", "data"), DATA.items(), ids=lambda value: value[:60] if isinstance(value, str) else "")
def test_data(text: str, data: Any) -> None:
    """Every event class has one spelling, and is read back as itself."""
    kind, _, wire = text.partition("|")
    surface = {"surface_op": APPEND} if data.type in SURFACE else {}
    line = event_text(made(data, **surface))
    tail = ',"surfaceOp":"append"' if surface else ""
    assert line == f'{{"type":{kind},"seq":0,"time":1700000000123,"data":{wire}{tail}}}'
    back = Reader(CODEC).record(loads(line), 0)
    assert back.data == data
    assert event_text(back) == line


def test_every_event_class_has_a_vector() -> None:
    """A new event class needs a vector."""
    classes = {kind for name in e.__all__ if isinstance(getattr(kind := getattr(e, name), "type", None), str)}
    assert classes == {type(data) for data in DATA.values()} - {e.UnknownEvent}


def test_surface_parts() -> None:
    """A replacement and its provenance stand behind the data."""
    event = made(e.UserMessage("x", USER), 7, surface_op=Replace(2, 4), source_event_seqs=(2, 3, 4))
    assert event_text(event) == (
        '{"type":"user/message","seq":7,"time":1700000000123,"data":{"content":[{"type":"text","text":"x"}],'
        '"source":{"kind":"user"}},"surfaceOp":{"op":"replace","start":2,"end":4},"sourceEventSeqs":[2,3,4]}'
    )
    assert Reader(CODEC).record(loads(event_text(event)), 7) == event


@pytest.mark.parametrize(
    ("parts", "wire"),
    [
        ({}, '{"type":"session","version":0,"id":"s","createdAt":1700000000000,"delegationDepth":0}'),
        (
            {"cwd": "/w", "parent_session": "p", "seed_length": 3, "delegation_depth": 2},
            '{"type":"session","version":0,"id":"s","createdAt":1700000000000,"cwd":"/w","parentSession":"p",'
            '"seedLength":3,"delegationDepth":2}',
        ),
    ],
)
def test_header(parts: dict[str, Any], wire: str) -> None:
    """A header's line; the depth is always written, what is absent never."""
    record = header_to_wire(header(**parts))
    assert json.dumps(record, separators=(",", ":")) == wire
    assert header_from_wire(json.loads(wire)) == header(**parts)


LOG = (
    made(e.TurnStart(1, e.InjectionTrigger(USER)), 0),
    made(e.UserMessage("a\n\ud800", USER), 1, surface_op=APPEND, source_event_seqs=(0,)),
    made(e.TurnEnd(1, e.CompletedEnd()), 2),
)


@pytest.mark.anyio
async def test_jsonl_file(tmp_path: Path) -> None:
    """A whole file."""
    store = JsonlStore(tmp_path)
    await store.create(header())
    await store.append("s", LOG)
    assert (tmp_path / "no-project" / "s" / "session.jsonl").read_bytes() == (
        b'{"type":"session","version":0,"id":"s","createdAt":1700000000000,"delegationDepth":0}\n'
        b'{"type":"turn/start","seq":0,"time":1700000000123,"data":{"turn":1,"trigger":{"kind":"injection",'
        b'"source":{"kind":"user"}}}}\n'
        b'{"type":"user/message","seq":1,"time":1700000000123,"data":{"content":[{"type":"text",'
        b'"text":"a\\n\\ud800"}],"source":{"kind":"user"}},"surfaceOp":"append","sourceEventSeqs":[0]}\n'
        b'{"type":"turn/end","seq":2,"time":1700000000123,"data":{"turn":1,"reason":{"kind":"completed"}}}\n'
    )


@pytest.mark.anyio
async def test_sqlite_rows(tmp_path: Path) -> None:
    """A whole database."""
    path = tmp_path / "s.db"
    store = SqliteStore(path)
    await store.create(header(cwd="/w"))
    await store.append("s", LOG)
    await store.aclose()
    with closing(sqlite3.connect(path)) as db:
        sessions = db.execute(
            "SELECT id, version, created_at, cwd, parent_session, seed_length, delegation_depth, revision FROM sessions"
        ).fetchall()
        rows = db.execute(
            "SELECT session_id, seq, type, time, data, source_event_seqs, surface_op FROM events ORDER BY seq"
        ).fetchall()
        marks = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
    assert marks == [0x44534848, 1]
    assert sessions == [("s", 0, 1700000000000, "/w", None, None, 0, 1)]
    assert rows == [
        ("s", 0, "turn/start", 1700000000123,
         '{"turn":1,"trigger":{"kind":"injection","source":{"kind":"user"}}}', None, None),
        ("s", 1, "user/message", 1700000000123,
         '{"content":[{"type":"text","text":"a\\n\\ud800"}],"source":{"kind":"user"}}', "[0]", '"append"'),
        ("s", 2, "turn/end", 1700000000123, '{"turn":1,"reason":{"kind":"completed"}}', None, None),
    ]  # fmt: skip
