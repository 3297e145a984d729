"""Programs that talk to the network: downloads, uploads, tunnels, names looked up with data in them."""

from __future__ import annotations

import posixpath
import re

from ..invocation import Invocation
from ..patterns import later
from ..registry import program
from ..values import ANYTHING, NOTHING, UNKNOWN, Arg, Out
from .builtins import secret_variables

_LOCAL = later(
    r"(?:\w+://)?(?:[^/@]*@)?(?:localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\]|::1|host\.docker\.internal|[\w-]+\.(?:localhost|local|test))(?=[:/?#]|$)",
    re.IGNORECASE,
)
_METADATA = later(
    r"169\.254\.(?:169\.254|170\.2)|metadata\.google|100\.100\.100\.200|fd00:ec2|/latest/meta-data|2852039166|0xa9fea9fe",
    re.IGNORECASE,
)
_EXPECTS_TOKENS = later(
    r"https://(?:api\.[\w.-]+|[\w.-]*\.(?:github|gitlab|bitbucket|atlassian|slack|googleapis|azure|amazonaws|cloudflare|heroku|digitalocean|stripe|sentry|npmjs|pypi|circleci|vercel|netlify|openai|anthropic|huggingface)\.(?:com|org|io|co|net|app)|(?:github|gitlab|slack|huggingface|sentry|circleci)\.(?:com|co|io))(?:[:/]|$)"
)
DOWNLOADED = Out(None, frozenset({"net"}))


def is_local(url: str) -> bool:
    """Say whether a URL or host is this machine (or an obvious variable port on it)."""
    return bool(_LOCAL.match(url)) or bool(re.match(r"(?:https?://)?:\d+", url))


def _leaks(inv: Invocation, args: list[Arg], what: str) -> None:
    """Data of this machine in something that leaves it."""
    for arg in args:
        local_data = arg.tags & {"sub", "file", "environment", "machine", "stdin", "history", "git"} - {"num"}
        if not arg.known and local_data and arg.text.strip() != UNKNOWN:
            inv.ask(f"sends the output of a command in {what}")
    names = secret_variables(tuple(args))
    if names:
        inv.ask(f"sends the secret variable {', '.join(names)} in {what}")


_CURL_VALUES = "AbcCdDeEFhHKmoPQrtTuUwxXyYz"
_CURL_LONG = (
    "--request --header --data --data-raw --data-binary --data-urlencode --data-ascii --json --form --form-string --output --user --user-agent --referer --cookie --cookie-jar --max-time --connect-timeout"
    " --retry --retry-delay --retry-max-time --url --proxy --socks5 --preproxy --cacert --cert --key --config --upload-file --dump-header --range --write-out --resolve --interface --limit-rate --max-redirs --output-dir --unix-socket --netrc-file"
    " --trace --trace-ascii --stderr --etag-save --etag-compare --url-query --variable --expand-data --connect-to --ciphers --engine --libcurl --hsts --alt-svc --mail-from --mail-rcpt --oauth2-bearer --aws-sigv4"
).split()


@program("curl", reads=False)
def curl(inv: Invocation) -> Out | None:
    """Judges where data goes, where it comes from and what files are written."""
    p = inv.options(_CURL_VALUES.replace("h", ""), _CURL_LONG)
    urls = [*p.operands, *p.values("--url")]
    local = bool(urls) and all(is_local(url.text) for url in urls)
    _curl_files(inv, p)
    if p.has("-K", "--config"):
        inv.ask("takes its options from a file")
    if p.has("--engine"):
        inv.ask("loads an engine")
    if any("docker.sock" in value.text or "containerd" in value.text for value in p.values("--unix-socket")):
        inv.ask("drives the container daemon")
    if any(not is_local(value.text) for value in p.values("-x", "--proxy", "--socks5", "--preproxy")):
        inv.ask("goes through another machine")
    if re.search(r"_delete_by_query|:9200/_all|/_shutdown|/_cluster/settings", " ".join(inv.texts)) and p.has(
        "-X", "--request", "-d", "--data"
    ):
        inv.ask("removes data")
    _curl_data(inv, p, urls, local)
    method = " ".join(v.text for v in p.values("-X", "--request")).upper()
    if method and (
        (method.startswith("DELETE") and (not local or _DATA_PORT.search(urls[0].text)))
        or (method.startswith(("PUT", "PATCH")) and not local)
    ):
        inv.ask(f"sends a {method} request")
    for url in urls:
        inv.read_all([url]) if url.text.startswith("file:") else None
        if _METADATA.search(url.text):
            inv.deny("reads the credentials of the machine's cloud identity")
        if re.match(r"(?:ftp|tftp|sftp|scp|smtp|smb|telnet|gopher|dict|ldap)s?://", url.text) and (
            p.has("-T", "--upload-file", "-Q", "--quote") or not url.text.startswith(("ftp", "sftp"))
        ):
            inv.ask("speaks another protocol than HTTP")
    written = p.values("-o", "--output")
    return (
        NOTHING
        if (written and written[0].text not in ("-", "/dev/stdout")) or p.has("-O", "--remote-name")
        else DOWNLOADED
    )


