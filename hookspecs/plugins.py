"""Hooks through which a plugin brings things along: tools, adapters, variants, handlers."""

from __future__ import annotations

from typing import Any

from hookspecs.markers import Authority, hookspec


class ContributeHooks:
    """What a plugin adds to a host while it opens."""

    @hookspec("plugins/register-tools", Authority.CONTRIBUTE)
    def register_tools(self, registry: Any) -> None:
        """Add tools, or guards over tools.

        Fires: once for every plugin, when the host opens or the plugin is registered later.

        Parameters:
            registry: the :class:`ToolRegistry`: ``register(definition)``, ``guard(fn)``. What is registered here goes
                when the plugin goes.

        Returns: nothing; answers are ignored.

        Authority: contribute.

        Wrappers: may stand around the others.

        Failure: the start of the host fails with ``PLUGIN_FAILED`` (or the error's own code), for example because a
            name is taken.

        Example::

            @hookimpl
            def register_tools(self, registry):
                registry.register(word_count)
        """

    @hookspec("plugins/register-llm-adapters", Authority.CONTRIBUTE)
    def register_llm_adapters(self, service: Any) -> None:
        """Add adapters for model providers.

        Fires: once for every plugin, when the host opens or the plugin is registered later.

        Parameters:
            service: the model service: ``register_adapter(names, adapter)``, all names or none.

        Returns: nothing; answers are ignored.

        Authority: contribute.

        Wrappers: may stand around the others.

        Failure: the start of the host fails with ``PLUGIN_FAILED`` (or the error's own code, such as
            ``DUPLICATE_ADAPTER``).

        Example::

            @hookimpl
            def register_llm_adapters(self, service):
                service.register_adapter(["house-model"], self.adapter)
        """

    @hookspec("plugins/register-variants", Authority.CONTRIBUTE)
    def register_variants(self, variants: Any) -> None:
        """Add variants to the open unions: content blocks, message sources, session events and their kin.

        Fires: once for every plugin, when the host opens or the plugin is registered later; before a session is read
            from a store.

        Parameters:
            variants: the table of variants; each is a frozen attrs class with a ``kind`` tag.

        Returns: nothing; answers are ignored.

        Authority: contribute.

        Wrappers: may stand around the others.

        Failure: the start of the host fails with ``PLUGIN_FAILED`` (or the error's own code), for example because a tag
            is taken. Without the plugin its variants are kept as unknown ones and written back unchanged.

        Example::

            @hookimpl
            def register_variants(self, variants):
                variants.register(ImageBlock)
        """

    @hookspec("plugins/register-bridge-handlers", Authority.CONTRIBUTE)
    def register_bridge_handlers(self, handlers: Any) -> None:
        """Add kinds of handlers that configured external hooks may name.

        Fires: once for every plugin, when the host opens or the plugin is registered later; before hook files are read.

        Parameters:
            handlers: the table of handler kinds of the external hook runtime.

        Returns: nothing; answers are ignored.

        Authority: contribute.

        Wrappers: may stand around the others.

        Failure: the start of the host fails with ``PLUGIN_FAILED`` (or the error's own code), for example because a
            kind is taken.

        Example::

            @hookimpl
            def register_bridge_handlers(self, handlers):
                handlers.register("chat", ChatHandler)
        """
