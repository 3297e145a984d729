"""Cloud command lines, infrastructure as code, hosting: looks pass, destruction and credentials do not."""

from __future__ import annotations

import re
from collections.abc import Callable

import attrs

from ..invocation import Invocation
from ..patterns import later
from ..registry import program
from ..values import ANYTHING, Out


@attrs.frozen
class Cloud:
    """Words of a command line that ask or deny.

    Attributes:
        ask: a pattern over the words (options included), joined by blanks.
        deny: likewise, for credentials.
        fine: what passes although ``ask`` matches.
        reads: when given, everything that does not match it asks.
    """

    ask: str = ""
    deny: str = ""
    fine: str = r"(?!)"
    reads: str = ""


_DESTROY = (
    r"(?:^|[ :-])(?:delete|destroy|remove|rm|rb|del|terminate|deregister|detach|disassociate|revoke|purge|drop|wipe|reset|prune|schedule-key-deletion|cancel|stop|deallocate|disable|rollback|abandon|nuke|erase|uninstall|teardown|undelete)"
    r"(?=$|[ :-])"
)
_CHANGE = r"(?:^|[ :-])(?:create|put|attach|update|modify|set|add|import|change|grant|assign|apply|deploy|promote|publish|restore|replace|run-instances|invoke|start|reboot|scale|patch|execute|send)(?=$|[ :-])"

_LOOKS = r"(?:^| |:)(?:list|ls|get|show|describe|info|status|version|--version|-v|help|--help|-h|logs|log|tail|whoami|ps|members|catalog|preview|validate|lint|dev|serve|build|emulators:start|start|check|diff|events|regions|sizes|images|inspect|members|services|nodes|health|doctor|docs|init|types|typegen|gen|local|pages dev|config (?:list|get)|listen)(?= |$)"
_HANDS_OUT = r"(?i)(?:token|secret|passw|credential|--show-secrets|/creds|api-?key|env[: ](?:pull|get|list)|variables)"

