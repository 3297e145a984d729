"""The command line: one module per verb. Exit codes: 0 fine, 1 usage or failure, 2 denied."""

from __future__ import annotations
