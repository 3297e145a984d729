"""Matchers: one pattern, one test of a subject, in both profiles (spec/external-hooks.md A.3)."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Final

from attrs import frozen

from dshhooks.bridge.dialects import Rules

__all__ = ["SUBJECT_LIMIT", "Matcher", "MatcherError", "compile_matcher", "is_match_all"]
