"""What hooks are: processes, web addresses, questions to a model; one module per kind, and the table of kinds."""

from __future__ import annotations
