"""The operators of ``${name...}``, the longer ones first."""

from __future__ import annotations

OPERATORS = (
    ":-",
    ":=",
    ":?",
    ":+",
    "//",
    "/#",
    "/%",
    "##",
    "%%",
    "^^",
    ",,",
    "-",
    "=",
    "?",
    "+",
    "/",
    "#",
    "%",
    "^",
    ",",
    ":",
    "@",
)
