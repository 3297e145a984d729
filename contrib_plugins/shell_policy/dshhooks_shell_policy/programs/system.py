"""Disks, processes, services, users, scheduling: what changes the machine rather than the workspace."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..paths import read_kind
from ..registry import program
from ..values import ANYTHING, UNKNOWN, Arg, Out

_DENY = {
    "destroys a file system or partition": "nwipe scrub sfill sswap sdmem mke2fs mkswap mkdosfs mkntfs mkreiserfs newfs wipefs blkdiscard sgdisk sfdisk cfdisk gdisk zpool lvremove vgremove pvremove mdadm cryptsetup hdparm nvme badblocks format diskpart",
    "stops the machine": "shutdown reboot poweroff halt init telinit",
    "changes accounts or privileges": "visudo vipw vigr passwd chpasswd useradd userdel usermod groupadd groupdel groupmod gpasswd adduser deluser addgroup delgroup newusers chsh chfn chage pwconv pwunconv dscl sysadminctl dseditgroup",
    "switches off protections": "spctl csrutil setenforce aa-disable aa-teardown auditctl",
    "loads code into the kernel": "insmod rmmod modprobe kexec kextload kextunload",
}
_ASK = {
    "changes disks or mounts": "fdisk parted partprobe mount umount swapoff swapon losetup dmsetup resize2fs tune2fs e2fsck fsck xfs_repair lvcreate lvresize lvextend lvreduce vgcreate pvcreate btrfs zfs mkisofs growisofs diskutil hdiutil tmutil fstrim debugfs eject",
    "changes the network or the firewall": "iptables ip6tables nft ufw firewall-cmd route arptables ebtables tc brctl nmcli networksetup pfctl hostnamectl ifup ifdown dhclient rfkill iwconfig",
    "changes how the machine starts or what it runs later": "update-rc.d chkconfig rc-update rc-service insserv update-alternatives alternatives grub-install update-grub grub-mkconfig efibootmgr bootctl ldconfig update-initramfs dracut anacron batch atrm incrontab fcrontab",
    "ends processes": "xkill slay killall5",
    "controls sessions or services": "sv svc s6-svc supervisorctl runsv dinitctl monit",
    "changes system settings": "scutil nvram pmset timedatectl localectl raspi-config dconf gsettings tccutil profiles authconfig pam-auth-update update-ca-certificates update-crypto-policies trust",
    "debugs or injects into a process": "gcore injcode frida frida-trace bpftrace bpftool dtrace dtruss stap reptyr",
    "drives the desktop": "xclip-paste wmctrl automator shortcuts",
}
for _reason, _names in _DENY.items():

    def _make_deny(reason: str):  # type: ignore[no-untyped-def]
        def judge(inv: Invocation) -> None:
            if (
                not all(
                    text in ("--help", "--version", "-h", "-V", "-l", "--list", "status", "list", "--status", "-S")
                    for text in inv.texts
                )
                or not inv.args
            ):
                inv.deny(reason)

        return judge

    program(*_names.split())(_make_deny(_reason))
for _reason, _names in _ASK.items():

    def _make_ask(reason: str):  # type: ignore[no-untyped-def]
        def judge(inv: Invocation) -> None:
            shows = {
                "--help",
                "--version",
                "-h",
                "-V",
                "-l",
                "--list",
                "status",
                "list",
                "--status",
                "-S",
                "-L",
                "-n",
                "show",
                "device",
                "info",
                "avail",
                "-t",
                "print",
                "-p",
            }
            if any(text not in shows for text in inv.texts) or (
                not inv.args and inv.name not in ("mount", "route", "timedatectl", "hostnamectl", "localectl")
            ):
                inv.ask(reason)

        return judge

    program(*_names.split())(_make_ask(_reason))


@program("kill", reads=False)
def kill(inv: Invocation) -> None:
    """Ends processes: one known number or job is fine, init, everything and computed lists are not."""
    args = list(inv.args)
    if args and re.fullmatch(r"-(?:l|L|-list|-table)", args[0].text):
        return
    signal = ""
    while args and args[0].text.startswith("-") and args[0].text != "-1":
        option = args.pop(0).text
        signal += option
        if option in ("-s", "-n", "--signal", "-q") and args:
            signal += args.pop(0).text
        if option == "--":
            break
    if re.match(r"-?-?1$", args[0].text if args else "") and not signal and len(args) > 1:
        args.pop(0)  # kill -1 PID is the hang-up signal
    for target in args:
        if re.fullmatch(r"-1|0*1|-0*1|0", target.text):
            inv.deny(
                "ends every process it can"
                if target.text.startswith("-")
                else "ends the first process or its own group"
            )
        elif re.match(r"-\d+$", target.text):
            inv.ask("ends a whole process group")
        elif "var:PPID" in target.tags or "env:PPID" in target.tags:
            inv.ask("ends the process this runs in")
        elif (
            target.glob or "glob" in target.tags or (not target.known and target.tags & {"sub", "stdin"})
        ) and not target.tags & {"pidfile"}:
            inv.ask("ends processes that are not known before")


@program("killall", "pkill", "skill", "pgrep-kill", reads=False)
def killall(inv: Invocation) -> None:
    """Ends processes by name."""
    if not any(text in ("-l", "--list", "-0", "-V", "--version") for text in inv.texts):
        inv.ask("ends processes by name")


@program("fuser", reads=False)
def fuser(inv: Invocation) -> None:
    """``-k`` ends the users of a file."""
    if inv.options("nsM").has("-k", "--kill"):
        inv.ask("ends the processes that use it")


@program("lsof", "pgrep", "pidof", reads=False)
def process_numbers(inv: Invocation) -> Out | None:
    """Prints process numbers."""
    return Out(None, frozenset({"pids"}))


@program("systemctl", reads=False)
def systemctl(inv: Invocation) -> Out | None:
    """Looks are free; everything that changes a unit asks."""
    shows = (
        "status",
        "is-active",
        "is-enabled",
        "is-failed",
        "list-units",
        "list-unit-files",
        "list-timers",
        "list-sockets",
        "list-dependencies",
        "show",
        "cat",
        "help",
        "--version",
        "get-default",
        "list-jobs",
        "list-machines",
        "is-system-running",
        "list-automounts",
        "list-paths",
    )
    verb = next((text for text in inv.texts if not text.startswith("-")), "list-units")
    if verb in (
        "reboot",
        "poweroff",
        "halt",
        "kexec",
        "suspend",
        "hibernate",
        "isolate",
        "rescue",
        "emergency",
        "default",
        "soft-reboot",
        "exit",
    ):
        inv.deny("stops the machine")
    elif verb not in shows and verb != "show-environment":
        inv.ask(f"changes services: {verb}")
    return Out(None, frozenset({"environment"} if verb == "show-environment" else set()))


@program(
    "service launchctl loginctl initctl rcctl pm2 brew-services sc net schtasks reg wmic pw",
    reads=False,
)
def service(inv: Invocation) -> None:
    """Service managers: looks are free."""
    shows = {
        "status",
        "list",
        "print",
        "--status-all",
        "list-sessions",
        "show-session",
        "list-users",
        "ls",
        "logs",
        "info",
        "describe",
        "query",
        "version",
        "help",
        "blame",
        "error",
        "getenv",
        "managername",
        "monit",
        "env",
    }
    words = [text for text in inv.texts if not text.startswith("-")]
    looks = words[1:2] if inv.name in ("service", "rcctl") else words[:1]
    if (looks and looks[0] not in shows) or (
        not looks and inv.args and "--status-all" not in inv.texts and not all(t.startswith("--v") for t in inv.texts)
    ):
        inv.ask("starts, stops or installs services" if inv.name != "pm2" else "manages background processes")


@program("crontab", reads=False)
def crontab(inv: Invocation) -> None:
    """``-l`` lists, everything else changes what runs later."""
    if "-l" in inv.texts and not {"-r", "-e"} & set(inv.texts):
        return
    inv.deny("changes what runs on a schedule")
    if inv.stdin.text:
        for line in inv.stdin.text.splitlines():
            words = line.split(None, 5)
            if len(words) == 6:
                inv.script(words[5])


@program("at", reads=False)
def at(inv: Invocation) -> None:
    """Runs commands later."""
    if not {"-l", "-V", "-c"} & set(inv.texts):
        inv.deny("runs commands later")


@program("sysctl", reads=False)
def sysctl(inv: Invocation) -> None:
    """Reading is free."""
    if any(
        text.startswith(("-w", "--write", "-p", "--load", "--system")) or ("=" in text and not text.startswith("-"))
        for text in inv.texts
    ):
        inv.ask("changes kernel settings")


@program("mkfs", "fdformat", reads=False)
def mkfs(inv: Invocation) -> None:
    """Makes file systems."""
    inv.deny("destroys a file system")


@program("ifconfig", reads=False)
def ifconfig(inv: Invocation) -> None:
    """Only looks with at most an interface."""
    if len([text for text in inv.texts if not text.startswith("-")]) > 1:
        inv.ask("changes the network")


@program("dmesg", "journalctl", reads=False)
def logs(inv: Invocation) -> None:
    """Clearing or rotating logs asks."""
    if any(re.match(r"-C$|-c$|--clear|--read-clear|--vacuum|--rotate|--flush", text) for text in inv.texts):
        inv.ask("clears logs")


@program("defaults", "xattr", reads=False)
def defaults(inv: Invocation) -> None:
    """macOS settings: reading is free."""
    if (
        inv.name == "defaults"
        and inv.texts[:1]
        and inv.texts[0] not in ("read", "read-type", "domains", "find", "help")
    ):
        inv.ask("changes settings of programs")
    if inv.name == "xattr" and any(re.match(r"-\w*[wdc]", text) for text in inv.texts):
        inv.ask("changes file attributes such as the quarantine mark")


@program(
    "pbpaste xclip xsel wl-paste xdg-open open start explorer",
)
def desktop(inv: Invocation) -> Out | None:
    """The clipboard may hold secrets; opening starts programs."""
    if inv.name in ("pbpaste", "wl-paste") or (
        inv.name in ("xclip", "xsel") and any(text in ("-o", "-out", "--output") for text in inv.texts)
    ):
        inv.ask("reads the clipboard")
    elif inv.name in ("xdg-open", "open", "start", "explorer"):
        if any(not is_page(text) for text in inv.texts if not text.startswith("-")) and "-a" in inv.texts:
            inv.ask("starts another program")
    return Out(None, frozenset({"file"}))


def is_page(text: str) -> bool:
    """Say whether the operand is a web page or a document rather than a program."""
    return bool(re.match(r"https?://", text)) or bool(re.search(r"\.(?:html?|pdf|png|jpe?g|svg|md|txt|csv)$", text))


@program("ps", "top", "htop", reads=False)
def ps(inv: Invocation) -> Out | None:
    """``ps e`` shows environments."""
    if inv.name == "ps" and inv.texts and re.fullmatch(r"[a-zA-Z]*e[a-zA-Z]*", inv.texts[0]):
        inv.ask("shows the environment of processes")
    return Out(None, frozenset({"pids"}))


@program("printenv", reads=False)
def printenv(inv: Invocation) -> Out | None:
    """Prints variables; secret ones ask."""
    from .builtins import is_secret_name

    for text in inv.texts:
        if is_secret_name(text):
            inv.ask("prints the secret variable " + text)
    return Out(None, frozenset({"environment"}) if not inv.args else frozenset({"env:" + inv.texts[0]}))


@program(
    "grep rg ag ack ugrep zgrep pt",
    reads=False,
)
def grep(inv: Invocation) -> Out | None:
    """Searches: the pattern is data, the files are read, some options run programs."""
    p = inv.options(
        "efABCmgtTMjdD" if inv.name != "grep" else "efABCmdD",
        "--regexp --file --glob --type --type-not --max-count --context --after-context --before-context "
        "--include --exclude --exclude-dir --color --pre --pre-glob --hostname-bin --ignore-file --max-depth "
        "--pager --sort --replace --engine --threads",
        longs=("--pretty", "--pcre2", "--no-ignore"),
    )
    if inv.name != "grep" and any(
        option.name in ("--pre", "--hostname-bin", "--pager", "--search-zip-command")
        or (option.name.startswith("--pre") and option.name not in ("--pretty", "--pre-glob"))
        for option in p
    ):
        inv.ask("runs a program on every file")
    files = p.operands if p.has("-e", "--regexp", "-f", "--file", "--files", "--type-list") else p.operands[1:]
    inv.read_all([*files, *p.values("-f", "--file")])
    pattern = " ".join(a.text for a in [*p.operands[:1], *p.values("-e", "--regexp")])
    recursive = inv.name in ("rg", "ag", "ack") or p.has("-r", "-R", "--recursive", "--dereference-recursive")
    if (
        any(
            place in ("~", "/", "~/.config") or (place.startswith("/etc") and recursive and place == "/etc")
            for f in files
            for place in inv.places(f)
        )
        and recursive
        and re.search(r"(?i)passw|secret|token|api.?key|private key|BEGIN|credential|AKIA|ghp_|sk-", pattern)
    ):
        inv.ask("searches the whole home or machine for secrets")
    if (
        "environment" in inv.stdin.tags
        and re.search(r"(?i)passw|secret|token|key|cred|auth|private|\bpat\b|aws|github|gh_|openai|anthropic", pattern)
        and not p.has("-v", "--invert-match")
    ):
        inv.ask("looks for secrets in the environment")
    if (
        inv.stdin.tags & {"docker", "cluster", "cloud"}
        and re.search(r"(?i)passw|secret|private.?key", pattern)
        and not p.has("-v", "--invert-match")
    ):
        inv.ask("looks for secrets in what runs")
    if "history" in inv.stdin.tags and re.search(r"(?i)pass|secret|token|key|cred|auth", pattern):
        inv.ask("looks for secrets in the history")
    return inv.stdin.derived("file") if files else inv.stdin.derived()


@program(
    "strings xxd hexdump od base64 base32 basenc uuencode uudecode rev tr cut paste column fold fmt expand unexpand "
    "uniq comm join wc md5sum sha1sum sha256sum shasum cksum gzip gunzip bzip2 bunzip2 xz unxz zstd lz4 numfmt shuf "
    "tsort",
)
def filters(inv: Invocation) -> Out | None:
    """Text filters: what they print comes from what they read."""
    if "environment" in inv.stdin.tags and inv.name in (
        "base64",
        "base32",
        "xxd",
        "hexdump",
        "od",
        "gzip",
        "xz",
        "uuencode",
        "rev",
    ):
        inv.ask("encodes the environment")
    if inv.name in ("uniq", "xxd"):
        operands = inv.options("fswlcogs").operands
        for target in operands[1:2]:
            inv.write(target)
    if inv.name in ("base64", "uudecode", "shuf"):
        for value in inv.options("owbin", ("--output", "--wrap")).values("-o", "--output"):
            inv.write(value)
    if inv.name in ("gunzip", "bunzip2", "unxz") and not {"-c", "--stdout", "-k", "-t", "-l"} & set(inv.texts):
        for arg in inv.args:
            inv.write(arg.with_text(re.sub(r"\.(?:gz|bz2|xz)$", "", arg.text)), Out(None, frozenset({"file"})))
    return inv.stdin.derived("file" if any(not a.text.startswith("-") for a in inv.args) else "filtered")


@program("jq", "yq", "dasel", "gron", "xq", reads=False)
def query(inv: Invocation) -> Out | None:
    """The first operand is a filter; ``env`` in it is the environment."""
    p = inv.options("fL", ("--from-file", "--indent"))
    operands = list(p.operands)
    program_text = operands.pop(0).text if operands and not p.has("-f", "--from-file") else ""
    if re.search(r"(?<![.\w\"'])env\b(?!\s*[:=])|\$ENV\b|strenv|envsubst", program_text):
        inv.ask("prints the environment")
    inv.read_all([*operands, *p.values("-f", "--from-file")])
    for index, text in enumerate(inv.texts):
        if text in ("--slurpfile", "--rawfile") and index + 2 < len(inv.args):
            inv.read(inv.args[index + 2])
    if inv.name == "yq" and any(re.match(r"-\w*i|--inplace|--in-place", text) for text in inv.texts):
        for target in operands or p.operands:
            inv.write(target, None)
    return inv.stdin.derived("file" if operands else "filtered")


_METADATA_ONLY = "ls stat file du tree eza exa lsd realpath readlink df dirname"


@program(*_METADATA_ONLY.split(), reads=False)
def metadata(inv: Invocation) -> Out | None:
    """Show names and sizes, not contents; the names of secrets stay marked."""
    if inv.name == "file":
        inv.read_all(inv.options("f", ("--files-from",)).values("-f", "--files-from"))
    secret = {
        "path:" + arg.text
        for arg in inv.args
        if inv.name == "ls" and any(read_kind(place) for place in inv.places(arg))
    }
    return Out(None, frozenset({"file"} | secret))


@program("sort", reads=True)
def sort(inv: Invocation) -> Out | None:
    """``-o`` writes, ``--compress-program`` runs."""
    p = inv.options(
        "okStT",
        "--output --key --field-separator --compress-program --temporary-directory --files0-from "
        "--buffer-size --random-source --parallel --batch-size",
    )
    for value in p.values("-o", "--output"):
        inv.write(value)
    for value in p.values("--compress-program"):
        if value.text not in ("gzip", "zstd", "lz4", "bzip2", "xz", "lzop", "pigz"):
            inv.ask("runs a program: " + value.text.replace(UNKNOWN, "…"))
    return inv.stdin.derived()
