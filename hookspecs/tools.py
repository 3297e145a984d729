"""Hooks around one tool call, in the order they fire, and around the set of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookspecs.decisions import Accept, Allow, ApprovalOutcome, Ask, Block, Deny
from hookspecs.execution import ToolFailure, ToolSuccess
from hookspecs.markers import Authority, hookspec

if TYPE_CHECKING:
    from hookspecs.decisions import PostToolDecision, PreToolDecision
    from hookspecs.execution import ApprovalRequest, ToolExecution, ToolResult


class ToolsHooks:
    """The tool pipeline: pre-execute, guards, execute, post-execute, result."""

    @hookspec(
        "tools/pre-execute",
        Authority.DECIDE,
        returns=(Allow, Deny, Ask),
        default=Allow,
        combine="strictest",
    )
    def tools_pre_execute(self, execution: ToolExecution) -> PreToolDecision | None:
        """Decide whether a sealed call may go on.

        Fires: after the arguments were frozen and before guards; not for calls that were cancelled before they began.

        Parameters:
            execution: the sealed call; read-only.

        Returns: ``Deny(reason)`` stops the chain; ``Ask(reason)`` is kept unless a later implementation denies;
            ``Allow()`` and ``None`` (no opinion) do not stop the others. ``[tools] policy_combination = "first"``
            makes the first answer final.

        Authority: decide.

        Wrappers: may replace the decision in either direction; the trace says who did. They cannot undo a guard.

        Failure: the call fails with ``PLUGIN_FAILED`` (or the error's own code), ``INVALID_DECISION`` for an answer
            that is no decision; guards, execute and post-execute are skipped, ``tools_result`` still fires.

        Example::

            @hookimpl
            def tools_pre_execute(self, execution):
                if execution.name == "bash" and "sudo" in execution.arguments.get("command", ""):
                    return Ask("this command wants root")
        """

    @hookspec("tools/guard", Authority.REFUSE, returns=(str,), synchronous=True)
    def tools_guard(self, execution: ToolExecution) -> str | None:
        """Refuse a call that policy has let through; nobody can undo it.

        Fires: after pre-execute allowed, before execute; after the registry's guards and before the agent's.

        Parameters:
            execution: the sealed call; read-only.

        Returns: a reason (even an empty one) to deny, ``None`` to abstain. The first reason wins.

        Authority: refuse. Plain functions only: ``async def`` is refused at registration.

        Wrappers: none; a wrapper could undo a refusal.

        Failure: the call fails with ``PLUGIN_FAILED`` and is final; post-execute is skipped.

        Example::

            @hookimpl
            def tools_guard(self, execution):
                return "read-only mode" if execution.name == "write_file" else None
        """

    @hookspec("tools/execute", Authority.WRAP, returns=(ToolSuccess, ToolFailure))
    def tools_execute(self, execution: ToolExecution) -> ToolResult | None:
        """Stand around the dispatch of an allowed call: time it, retry it, measure it, answer in its place.

        Fires: once per allowed call; a wrapper's every ``call_next()`` runs the rest of the chain again.

        Parameters:
            execution: the sealed call; ``execution.replace_signal(signal)`` is legal here.

        Returns: an implementation that returns a ``ToolResult`` answers instead of the tool (a cache); ``None``
            leaves it to the tool.

        Authority: wrap.

        Wrappers: what they await is always a normalized result, never an exception of the tool; they may return
            another one. A success they make up is validated and rendered again.

        Failure: the call fails with ``PLUGIN_FAILED`` (or the error's own code) and is final; post-execute is skipped
            and deferred contexts are lost.

        Example::

            @hookimpl(wrapper=True)
            async def tools_execute(self, execution, *, call_next):
                result = await call_next()
                return result if not result.is_error else await call_next()
        """

    @hookspec("tools/post-execute", Authority.DECIDE, returns=(Accept, Block), default=Accept)
    def tools_post_execute(self, execution: ToolExecution, result: ToolResult) -> PostToolDecision | None:
        """Look at a result, and keep it, change it, or turn it into feedback.

        Fires: after dispatch and after a denial; not when an earlier phase failed or the call was cancelled before it
            began.

        Parameters:
            execution: the sealed call; read-only.
            result: the immutable result so far.

        Returns: ``Accept()`` keeps it, ``Accept(content=...)`` changes what the model reads, ``Accept(value=...)``
            replaces the value of a success, ``Block(feedback)`` makes it a failure. First answer wins. Each may add
            messages behind the result: ``contexts=[HookContext(text, PluginSource("my-plugin"))]``.

        Authority: decide.

        Wrappers: may build on the inner decision, usually by adding contexts to it.

        Failure: the call fails with ``PLUGIN_FAILED`` (or the error's own code); every context is lost.

        Example::

            @hookimpl
            def tools_post_execute(self, execution, result):
                if "BEGIN PRIVATE KEY" in content_text(result.content):
                    return Block("the output held a private key and was withheld")
        """

    @hookspec("tools/result", Authority.OBSERVE)
    def tools_result(self, execution: ToolExecution, result: ToolResult) -> None:
        """Hear what came of a call.

        Fires: exactly once per execution, on every path, after the result is frozen.

        Parameters:
            execution: the call, entirely frozen.
            result: the very object ``execute`` returns.

        Returns: nothing; answers are ignored.

        Authority: observe.

        Wrappers: none; observers do not stand around each other.

        Failure: logged as a warning; the other observers and the result are untouched.

        Example::

            @hookimpl
            def tools_result(self, execution, result):
                log.info("%s %s", execution.name, "failed" if result.is_error else "ok")
        """

    @hookspec("tools/change", Authority.CHECKPOINT, synchronous=True)
    def tools_change(self) -> None:
        """Hear that the set of tools changed, and perhaps object.

        Fires: after a tool or restriction was registered or lifted, from the registering code.

        Parameters: none.

        Returns: nothing.

        Authority: checkpoint. Plain functions only: ``async def`` is refused at registration.

        Wrappers: may stand around the others.

        Failure: a registration is rolled back and the exception reaches whoever registered; what was lifted stays
            lifted.

        Example::

            @hookimpl
            def tools_change(self):
                self.schemas = None
        """

    @hookspec("approval/request", Authority.DECIDE, returns=(ApprovalOutcome,))
    def approval_request(self, request: ApprovalRequest) -> ApprovalOutcome | None:
        """Answer, usually by asking a person, whether a call may run once.

        Fires: when pre-execute came out as ``Ask`` for a call with an agent.

        Parameters:
            request: who asks, for which tool and why, with a digest of exactly what was asked.

        Returns: an ``ApprovalOutcome``; only ``ALLOWED_ONCE`` lets the call go on. ``None`` leaves it to the next.

        Authority: decide.

        Wrappers: may replace the answer. Policy ``never`` is decided before anybody is asked.

        Failure: counts as ``UNAVAILABLE``, which denies. An answer after the call was cancelled is dropped.

        Example::

            @hookimpl
            async def approval_request(self, request):
                return ApprovalOutcome.ALLOWED_ONCE if await ask(request.reason) else ApprovalOutcome.REJECTED
        """
