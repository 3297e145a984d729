"""What Python code may call, by dotted name: commands, evaluation, removal, connections, the interpreter's insides."""

from __future__ import annotations

from ..patterns import later

RUNS_TEXT = frozenset(
    {
        "os.system",
        "os.popen",
        "subprocess.getoutput",
        "subprocess.getstatusoutput",
        "commands.getoutput",
        "asyncio.create_subprocess_shell",
        "posix.system",
        "pty.spawn",
        "platform.popen",
    }
)
RUNS_ARGV = frozenset(
    {
        "subprocess.run",
        "subprocess.call",
        "subprocess.check_call",
        "subprocess.check_output",
        "subprocess.Popen",
        "asyncio.create_subprocess_exec",
    }
)
EVALUATES = frozenset(
    {
        "exec",
        "eval",
        "compile",
        "builtins.exec",
        "builtins.eval",
        "builtins.compile",
        "runpy.run_path",
        "code.interact",
        "code.InteractiveConsole",
        "code.InteractiveInterpreter",
        "execfile",
    }
)
DENIED = {
    "shutil.rmtree": "removes a tree",
    "os.removedirs": "removes directories",
    "pty.spawn": "starts a program",
    "os.exec*": "replaces itself with a program",
    "os.spawn*": "starts a program",
    "os.posix_spawn*": "starts a program",
    "os.fork": "copies itself",
    "os.forkpty": "copies itself",
    "os.kill": "ends processes",
    "os.killpg": "ends processes",
    "os.startfile": "starts a program",
    "os.chroot": "changes the root directory",
    "os.setuid": "changes its user",
    "os.chown": "changes owners",
    "os.lchown": "changes owners",
    "os.truncate": "empties files",
    "os.ftruncate": "empties files",
    "os.mkfifo": "makes special files",
    "os.mknod": "makes special files",
    "os.dup2": "redirects itself",
    "os.environ.copy": "reads the environment",
    "os.symlink": "makes links",
    "os.link": "makes links",
    "posix.*": "reaches the operating system",
    "nt.*": "reaches the operating system",
    "_posixsubprocess.*": "starts programs",
    "multiprocessing.*": "",
    "pickle.loads": "runs what is pickled",
    "marshal.loads": "loads code",
    "dill.*": "runs what is pickled",
    "yaml.unsafe_load": "runs what is written in the document",
    "ctypes.*": "calls native code",
    "cffi.*": "calls native code",
    "socket.socket": "opens a connection",
    "socket.create_connection": "opens a connection",
    "socket.create_server": "opens a connection",
    "socket.gethostbyname*": "",
    "smtplib.*": "sends mail",
    "ftplib.*": "moves files",
    "telnetlib.*": "opens a connection",
    "paramiko.*": "runs commands on another machine",
    "fabric.*": "runs commands on another machine",
    "asyncssh.*": "runs commands on another machine",
    "pexpect.*": "runs programs",
    "sh.*": "runs programs",
    "plumbum.*": "runs programs",
    "webbrowser.*": "starts programs",
    "antigravity": "starts programs",
    "importlib.util.spec_from_file_location": "",
    "importlib.machinery.*": "",
    "boto3.*": "reaches a cloud account",
    "keyring.*": "reads secrets",
    "crontab.*": "changes what runs on a schedule",
    "browser_cookie3.*": "reads secrets",
    "pynput.*": "records input",
    "winreg.*": "changes the registry",
    "http.server.*": "",
    "xmlrpc.client.*": "opens a connection",
    "pip.*": "installs packages",
    "pip.main": "installs packages",
    "ensurepip.*": "installs packages",
    "timeit.*": "",
    "sys.settrace": "hooks into execution",
    "signal.pthread_kill": "ends processes",
    "gc.get_objects": "reaches into the interpreter",
    "inspect.stack": "",
    "django.core.management.call_command": "runs a management command",
    "distutils.spawn.*": "runs programs",
    "distutils.dir_util.remove_tree": "removes a tree",
    "send2trash.*": "removes files",
    "cgitb.*": "",
    "bdb.*": "hooks into execution",
    "pdb.*": "",
    "psutil.Process*": "",
}
#: Libraries that manage something outside the program, and what they call destroying it.
MANAGES = frozenset(
    "docker kubernetes git psutil github gitlab azure google boto botocore openstack digitalocean hcloud linode_api4 libvirt "
    "pymongo redis elasticsearch opensearchpy influxdb cassandra neo4j pika kafka etcd3 consul hvac fabric ansible_runner "
    "nomad proxmoxer pyVmomi stripe slack_sdk telegram tweepy cloudflare CloudFlare supabase firebase_admin".split()
)
DESTROYS = later(
    r"(?:prune|kill|terminate|delete|destroy|purge|uninstall|drop|wipe|remove|rmi|revoke|flush|truncate|shutdown|stop)(?:_\w+|all|db)?"
)
#: Moves and copies are judged like the commands of that name.
MOVES = {
    "os.rename": ("mv",),
    "os.replace": ("mv",),
    "os.renames": ("mv",),
    "shutil.move": ("mv",),
    "shutil.copy": ("cp",),
    "shutil.copy2": ("cp",),
    "shutil.copyfile": ("cp",),
    "shutil.copytree": ("cp", "-r"),
}
REMOVES = frozenset({"os.remove", "os.unlink", "os.rmdir"})
URL_CALLS = later(
    r"(?:urllib\.request\.(?:urlopen|Request|urlretrieve)|requests\.\w+|httpx\.\w+|urllib3\.\w+|aiohttp\.\w+|http\.client\.\w+|urllib2\.\w+)"
)
SENDS = later(r"\.(?:post|put|patch|delete)$")
DANGEROUS_MODULES = later(
    r"^(?:os|subprocess|shutil|builtins|__builtins__|posix|sys|importlib|ctypes|socket|pty|code|runpy|signal)$"
)
DUNDERS = frozenset(
    {
        "__subclasses__",
        "__globals__",
        "__builtins__",
        "__code__",
        "__loader__",
        "__import__",
        "__reduce__",
        "__getattribute__",
        "__closure__",
        "f_globals",
        "f_builtins",
        "gi_frame",
        "tb_frame",
        "_getframe",
        "__mro__",
        "__base__",
        "__bases__",
    }
)
DATABASE = later(r"(?i)\b(?:drop\s+(?:table|database|schema)|truncate\s+table|delete\s+from\s+\w+\s*;?\s*$)")
CONNECTS = frozenset({"connect", "connect_ex", "send", "sendall", "sendto", "listen", "accept", "makefile", "recv"})
MAX_CODE = 60_000
