"""Cloud command lines, infrastructure as code, hosting: looks pass, destruction and credentials do not."""

from __future__ import annotations

import re
from collections.abc import Callable

import attrs

from ..invocation import Invocation
from ..registry import program
from ..values import Out


@attrs.frozen
class Cloud:
    """Words of a command line that ask or deny.

    Attributes:
        ask: a pattern over the words (options included), joined by blanks.
        deny: likewise, for credentials.
        fine: what passes although ``ask`` matches.
    """

    ask: str = ""
    deny: str = ""
    fine: str = r"(?!)"


_DESTROY = (
    r"(?:^|[ :-])(?:delete|destroy|remove|rm|rb|del|terminate|deregister|detach|disassociate|revoke|purge|drop|wipe|reset|prune|schedule-key-deletion|cancel|stop|deallocate|disable|rollback|abandon|nuke|erase|uninstall|teardown|undelete)"
    r"(?=$|[ :-])"
)
_CHANGE = r"(?:^|[ :-])(?:create|put|attach|update|modify|set|add|import|change|grant|assign|apply|deploy|promote|publish|restore|replace|run-instances|invoke|start|reboot|scale|patch|execute|send)(?=$|[ :-])"

_CLOUDS: dict[str, Cloud] = {
    "aws": Cloud(
        ask=_DESTROY + r"|(?:^| )s3 (?:mv|sync|cp)\b.* s3://|s3 sync .*--delete|--acl public|" + _CHANGE + r"|(?:^| )(?:ssm start-session|ecs execute-command|sts assume-role\b|configure (?:set|import)|sso login)",
        deny=r"secretsmanager get-secret|with-decryption|configure get .*(?:secret|key|token)|configure export-credentials|sts get-session-token|ecr get-(?:login|authorization)|iam create-access-key|kms decrypt|get-parameters? .*decrypt|codeartifact get-authorization|rds generate-db-auth|eks get-token|get-federation-token",
        fine=r"(?:^| )(?:describe|list|get)-[\w-]+(?: (?!.*(?:secret|decrypt))|$)|(?:^| )(?:s3 ls|logs tail|help)\b",
    ),
    "gcloud": Cloud(
        ask=_DESTROY + "|" + _CHANGE + r"|(?:^| )(?:ssh|scp|auth login|auth activate)\b|storage (?:cp|mv|rsync)\b.* gs://",
        deny=r"print-(?:access|identity)-token|application-default print|secrets versions access|service-accounts keys create|config-helper|kms decrypt",
        fine=r"(?:^| )(?:list|describe|config (?:list|get|get-value)|info|version|logging read)(?:$| )",
    ),
    "gsutil": Cloud(ask=_DESTROY + r"|(?:^| )(?:cp|mv|rsync)\b.* gs://|(?:^| )(?:acl|iam|setmeta|web|cors) "),
    "bq": Cloud(ask=_DESTROY + r"|(?i:\b(?:delete\s+from|drop\s+|truncate|update\s+\w+\s+set|merge\s+into)\b)|(?:^| )(?:load|cp|mk|extract)\b"),
    "az": Cloud(
        ask=_DESTROY + "|" + _CHANGE + r"|(?:^| )(?:storage blob upload\S*|storage copy|vm run-command|login|ad sp create\S*|rest)\b",
        deny=r"get-access-token|keyvault secret (?:show|download)|keys? list|list-keys|credential|connection-string|get-credentials",
        fine=r"(?:^| )(?:list|show|version|account (?:show|list)|group list|monitor \S+ list|acr login)(?:$| )",
    ),
    "terraform": Cloud(
        ask=r"(?:^| )(?:destroy|apply|taint|untaint|import|force-unlock|login|logout)(?:$| )|(?:^| )state (?:rm|mv|push|replace-provider|pull)|workspace delete|-destroy\b|run-all (?:apply|destroy)|-from-module",
        deny=r"",
        fine=r"(?:^| )plan(?:$| (?!.*-destroy))",
    ),
    "pulumi": Cloud(ask=r"(?:^| )(?:destroy|up|update|cancel|import|refresh|login|logout)(?:$| )|stack rm|state delete|--show-secrets|config .*--secret"),
    "cdk": Cloud(ask=r"(?:^| )(?:destroy|deploy|bootstrap|import|gc|rollback)(?:$| )|(?:^| )(?:-a|--app)[ =]"),
    "sls": Cloud(ask=r"(?:^| )(?:remove|deploy|invoke|rollback)(?:$| )"),
    "sam": Cloud(ask=r"(?:^| )(?:delete|deploy|sync|publish)(?:$| )"),
    "eksctl": Cloud(ask=_DESTROY + "|" + _CHANGE + r"|(?:^| )(?:drain|scale|upgrade)\b"),
    "flyctl": Cloud(ask=_DESTROY + r"|(?:^| )(?:deploy|launch|ssh|secrets (?:set|import|unset)|scale|proxy|auth token|tokens)\b"),
    "heroku": Cloud(ask=_DESTROY + r"|(?:^| )(?:config(?::\w+)?(?: |$)|run\b|run:\w+|pg:(?:reset|push|pull|copy|promote|psql)|ps:\w+|auth:token|domains:\w+|git:remote|deploy)|--confirm"),
    "doctl": Cloud(ask=_DESTROY + "|" + _CHANGE + r"|auth token"),
    "hcloud": Cloud(ask=_DESTROY + "|" + _CHANGE),
    "linode-cli": Cloud(ask=_DESTROY + "|" + _CHANGE),
    "oci": Cloud(ask=_DESTROY + "|" + _CHANGE),
    "ibmcloud": Cloud(ask=_DESTROY + "|" + _CHANGE),
    "scw": Cloud(ask=_DESTROY + "|" + _CHANGE),
    "vercel": Cloud(ask=_DESTROY + r"|(?:^| )(?:--prod|deploy|env (?:pull|add|rm)|promote|alias set|secrets?)(?:$| )|^$|--token"),
    "netlify": Cloud(ask=_DESTROY + r"|(?:^| )(?:deploy|sites:\w+|env:(?:set|get|list|import|unset))(?:$| )"),
    "wrangler": Cloud(ask=_DESTROY + r"|(?:^| )(?:deploy|publish|secret|rollback|d1 execute|kv:?\w* ?\w*:? ?delete)\b"),
    "firebase": Cloud(ask=_DESTROY + r"|(?:^| )(?:deploy|\w+:(?:delete|set|disable|remove|import|export))(?:$| )|login:ci|--all-collections"),
    "supabase": Cloud(ask=_DESTROY + r"|(?:^| )(?:db (?:reset|push)|secrets \w+|functions deploy|link)\b"),
    "railway": Cloud(ask=_DESTROY + r"|(?:^| )(?:up|run|variables|connect|deploy)\b"),
    "render": Cloud(ask=_DESTROY),
    "gh": Cloud(
        ask=r"(?:^| )(?:repo|release|secret|variable|run|cache|issue|pr|label|gist|ssh-key|gpg-key|codespace|project|workflow|ruleset) (?:delete|archive|rename|remove|transfer|close-all|disable|set|edit --visibility)\b|(?:^| )gist (?:create|edit)\b|(?:^| )extension (?:install|exec|upgrade)"
        r"|(?:^| )auth (?:token|login|logout|refresh|setup-git)|(?:^| )api\b.*(?:-X|--method)[ =]?(?:DELETE|PUT|PATCH|POST)|(?:^| )(?:repo|codespace) (?:create|fork|sync --force|ssh|cp)\b|(?:^| )alias (?:set|import)|(?:^| )pr merge\b.*--admin|(?:^| )ssh-key add|(?:^| )config set|--visibility[ =]public|(?:^| )workflow run|(?:^| )release (?:create|upload)",
        deny=r"auth token|auth status .*(?:-t\b|--show-token)",
    ),
    "glab": Cloud(ask=r"(?:^| )\w+ (?:delete|remove)\b|auth (?:login|status -t)|(?:^| )api\b.*(?:-X|--method)[ =]?(?:DELETE|PUT|PATCH|POST)|variable (?:get|set|export)|snippet create|alias set"),
    "vault": Cloud(
        ask=r"(?:^| )(?:delete|write|login|unwrap|destroy|seal|unseal|operator|secrets (?:disable|enable|move|tune)|auth (?:disable|enable)|policy (?:write|delete)|lease revoke|token (?:create|revoke)|kv (?:delete|destroy|put|patch|metadata delete|undelete|rollback)|ssh|audit disable)(?:$| )",
        deny=r"(?:^| )(?:read|kv get|print token|unwrap|token lookup)(?:$| )",
    ),
    "consul": Cloud(ask=r"(?:^| )(?:kv (?:delete|put|import|export)|leave|force-leave|operator|exec|acl|lock|maint|snapshot restore|config (?:delete|write))(?:$| )"),
    "nomad": Cloud(ask=_DESTROY + r"|(?:^| )(?:job (?:run|stop|purge)|run|stop|node drain|system gc|alloc (?:exec|stop)|exec|operator)(?:$| )"),
    "etcdctl": Cloud(ask=r"(?:^| )(?:del|put|txn|member (?:remove|add)|snapshot restore|compaction|defrag|user|role|auth)(?:$| )"),
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
    "gcloud-crc32c": Cloud(),
    "sops": Cloud(ask=r"(?:^| )(?:-d|--decrypt|decrypt|exec-env|exec-file|edit)(?:$| )|^[^-]\S*$"),
    "doppler": Cloud(ask=r"(?:^| )(?:secrets|run|configure)\b"),
    "infisical": Cloud(ask=r"(?:^| )(?:secrets|run|export)\b"),
    "chamber": Cloud(ask=r"(?:^| )(?:read|exec|export|env|write|delete)\b"),
    "stripe": Cloud(ask=r"(?:^| )(?:\w+ (?:delete|cancel|create|update)|delete|post|login|trigger)(?:$| )|--live"),
    "twilio": Cloud(ask=r"api:|\bcreate\b|\bremove\b"),
    "okta": Cloud(ask=r".+"),
    "snyk": Cloud(ask=r"(?:^| )(?:auth|config set)\b"),
    "sentry-cli": Cloud(ask=_DESTROY),
}
_ALIASES = {"serverless": "sls", "fly": "flyctl", "tofu": "terraform", "now": "vercel", "ntl": "netlify", "salt-call": "salt"}