def _curl_files(inv: Invocation, p) -> None:  # type: ignore[no-untyped-def]
    base = next(iter(p.values("--output-dir")), None)
    for value in [
        *p.values("-o", "--output"),
        *p.values(
            "-D",
            "--dump-header",
            "-c",
            "--cookie-jar",
            "--trace",
            "--trace-ascii",
            "--stderr",
            "--etag-save",
            "--libcurl",
            "--hsts",
            "--alt-svc",
        ),
    ]:
        if value.text not in ("-", "/dev/null"):
            target = value if base is None else value.with_text(posixpath.join(base.text, value.text))
            inv.write(target, DOWNLOADED)
    if p.has("-O", "--remote-name", "-J", "--remote-header-name"):
        for url in p.operands:
            name = url.text.split("?")[0].rstrip("/").rsplit("/", 1)[-1]
            inv.write(url.with_text(posixpath.join(base.text if base else "", name)), DOWNLOADED)
    for value in p.values("-b", "--cookie", "--netrc-file", "--cert", "-E", "--key"):
        inv.read(value)


def _curl_data(inv: Invocation, p, urls: list[Arg], local: bool) -> None:  # type: ignore[no-untyped-def]
    bodies = p.values(
        "-d",
        "--data",
        "--data-raw",
        "--data-binary",
        "--data-urlencode",
        "--data-ascii",
        "--json",
        "-F",
        "--form",
        "--form-string",
        "--url-query",
    )
    uploads = p.values("-T", "--upload-file")
    for body in bodies:
        found = re.match(r"(?:[^=@<\s]*=)?[@<](.*)", body.text, re.DOTALL)
        if found and not p.values("--data-raw", "--form-string"):
            inv.read(body.with_text(found.group(1).split(";")[0]))
            if not local:
                inv.ask("uploads a file or its input")
    for upload in uploads:
        inv.read(upload)
        if not local:
            inv.ask("uploads a file or its input")
    if local:
        return
    _leaks(inv, [*urls, *bodies], "a request")
    headers = p.values("-H", "--header", "-u", "--user", "-A", "--user-agent", "-e", "--referer", "-b", "--cookie")
    for header in headers:
        if header.text.startswith("@"):
            inv.ask("sends a file as headers")
        if secret_variables((header,)) and not all(_EXPECTS_TOKENS.match(url.text) for url in urls):
            inv.ask("sends a secret variable to a host that is not known for it")
        if not header.known and header.tags & {"sub", "file", "environment", "machine"} and "hook" not in header.tags:
            inv.ask("sends the output of a command in a header")
    if bodies and not all(url.text.startswith(("https://api.", "http://api.")) for url in urls):
        inv.ask("sends data to another machine")


