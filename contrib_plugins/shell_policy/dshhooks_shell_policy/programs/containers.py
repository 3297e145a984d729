"""Containers: docker, compose and other runtimes."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..paths import Kind, is_broad, normalize, read_kind, write_kind
from ..patterns import later
from ..registry import program
from ..values import ANYTHING, Arg, Out

_RUN_VALUES = "vepwuhlamc"


_RUN_LONG = (
    "--volume --env --publish --workdir --user --name --network --net --hostname --mount --entrypoint --cap-add --cap-drop --device --security-opt --pid --ipc --uts --userns --env-file --label --memory --cpus --gpus --platform"
    " --restart --add-host --dns --link --log-driver --log-opt --shm-size --tmpfs --ulimit --volumes-from --cidfile --pull --ip --expose --runtime --cgroupns --group-add --health-cmd --stop-signal --cgroup-parent --detach-keys --attach"
).split()


_RUN_PREFIXES = ("--volume", "--mount", "--device")


@program(
    "docker docker-compose buildah ctr crictl lxc lxd incus runc crun singularity apptainer",
    reads=False,
)
def docker(inv: Invocation) -> Out | None:
    """Builds, runs and reads pass; what removes data or opens the host does not."""
    args = list(inv.args)
    compose = inv.name == "docker-compose"
    while args and args[0].text.startswith("-"):
        option = args.pop(0).text
        if (
            option
            in (
                "-H",
                "--host",
                "--context",
                "-c",
                "--config",
                "-l",
                "--log-level",
                "-f",
                "--file",
                "-p",
                "--project-name",
                "--profile",
                "--env-file",
                "--project-directory",
                "-n",
                "--namespace",
            )
            and args
        ):
            value = args.pop(0)
            if option in ("-H", "--host", "--context", "-c"):
                inv.ask("works on another docker host: " + value.text)
        elif option.startswith(("-H", "--host=", "--context=")):
            inv.ask("works on another docker host")
    if not args:
        return ANYTHING
    verb, rest = args[0].text, args[1:]
    if inv.name not in ("docker", "docker-compose"):
        return _other_runtime(inv, verb, rest)
    if compose or verb == "compose":
        return _compose(inv, rest if verb == "compose" and not compose else args)
    words = [a.text for a in rest if not a.text.startswith("-")]
    return _verb(inv, verb, rest, words)


def _verb(inv: Invocation, verb: str, rest: list[Arg], words: list[str]) -> Out | None:
    texts = [a.text for a in rest]
    if (
        verb in ("container", "image")
        and words[:1]
        and words[0] in ("run", "exec", "create", "rm", "cp", "build", "push", "ls", "inspect")
    ):
        index = texts.index(words[0])
        verb, rest, texts, words = words[0], rest[index + 1 :], texts[index + 1 :], words[1:]
    if verb in ("run", "create"):
        return _run(inv, rest)
    if verb == "exec":
        return _exec(inv, rest)
    if verb in (
        "system",
        "volume",
        "image",
        "container",
        "builder",
        "network",
        "buildx",
        "stack",
        "swarm",
        "node",
        "service",
        "context",
        "plugin",
        "secret",
        "config",
        "machine",
    ):
        _managed(inv, verb, words, texts)
    elif verb in ("rm", "rmi"):
        if re.search(r"(?:^|\s)-\w*[fv]|--force|--volumes|--all", " ".join(texts)) or any(
            a.tags & {"sub", "stdin"} for a in rest
        ):
            inv.ask("removes containers or images by force")
    elif verb in ("push", "login", "commit", "export", "save", "import", "load", "plugin"):
        if verb in ("push", "login"):
            inv.ask("publishes an image" if verb == "push" else "logs in to a registry")
        if any("://" in word for word in words):
            inv.ask("brings an image in from the network")
        for index, text in enumerate(texts):
            if text in ("-o", "--output") and index + 1 < len(rest):
                inv.write(rest[index + 1])
    elif verb == "trust":
        inv.ask("changes which images are trusted")
    elif verb == "kill" and any(a.tags & {"sub", "stdin"} for a in rest):
        inv.ask("ends containers that are not known")
    elif verb == "cp" and len(words) == 2:
        operands = [a for a in rest if not a.text.startswith("-")]
        inv.read(operands[0]) if ":" not in operands[0].text else None
        taken = normalize(operands[0].text.split(":", 1)[-1])
        if ":" in operands[0].text and read_kind(taken) is not None:
            inv.ask("copies a secret out of a container: " + taken[:60])
        inside = operands[1].text.split(":", 1)[-1]
        if ":" not in operands[1].text:
            inv.write(operands[1])
        elif write_kind(normalize(inside)) in (Kind.PERSISTENCE, Kind.POLICY):
            inv.ask("copies into a container to where it is run or obeyed later: " + inside[:60])
    elif verb in ("build", "buildx"):
        _build(inv, rest)
    elif verb == "inspect" and any(re.search(r"\.Env\b|\.Config\}", text) for text in texts):
        inv.ask("prints the environment of a container")
    return Out(None, frozenset({"docker"}))


def _managed(inv: Invocation, verb: str, words: list[str], texts: list[str]) -> None:
    action = words[0] if words else ""
    if action in ("rm", "remove", "disconnect") and any(a.tags & {"sub", "stdin"} for a in inv.args):
        inv.ask(f"removes {verb}s that are not known")
    if action in (
        "prune",
        "rm",
        "remove",
        "reset",
        "leave",
        "demote",
        "update",
        "scale",
        "init",
        "join",
        "deploy",
    ) and not (verb == "buildx" and action == "rm"):
        if not (verb == "network" and action == "rm") and not (
            verb == "image" and action == "rm" and not {"-f", "--force"} & set(texts)
        ):
            inv.ask(f"{action} of {verb}s removes or changes data")
    elif (verb, action) in (
        ("context", "use"),
        ("context", "create"),
        ("plugin", "install"),
        ("secret", "inspect"),
        ("image", "push"),
        ("volume", "create"),
    ) and (verb, action) != ("volume", "create"):
        inv.ask(f"{action} of a {verb}")
    elif verb == "buildx" and action == "build":
        _build(inv, [Arg(text) for text in texts])


def _build(inv: Invocation, rest: list[Arg]) -> None:
    p = inv.with_args(rest).options(
        "ftoc",
        "--file --tag --build-arg --secret --ssh --output --target --platform --cache-from --cache-to "
        "--network --build-context --iidfile",
    )
    for value in p.values("--secret", "--ssh"):
        inv.engine.read_argument(value, inv.state)
        inv.ask("gives a secret or key to a build")
    for value in p.values("-o", "--output"):
        inv.engine.write(value.with_text(re.sub(r".*dest=", "", value.text)), inv.state, None)
    if p.has("--allow", "--push", "--privileged"):
        inv.ask("builds with privileges or publishes")
    if any(re.match(r"(?:https?|git|ssh)://|git@", operand.text) for operand in p.operands):
        inv.ask("builds what is fetched from the network")


def _run(inv: Invocation, rest: list[Arg]) -> Out | None:
    p = inv.with_args(rest).options(_RUN_VALUES, _RUN_LONG, stop=True)
    for option in p:
        value = option.value
        if option.name in ("-v", "--volume", "--mount", "--volumes-from", "--device") and value is not None:
            _mount(inv, option.name, value)
        elif (
            option.name == "--env-file"
            and value is not None
            and any(read_kind(place) is Kind.SECRET for place in inv.places(value))
        ):
            inv.read(value)
        elif (
            option.name in ("--network", "--net") and value is not None and value.text == "host" and p.has("--restart")
        ):
            inv.ask("starts a service in the network of the machine")
        elif option.name in ("--privileged", "--cap-add", "--security-opt", "--device-cgroup-rule"):
            inv.ask("gives a container more rights: " + option.name)
        elif (
            option.name in ("--pid", "--ipc", "--uts", "--userns", "--cgroupns", "--network", "--net")
            and value is not None
            and value.text.startswith("host")
            and option.name not in ("--network", "--net")
        ):
            inv.ask("shares namespaces of the machine with a container")
    return judge_inside(inv, list(p.rest[1:]), p.values("--entrypoint"))


def _mount(inv: Invocation, name: str, value: Arg) -> None:
    text = value.text
    named = re.search(r"(?:source|src)=([^,]*)", text)
    source = named.group(1) if named else text.split(":")[0]
    if name == "--device" and not re.match(r"/dev/(?:dri|kvm|video|snd|ttyUSB|ttyACM|fuse|net/tun)", source):
        inv.ask("gives a device to a container: " + source)
        return
    for cwd in inv.state.cwds:
        place = normalize(source, cwd)
        kind = read_kind(place) or (
            write_kind(place)
            if place.startswith(("/", "~"))
            and not re.match(r"/(?:data|app|src|workspace|work|repo|code|mnt|srv)\b", place)
            else None
        )
        if (
            place in ("/", "~")
            or "docker.sock" in place
            or "containerd.sock" in place
            or (kind is not None and source.startswith(("/", "~", ".")))
            or (is_broad(place) and place != ".")
        ):
            inv.deny(f"opens {place} of this machine to a container")


def judge_environment(inv: Invocation, command: list[Arg]) -> None:
    """The environment of a running container is where its secrets are."""
    if len(command) == 1 and command[0].text in ("env", "printenv", "export", "set"):
        inv.ask("prints the environment of a container")


#: What makes a manifest more than a workload.
MANIFEST = later(
    r"privileged[\"']?:\s*true|hostPID|hostNetwork|hostIPC|hostPath|cluster-admin|allowPrivilegeEscalation[\"']?:\s*true|SYS_ADMIN|docker\.sock"
)


def judge_inside(inv: Invocation, command: list[Arg], entrypoints: list[Arg]) -> Out:
    """The command of a container: judged like any other, but for paths that are the container's own."""
    if entrypoints:
        command = [*entrypoints, *command]
    if (
        len([a for a in command if not a.text.startswith("-")]) == 1
        and command[0].text.rsplit("/", 1)[-1] in ("sh", "bash", "ash", "zsh")
        and inv.stdin.text is None
        and not inv.stdin.tags
        and not any("c" in a.text for a in command[1:])
    ):
        return Out(None, frozenset({"net"}))  # an interactive shell inside
    if command:
        inner = inv.with_args([])
        inner.state = inv.state.fork()
        return inner.run(command, inv.stdin).tagged("net")
    return Out(None, frozenset({"net"}))