def _judge(cloud: Cloud) -> Callable[[Invocation], Out | None]:
    ask, deny, fine = (re.compile(p) if p else None for p in (cloud.ask, cloud.deny, cloud.fine))

    def judge(inv: Invocation) -> Out | None:
        words = " ".join(inv.texts)[:4000]
        if deny is not None and deny.search(words):
            inv.deny("hands out credentials or secrets")
        elif ask is not None and ask.search(words) and not (fine is not None and fine.search(words)):
            inv.ask("changes or removes what runs elsewhere")
        _common(inv, words)
        return Out(None, frozenset({"cloud"}))

    return judge


def _common(inv: Invocation, words: str) -> None:
    if inv.name == "terraform" and re.search(r"(?:^| )output\b.*(?:-json|-raw)|(?:^| )show\b.*-json", words):
        inv.ask("prints outputs that may be secrets")
    if inv.name == "gh":
        for index, text in enumerate(inv.texts[:-1]):
            if text in ("-F", "--field", "-f", "--body-file", "--notes-file", "--input"):
                inv.engine.read_argument(inv.args[index + 1], inv.state)
        if inv.texts[:2] == ["gist", "create"]:
            inv.read_all(inv.args[2:])
    elif inv.name in ("aws", "gsutil", "az", "gcloud"):
        inv.read_all(inv.args)


for _name, _cloud in _CLOUDS.items():
    program(_name, reads=False)(_judge(_cloud))
for _alias, _target in _ALIASES.items():
    program(_alias, reads=False)(_judge(_CLOUDS[_target]))