@program("wget", "wget2", reads=False)
def wget(inv: Invocation) -> Out | None:
    """Like curl, with a file by default."""
    p = inv.options(
        "oaetOTwQPDUlARIXBi",
        "--output-document --directory-prefix --post-data --post-file --body-data --body-file --method "
        "--header --use-askpass --config --execute --user --password --output-file --append-output "
        "--input-file --level --tries --timeout --user-agent --domains --accept --reject --warc-file",
    )
    local = bool(p.operands) and all(is_local(url.text) for url in p.operands)
    if p.has("--use-askpass", "--config", "--execute", "-e"):
        inv.ask("is told to run a program or take other settings")
    for value in p.values("--post-file", "--body-file", "-i", "--input-file"):
        inv.read(value)
        if p.has("--post-file", "--body-file"):
            inv.ask("uploads a file")
    if not local:
        _leaks(
            inv, [*p.operands, *p.values("--post-data", "--body-data", "--header", "--user-agent", "-U")], "a request"
        )
        if p.has("--post-data", "--body-data", "--method"):
            inv.ask("sends data to another machine")
    if any(_METADATA.search(url.text) for url in p.operands):
        inv.deny("reads the credentials of the machine's cloud identity")
    outputs = p.values("-O", "--output-document")
    prefix = next(iter(p.values("-P", "--directory-prefix")), None)
    for value in [*outputs, *p.values("-o", "--output-file", "-a", "--append-output")]:
        if value.text not in ("-", "/dev/null", "/dev/stdout"):
            inv.write(value, DOWNLOADED)
    if outputs:
        return DOWNLOADED if outputs[0].text in ("-", "/dev/stdout") else NOTHING
    if prefix is not None:
        inv.write(prefix.with_text(prefix.text.rstrip("/") + "/x"), None)
    if any("://" in value.text for value in p.values("-i", "--input-file")):
        inv.ask("downloads what a list on another machine names")
    for url in p.operands:
        name = url.text.split("?")[0].rstrip("/").rsplit("/", 1)[-1]
        inv.write(url.with_text(posixpath.join(prefix.text if prefix else "", name)), DOWNLOADED)
    return NOTHING


#: Ports of data stores that are driven over HTTP.
_DATA_PORT = later(r":(?:9200|5984|6333|7700|8108|8983|8086|8123|8529|2379|8500|8200|15672|8081|9090|2375)(?:/|$)")


@program(
    "http httpx hurl grpcurl websocat wscat",
    reads=False,
)
def http(inv: Invocation) -> Out | None:
    """HTTPie and its kin."""
    words = [arg for arg in inv.args if not arg.text.startswith("-")]
    verb = (
        words[0].text.upper()
        if words and words[0].text.upper() in ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
        else ""
    )
    urls = words[1:2] if verb else words[:1]
    local = bool(urls) and is_local(urls[0].text)
    for arg in inv.args:
        found = re.match(r"(?:[^=@]*[:=]?[=]?)@(.+)", arg.text)
        if found and "://" not in arg.text:
            inv.read(arg.with_text(found.group(1)))
            if not local:
                inv.ask("uploads a file")
    if not local and (
        verb in ("POST", "PUT", "PATCH", "DELETE")
        or inv.stdin.tags
        or any("=" in w.text and "==" not in w.text for w in words[1:] if "://" not in w.text)
    ):
        inv.ask("sends data to another machine")
    if not local:
        _leaks(inv, words, "a request")
    return DOWNLOADED


@program(
    "aria2c axel fetch lynx w3m links elinks lwp-request GET POST yt-dlp youtube-dl ftp lftp tftp ncftp ncftpput "
    "sftp smbclient rclone s3cmd s5cmd mc b2 croc wormhole magic-wormhole transfer sshfs ssh-copy-id mosh telnet "
    "rsh rcp rlogin rexec bitsadmin certutil",
)
def transfers(inv: Invocation) -> Out | None:
    """Other ways to move data between machines."""
    if inv.name in ("aria2c", "axel", "fetch"):
        p = inv.options("od", "--out --dir --on-download-complete --conf-path")
        for url in p.operands:
            inv.write(url.with_text(url.text.rstrip("/").rsplit("/", 1)[-1]), DOWNLOADED)
        for value in p.values("-o", "--out"):
            inv.write(value, DOWNLOADED)
        if any(text.startswith("--on-") for text in inv.texts):
            inv.ask("runs a command when it is done")
        return DOWNLOADED
    if inv.name in ("lynx", "w3m", "links", "elinks", "GET", "lwp-request"):
        _leaks(inv, list(inv.args), "a request")
        return DOWNLOADED
    if inv.name in ("yt-dlp", "youtube-dl"):
        if any(text.startswith("--exec") or text.startswith("--downloader") for text in inv.texts):
            inv.ask("runs a command")
        return ANYTHING
    if (
        inv.name in ("s3cmd", "s5cmd", "mc", "rclone", "b2")
        and inv.texts[:1]
        and inv.texts[0]
        in ("ls", "la", "du", "info", "lsf", "lsd", "lsl", "size", "version", "about", "stat", "listremotes")
    ):
        return ANYTHING
    inv.ask("moves data to or from another machine")
    return DOWNLOADED


