"""BlockAssembler: chunks in, blocks out (spec/core.md 6, case 207)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshhooks.llm.assembler import BlockAssembler
from dshhooks.llm.grammar import StreamGrammar
from hookspecs.errors import HarnessError
from hookspecs.json import MISSING
from hookspecs.model import (
    AbortedFinish,
    BlockEnd,
    BlockStart,
    ErrorFinish,
    FinishChunk,
    LlmFailure,
    MaxTokensFinish,
    ReasoningDelta,
    StopFinish,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    ToolCallsFinish,
    UnknownFinish,
    UsageChunk,
)
from hookspecs.values import ReasoningBlock, TextBlock, ToolCallBlock, UnknownBlock
from tests.llm.kit import assembled


def blocks(*chunks):
    """The blocks of a stream."""
    return assembled(list(chunks)).blocks()


class TestBlocks:
    def test_nothing(self):
        """No chunks are no blocks, and an ordinary end."""
        made = BlockAssembler()
        assert (made.blocks(), made.usage, made.finish, made.replay_state) == ((), None, StopFinish(), MISSING)

    def test_deltas_alone(self):
        """A block start may be missing; the first delta says what the block is."""
        assert blocks(TextDelta(0, "a"), TextDelta(0, "b")) == (TextBlock("ab"),)
        assert blocks(ReasoningDelta(0, "a")) == (ReasoningBlock("a"),)
        assert blocks(ToolCallDelta(0, "c", "t", "{}")) == (ToolCallBlock("c", "t", "{}"),)

    def test_order_of_first_appearance(self):
        """Blocks stand as they were first seen, not by their number, however they interleave."""
        made = blocks(TextDelta(7, "a"), ReasoningDelta(2, "x"), TextDelta(7, "b"), BlockStart(0, "text"))
        assert made == (TextBlock("ab"), ReasoningBlock("x"), TextBlock(""))

    def test_a_second_start_is_ignored(self):
        """It neither empties the block nor changes its kind."""
        assert blocks(BlockStart(0, "text"), TextDelta(0, "a"), BlockStart(0, "reasoning")) == (TextBlock("a"),)

    def test_the_first_end_counts(self):
        """After it, deltas and further ends of that index are ignored."""
        end = BlockEnd(0, TextBlock("whole"))
        late = TextDelta(0, "x"), BlockEnd(0, TextBlock("other"))
        assert blocks(TextDelta(0, "wh"), end, *late) == (TextBlock("whole"),)
        assert blocks(end, BlockStart(0, "reasoning"), ToolCallDelta(0, "c", "t", "{}")) == (TextBlock("whole"),)

    def test_an_end_without_a_start(self):
        """It brings its own block."""
        assert blocks(BlockEnd(3, UnknownBlock("image", {}))) == (UnknownBlock("image", {}),)

    def test_a_call_without_an_id(self):
        """It is called after its index, and has an empty name until somebody says one."""
        assert blocks(ToolCallDelta(4, "", None, "{")) == (ToolCallBlock("call-4", "", "{"),)

    def test_a_later_name_overwrites(self):
        """A name that is not empty does; an empty one or none does not."""
        made = blocks(ToolCallDelta(0, "c", "first"), ToolCallDelta(0, "c", ""), ToolCallDelta(0, "c", "second", "1"),
                      ToolCallDelta(0, "c", None, "2"))  # fmt: skip
        assert made == (ToolCallBlock("c", "second", "12"),)

    def test_an_empty_text_block_stays(self):
        """Nobody strips it."""
        assert blocks(BlockStart(0, "text"), FinishChunk(StopFinish())) == (TextBlock(""),)

    def test_an_unknown_block_that_never_ended(self):
        """Nobody knows how to put it together; the others can be asked for again once it ended."""
        made = assembled([BlockStart(0, "image")])
        with pytest.raises(HarnessError, match="block 0 of unknown type 'image'") as caught:
            made.blocks()
        assert caught.value.code == "INVALID_CHUNK"
        made.push(BlockEnd(0, UnknownBlock("image", {})))
        assert made.blocks() == (UnknownBlock("image", {}),)

    def test_a_chunk_of_a_class_of_its_own(self):
        """An adapter may extend a chunk; it is still that chunk."""
        extended = type("Extended", (TextDelta,), {})
        assert blocks(extended(0, "a"), TextDelta(0, "b")) == (TextBlock("ab"),)

    def test_what_is_no_chunk(self):
        """It is refused by name."""
        with pytest.raises(HarnessError, match="str is no stream chunk"):
            BlockAssembler().push("hello")


class TestEnd:
    def test_the_last_usage_and_finish_count(self):
        """Replay state is the finish's own, so a finish without one has none."""
        made = assembled([UsageChunk(TokenUsage(1, 1)), UsageChunk(TokenUsage(2, 2)),
                          FinishChunk(StopFinish(), {"id": 1}), FinishChunk(MaxTokensFinish())])  # fmt: skip
        assert (made.usage, made.finish, made.replay_state) == (TokenUsage(2, 2), MaxTokensFinish(), MISSING)

    @pytest.mark.parametrize(
        "reason",
        [StopFinish(), ToolCallsFinish(), AbortedFinish(LlmFailure("m", "ABORTED")),
         ErrorFinish(LlmFailure("m", "SERVER")), UnknownFinish("odd", {"kind": "odd"})],
    )  # fmt: skip
    def test_every_reason_is_kept(self, reason):
        """What a reason means is the loop's business."""
        assert assembled([FinishChunk(reason)]).finish is reason


