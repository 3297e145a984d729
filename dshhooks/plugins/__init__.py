"""How plugins are found, chosen, loaded and reported."""

from __future__ import annotations
