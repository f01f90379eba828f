"""The IMAP server of `snoozer up`: the machine's Dovecot with a configuration of its own, one user, and no privileges.

It listens on loopback only, without TLS, and requires a random password. The supervisor runs it; this module finds it,
writes its files, and stops the remains of an earlier run.
"""

import grp
import hashlib
import json
import os
import pwd
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from string import Template
from typing import Self

from snoozer.dev import binaries, ports
from snoozer.dev.binaries import Account
from snoozer.dev.environment import OWNER, write_private
from snoozer.dev.processes import name_of, send, wait_until_gone

STATE_FILE = "dovecot.json"
DEFAULT_PORT = 8143
MIN_VERSION, NEW_SYNTAX = (2, 3), (2, 4)
# An ordinary user's PATH does not include the servers' programs.
_FOLDERS = "/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin:/opt/homebrew/bin"
# The account that runs the server must not see secrets of the caller.
_ENV = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C"}
# Paths that the configuration accepts, short enough for the names of its sockets.
_PLAIN = re.compile(r"[A-Za-z0-9/._-]{1,70}")
_MAX_LOG_BYTES = 1024 * 1024
_ROUNDS = 20_000

_DIALECTS = {
    False: """
disable_plaintext_auth = no
mail_location = sdbox:$place/mail
passdb {
  driver = passwd-file
  args = $place/users
}
userdb {
  driver = static
  args = uid=$uid gid=$gid home=$place
}
""",
    True: """
auth_allow_cleartext = yes
mail_driver = sdbox
mail_path = $place/mail
mail_home = $place
passdb passwd-file {
  passwd_file_path = $place/users
}
userdb static {
}
""",
}
_VERSIONS = """dovecot_config_version = 2.4.0
dovecot_storage_version = 2.4.0
"""
_CONFIGURATION = """base_dir = $run
state_dir = $place/state
log_path = $place/log
info_log_path = /dev/null
debug_log_path = /dev/null
listen = $host
protocols = imap
ssl = no
default_internal_user = $user
default_login_user = $user
default_internal_group = $group
mail_uid = $uid
mail_gid = $gid
first_valid_uid = $uid
last_valid_uid = $uid
first_valid_gid = $gid
last_valid_gid = $gid
# Web pages, the process that watches, and a mail program or two.
mail_max_userip_connections = 50
namespace inbox {
  inbox = yes
  separator = /
$folders}
service imap-login {
  chroot =
  inet_listener imap {
    port = $port
  }
  inet_listener imaps {
    port = 0
  }
}
service anvil {
  chroot =
}
service stats {
  chroot =
}
"""
_FOLDER = """  mailbox {0} {{
    special_use = \\{0}
    auto = subscribe
  }}
"""
_SPECIAL_USES = ("Archive", "Drafts", "Junk", "Sent", "Trash")


class NoDovecot(Exception):
    """There is no Dovecot that can be started; the text is one sentence."""


@dataclass(frozen=True, kw_only=True)
class State:
    """The server's state from one start to the next. `place` is its folder, `link` another name of that folder if the
    configuration needs one, with the sockets next to it."""

    place: str
    link: str = ""
    port: int
    password: str = field(repr=False)
    is_filled: bool = False
    is_connected: bool = False

    @classmethod
    def load(cls, home: Path) -> Self | None:
        with suppress(FileNotFoundError):
            return cls(**json.loads((home / STATE_FILE).read_text()))
        return None

    def save(self, home: Path) -> None:
        write_private(home / STATE_FILE, json.dumps(asdict(self), indent=2) + "\n")

    @property
    def base(self) -> Path:
        """Its folder as its configuration names it."""
        return Path(self.link or self.place)

    @property
    def run(self) -> Path:
        """The folder of its sockets: Dovecot follows links to it, and sockets need short names."""
        return self.base.parent / "run" if self.link else self.base / "run"

    @property
    def configuration(self) -> Path:
        return self.base / "dovecot.conf"


@dataclass(frozen=True, kw_only=True)
class ImapServer:
    """A server that is ready to be started: `argv` by `account`, with `env` as its whole environment."""

    argv: tuple[str, ...]
    account: Account
    state: State
    env: Mapping[str, str] = field(default_factory=_ENV.copy)

    @property
    def port(self) -> int:
        return self.state.port

    @property
    def log(self) -> Path:
        return Path(self.state.place) / "log"

    def clean_up(self) -> None:
        """Remove files outside of its folder. The server must be stopped."""
        _unlink(self.state)


def find() -> tuple[str, str]:
    """The program and its version. Raises NoDovecot."""
    program = shutil.which("dovecot") or shutil.which("dovecot", path=_FOLDERS)
    if program is None:
        raise NoDovecot("Dovecot is not installed")
    output = ""
    with suppress(OSError, subprocess.SubprocessError):
        command = [program, "--version"]
        output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20, cwd="/").stdout
    found = re.match(r"\d+\.\d+(\.\d+)*", output)
    if found is None or _numbers(found[0]) < MIN_VERSION:
        raise NoDovecot(f"{program} is no Dovecot of version 2.3 or newer")
    return program, found[0]


