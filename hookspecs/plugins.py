"""Hooks through which a plugin brings things along: tools, adapters, variants, handlers."""

from __future__ import annotations

from typing import Any

from hookspecs.markers import Authority, hookspec


class ContributeHooks:
    """What a plugin adds to a host while it opens."""

    @hookspec("plugins/register-tools", Authority.CONTRIBUTE, synchronous=True)
    def register_tools(self, registry: Any) -> None:
        """Add tools, or guards over tools.

        Fires: once for every plugin, when the host opens or the plugin is registered later.

        Parameters:
            registry: the :class:`ToolRegistry`: ``register(definition)``, ``guard(fn)``. What is registered here goes
                when the plugin goes.

        Returns: nothing; answers are ignored.

        Authority: contribute. Plain functions only: ``async def`` is refused at registration.

        Wrappers: none; each plugin is asked by itself.

        Failure: a ``PluginError`` naming plugin and hook reaches whoever opens the host or registers the plugin, and
            what the plugin had added is taken back.

        Example::

            @hookimpl
            def register_tools(self, registry):
                registry.register(word_count)
        """

    @hookspec("plugins/register-llm-adapters", Authority.CONTRIBUTE, synchronous=True)
    def register_llm_adapters(self, service: Any) -> None:
        """Add adapters for model providers.

        Fires: once for every plugin, when the host opens or the plugin is registered later.

        Parameters:
            service: the model service: ``register_adapter(names, adapter)``, all names or none.

        Returns: nothing; answers are ignored.

        Authority: contribute. Plain functions only: ``async def`` is refused at registration.

        Wrappers: none; each plugin is asked by itself.

        Failure: a ``PluginError`` naming plugin and hook reaches whoever opens the host or registers the plugin, and
            what the plugin had added is taken back.

        Example::

            @hookimpl
            def register_llm_adapters(self, service):
                service.register_adapter(["house-model"], self.adapter)
        """

    @hookspec("plugins/register-variants", Authority.CONTRIBUTE, synchronous=True)
    def register_variants(self, variants: Any) -> None:
        """Add variants to the open unions: content blocks, message sources, session events and their kin.

        Fires: once for every plugin, when the host opens or the plugin is registered later; before a session is read
            from a store.

        Parameters:
            variants: the table of variants; each is a frozen attrs class with a ``kind`` tag.

        Returns: nothing; answers are ignored.

        Authority: contribute. Plain functions only: ``async def`` is refused at registration.

        Wrappers: none; each plugin is asked by itself.

        Failure: a ``PluginError`` naming plugin and hook reaches whoever opens the host or registers the plugin, and
            what the plugin had added is taken back. Without the plugin its variants are read as unknown ones and
            written back unchanged.

        Example::

            @hookimpl
            def register_variants(self, variants):
                variants.register("content-block", ImageBlock)
        """

    @hookspec("plugins/register-bridge-handlers", Authority.CONTRIBUTE, synchronous=True)
    def register_bridge_handlers(self, handlers: Any) -> None:
        """Add kinds of handlers that configured external hooks may name.

        Fires: once for every plugin, when the host opens or the plugin is registered later; before hook files are read.

        Parameters:
            handlers: the table of handler kinds of the external hook runtime.

        Returns: nothing; answers are ignored.

        Authority: contribute. Plain functions only: ``async def`` is refused at registration.

        Wrappers: none; each plugin is asked by itself.

        Failure: a ``PluginError`` naming plugin and hook reaches whoever opens the host or registers the plugin, and
            what the plugin had added is taken back.

        Example::

            @hookimpl
            def register_bridge_handlers(self, handlers):
                handlers.register("chat", ChatHandler)
        """