def _exec(inv: Invocation, rest: list[Arg]) -> Out | None:
    p = inv.with_args(rest).options("euw", "--env --user --workdir --detach-keys --env-file --index", stop=True)
    if p.has("--privileged"):
        inv.ask("gives a container more rights")
    judge_environment(inv, list(p.rest[1:]))
    return judge_inside(inv, list(p.rest[1:]), [])


_COMPOSE_VALUES = frozenset("-f --file -p --project-name --profile --env-file --project-directory --parallel".split())


def _compose_files(inv: Invocation, files: list[Arg]) -> None:
    """A compose file from a temporary directory, or one this command wrote, decides what containers may do."""
    for file in files or [
        Arg("docker-compose.yml"),
        Arg("docker-compose.yaml"),
        Arg("compose.yml"),
        Arg("compose.yaml"),
    ]:
        content = inv.written(file)
        if content is not None and content.text is not None:
            if MANIFEST.search(content.text) or re.search(
                r"(?m)[\s\"'\[-](?:/|~|/etc|/root|/home|/var/run)/?:/|pid:\s*[\"']?host|cap_add", content.text
            ):
                inv.ask("starts containers with rights over the machine")
        elif content is not None or file.text.startswith("/tmp/"):
            inv.ask("starts containers from a file that is not known")


