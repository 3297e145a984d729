"""Tools: definitions, schemas, the registry, and the pipeline every call runs through."""

from __future__ import annotations
