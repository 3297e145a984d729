"""Programs that run the command given in their own arguments."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from ..invocation import Invocation
from ..registry import program
from ..values import ANYTHING, Arg, Out


@attrs.frozen
class Wrapper:
    """How a wrapper finds its command.

    Attributes:
        values: short options with a value.
        long_values: long options with a separate value.
        skip: operands before the command (``timeout 5``).
        shell: options whose value is a shell script (``script -c``).
        joined: the operands are joined and given to a shell (``watch``).
        writes: options that name a file the wrapper writes.
        ask: a reason to ask in any case.
        assignments: ``NAME=value`` operands come before the command (``env``).
    """

    values: str = ""
    long_values: tuple[str, ...] = ()
    skip: int = 0
    shell: tuple[str, ...] = ()
    joined: bool = False
    writes: tuple[str, ...] = ()
    ask: str = ""
    assignments: bool = False


_WRAPPERS: dict[str, Wrapper] = {
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "exec": Wrapper("a"),
    "nice": Wrapper("n", ("--adjustment",)),
    "ionice": Wrapper("cnp", ("--class", "--classdata", "--pid")),
    "chrt": Wrapper("TPDp", ("--sched-runtime",), skip=1),
    "taskset": Wrapper("", (), skip=1),
    "numactl": Wrapper("mNCpi", ("--membind", "--cpunodebind", "--physcpubind", "--preferred", "--interleave")),
    "timeout": Wrapper("ks", ("--signal", "--kill-after"), skip=1),
    "stdbuf": Wrapper("ioe", ("--input", "--output", "--error")),
    "unbuffer": Wrapper(),
    "time": Wrapper("fo", ("--format", "--output"), writes=("-o", "--output")),
    "catchsegv": Wrapper(),
    "caffeinate": Wrapper("tw"),
    "linux32": Wrapper(),
    "linux64": Wrapper(),
    "cpulimit": Wrapper("lpPe", ("--limit", "--pid", "--exe")),
    "prlimit": Wrapper("op", ("--pid", "--output")),
    "rlwrap": Wrapper("HSPabcCdDeEfFgilmMnNopqrRsStTUvVwWxXzZ"),
    "eatmydata": Wrapper(),
    "fakeroot": Wrapper("lsfib"),
    "proxychains": Wrapper("f"),
    "proxychains4": Wrapper("f"),
    "torsocks": Wrapper(),
    "torify": Wrapper(),
    "dbus-run-session": Wrapper("", ("--config-file",)),
    "dbus-launch": Wrapper(),
    "xvfb-run": Wrapper("efnpsl", ("--server-num", "--server-args", "--error-file", "--auth-file")),
    "ltrace": Wrapper("aAeFlnopsSuwx"),
    "tini": Wrapper("pe"),
    "dumb-init": Wrapper(),
    "faketime": Wrapper("f", skip=1),
    "cgexec": Wrapper("g"),
    "with-contenv": Wrapper(),
    "s6-setuidgid": Wrapper(skip=1),
    "strace": Wrapper("abeEIoOpPsSuX", ("--output", "--trace"), writes=("-o", "--output")),
    "valgrind": Wrapper(),
    "chronic": Wrapper(),
    "ifne": Wrapper(),
    "sem": Wrapper("j", ("--id", "--jobs")),
    "mispipe": Wrapper(),
    "pv": Wrapper(),
    "choom": Wrapper("np", ("--adjust",)),
    "systemd-inhibit": Wrapper("", ("--what", "--who", "--why", "--mode")),
    "hyperfine": Wrapper(
        "wrmMnSPDLcisI",
        (
            "--warmup",
            "--runs",
            "--prepare",
            "--setup",
            "--cleanup",
            "--conclude",
            "--shell",
            "--min-runs",
            "--max-runs",
            "--export-json",
            "--export-markdown",
            "--command-name",
            "--parameter-list",
            "--parameter-scan",
        ),
        shell=("-p", "--prepare", "--setup", "-s", "--cleanup", "-c", "--conclude"),
        joined=True,
    ),
    "watch": Wrapper("nq", ("--interval", "--equexit"), joined=True),
    "entr": Wrapper(),
    "watchexec": Wrapper("ewfis", ("--exts", "--watch", "--filter", "--ignore", "--signal")),
    "nodemon": Wrapper("ewix", ("--ext", "--watch", "--ignore", "--exec"), shell=("-x", "--exec")),
    "shx": Wrapper(),
    "retry": Wrapper("tdnsb", ("--times", "--delay", "--tries", "--sleep")),
    "dotenv": Wrapper("ef", ("--file",)),
    "chpst": Wrapper("uUbemdoplfcrtn/"),
    "softlimit": Wrapper("macdfloprst"),
    "pkexec": Wrapper("", ("--user",), ask="runs with other privileges"),
    "doas": Wrapper("aCu", ask="runs with other privileges"),
    "run0": Wrapper("uD", ("--user", "--chdir"), ask="runs with other privileges"),
    "gosu": Wrapper(skip=1, ask="runs as another user"),
    "su-exec": Wrapper(skip=1, ask="runs as another user"),
    "setpriv": Wrapper("", ("--reuid", "--regid", "--groups"), ask="runs with other privileges"),
    "capsh": Wrapper("", ask="runs with other privileges"),
    "chroot": Wrapper("", ("--userspec", "--groups"), skip=1, ask="changes the root directory"),
    "unshare": Wrapper(
        "SG", ("--map-user", "--map-group", "--setuid", "--setgid", "--root", "--wd"), ask="runs in other namespaces"
    ),
    "nsenter": Wrapper("tSG", ("--target", "--setuid", "--setgid"), ask="enters other namespaces"),
    "bwrap": Wrapper(
        "",
        ("--bind", "--ro-bind", "--dev", "--proc", "--tmpfs", "--chdir", "--setenv"),
        ask="runs in a sandbox of its own making",
    ),
    "firejail": Wrapper(ask="runs in a sandbox of its own making"),
    "systemd-run": Wrapper(
        "pEtH",
        ("--unit", "--property", "--setenv", "--on-calendar", "--on-active", "--uid", "--gid", "--slice"),
        ask="starts a service outside this shell",
    ),
    "start-stop-daemon": Wrapper(
        "xnpuaceN", ("--exec", "--name", "--pidfile", "--user", "--startas", "--chuid"), ask="starts a daemon"
    ),
    "daemonize": Wrapper("acepolEuS", ask="starts a daemon"),
    "aws-vault": Wrapper(ask="hands out credentials"),
}


def _judge(wrapper: Wrapper) -> Callable[[Invocation], Out | None]:
    def judge(inv: Invocation) -> Out | None:
        if wrapper.ask:
            inv.ask(wrapper.ask)
        parsed = inv.options(wrapper.values, wrapper.long_values, stop=True)
        if inv.name in ("strace", "ltrace", "perf") and parsed.has("-p"):
            inv.ask("enters another process")
        for option in parsed:
            if option.value is not None and option.value.text.lstrip().startswith(("|", "!")):
                inv.script(option.value.with_text(option.value.text.lstrip()[1:]))
            if option.value is not None and option.name in wrapper.shell:
                inv.script(option.value)
            if option.value is not None and option.name in wrapper.writes:
                inv.write(option.value)
        rest = parsed.rest[wrapper.skip :]
        if not rest:
            return ANYTHING
        if wrapper.joined and not parsed.has("-x", "--exec"):
            for text in [_join(rest)] if inv.name != "hyperfine" else [a for a in rest if not a.text.startswith("-")]:
                inv.script(text)
            return ANYTHING
        return inv.run(rest)

    return judge


for _name, _wrapper in _WRAPPERS.items():
    program(_name, reads=False)(_judge(_wrapper))


def _join(args: tuple[Arg, ...]) -> Arg:
    return Arg(" ".join(arg.text for arg in args), frozenset().union(*(arg.tags for arg in args)))
