"""The contract a plugin author sees: markers, values, decisions, executions and the hook specifications.

Imports pluggy and attrs only. Everything here is re-exported, lazily, by ``dshhooks``.
"""

from __future__ import annotations