_CLOUDS: dict[str, Cloud] = {
    "aws": Cloud(
        reads=r"(?:^| )(?:describe|list|get|head|lookup|search|batch-get|query|scan|select|estimate|validate|test|filter|wait|preview|simulate|check|is|detect|count)-?[\w-]*(?= |$)|(?:^| )(?:s3 ls|logs tail|help|s3 cp s3://\S+ (?!s3:)\S+|s3 sync s3://\S+ (?!s3:)\S+|--version|configure list|sts get-caller-identity)(?= |$)|^(?:\S+ )?help$",
        deny=r"secretsmanager get-secret|secretsmanager batch-get|with-decryption|configure get .*(?:secret|key|token)|configure export-credentials|sts (?:get-session|assume-role|get-federation)|ecr get-(?:login|authorization)|iam create-access-key|kms decrypt|codeartifact get-authorization|rds generate-db-auth|eks get-token|get-password-data|get-user-data|s3 presign|function-configuration|get-login-password|cognito-idp admin-get|get-credential",
    ),
    "gcloud": Cloud(
        reads=r"(?:^| )(?:list|describe|info|version|--version|help|get-value|config (?:list|get)|logging read|get-iam-policy|read|tail|search[\w-]*|configurations (?:list|describe)|components list|auth list|storage ls|get-server-config|lookup|topic)(?= |$)",
        deny=r"print-(?:access|identity)-token|application-default print|secrets versions access|service-accounts keys create|config-helper|kms decrypt|auth print",
    ),
    "gsutil": Cloud(ask=_DESTROY + r"|(?:^| )(?:cp|mv|rsync)\b.* gs://|(?:^| )(?:acl|iam|setmeta|web|cors) "),
    "bq": Cloud(
        ask=_DESTROY
        + r"|(?i:\b(?:delete\s+from|drop\s+|truncate|update\s+\w+\s+set|merge\s+into)\b)|(?:^| )(?:load|cp|mk|extract)\b"
    ),
    "az": Cloud(
        reads=r"(?:^| )(?:list|show|version|--version|account (?:show|list)|find|acr login|exists|check-[\w-]+|get-instance-view|logs|tail|query|get-versions|get-upgrades|wait|list-[\w-]+)(?= |$)",
        deny=r"get-access-token|keyvault secret (?:show|download)|keys? list|list-keys|credential|connection-string|show-connection|list-connection|get-credentials|list-secrets|list-publishing",
    ),
    "terraform": Cloud(
        ask=r"(?:^| )(?:destroy|apply|taint|untaint|import|force-unlock|login|logout)(?:$| )|(?:^| )state (?:rm|mv|push|replace-provider|pull)|workspace delete|-destroy\b|run-all (?:apply|destroy)|-from-module",
        deny=r"",
        fine=r"(?:^| )plan(?:$| )",
    ),
    "pulumi": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "cdk": Cloud(ask=r"(?:^| )(?:destroy|deploy|bootstrap|import|gc|rollback)(?:$| )|(?:^| )(?:-a|--app)[ =]"),
    "sls": Cloud(ask=r"(?:^| )(?:remove|deploy|invoke|rollback)(?:$| )"),
    "sam": Cloud(ask=r"(?:^| )(?:delete|deploy|sync|publish)(?:$| )"),
    "eksctl": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "flyctl": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "heroku": Cloud(
        ask=_DESTROY
        + r"|(?:^| )(?:config(?::\w+)?(?: |$)|run\b|run:\w+|pg:(?:reset|push|pull|copy|promote|psql)|ps:\w+|auth:token|domains:\w+|git:remote|deploy)|--confirm"
    ),
    "doctl": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "hcloud": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "linode-cli": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "oci": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "ibmcloud": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "scw": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "vercel": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "netlify": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "wrangler": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "firebase": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "supabase": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "railway": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "render": Cloud(ask=_DESTROY),
    "gh": Cloud(
        ask=r"(?:^| )(?:repo|release|secret|variable|run|cache|issue|pr|label|gist|ssh-key|gpg-key|codespace|project|workflow|ruleset) (?:delete|archive|rename|remove|transfer|close-all|disable|set|edit --visibility)\b|(?:^| )gist (?:create|edit)\b|(?:^| )extension (?:install|exec|upgrade)"
        r"|(?:^| )auth (?:token|login|logout|refresh|setup-git)|(?:^| )api\b.*(?:(?:-X|--method)[ =]?(?:DELETE|PUT|PATCH|POST)|mutation\b)|(?:^| )(?:repo|codespace) (?:create|fork|sync --force|ssh|cp)\b|(?:^| )alias (?:set|import)|(?:^| )pr merge\b.*--admin|(?:^| )ssh-key add|(?:^| )config set|--visibility[ =]public|(?:^| )workflow run|(?:^| )release (?:create|upload)",
        deny=r"auth token|auth status .*(?:-t\b|--show-token)",
    ),
    "glab": Cloud(
        ask=r"(?:^| )\w+ (?:delete|remove)\b|auth (?:login|status -t)|(?:^| )api\b.*(?:-X|--method)[ =]?(?:DELETE|PUT|PATCH|POST)|variable (?:get|set|export)|snippet create|alias set|mr merge"
    ),
    "vault": Cloud(
        ask=r"(?:^| )(?:delete|write|login|unwrap|destroy|seal|unseal|operator|secrets (?:disable|enable|move|tune)|auth (?:disable|enable)|policy (?:write|delete)|lease revoke|token (?:create|revoke)|kv (?:delete|destroy|put|patch|metadata delete|undelete|rollback)|ssh|audit disable)(?:$| )",
        deny=r"(?:^| )(?:read|kv get|print token|unwrap|token lookup)(?:$| )",
    ),
    "consul": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "nomad": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "etcdctl": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "ansible": Cloud(ask=r".+", fine=r"--version|--list-hosts|^localhost -m (?:setup|ping)$|-m ping\b"),
    "ansible-playbook": Cloud(ask=r".+", fine=r"--version|--syntax-check|--list-(?:tasks|hosts|tags)|--check"),
    "ansible-vault": Cloud(ask=r"(?:^| )(?:view|decrypt|edit|rekey)"),
    "salt": Cloud(ask=r".+"),
    "knife": Cloud(ask=_DESTROY + r"|(?:^| )(?:ssh|exec|bootstrap)\b"),
    "puppet": Cloud(ask=r"(?:^| )(?:apply|agent|resource .*ensure=)"),
    "fab": Cloud(ask=r".+", fine=r"--list|-l$|--version"),
    "cap": Cloud(ask=r".+", fine=r"-T|--version"),
    "packer": Cloud(ask=r"(?:^| )build(?:$| )"),
    "crossplane": Cloud(ask=_DESTROY),
    "sops": Cloud(ask=r"(?:^| )(?:-d|--decrypt|decrypt|exec-env|exec-file|edit)(?:$| )|^[^-]\S*$"),
    "doppler": Cloud(ask=r"(?:^| )(?:secrets|run|configure)\b"),
    "infisical": Cloud(ask=r"(?:^| )(?:secrets|run|export)\b"),
    "chamber": Cloud(reads=r"^version"),
    "stripe": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "twilio": Cloud(reads=_LOOKS, deny=_HANDS_OUT),
    "okta": Cloud(ask=r".+"),
    "snyk": Cloud(ask=r"(?:^| )(?:auth|config set)\b"),
    "sentry-cli": Cloud(ask=_DESTROY),
}
_ALIASES = {
    "serverless": "sls",
    "fly": "flyctl",
    "tofu": "terraform",
    "now": "vercel",
    "ntl": "netlify",
    "salt-call": "salt",
}