# -- any legal stream --------------------------------------------------------------------------------------------------

KINDS = st.sampled_from(["text", "reasoning", "tool-call"])


@st.composite
def streams(draw):
    """A legal stream and the blocks it must make: blocks opened in any order, their pieces interleaved."""
    kinds = draw(st.lists(KINDS, max_size=5))
    indices = draw(st.permutations(range(len(kinds))))
    pieces = [draw(st.lists(st.text(max_size=3), max_size=4)) for _ in kinds]
    ids = [draw(st.sampled_from(["", f"id-{index}"])) for index in indices]
    queues = [
        [BlockStart(index, kind), *(_delta(kind, index, call, piece) for piece in parts), None]
        for index, kind, call, parts in zip(indices, kinds, ids, pieces, strict=True)
    ]
    want = [
        _block(kind, index, call if parts else "", "".join(parts))
        for index, kind, call, parts in zip(indices, kinds, ids, pieces, strict=True)
    ]
    chunks = [queue.pop(0) for queue in queues]
    for at in draw(st.permutations([at for at, queue in enumerate(queues) for _ in queue])):
        piece = queues[at].pop(0)
        chunks.append(BlockEnd(indices[at], want[at]) if piece is None else piece)
    return [*chunks, UsageChunk(TokenUsage(1, 1)), FinishChunk(StopFinish())], tuple(want)


def _delta(kind, index, call, piece):
    if kind == "tool-call":
        return ToolCallDelta(index, call, None, piece)
    return TextDelta(index, piece) if kind == "text" else ReasoningDelta(index, piece)


def _block(kind, index, call, text):
    if kind == "tool-call":
        return ToolCallBlock(call or f"call-{index}", "", text)
    return TextBlock(text) if kind == "text" else ReasoningBlock(text)


@given(streams())
def test_any_legal_stream(case):
    """The grammar accepts it, and it makes the blocks it means."""
    chunks, want = case
    grammar = StreamGrammar()
    for chunk in chunks:
        grammar.push(chunk)
    grammar.end()
    assert assembled(chunks).blocks() == want


@given(streams())
def test_starts_and_ends_add_nothing(case):
    """Deltas alone make the same blocks, apart from the ones that never had any."""
    chunks, want = case
    spoken = {chunk.index for chunk in chunks if isinstance(chunk, (TextDelta, ReasoningDelta, ToolCallDelta))}
    order = [chunk.index for chunk in chunks if isinstance(chunk, BlockStart)]
    expected = {index: block for index, block in zip(order, want, strict=True) if index in spoken}
    made = assembled([chunk for chunk in chunks if not isinstance(chunk, (BlockStart, BlockEnd))]).blocks()
    assert sorted(made, key=repr) == sorted(expected.values(), key=repr)


@given(streams(), st.data())
def test_asking_in_the_middle_changes_nothing(case, data):
    """``blocks()`` may be asked at any time, any number of times."""
    chunks, want = case
    made = BlockAssembler()
    for chunk in chunks:
        made.push(chunk)
        if data.draw(st.booleans()):
            assert made.blocks() == made.blocks()
    assert made.blocks() == want


ANY_CHUNK = st.one_of(
    st.builds(BlockStart, st.integers(0, 3), KINDS),
    st.builds(TextDelta, st.integers(0, 3), st.text(max_size=3)),
    st.builds(ReasoningDelta, st.integers(0, 3), st.text(max_size=3)),
    st.builds(
        ToolCallDelta, st.integers(0, 3), st.text(max_size=3), st.none() | st.text(max_size=3), st.text(max_size=3)
    ),
    st.builds(BlockEnd, st.integers(0, 3), st.builds(TextBlock, st.text(max_size=3))),
    st.builds(FinishChunk, st.just(StopFinish())),
)


@given(st.lists(ANY_CHUNK, max_size=12))
def test_any_chunks_in_any_order(chunks):
    """Illegal streams are assembled too: one block for each index, in order of appearance, first end authoritative."""
    indices = list(dict.fromkeys(chunk.index for chunk in chunks if hasattr(chunk, "index")))
    ends = {}
    for chunk in chunks:
        if isinstance(chunk, BlockEnd):
            ends.setdefault(chunk.index, chunk.block)
    made = assembled(chunks).blocks()
    assert len(made) == len(indices)
    assert all(made[indices.index(index)] is block for index, block in ends.items())
