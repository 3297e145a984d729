"""Where the long tail of tools keeps credentials: command line clients, package managers, wallets, daemons."""

from __future__ import annotations

from .patterns import later

#: Directories and files in the home directory (behind the dot), as patterns.
_HOME = (
    # clouds, hosting, deployment
    r"databrickscfg|snowflake|snowsql|dbt/profiles\.ya?ml|kaggle|oci|bluemix|aliyun|tccli|ovh\.conf|linode-cli|scw|netlify|vercel|"
    r"fly/config|railway|supabase|expo/state|heroku|ngrok2?|cloudflared|wrangler|pulumi/credentials|chef|vault-pass\w*|puppetlabs|"
    r"sentryclirc|circleci/cli|travis|gitlab-token|jira\.d|argocd|tsh|step|acme\.sh|lego|rancher|minikube/.*\.key|"
    # package managers and builds
    r"gradle/gradle\.properties|subversion/auth|ivy2/\.?credentials|sbt/\.?credentials|nuget/NuGet/NuGet\.Config|bundle/config|"
    r"hex/hex\.config|pub-cache/credentials|composer/auth|terraformrc|helm/repository|"
    # models and agents
    r"huggingface|wandb|comet\.config|openai|anthropic|claude\.json|cursor/mcp\.json|replicate|"
    # mail, chat, backup, keys
    r"offlineimaprc|mbsyncrc|imapfilter|mutt|purple/accounts|irssi/config|thunderbird|duplicity|restic\w*|borg|pki/nssdb|yubico|"
    # wallets
    r"electrum|bitcoin|litecoin|dogecoin|ethereum|monero|solana|exodus|brownie|foundry/keystores"
)
_CONFIG = (
    r"configstore|solana|stripe|ngrok|heroku|glab-cli|lab|wandb|openai|borg|containers/auth|helm/registry|argocd|evolution|"
    r"Slack|discord|Signal|Bitwarden|1Password|keepassxc|fly|railway|netlify|vercel|aliyun|snowflake|databricks"
)
_ETC = (
    r"kubernetes/.*(?:\.conf|\.key)|rancher/.*\.ya?ml|wireguard|openvpn|ipsec\.secrets|ppp/\w+-secrets|letsencrypt/(?:live|archive|accounts)|"
    r"mysql/debian\.cnf|NetworkManager/system-connections|docker/daemon\.key|vault\.d|samba/passdb|postfix/sasl_passwd|exim4/passwd|"
    r"wpa_supplicant|security/opasswd|ldap/ldap\.secret|duo|pki/(?:tls|\w+)/private"
)
_BY_PLACE = later(
    rf"^~/\.(?:{_HOME})(?:$|[/.])|^~/\.config/(?:{_CONFIG})(?:$|[/.])|^~/\.local/share/(?:opencode|containers)/auth|"
    rf"^/etc/(?:{_ETC})"
)
_BY_NAME = later(
    r"(?:^|/)(?:wp-config\.php|local\.settings\.json|application_default_credentials\.json|[\w.-]*adminsdk[\w.-]*\.json|"
    r"\.?vault[-_]pass\w*(?:\.txt)?|credentials\.yml\.enc|\.dockercfg|keystore\.properties|\.sentryclirc|\.databrickscfg)$"
)


def is_one(path: str) -> bool:
    """Say whether the normalized ``path`` is such a file, or lies in such a directory."""
    # The long pattern takes longer to compile than the rest of a command to judge; elsewhere it cannot match.
    placed = path.startswith(("~/", "/etc/")) and _BY_PLACE.search(path)
    return bool(placed or _BY_NAME.search(path))
