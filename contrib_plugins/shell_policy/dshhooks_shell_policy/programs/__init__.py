"""The rules, one module per family, and which family judges which program.

A family is imported when the first of its programs is judged: one command needs one of them, seldom more.
"""

from __future__ import annotations

__all__ = ["FAMILIES"]

#: The programs of each module here, as its rules register them; what is not in this table cannot be registered.
FAMILIES = {
    "archives": "tar",
    "builtins": (
        ": [ [[ alias autoload basename bat bc bg bind break bzcat caller cat cd chdir clear compgen complete continue "
        "date declare dirname dirs disown echo enable exit export expr false fc fg getline getopts gzcat head help "
        "history hostname id jobs less let local logout mapfile mktemp more most nl nproc popd printf pushd pwd read "
        "readarray readlink readonly realpath reset return seq set setenv shift shopt sleep stty suspend tac tail test "
        "times tput trap true tty typeset ulimit umask uname unset wait whoami xzcat yes zcat zmodload zstdcat"
    ),
    "cloud": (
        "ansible ansible-playbook ansible-vault aws az bq cap cdk chamber consul crossplane doctl doppler eksctl "
        "etcdctl fab firebase fly flyctl gcloud gh glab gsutil hcloud heroku ibmcloud infisical knife linode-cli "
        "netlify nomad now ntl oci okta packer pulumi puppet railway render salt salt-call sam scw sentry-cli "
        "serverless sls snyk sops stripe supabase terraform tofu twilio vault vercel wrangler"
    ),
    "containers": "apptainer buildah crictl crun ctr docker docker-compose incus lxc lxd runc singularity",
    "databases": (
        "aerich alembic artisan atlas beeline clickhouse clickhouse-client cockroach cqlsh createuser dbmate dbt "
        "diesel django-admin doctrine drizzle-kit dropdb dropuser drush duckdb ecto flask flyway goose hasura hive "
        "influx initdb inv invoke isql kafka-delete-records.sh kafka-topics kafka-topics.sh keydb-cli knex liquibase "
        "litecli migrate mikro-orm mix mongo mongoimport mongorestore mongosh mycli mysql mysqladmin mysqlimport "
        "nodetool osql pg_ctl pg_dropcluster pg_dropuser pg_resetwal pg_restore pgbench pgcli phinx presto prisma psql "
        "rabbitmqctl rails rake redis-cli redis-server sequelize sequelize-cli snowsql spark-sql sqlcmd sqlite3 "
        "sqlplus sqlx thor trino tsql typeorm usql wp"
    ),
    "editors": (
        "awk bc-shell cgdb cpp dc dlv ed ex gdb hx jdb joe kak lldb m4 micro nano pico pudb red rr sed vim windbg x"
    ),
    "files": (
        "apply_patch applypatch chattr chcon chflags chgrp chmod chown cp dd del del-cli ditto erase fallocate gcp gio "
        "gmv grm gvfs-trash install lchown ln mkdir mkfifo mv patch premove rename rimraf rm rmdir rmtrash rsync "
        "safe-rm setcap setfacl shred sponge srm tee touch trash trash-empty trash-put truncate unlink wipe"
    ),
    "find": "fd find locate mlocate plocate",
    "git": "bfg bzr fossil git git-filter-branch git-filter-repo hg hub jj svn yadm",
    "interpreters": (
        "R Rscript bb clojure d8 elixir emacs emacsclient erl expect ghc gjs gnuplot groovy guile iex irb java javac "
        "jshell julia kotlin kotlinc lua luajit matlab maxima ocaml octave osascript perl php qjs racket ruby sbcl "
        "scala scalac swipl tclsh wish"
    ),
    "javascript": "deno electron node nodejs ts-node",
    "kubernetes": (
        "VBoxManage argocd colima distrobox flux helm helmfile istioctl k3d k3s kind kubecolor kubectl kustomize "
        "limactl linkerd machinectl microk8s minikube multipass orb proot qemu-img skaffold tilt toolbox vagrant "
        "vboxmanage virsh"
    ),
    "launchers": (
        "- builtin busctl busybox byobu command concurrently coproc coreutils cross-env cross-env-shell dbus-send env "
        "env-cmd flock gdbus gxargs hash i386 ip newgrp nocorrect noglob npm-run-all parallel perf qdbus run-p run-s "
        "runuser rush screen script setarch sg su sudo tmux toybox type whence which wtype x86_64 xargs xdotool "
        "ydotool zellij"
    ),
    "net": (
        "GET POST apprise aria2c arping autossh axel b2 bitsadmin bore certutil chisel cloudflared croc cryptcat curl "
        "delv dig dnscat dnscat2 dog drill elinks exim exim4 fetch fping frpc frps ftp getent gost grpcurl host hping3 "
        "http httpx hurl iodine kdig lftp ligolo links localtunnel logger lt lwp-request lynx magic-wormhole mail "
        "mailx masscan mc mosh mpack msmtp mtr mutt nail nc ncftp ncftpput neomutt ngrok nmap notify nslookup openvpn "
        "pagekite ping ping6 postdrop powercat ptunnel pwncat rclone rcp resolvectl rexec rlogin rsh s-nail s3cmd "
        "s5cmd sbd sendmail serveo sftp slackcat smbclient socat ssh-copy-id sshfs sshuttle ssmtp stunnel swaks "
        "tailscale tcpdump telegram-send telnet tftp tracepath traceroute transfer tshark w3m websocat wg wg-quick "
        "wget wget2 whois wormhole wscat youtube-dl yt-dlp zerotier-cli"
    ),
    "packages": "bundle bundler cargo cross gem go gofmt goimports port rustup",
    "packages_javascript": "bun cnpm corepack lerna npm npx nx pnpm tnpm turbo yarn",
    "packages_python": "easy_install flit hatch maturin pdm pip pipenv pipx pixi poetry rye twine uv uvx",
    "packages_system": (
        "add-apt-repository alien ant apk apt apt-add-repository apt-get apt-key aptitude bazel bazelisk buck2 cabal "
        "carthage changeset choco code codium composer conan cpanm cursor dart dnf dotnet dpkg dpkg-divert "
        "dpkg-reconfigure dub emerge eopkg flatpak flutter goreleaser gradle gradlew guix helm-plugin hex idea "
        "installer lein luarocks mas melos microdnf msiexec mvn mvnw nimble nix nix-env nix-shell np nuget ollama opkg "
        "ovsx pacman pants paru pear pecl pkg pkg_add pkgutil pod pub rebar3 release-it rpm rpmkeys sbt scoop "
        "semantic-release snap stack standard-version swift swupd tdnf tsx vcpkg vsce winget xbps-install yay yum zig "
        "zypper"
    ),
    "python": "bpython ipython jython manage.py micropython python python2",
    "shells": (
        ". ash bash brew cmd conda csh dash dircolors direnv elvish es eval fish fnm goenv jenv ksh mise mksh nodenv "
        "nu oil oksh opam osh posh pwsh pyenv rbash rbenv rc register-python-argcomplete rtx rzsh sh source ssh-agent "
        "starship tcsh xonsh yash ysh zoxide zsh"
    ),
    "ssh": "dbclient plink pscp scp slogin ssh ssh-add ssh-keygen ssh-keyscan sshpass",
    "system": (
        "aa-complain aa-disable aa-teardown addgroup adduser alternatives anacron arecord arptables at atrm attrib "
        "audit2allow auditctl authconfig automator badblocks batch bcdedit blkdiscard bolt bootctl bpftool bpftrace "
        "brctl brew-services btrfs cacls cf-agent cfdisk chage chef-apply chef-client chef-solo chfn chkconfig "
        "chpasswd chsh cipher clush clusterssh crontab cryptsetup csrutil cssh dconf debugfs defaults delgroup deluser "
        "dhclient dinitctl diskpart diskutil dmesg dmsetup dracut dsc dscl dseditgroup dsh dtrace dtruss e2fsck "
        "ebtables efibootmgr eject evtest explorer fcrontab fdformat fdisk firewall-cmd flameshot format frida "
        "frida-trace fsck fstrim fsutil fswebcam fuser gcore gdisk gnome-screenshot gpasswd grim groupadd groupdel "
        "groupmod growisofs grub-install grub-mkconfig gsettings halt hdiutil hdparm hostnamectl htop hwclock icacls "
        "ifconfig ifdown ifup imagesnap incrontab init initctl injcode insmod insserv ip6tables iptables iwconfig "
        "journalctl kexec kextload kextunload kill killall killall5 ksnip launchctl ldconfig localectl loginctl "
        "logkeys losetup lsof lvconvert lvcreate lvextend lvreduce lvremove lvrename lvresize maim manage-bde mdadm "
        "mkdosfs mke2fs mkfs mkisofs mkntfs mkreiserfs mkswap modprobe monit mount mussh net netplan networksetup "
        "newfs newusers nft nmcli nvme nvram nwipe open pam-auth-update parallel-scp parallel-ssh parecord parted "
        "partprobe passwd pbpaste pdsh pfctl pgrep pgrep-kill pidof pkill pm2 pmset poweroff printenv profiles ps pssh "
        "pvcreate pvmove pvremove pvresize pw pw-record pwconv pwunconv raspi-config rc-service rc-update rcctl reboot "
        "rec reg reptyr resize2fs rfkill rmmod robocopy route rundeck runsv s6-svc sc schtasks screencapture "
        "script-recorder scrot scrub scutil sdmem semodule service setenforce setsebool sfdisk sfill sgdisk shortcuts "
        "showkey shutdown skill slay spctl spectacle sswap stap start supervisorctl sv svc swapoff swapon sysadminctl "
        "sysctl systemctl takeown tc tccutil telinit timedatectl tmutil tmux-cssh top trust tune2fs ufw umount "
        "update-alternatives update-ca-certificates update-crypto-policies update-grub update-initramfs update-rc.d "
        "useradd userdel usermod vgcfgrestore vgcreate vgexport vgreduce vgremove vgrename vgsplit vigr vipw visudo "
        "vssadmin wbadmin wevtutil wf-recorder wipefs wl-paste wmctrl wmic wsl wslconfig xattr xclip xclip-paste "
        "xdg-open xfs_repair xinput xkill xpanes xsel xspy xwd zfs zpool"
    ),
    "text": (
        "ack ag base32 base64 basenc bunzip2 bzip2 cksum column comm cut dasel df du exa expand eza file fmt fold grep "
        "gron gunzip gzip hexdump join jq ls lsd lz4 md5sum numfmt od paste pt rev rg sha1sum sha256sum shasum shuf "
        "sort stat strings tr tree tsort ugrep unexpand uniq unxz uudecode uuencode wc xq xxd xz yq zgrep zstd"
    ),
    "tools": (
        "7z 7za 7zz aider amp ansible-galaxy apache2 ar asdf aspell azcopy black bmake borg c++ cc check_by_ssh clang "
        "clang++ claude cmake cmp codex containerd convert copilot cpan cpio crush cscope csplit ctags cursor-agent "
        "dagger darkhttpd dialog diff diff3 dockerd doit dotenvx dpkg-deb dshhooks dufs duplicity earthly eb eslint "
        "espeak exiftool ffmpeg filebrowser finger fzf g++ gcc gemini genisoimage gmake gpg-agent groff gs hf "
        "http-server httpd huggingface-cli husky iconv identify import info inotifywait irssi jest jrunscript jsr just "
        "keyctl latex latexmk ld lefthook live-server llm logrotate lualatex mage make makeinfo man miniserve mk mpv "
        "mshta mypy netsh nginx ninja nix-channel nmake nvm objcopy opencode openssl pandoc partx pdflatex php-fpm "
        "pidstat pigz pre-commit protoc py.test pylint pytest q qwen rabbitmqadmin rancher rar regsvr32 restic "
        "run-parts rundll32 rustc sdiff semanage serve sirv skim slsh split strip sudoedit task tex troff twistd unrar "
        "unzip updog velero vlc volta wasmtime watchman webfsd weechat woof xelatex zip"
    ),
    "vaults": (
        "1password age bw chainsaw cmdkey dashlane docker-credential-desktop docker-credential-helper "
        "docker-credential-osxkeychain docker-credential-pass docker-credential-secretservice git-credential-cache "
        "git-credential-libsecret git-credential-manager git-credential-manager-core git-credential-osxkeychain "
        "git-credential-store gopass gpg gpg2 keepassxc-cli keyring klist kwallet-query lazagne lpass mimikatz op pass "
        "pass-cli rbw secret-tool security trufflehog ykman"
    ),
    "wrappers": (
        "aws-vault bwrap caffeinate capsh catchsegv cgexec choom chpst chronic chroot chrt cpulimit daemonize "
        "dbus-launch dbus-run-session doas dotenv dumb-init eatmydata entr exec fakeroot faketime firejail gosu "
        "hyperfine ifne ionice linux32 linux64 ltrace mispipe nice nodemon nohup nsenter numactl pkexec prlimit "
        "proxychains proxychains4 pv retry rlwrap run0 s6-setuidgid sem setpriv setsid shx softlimit start-stop-daemon "
        "stdbuf strace su-exec systemd-inhibit systemd-run taskset time timeout tini torify torsocks unbuffer unshare "
        "valgrind watch watchexec with-contenv xvfb-run"
    ),
}