@program(
    "nc socat cryptcat sbd powercat pwncat chisel ligolo gost frpc frps ngrok cloudflared localtunnel lt bore "
    "tailscale zerotier-cli serveo pagekite iodine dnscat dnscat2 ptunnel stunnel sshuttle autossh wg wg-quick "
    "openvpn",
)
def raw(inv: Invocation) -> Out | None:
    """Raw connections and tunnels; ``nc -z`` only knocks."""
    texts = inv.texts
    if inv.name == "nc" and any(re.fullmatch(r"-\w*z\w*", text) for text in texts):
        return ANYTHING
    if inv.name == "tailscale" and texts[:1] in (["status"], ["ip"], ["version"]):
        return ANYTHING
    if (
        any(re.fullmatch(r"-\w*[ec]\w*|--exec|--sh-exec|--lua-exec", text) for text in texts) and inv.name == "nc"
    ) or any(re.search(r"(?i)\b(?:exec|system):", text) for text in texts):
        inv.deny("connects a program to the network")
    if (
        inv.name == "nc"
        and not any(re.fullmatch(r"-\w*l\w*", text) for text in texts)
        and any(is_local(text) for text in texts)
    ):
        if (inv.stdin.text is None and inv.stdin.tags) or re.search(
            r"(?i)flush|delete|shutdown|config|eval", inv.stdin.text or ""
        ):
            inv.ask("sends commands to a local server")
        return DOWNLOADED
    inv.ask("opens a raw connection or tunnel")
    return DOWNLOADED


@program(
    "dig nslookup host ping ping6 drill kdig dog traceroute tracepath mtr whois resolvectl getent delv nmap masscan "
    "hping3 fping arping tcpdump tshark logger",
)
def names(inv: Invocation) -> Out | None:
    """A looked-up name carries data when a command's output is in it."""
    for arg in inv.args:
        local = arg.tags & {"sub", "file", "environment", "machine", "stdin", "glob"}
        personal = arg.tags & {"env:USER", "env:LOGNAME", "env:HOSTNAME", "env:HOST", "env:HOME"}
        if (
            not arg.known and (local or personal) and (arg.text.strip() != UNKNOWN or "sub" in arg.tags)
        ) or secret_variables((arg,)):
            inv.ask("sends data in the name it asks for")
    if inv.name in ("nmap", "masscan", "hping3") and (
        not all(
            is_local(text) or text.startswith("-") or text.isdigit() or re.fullmatch(r"[\d,-]+", text)
            for text in inv.texts
        )
        or any(text.startswith("--script") for text in inv.texts)
    ):
        inv.ask("scans the network or runs scripts")
    if inv.name in ("tcpdump", "tshark"):
        p = inv.options("ciwrzFWGCsBjTEZy")
        if p.has("-z"):
            inv.deny("an option makes tcpdump run a program")
        for value in p.values("-w"):
            inv.write(value)
        inv.ask("records network traffic")
    if inv.name in ("ping", "ping6") and inv.options("cipsWwIMtTQSlmD").has("-f"):
        inv.ask("floods the network")
    if inv.name == "logger" and inv.options("nPfptu", "--server --file --port").has("-n", "--server"):
        inv.ask("sends log lines to another machine")
    if inv.name == "dig" and inv.options("fbckpqtxy").has("-f"):
        inv.ask("sends the lines of a file as names")
    if inv.name == "getent" and inv.texts[:1] in (["shadow"], ["gshadow"]):
        inv.deny("reads password hashes")
    return Out(None, frozenset({"net"}))


@program(
    "mail mailx mutt neomutt sendmail msmtp ssmtp swaks mpack nail s-nail exim exim4 postdrop telegram-send "
    "slackcat notify apprise",
)
def mail(inv: Invocation) -> None:
    """Sends messages out of the machine."""
    inv.ask("sends mail or messages")
    inv.read_all(inv.args)