def prepare(home: Path, *, shared: Path = binaries.SHARED) -> ImapServer:
    """Find Dovecot and write its configuration; a server that an earlier run of this home left is stopped. The mailbox,
    its password and, unless it is taken, its port stay unchanged. Raises NoDovecot with one sentence."""
    program, version = find()
    account = binaries.unprivileged_account("dovecot", "nobody")
    if account is None:
        raise NoDovecot("Dovecot must not run as root, and this machine has neither an account dovecot nor nobody")
    state = _state(home, account=account, shared=shared)
    _stop_left(state)
    state = replace(state, link=_link(state, account=account), port=_port(state.port))
    state.save(home)
    _write_files(state, version=version, account=account)
    command = (program, "-F", "-c", str(state.configuration))
    _check(program, state, account=account)
    return ImapServer(argv=command, account=account, state=state)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _state(home: Path, *, account: Account, shared: Path) -> State:
    """The previous state, or a new server's."""
    known, inside = State.load(home), home / "dovecot"
    if known is not None and Path(known.place).is_dir():
        return known
    if known is not None and inside.is_dir():
        # The home was moved, and its mailbox with it.
        return replace(known, place=str(inside))
    place = binaries.make_data_folder(home, account=account, shared=shared, server="dovecot")
    return State(place=str(place), port=DEFAULT_PORT, password=secrets.token_urlsafe(12))


def _stop_left(state: State) -> None:
    """Stop a server of this home whose supervisor and reaper were killed, and remove its pid file."""
    with suppress(OSError, ValueError):
        pid = int((state.run / "master.pid").read_text())
        if _serves(pid, state):
            send(pid, signal.SIGTERM)
            wait_until_gone([pid], seconds=10)
            send(pid, signal.SIGKILL, group=True)
    # The number in its pid file may belong to another process by now, and then Dovecot would not start.
    shutil.rmtree(state.run, ignore_errors=True)
    _unlink(state)


def _serves(pid: int, state: State) -> bool:
    """Whether this process is the server of this folder, judged by its arguments if the system shows them."""
    if not Path("/proc/self/cmdline").exists():
        return name_of(pid) == "dovecot"
    with suppress(OSError):
        return os.fsencode(state.configuration) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return False


def _link(state: State, *, account: Account) -> str:
    """A short and plain name for a folder that has none, in the machine's temporary folder."""
    if _PLAIN.fullmatch(state.place):
        return ""
    folder = Path(tempfile.mkdtemp(prefix="snoozer-imap-"))
    link = folder / "d"
    link.symlink_to(state.place)
    account.own(folder)
    return str(link)


def _unlink(state: State) -> None:
    if state.link:
        shutil.rmtree(Path(state.link).parent, ignore_errors=True)


def _port(wanted: int) -> int:
    return wanted if ports.is_free(wanted) else ports.any_free()


def _write_files(state: State, *, version: str, account: Account) -> None:
    place = Path(state.place)
    state.run.mkdir(exist_ok=True)
    for folder, mode in ((place, 0o700), (state.run, 0o755)):
        folder.chmod(mode)
        account.own(folder)
    log = place / "log"
    if log.exists() and log.stat().st_size > _MAX_LOG_BYTES:
        log.unlink()
    texts = {
        "users": f"{OWNER}:{_hashed(state.password)}\n",
        "dovecot.conf": _configuration(state, version=version, account=account),
    }
    for name, text in texts.items():
        write_private(place / name, text)
        account.own(place / name)


def _hashed(password: str) -> str:
    """Hash in a scheme that each version can verify, and that none considers weak."""
    salt = secrets.token_hex(8)
    digest = hashlib.pbkdf2_hmac("sha1", password.encode(), salt.encode(), _ROUNDS)
    return f"{{PBKDF2}}$1${salt}${_ROUNDS}${digest.hex()}"


def _configuration(state: State, *, version: str, account: Account) -> str:
    is_new = _numbers(version) >= NEW_SYNTAX
    uid, gid = (account.uid, account.gid) if account.name else (os.getuid(), os.getgid())
    text = Template(_CONFIGURATION + _DIALECTS[is_new]).substitute(
        place=state.base,
        run=state.run,
        host=ports.HOST,
        port=state.port,
        uid=uid,
        gid=gid,
        user=pwd.getpwuid(uid).pw_name,
        group=grp.getgrgid(gid).gr_name,
        folders="".join(_FOLDER.format(name) for name in _SPECIAL_USES),
    )
    return (_VERSIONS if is_new else "") + text


def _check(program: str, state: State, *, account: Account) -> None:
    """Raises NoDovecot if this Dovecot cannot use the configuration, for example without its package for IMAP."""
    command = [program, "-n", "-c", str(state.configuration)]
    try:
        checked = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=20, env=_ENV, **account.run_as
        )
    except (OSError, subprocess.TimeoutExpired):
        raise NoDovecot(f"{program} cannot be run") from None
    if checked.returncode:
        lines = checked.stderr.strip().splitlines() or ["it gave no reason"]
        raise NoDovecot(f"{program} does not take its configuration: {lines[-1]}")
