"""Clusters: kubectl, helm and local machines."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..registry import program
from ..values import Out
from .containers import MANIFEST, judge_environment, judge_inside

_KUBECTL_READS = frozenset(
    "get describe logs log top explain version api-resources api-versions cluster-info diff config auth wait kustomize options completion events rollout plugin ctx ns stern tree neat".split()
)


@program("kubectl", "kubecolor", reads=False)
def kubectl(inv: Invocation) -> Out | None:
    """Reads pass, except secrets; changes of a cluster that remove, expose or run ask."""
    p = inv.options(
        "nofclk",
        "--namespace --output --context --cluster --kubeconfig --selector --filename --container --since "
        "--tail --user --server --token --as --field-selector --sort-by --kustomize -k",
        stop=False,
    )
    words = [arg.text for arg in p.operands]
    verb = words[0] if words else ""
    noun = words[1] if len(words) > 1 else ""
    if (
        verb in ("get", "describe", "edit", "view-secret")
        and re.search(r"(?:^|,|/)secrets?(?:$|[,/.])", noun)
        and p.has("-o", "--output", "--template")
    ):
        inv.deny("prints the secrets of a cluster")
    elif verb in ("config",) and (noun in ("view",) and p.has("--raw")):
        inv.deny("prints the credentials of a cluster")
    elif verb == "config" and noun in (
        "delete-context",
        "delete-cluster",
        "unset",
        "set-credentials",
        "set-cluster",
        "delete-user",
    ):
        inv.ask("changes the configuration of kubectl")
    elif (verb, noun) == ("auth", "reconcile"):
        inv.ask("changes rights in a cluster")
    elif verb in ("port-forward", "proxy") and any(
        value.text in ("0.0.0.0", "::", "[::]") for value in inv.options("n", "--address").values("--address")
    ):
        inv.ask("opens a cluster to the network")
    elif verb == "rollout" and noun not in ("status", "history", "restart"):
        inv.ask("changes a rollout")
    elif verb == "exec":
        texts = inv.texts
        command = inv.args[texts.index("--") + 1 :] if "--" in texts else ()
        if command:
            judge_inside(inv, list(command), [])
            judge_environment(inv, list(command))
        if any(re.search(r"prod", t) for t in texts) and not command:
            inv.ask("opens a shell in a cluster")
    elif verb in ("apply", "create", "replace"):
        _apply(inv, p, verb, words)
    elif verb in ("port-forward", "label", "annotate", "set", "autoscale", "expose", "proxy", "run", "debug", "attach"):
        if verb in ("debug", "attach", "run", "proxy", "set") and "--dry-run=client" not in inv.texts:
            inv.ask(f"{verb} changes or enters a cluster")
    elif verb == "cp":
        inv.read_all(p.operands[1:])
        inv.ask("copies to or from a cluster")
    elif any(text in ("--dry-run=client", "--dry-run=server") for text in inv.texts):
        pass
    elif verb and verb not in _KUBECTL_READS:
        inv.ask(f"{verb} changes a cluster")
    return Out(None, frozenset({"cluster"}))


def _apply(inv: Invocation, p, verb: str, words: list[str]) -> None:  # type: ignore[no-untyped-def]
    if p.has("--force", "--prune"):
        inv.ask("replaces or removes objects by force")
    if any("://" in value.text for value in p.values("-f", "--filename", "-k", "--kustomize")):
        inv.ask("applies a manifest from the network")
    for value in p.values("-f", "--filename"):
        content = inv.stdin if value.text == "-" else inv.written(value)
        if content is not None and content.text is None and content.tags & {"net", "decoded"}:
            inv.ask("applies a manifest from the network")
        elif content is not None and content.text is not None and MANIFEST.search(content.text):
            inv.ask("applies a manifest with rights over the machine")
    if (
        verb == "replace"
        or (verb == "create" and words[1:2] and re.match(r"(?:cluster)?role|token|serviceaccount", words[1]))
        or (verb == "create" and len(words) > 1 and not any(t.startswith("--dry-run") for t in inv.texts))
    ):
        inv.ask("changes a cluster")


@program(
    "helm helmfile kustomize argocd flux istioctl linkerd skaffold tilt",
    reads=False,
)
def helm(inv: Invocation) -> None:
    """Reads and templates pass."""
    words = [text for text in inv.texts if not text.startswith("-")]
    verb = " ".join(words[:2])
    reads = (
        "list",
        "ls",
        "template",
        "lint",
        "get",
        "history",
        "status",
        "show",
        "search",
        "version",
        "dependency",
        "dep",
        "env",
        "repo list",
        "repo update",
        "test",
        "pull",
        "package",
        "create",
        "build",
        "diff",
        "verify",
        "plugin list",
        "analyze",
        "check",
        "render",
        "completion",
        "inspect",
        "app list",
        "app get",
        "dev",
        "up",
        "proxy-status",
        "version",
    )
    if (inv.name == "helm" and re.search(r"get (?:values|manifest|all)", verb) and "--all" in inv.texts) or re.search(
        r"get secrets?", verb
    ):
        inv.ask("prints values that may be secrets")
    if "--help" in inv.texts or "-h" in inv.texts or any(text.startswith("--dry-run") for text in inv.texts):
        return
    if words and not any(verb == read or words[0] == read for read in reads):
        inv.ask(f"{verb} changes a cluster")
    if "--post-renderer" in inv.texts or any(text.startswith("--post-renderer=") for text in inv.texts):
        inv.ask("runs a program on the manifests")


@program(
    "kind minikube k3d k3s microk8s colima multipass vagrant limactl virsh VBoxManage qemu-img vboxmanage orb "
    "machinectl proot distrobox toolbox",
    reads=False,
)
def machines(inv: Invocation) -> None:
    """Local clusters and virtual machines: deleting asks."""
    if any(
        text
        in (
            "delete",
            "destroy",
            "remove",
            "rm",
            "reset",
            "purge",
            "undefine",
            "unregistervm",
            "prune",
            "poweroff",
            "--purge",
            "wipe",
            "ssh",
            "shell",
            "exec",
            "run",
            "enter",
            "login",
        )
        for text in inv.texts
    ):
        inv.ask("removes or enters a machine or cluster")