def _compose(inv: Invocation, args: list[Arg]) -> Out | None:
    files: list[Arg] = []
    while args and args[0].text.startswith("-"):
        option = args.pop(0).text
        if option.split("=")[0] in _COMPOSE_VALUES and "=" not in option and args:
            value = args.pop(0)
            if option in ("-f", "--file"):
                files.append(value)
    verb = args[0].text if args else ""
    rest = args[1:]
    texts = [a.text for a in rest]
    if verb in ("up", "run", "create", "start"):
        _compose_files(inv, files)
    if verb == "down" and any(re.match(r"-\w*v|--volumes|--rmi", text) for text in texts):
        inv.ask("removes volumes or images")
    elif verb == "rm" and any(re.match(r"-\w*[fsv]|--force|--stop|--volumes", text) for text in texts):
        inv.ask("removes containers by force")
    elif verb in ("exec", "run"):
        p = inv.with_args(rest).options(
            "euwvp",
            "--env --user --workdir --volume --publish --entrypoint --name --index --label",
            stop=True,
        )
        for value in p.values("-v", "--volume"):
            _mount(inv, "-v", value)
        return judge_inside(inv, list(p.rest[1:]), p.values("--entrypoint"))
    elif verb in ("push", "publish"):
        inv.ask("publishes images")
    return Out(None, frozenset({"docker"}))


def _other_runtime(inv: Invocation, verb: str, rest: list[Arg]) -> Out | None:
    if verb not in (
        "ps",
        "images",
        "ls",
        "list",
        "info",
        "version",
        "logs",
        "inspect",
        "stats",
        "inspecti",
        "pods",
        "build",
        "bud",
        "pull",
        "from",
        "config",
    ) or {"rm", "delete", "prune", "remove", "import", "export"} & {a.text for a in rest}:
        inv.ask(f"{verb} of a container runtime")
        inv.run(rest[1:]) if len(rest) > 1 and verb in ("exec", "run") else None
    return ANYTHING
