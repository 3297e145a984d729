"""Options of a command line, the way getopt reads them: clusters, attached values, abbreviated long names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hookspecs.plain import Plain

from .values import UNKNOWN, Arg


class Option(Plain):
    """One option: its name with dashes (``-o``, ``--output``), and its value when it has one."""

    name: str
    value: Arg | None = None


class Parsed(Plain):
    """Options and operands in order; ``rest`` is what follows ``--`` or the first operand where parsing stopped."""

    options: tuple[Option, ...]
    operands: tuple[Arg, ...]
    rest: tuple[Arg, ...] = ()

    def has(self, *names: str) -> bool:
        """Say whether one of the options is present (long ones also abbreviated)."""
        return any(_matches(option.name, name) for option in self.options for name in names)

    def values(self, *names: str) -> list[Arg]:
        """Return the values of every occurrence of the options."""
        return [o.value for o in self.options if o.value is not None and any(_matches(o.name, name) for name in names)]

    def __iter__(self) -> Iterator[Option]:
        return iter(self.options)


def _matches(given: str, name: str) -> bool:
    if given == name:
        return True
    return name.startswith("--") and given.startswith("--") and len(given) > 3 and name.startswith(given)


def parse_options(
    args: Sequence[Arg],
    short_values: str,
    long_values: frozenset[str],
    *,
    stop_at_operand: bool,
    longs: frozenset[str],
    single_dash: bool = False,
) -> Parsed:
    """Split ``args`` into options and operands.

    Args:
        args: the arguments without the program's name.
        short_values: letters whose option takes a value, attached or in the next argument.
        long_values: long options that take a value in the next argument when there is no ``=``.
        stop_at_operand: everything from the first operand on is ``rest`` (wrappers).
        longs: exact long names that are not abbreviations of anything.
        single_dash: long options start with one dash (find, go, terraform).
    """
    options: list[Option] = []
    operands: list[Arg] = []
    queue = list(args)
    while queue:
        arg = queue.pop(0)
        text = arg.text
        if text == "--" and not single_dash:
            if stop_at_operand:
                return Parsed(tuple(options), (), tuple(queue))
            return Parsed(tuple(options), (*operands, *queue))
        if not text.startswith("-") or text == "-" or text.startswith("-" + UNKNOWN):
            if stop_at_operand:
                return Parsed(tuple(options), (), (arg, *queue))
            operands.append(arg)
        elif text.startswith("--") or single_dash:
            options.append(_long(arg, queue, long_values, longs))
        else:
            options.extend(_cluster(arg, queue, short_values))
    return Parsed(tuple(options), tuple(operands))


def _long(arg: Arg, queue: list[Arg], long_values: frozenset[str], longs: frozenset[str]) -> Option:
    name, equals, value = arg.text.partition("=")
    if equals:
        return Option(name, arg.with_text(value))
    takes = name in long_values or (
        name not in longs and len(name) > 3 and any(v.startswith(name) for v in long_values if v.startswith("--"))
    )
    if takes and queue:
        return Option(name, queue.pop(0))
    return Option(name)


def _cluster(arg: Arg, queue: list[Arg], short_values: str) -> Iterable[Option]:
    letters = arg.text[1:]
    for index, letter in enumerate(letters):
        if letter in short_values:
            rest = letters[index + 1 :]
            if rest:
                yield Option("-" + letter, arg.with_text(rest))
            else:
                yield Option("-" + letter, queue.pop(0) if queue else None)
            return
        yield Option("-" + letter)
