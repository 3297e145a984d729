"""hookspecs.values and hookspecs.execution: the nouns, and what they refuse."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from hookspecs.decisions import ApprovalOutcome
from hookspecs.errors import SealedError
from hookspecs.execution import (
    ApprovalRequest,
    ErrorInfo,
    ToolCall,
    ToolError,
    ToolExecution,
    ToolFailure,
    ToolRunContext,
    ToolSuccess,
    ToolToken,
)
from hookspecs.json import MISSING
from hookspecs.values import (
    AssistantProvenance,
    ContentBlock,
    HookContext,
    Message,
    MessageSource,
    PluginSource,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    UnknownBlock,
    UnknownSource,
    UserSource,
    as_content,
    content_text,
)

BLOCKS = {
    "text": TextBlock("hi"),
    "reasoning": ReasoningBlock("hm"),
    "tool-call": ToolCallBlock("c1", "add", "{}"),
    "tool-result": ToolResultBlock("c1", "3"),
    "hologram": UnknownBlock("hologram", {"kind": "hologram", "rays": 3}),
}
SOURCES = {"user": UserSource(), "plugin": PluginSource("p"), "alien": UnknownSource("alien", {"kind": "alien"})}


class TestUnions:
    @pytest.mark.parametrize("kind", BLOCKS)
    def test_every_block_has_its_tag(self, kind: str) -> None:
        """A block tells its kind, is a ContentBlock and is accepted as content."""
        block = BLOCKS[kind]
        assert block.kind == kind
        assert isinstance(block, ContentBlock)
        assert as_content([block]) == (block,)

    @pytest.mark.parametrize("kind", SOURCES)
    def test_every_source_has_its_tag(self, kind: str) -> None:
        """A source tells its kind and can be the source of a context."""
        source = SOURCES[kind]
        assert source.kind == kind
        assert isinstance(source, MessageSource)
        assert HookContext("x", source).source is source

    def test_a_plugin_may_bring_a_block(self) -> None:
        """Any attrs class with a tag is a block: the union is open."""

        @attrs.frozen
        class ImageBlock:
            url: str
            kind: str = "image"

        assert as_content((ImageBlock("u"),))[0].kind == "image"

    @pytest.mark.parametrize("value", [*BLOCKS.values(), *SOURCES.values(), Message("user", "x"), ToolCall("c", "n")])
    def test_values_are_frozen(self, value: Any) -> None:
        """Nobody changes a value somebody else holds."""
        name = attrs.fields(type(value))[0].name if attrs.fields(type(value)) else "kind"
        with pytest.raises(AttributeError):
            setattr(value, name, "other")

    def test_equality_is_by_value_and_type(self) -> None:
        """Blocks of different kinds are never equal."""
        assert TextBlock("x") == TextBlock("x")
        assert TextBlock("x") != ReasoningBlock("x")
        assert len({UserSource(), UserSource()}) == 1


class TestContent:
    def test_text_is_one_block(self) -> None:
        """A str is short for one text block."""
        assert as_content("hi") == (TextBlock("hi"),)
        assert as_content("") == (TextBlock(""),)

    def test_a_sequence_is_copied_to_a_tuple(self) -> None:
        """A list given as content can be changed afterwards without effect."""
        blocks = [TextBlock("a")]
        content = as_content(blocks)
        blocks.append(TextBlock("b"))
        assert content == (TextBlock("a"),)
        assert as_content([]) == ()

    @pytest.mark.parametrize("value", [None, 7, b"x", {"text": "x"}, TextBlock("x"), {TextBlock("x")}, iter(())])
    def test_other_values_are_refused(self, value: Any) -> None:
        """Content is a str, a list or a tuple; the error names what came."""
        with pytest.raises(TypeError, match=type(value).__name__):
            as_content(value)

    @pytest.mark.parametrize("block", ["text", None, {"kind": "text"}, TextBlock, object()])
    def test_other_blocks_are_refused(self, block: Any) -> None:
        """A str, a dict or a class among the blocks is named with its place."""
        with pytest.raises(TypeError, match=r"content\[1\]"):
            as_content([TextBlock("x"), block])

    def test_text_of_content(self) -> None:
        """Text blocks are joined by newlines, other blocks show their kind (spec/core.md 3.6)."""
        content = as_content([TextBlock("a"), ToolCallBlock("c", "n", "{}"), BLOCKS["hologram"], TextBlock("b")])
        assert content_text(content) == "a\n[tool-call content]\n[hologram content]\nb"
        assert content_text(()) == ""

    def test_nested_content_is_converted(self) -> None:
        """Blocks and messages that hold content accept a str too."""
        assert ToolResultBlock("c", "x").content == (TextBlock("x"),)
        message = Message("assistant", "x", AssistantProvenance("p", "m"))
        assert message.content == (TextBlock("x"),)
        assert message.provenance.replay_state is MISSING
        assert Message("user", "x").provenance is MISSING


class TestHookContext:
    def test_defaults(self) -> None:
        """A context is its own message and has no meta unless told."""
        context = HookContext("note", PluginSource("p"))
        assert (context.content, context.placement, context.meta) == ((TextBlock("note"),), "separate", MISSING)

    @pytest.mark.parametrize("source", [None, "user", {"kind": "user"}, UserSource])
    def test_the_source_is_checked(self, source: Any) -> None:
        """A source must be an object with a tag, not its class, its name or a dict."""
        with pytest.raises(TypeError, match="message source"):
            HookContext("x", source)

    def test_the_placement_is_checked(self) -> None:
        """There are two places; the error names them."""
        assert HookContext("x", UserSource(), "prompt-prefix").placement == "prompt-prefix"
        with pytest.raises(ValueError, match="prompt-prefix"):
            HookContext("x", UserSource(), "suffix")  # type: ignore[arg-type]


class TestResults:
    def test_a_success_has_a_value(self) -> None:
        """A success carries value and content, and null is a value."""
        result = ToolSuccess(None, "done")
        assert not result.is_error
        assert (result.value, result.content, result.meta, result.contexts) == (None, (TextBlock("done"),), MISSING, ())
        assert result.concludes_turn is False

    def test_a_failure_tells_the_model(self) -> None:
        """Without content of its own a failure shows its message; it has no value."""
        result = ToolFailure(ToolError("no disk", ErrorInfo("DiskError", "DISK")))
        assert result.is_error
        assert result.content == (TextBlock("Error: no disk"),)
        assert not hasattr(result, "value")
        assert ToolFailure(ToolError("x"), "words").content == (TextBlock("words"),)

    def test_an_error_must_be_a_tool_error(self) -> None:
        """A plain str is refused by name."""
        with pytest.raises(TypeError, match="ToolError"):
            ToolFailure("no disk")  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "make", [lambda c: ToolSuccess(1, contexts=c), lambda c: ToolFailure(ToolError("x"), contexts=c)]
    )
    def test_contexts_are_checked(self, make: Any) -> None:
        """Contexts are a sequence of HookContext; a str is none."""
        context = HookContext("x", UserSource())
        assert make([context]).contexts == (context,)
        for bad in ("x", context, ["x"], None):
            with pytest.raises(TypeError, match="contexts"):
                make(bad)


class TestCall:
    def test_defaults(self) -> None:
        """A call needs an id and a name; two calls share no arguments."""
        call = ToolCall("c1", "add")
        assert (call.arguments, call.signal, call.agent, call.parent, call.approver) == ({}, None, None, None, None)
        assert call.arguments is not ToolCall("c2", "add").arguments

    def test_an_approval_request_needs_agent_and_tool_only(self) -> None:
        """Everything else about a request may be absent."""
        assert ApprovalRequest(None, "add").call_id is None
        assert ApprovalOutcome("allowed-once") is ApprovalOutcome.ALLOWED_ONCE

    def test_tokens_are_identities(self) -> None:
        """No two tokens are equal, and nothing can be written on one."""
        assert ToolToken() != ToolToken()
        with pytest.raises(AttributeError):
            ToolToken().name = "x"  # type: ignore[attr-defined]


class TestExecution:
    @pytest.mark.parametrize("kind", [ToolExecution, ToolRunContext])
    def test_is_made_by_the_registry_only(self, kind: Any) -> None:
        """Nobody else can make an execution."""
        with pytest.raises(TypeError, match="registry"):
            kind()

    @pytest.mark.parametrize("name", ["call_id", "name", "arguments", "agent", "token", "parent", "signal", "extra"])
    def test_is_sealed(self, name: str) -> None:
        """No attribute can be set or deleted; for the signal the error names the way."""
        execution = object.__new__(ToolExecution)
        with pytest.raises(SealedError, match="replace_signal" if name == "signal" else "sealed"):
            setattr(execution, name, 1)
        with pytest.raises(SealedError):
            delattr(execution, name)

    def test_sealed_is_an_attribute_error(self) -> None:
        """Code that expects what frozen objects raise catches it."""
        assert issubclass(SealedError, AttributeError)

    def test_signals_are_checked(self) -> None:
        """replace_signal takes a CancelSignal and nothing else."""
        with pytest.raises(TypeError, match="CancelSignal"), object.__new__(ToolExecution).replace_signal(None):  # type: ignore[arg-type]
            pass

    def test_deferred_contexts_are_checked(self) -> None:
        """defer_context takes a HookContext and nothing else."""
        with pytest.raises(TypeError, match="HookContext"):
            object.__new__(ToolRunContext).defer_context("x")  # type: ignore[arg-type]