def _judge(cloud: Cloud) -> Callable[[Invocation], Out | None]:
    ask, deny, fine, reads = (later(p) if p else None for p in (cloud.ask, cloud.deny, cloud.fine, cloud.reads))

    def judge(inv: Invocation) -> Out | None:
        words = " ".join(inv.texts)[:4000]
        if words in ("--help", "help", "--version") or inv.texts[-1:] == ["--help"]:
            return ANYTHING
        if deny is not None and deny.search(words):
            inv.deny("hands out credentials or secrets")
        elif reads is not None and words and not reads.search(words):
            inv.ask("may change or remove what runs elsewhere")
        elif ask is not None and ask.search(words) and not (fine is not None and fine.search(words)):
            inv.ask("changes or removes what runs elsewhere")
        _common(inv, words)
        return Out(None, frozenset({"cloud"}))

    return judge


def _common(inv: Invocation, words: str) -> None:
    if inv.name == "terraform" and re.search(r"(?:^| )output\b.*(?:-json|-raw)|(?:^| )show -json$", words):
        inv.ask("prints outputs that may be secrets")
    if (
        inv.name == "terraform"
        and "console" in inv.texts
        and re.search(r"file|base64|templatefile", inv.stdin.text or "")
    ):
        inv.ask("reads files through the console")
    if inv.name in ("gh", "glab") and any("environment" in arg.tags for arg in inv.args):
        inv.ask("publishes the environment")
    if inv.name == "gh":
        for index, text in enumerate(inv.texts[:-1]):
            if text in ("-F", "--field", "-f", "--body-file", "--notes-file", "--input"):
                value = inv.args[index + 1]
                inv.engine.read_argument(value, inv.state)
                if any(place.startswith(("~/.", "/etc")) for place in inv.places(value)):
                    inv.ask("publishes a settings file: " + value.text)
        if inv.texts[1:2] == ["download"]:
            inv.state.unpacked |= {("net", ".")}
        if inv.texts[:2] == ["repo", "clone"] and len(inv.args) > 2:
            target = inv.args[3] if len(inv.args) > 3 and not inv.texts[3].startswith("-") else inv.args[2]
            for place in inv.places(target.with_text(target.text.rsplit("/", 1)[-1])):
                inv.state.unpacked |= {("net", place)}
        if (
            any(text in ("-F", "--field", "-f", "--raw-field", "--input") for text in inv.texts)
            and inv.texts[:1] == ["api"]
            and "graphql" not in inv.texts
            and not any(text in ("GET", "-XGET", "--method=GET") for text in inv.texts)
        ):
            inv.ask("changes something through the API")
        if inv.texts[:2] == ["gist", "create"]:
            inv.read_all(inv.args[2:])
    elif inv.name in ("aws", "gsutil", "az", "gcloud"):
        inv.read_all(inv.args)


for _name, _cloud in _CLOUDS.items():
    program(_name, reads=False)(_judge(_cloud))
for _alias, _target in _ALIASES.items():
    program(_alias, reads=False)(_judge(_CLOUDS[_target]))
