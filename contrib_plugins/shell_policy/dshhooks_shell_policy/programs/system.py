"""Disks, processes, services, users, scheduling: what changes the machine rather than the workspace."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..registry import program
from ..values import Out

_DENY = {
    "destroys a file system or partition": "nwipe scrub sfill sswap sdmem mke2fs mkswap mkdosfs mkntfs mkreiserfs newfs wipefs blkdiscard sgdisk sfdisk cfdisk gdisk zpool lvremove vgremove pvremove mdadm cryptsetup hdparm nvme badblocks format diskpart",
    "stops the machine": "shutdown reboot poweroff halt init telinit",
    "changes accounts or privileges": "visudo vipw vigr passwd chpasswd useradd userdel usermod groupadd groupdel groupmod gpasswd adduser deluser addgroup delgroup newusers chsh chfn chage pwconv pwunconv dscl sysadminctl dseditgroup",
    "switches off protections": "spctl csrutil setenforce setsebool semodule audit2allow aa-disable aa-complain aa-teardown auditctl",
    "loads code into the kernel": "insmod rmmod modprobe kexec kextload kextunload",
}


_ASK = {
    "changes disks or mounts": "fdisk parted partprobe mount umount swapoff swapon losetup dmsetup resize2fs tune2fs e2fsck fsck xfs_repair lvcreate lvresize lvextend lvreduce lvrename lvconvert vgcreate vgreduce vgrename vgexport vgsplit vgcfgrestore pvcreate pvmove pvresize btrfs zfs mkisofs growisofs diskutil hdiutil tmutil fstrim debugfs eject",
    "changes the network or the firewall": "iptables ip6tables nft ufw firewall-cmd route arptables ebtables tc brctl nmcli networksetup pfctl hostnamectl ifup ifdown dhclient rfkill iwconfig",
    "changes how the machine starts or what it runs later": "update-rc.d chkconfig rc-update rc-service insserv update-alternatives alternatives grub-install update-grub grub-mkconfig efibootmgr bootctl ldconfig update-initramfs dracut anacron batch atrm incrontab fcrontab",
    "ends processes": "xkill slay killall5",
    "controls sessions or services": "sv svc s6-svc supervisorctl runsv dinitctl monit",
    "changes system settings": "hwclock netplan scutil nvram pmset timedatectl localectl raspi-config dconf gsettings tccutil profiles authconfig pam-auth-update update-ca-certificates update-crypto-policies trust",
    "debugs or injects into a process": "gcore injcode frida frida-trace bpftrace bpftool dtrace dtruss stap reptyr",
    "changes a Windows machine": "icacls cacls takeown bcdedit vssadmin wbadmin wsl wslconfig cipher fsutil manage-bde wevtutil robocopy attrib",
    "records the screen, the keyboard or the microphone": "screencapture scrot maim grim gnome-screenshot spectacle flameshot xwd ksnip wf-recorder imagesnap fswebcam arecord parecord pw-record rec evtest showkey logkeys xinput xspy script-recorder",
    "runs commands on other machines": "pssh parallel-ssh parallel-scp pdsh clush dsh cssh clusterssh mussh xpanes tmux-cssh rundeck",
    "applies a configuration to the machine": "chef-client chef-solo chef-apply cf-agent bolt dsc",
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
    elif "-a" in inv.texts and any(not is_page(text) for text in inv.texts if not text.startswith("-")):
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
