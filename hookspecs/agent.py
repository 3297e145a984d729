"""Hooks around an agent, its turns, its steps and its inbox, in the order they fire.

Turn and step boundaries are no hooks: they are events of the session log, which ``session_event`` hears.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hookspecs.call_config import LlmCallConfig
from hookspecs.decisions import AllowPrompt, BlockPrompt, ContinueTurn, FailRequest, RetryRequest, StopTurn
from hookspecs.markers import Authority, hookspec
from hookspecs.values import Message

if TYPE_CHECKING:
    from hookspecs.signal import CancelSignal
    from hookspecs.values import Content, MessageSource


class AgentHooks:
    """The life of an agent: created, prompted, step after step, stopped, disposed."""

    @hookspec("agent/created", Authority.CHECKPOINT)
    def agent_created(self, agent: Any) -> None:
        """Hear that an agent exists, and perhaps object.

        Fires: when a new or resumed agent was set up and can be found by its id; after ``session_created``, before
            ``agent_session_start``.

        Parameters:
            agent: the agent handle; its driver has not started.

        Returns: nothing.

        Authority: checkpoint.

        Wrappers: may stand around the others.

        Failure: the creation is rolled back: nothing stays published, the id is free again, who was told of the agent
            hears ``agent_disposed``, and the exception reaches whoever created it.

        Example::

            @hookimpl
            def agent_created(self, agent):
                self.budgets[agent.id] = 20
        """

    @hookspec("agent/session-start", Authority.OBSERVE)
    def agent_session_start(self, agent: Any, source: str) -> None:
        """Hear that an agent starts its session, in time to add something before the first turn.

        Fires: once in an agent's life, after ``agent_created`` and before turn 1.

        Parameters:
            agent: the agent handle; ``agent.inject(...)`` here is part of the first request.
            source: ``"startup"`` for a new or forked session, ``"resume"`` for one read back from the store;
                ``"clear"`` and ``"compact"`` are reserved.

        Returns: nothing; answers are ignored.

        Authority: observe.

        Wrappers: none; observers do not stand around each other.

        Failure: logged as a warning; the agent starts all the same.

        Example::

            @hookimpl
            def agent_session_start(self, agent, source):
                if source == "resume":
                    agent.inject("Files may have changed since the last session.")
        """

    @hookspec("agent/prompt-submit", Authority.DECIDE, returns=(AllowPrompt, BlockPrompt), default=AllowPrompt)
    def agent_prompt_submit(
        self, agent: Any, content: Content, source: MessageSource, signal: CancelSignal
    ) -> AllowPrompt | BlockPrompt | None:
        """Decide whether a prompt reaches the model, and in which words.

        Fires: once for every turn that has a prompt, before step 1; never for steering or injected messages. Where
            ``[agent] prompt_admission = "recorded"`` the turn is open by then, with ``"unrecorded"`` it is not.

        Parameters:
            agent: the agent handle.
            content: the blocks of the prompt.
            source: who sent it.
            signal: aborts when the turn is cancelled.

        Returns: ``AllowPrompt()`` lets it in, ``AllowPrompt(content=...)`` lets other words in, ``BlockPrompt(reason)``
            ends the turn as rejected with no step. First answer wins, and its ``contexts`` are the whole truth:
            attached contexts it leaves out are dropped. ``None`` leaves it to the next.

        Authority: decide.

        Wrappers: may replace the decision in either direction. The decision they await carries the attached contexts
            when nobody else answered; copy them to keep them.

        Failure: the prompt is not recorded and the turn ends in error at step 0; the next queued prompt runs.

        Example::

            @hookimpl
            def agent_prompt_submit(self, agent, content, source):
                if "BEGIN PRIVATE KEY" in content_text(content):
                    return BlockPrompt("the prompt holds a private key")
        """

    @hookspec("agent/session-prefix", Authority.CONTRIBUTE)
    def agent_session_prefix(self, agent: Any, signal: CancelSignal) -> Sequence[Message] | None:
        """Put messages in front of every request of this agent, outside its history.

        Fires: before the first request of an agent instance; a resumed agent asks again. An interrupted turn forgets
            what was collected, so the next one asks again too.

        Parameters:
            agent: the agent handle.
            signal: aborts when the turn is cancelled.

        Returns: a sequence of ``Message``; every plugin's are joined in plugin order and frozen. ``None`` adds none.

        Authority: contribute.

        Wrappers: may stand around the others, and change what was collected.

        Failure: the turn ends in error; nothing was sent.

        Example::

            @hookimpl
            def agent_session_prefix(self, agent):
                return [Message("user", "House rules: tests before code.")]
        """

    @hookspec("agent/pre-step", Authority.CHECKPOINT)
    def agent_pre_step(self, agent: Any, turn: int, step: int, signal: CancelSignal) -> None:
        """Do what has to be done before a step, or object to it.

        Fires: awaited before every step is opened, after steering was drained; what is appended here is part of this
            step's request.

        Parameters:
            agent: the agent handle.
            turn: the number of the turn, from 1.
            step: the number of the step in its turn, from 1.
            signal: aborts when the turn is cancelled.

        Returns: nothing.

        Authority: checkpoint.

        Wrappers: may stand around the others.

        Failure: the turn ends in error and the step is never opened.

        Example::

            @hookimpl
            def agent_pre_step(self, agent, step):
                if step > 50:
                    raise HarnessError("this turn has used its 50 steps", "STEP_BUDGET")
        """

    @hookspec("agent/request", Authority.DECIDE, returns=(LlmCallConfig,))
    def agent_request(self, agent: Any, turn: int, step: int, config: Any, signal: CancelSignal) -> Any:
        """Choose provider, model and settings of one model request.

        Fires: in every step, after it was opened and its messages were fixed. What is injected here reaches the next
            request.

        Parameters:
            agent: the agent handle.
            turn: the number of the turn, from 1.
            step: the number of the step in its turn, from 1.
            config: the frozen ``LlmCallConfig`` of the request before this one, or the agent's own for the first.
            signal: aborts when the turn is cancelled.

        Returns: another ``LlmCallConfig``; it stays in force for later requests until somebody replaces it. First
            answer wins; ``None`` leaves ``config`` as it is.

        Authority: decide.

        Wrappers: receive the config that would be used and may return another.

        Failure: the turn ends in error; ``agent_request_error`` is not asked.

        Example::

            @hookimpl
            def agent_request(self, step, config):
                return attrs.evolve(config, model="small") if step > 10 else None
        """

    @hookspec("agent/request-error", Authority.DECIDE, returns=(FailRequest, RetryRequest), default=FailRequest)
    def agent_request_error(
        self,
        agent: Any,
        turn: int,
        step: int,
        error: BaseException,
        failure: Any,
        prior_failures: tuple[Any, ...],
        signal: CancelSignal,
    ) -> FailRequest | RetryRequest | None:
        """Decide whether a failed model request is tried again.

        Fires: when the adapter raised or its stream finished in error, after the failed step was closed. Not for errors
            of other hooks or of tools, and not once the turn was cancelled.

        Parameters:
            agent: the agent handle.
            turn: the number of the turn, from 1.
            step: the number of the step that failed.
            error: the original exception.
            failure: the facts, frozen: ``message``, ``code``, ``status``, ``retry_after`` (seconds), ``request_id``.
            prior_failures: the failures already retried in this run; a request that works empties it.
            signal: aborts when the turn is cancelled; stop waiting then.

        Returns: ``RetryRequest()`` runs a new step, ``FailRequest()`` fails the turn. First answer wins; ``None``
            leaves it to the next.

        Authority: decide.

        Wrappers: may replace the decision in either direction. A cancellation beats them all.

        Failure: logged, and counts as ``FailRequest()`` with the original failure.

        Example::

            @hookimpl
            async def agent_request_error(self, failure, prior_failures):
                if failure.code == "RATE_LIMIT" and len(prior_failures) < 3:
                    await anyio.sleep(failure.retry_after or 1.0)
                    return RetryRequest()
        """

    @hookspec("agent/step-result", Authority.DECIDE, returns=(Message,))
    def agent_step_result(
        self, agent: Any, turn: int, step: int, message: Message, signal: CancelSignal
    ) -> Message | None:
        """Rewrite what the model answered, before it is recorded and its tools are called.

        Fires: after every request that worked.

        Parameters:
            agent: the agent handle.
            turn: the number of the turn, from 1.
            step: the number of the step in its turn, from 1.
            message: the assistant message as it was assembled; frozen.
            signal: aborts when the turn is cancelled.

        Returns: another ``Message``: log, history and tool dispatch use it, and the provider's replay state is dropped.
            First answer wins; ``None`` keeps the message. Tool calls added to an answer that was cut at the token limit
            are removed again.

        Authority: decide.

        Wrappers: receive the message that would be recorded and may return another.

        Failure: an assistant message without content is recorded, and the turn ends in error.

        Example::

            @hookimpl
            def agent_step_result(self, message):
                return attrs.evolve(message, content=[b for b in message.content if b.kind != "reasoning"])
        """

    @hookspec("agent/post-step", Authority.CHECKPOINT)
    def agent_post_step(self, agent: Any, turn: int, step: int, signal: CancelSignal) -> None:
        """Do what has to be done once a step's results are durable, before it is closed.

        Fires: awaited at the end of every step that did not fail, even when its tool batch was cancelled: then
            ``signal`` has aborted.

        Parameters:
            agent: the agent handle; steering sent here is read in the same turn.
            turn: the number of the turn, from 1.
            step: the number of the step in its turn, from 1.
            signal: aborts when the turn is cancelled.

        Returns: nothing.

        Authority: checkpoint.

        Wrappers: may stand around the others.

        Failure: the turn ends in error, or as aborted when it was cancelled.

        Example::

            @hookimpl
            async def agent_post_step(self, agent):
                await self.checkpoints.commit(agent.session.header.id)
        """

    @hookspec("agent/turn-continuation", Authority.DECIDE, returns=(StopTurn, ContinueTurn))
    def agent_turn_continuation(
        self, agent: Any, turn: int, default: StopTurn | ContinueTurn, signal: CancelSignal
    ) -> StopTurn | ContinueTurn | None:
        """Decide at a step's end whether the turn goes on.

        Fires: after every closed step, unless a tool concluded the turn.

        Parameters:
            agent: the agent handle.
            turn: the number of the turn, from 1.
            default: what happens when everybody abstains: ``ContinueTurn()`` after tool calls or steering, else
                ``StopTurn()``.
            signal: aborts when the turn is cancelled.

        Returns: ``StopTurn()`` ends the turn even after tool calls; ``ContinueTurn(SteeringReason(...))`` runs another
            step that begins with these words. First answer wins; ``None`` leaves it to the next. Steering that waits
            turns a stop into another step.

        Authority: decide.

        Wrappers: may replace the decision in either direction. ``agent_turn_stop`` has the last word.

        Failure: the turn ends in error.

        Example::

            @hookimpl
            def agent_turn_continuation(self, turn, default):
                if isinstance(default, StopTurn) and self.tests_fail(turn):
                    return ContinueTurn(SteeringReason("The tests still fail.", PluginSource("run-tests")))
        """

    @hookspec("agent/turn-stopping", Authority.CHECKPOINT)
    def agent_turn_stopping(self, agent: Any, turn: int, signal: CancelSignal) -> None:
        """Hear that a turn is about to stop, and perhaps steer it on.

        Fires: awaited when the continuation came out as stop and no steering waits; before ``agent_turn_stop``. Not
            when a tool concluded the turn.

        Parameters:
            agent: the agent handle; what ``agent.steer(...)`` sends here runs another step of the same turn.
            turn: the number of the turn, from 1.
            signal: aborts when the turn is cancelled.

        Returns: nothing; object by steering.

        Authority: checkpoint.

        Wrappers: may stand around the others.

        Failure: the turn ends in error.

        Example::

            @hookimpl
            async def agent_turn_stopping(self, agent):
                if not await self.lint_is_clean():
                    agent.steer("Please fix the lint errors first.", source=PluginSource("lint"))
        """

    @hookspec("agent/turn-stop", Authority.DECIDE, returns=(StopTurn,))
    def agent_turn_stop(self, agent: Any, turn: int, signal: CancelSignal) -> StopTurn | None:
        """End a turn for good, whatever was decided before.

        Fires: after the continuation decision of every step, also when that was stop; not when a tool concluded the
            turn.

        Parameters:
            agent: the agent handle.
            turn: the number of the turn, from 1.
            signal: aborts when the turn is cancelled.

        Returns: ``StopTurn()`` ends the turn and discards the steering that waits, also what arrives until the log is
            flushed; queued prompts survive. ``None`` abstains. First answer wins.

        Authority: decide.

        Wrappers: may replace the answer.

        Failure: the turn ends in error.

        Example::

            @hookimpl
            def agent_turn_stop(self, agent):
                return StopTurn() if self.spent(agent.id) > self.options.budget else None
        """

    @hookspec("agent/status", Authority.OBSERVE)
    def agent_status(self, agent: Any, status: str) -> None:
        """Hear that an agent started working, ran out of work, or is gone.

        Fires: on real changes only; turns that follow each other share one ``"running"``.

        Parameters:
            agent: the agent handle.
            status: ``"idle"``, ``"running"`` or ``"disposed"``.

        Returns: nothing; answers are ignored.

        Authority: observe.

        Wrappers: none; observers do not stand around each other.

        Failure: logged as a warning; the others still hear it.

        Example::

            @hookimpl
            def agent_status(self, agent, status):
                self.spinner.visible = status == "running"
        """

    @hookspec("agent/error", Authority.OBSERVE)
    def agent_error(self, agent: Any, turn: int, step: int, error: BaseException) -> None:
        """Hear why a turn ended in error, or that its log could not be flushed.

        Fires: once for every failed turn and every failed flush; not for turns that were cancelled or rejected.

        Parameters:
            agent: the agent handle.
            turn: the number of the turn, from 1.
            step: the step it happened in; 0: outside any step.
            error: the original exception.

        Returns: nothing; answers are ignored.

        Authority: observe.

        Wrappers: none; observers do not stand around each other.

        Failure: logged as a warning; the others still hear it.

        Example::

            @hookimpl
            def agent_error(self, agent, turn, error):
                log.error("turn %d of %s failed", turn, agent.id, exc_info=error)
        """

    @hookspec("agent/cancel-requested", Authority.OBSERVE)
    def agent_cancel_requested(self, agent: Any, cause: Any) -> None:
        """Hear that somebody cancelled an agent's work.

        Fires: when ``cancel`` has something to cancel, before queues are cleared and the turn's signal aborts; what is
            enqueued here is cleared too.

        Parameters:
            agent: the agent handle.
            cause: who cancelled: its ``kind`` is ``"user"`` or ``"parent"``; frozen.

        Returns: nothing; answers are ignored.

        Authority: observe.

        Wrappers: none; observers do not stand around each other.

        Failure: logged as a warning; the cancellation goes on.

        Example::

            @hookimpl
            def agent_cancel_requested(self, agent, cause):
                log.info("%s: cancelled by %s", agent.id, cause.kind)
        """

    @hookspec("agent/inbox/enqueue", Authority.OBSERVE)
    def agent_inbox_enqueue(self, agent: Any, message: Any) -> None:
        """Hear that a message waits in an agent's inbox.

        Fires: after a followup, a queued prompt or steering was accepted; never for ``inject``. Every message heard
            here is heard once more, as dequeued or as discarded.

        Parameters:
            agent: the agent handle; a message sent from here lands behind this one.
            message: frozen: ``id``, ``content``, ``source``, ``contexts``, ``steering``, ``wakeup``.

        Returns: nothing; answers are ignored.

        Authority: observe.

        Wrappers: none; observers do not stand around each other.

        Failure: logged as a warning; the message stays in the inbox.

        Example::

            @hookimpl
            def agent_inbox_enqueue(self, message):
                self.waiting.add(message.id)
        """

    @hookspec("agent/inbox/dequeue", Authority.OBSERVE)
    def agent_inbox_dequeue(self, agent: Any, message: Any) -> None:
        """Hear that a message left the inbox to be worked on.

        Fires: when a turn takes its prompt, and for every steering message at the top of a step.

        Parameters:
            agent: the agent handle.
            message: as in ``agent_inbox_enqueue``; ``steering`` is False for steering that became a turn of its own.

        Returns: nothing; answers are ignored.

        Authority: observe.

        Wrappers: none; observers do not stand around each other.

        Failure: logged as a warning; the message is worked on.

        Example::

            @hookimpl
            def agent_inbox_dequeue(self, message):
                self.waiting.discard(message.id)
        """

    @hookspec("agent/inbox/discard", Authority.OBSERVE)
    def agent_inbox_discard(self, agent: Any, messages: Sequence[Any]) -> None:
        """Hear that messages left the inbox without being worked on.

        Fires: once for every cancellation, terminal stop or disposal that dropped something.

        Parameters:
            agent: the agent handle.
            messages: what was dropped, never empty: prompts first, then steering.

        Returns: nothing; answers are ignored.

        Authority: observe.

        Wrappers: none; observers do not stand around each other.

        Failure: logged as a warning; the messages stay dropped.

        Example::

            @hookimpl
            def agent_inbox_discard(self, messages):
                self.waiting.difference_update(message.id for message in messages)
        """

    @hookspec("subagent/start", Authority.OBSERVE)
    def subagent_start(self, parent: Any, agent: Any, agent_type: str) -> None:
        """Hear that an agent started another one.

        Fires: when ``parent.spawn(...)`` created its child, before the child's first turn.

        Parameters:
            parent: the handle of the agent that spawned.
            agent: the handle of the child; ``agent.inject(...)`` here is part of its first request.
            agent_type: the name the child was spawned under.

        Returns: nothing; answers are ignored.

        Authority: observe.

        Wrappers: none; observers do not stand around each other.

        Failure: logged as a warning; the child runs all the same.

        Example::

            @hookimpl
            def subagent_start(self, parent, agent, agent_type):
                log.info("%s started %s as %s", parent.id, agent.id, agent_type)
        """

    @hookspec("subagent/end", Authority.OBSERVE)
    def subagent_end(self, parent: Any, agent: Any, agent_type: str) -> None:
        """Hear that a spawned agent is done.

        Fires: once for every ``subagent_start``, however the child ended.

        Parameters:
            parent: the handle of the agent that spawned.
            agent: the handle of the child.
            agent_type: the name the child was spawned under.

        Returns: nothing; answers are ignored.

        Authority: observe.

        Wrappers: none; observers do not stand around each other.

        Failure: logged as a warning; the parent gets its result.

        Example::

            @hookimpl
            def subagent_end(self, agent):
                self.running.discard(agent.id)
        """

    @hookspec("agent/disposed", Authority.OBSERVE)
    def agent_disposed(self, agent: Any) -> None:
        """Hear that an agent is gone.

        Fires: once for every agent whose creation was announced, after its last turn was closed and flushed; before
            ``session_disposed``.

        Parameters:
            agent: the agent handle; everything that sends a message raises by now.

        Returns: nothing; answers are ignored.

        Authority: observe.

        Wrappers: none; observers do not stand around each other.

        Failure: logged as a warning; the disposal goes on.

        Example::

            @hookimpl
            def agent_disposed(self, agent):
                self.budgets.pop(agent.id, None)
        """
