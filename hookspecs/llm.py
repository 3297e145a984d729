"""Hooks around a model request: what it is told, and the stream that answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from hookspecs.markers import Authority, hookspec


class LlmHooks:
    """The way to the model: assemble the system prompt, stream the answer."""

    @hookspec("system-prompt/assemble", Authority.DECIDE, changeable=("assembly",))
    def system_prompt_assemble(self, assembly: Any, context: Any) -> Any:
        """Change the sections, variables and tools a request is built from.

        Fires: once in every step, before the request is made.

        Parameters:
            assembly: what was collected: the ordered sections of the system prompt, variables, tools; frozen.
            context: who it is for: ``agent`` (or ``None``) and ``signal``.

        Returns: another assembly. It is the whole truth: an emptied one sends no system prompt. First answer wins;
            ``None`` leaves it as it was collected.

        Authority: decide.

        Wrappers: may give the others another assembly with ``call_next(assembly=...)``, and return another one than
            they got.

        Failure: the turn ends in error at this step; the agent goes on with the next prompt.

        Example::

            @hookimpl(wrapper=True)
            async def system_prompt_assemble(self, assembly, *, call_next):
                assembly = await call_next()
                return attrs.evolve(assembly, tools=[t for t in assembly.tools if t.name not in self.hidden])
        """

    @hookspec("llm/stream", Authority.WRAP, returns=(AsyncIterator,), changeable=("options",))
    def llm_stream(self, options: Any) -> AsyncIterator[Any] | None:
        """Stand around one model request: watch it, record it, reroute it, answer in its place.

        Fires: for every request, of agents and of anybody who calls ``harness.llm.stream``; the adapter is looked up at
            the very end, so an answer from here needs none.

        Parameters:
            options: the frozen request: provider, model, messages, system, tools, ``signal``, ``session_id``,
                ``purpose`` and sampling settings.

        Returns: an async iterator of stream chunks that answers instead of the adapter; ``None`` leaves it to the
            adapter. An async generator function is the shortest way to write one.

        Authority: wrap.

        Wrappers: ``await call_next()`` gives the stream, not yet read; return it or an async iterator over it.
            ``call_next(options=...)`` sends another request.

        Failure: raised to whoever reads the stream; a turn ends in error. Only what the adapter raises reaches
            ``agent_request_error``.

        Example::

            @hookimpl(wrapper=True)
            async def llm_stream(self, options, *, call_next):
                async def counted(chunks):
                    async for chunk in chunks:
                        self.chunks.inc()
                        yield chunk

                return counted(await call_next())
        """
