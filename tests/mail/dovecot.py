"""A Dovecot of our own: private configuration, loopback, no privileges, gone when the test is."""

import contextlib
import grp
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PASSWORD = "wordpass"

_CONFIGURATION = """
base_dir = {home}/run
state_dir = {home}/state
log_path = {home}/log
listen = 127.0.0.1
protocols = imap lmtp
ssl = no
disable_plaintext_auth = no
default_internal_user = {user}
default_login_user = {user}
default_internal_group = {group}
mail_location = maildir:{home}/mail/%u
mail_uid = {uid}
mail_gid = {gid}
first_valid_uid = 0
last_valid_uid = 0
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={home}/home/%u allow_all_users=yes
}}
namespace inbox {{
  inbox = yes
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {imap_port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
service lmtp {{
  inet_listener lmtp {{
    port = {lmtp_port}
  }}
}}
"""


class Dovecot:
    """Where it listens. Every user exists, with one password."""

    def __init__(self, *, imap_port: int, lmtp_port: int) -> None:
        self.imap_port = imap_port
        self.lmtp_port = lmtp_port


@contextlib.contextmanager
def running(*, seconds: float = 15) -> Iterator[Dovecot]:
    """Starts Dovecot, waits until IMAP replies, and stops it for certain. Root runs it as another user."""
    account = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    home = Path(tempfile.mkdtemp(prefix="snoozer-dovecot-"))
    server = Dovecot(imap_port=_free_port(), lmtp_port=_free_port())
    configuration = home / "dovecot.conf"
    configuration.write_text(
        _CONFIGURATION.format(
            home=home,
            user=account.pw_name,
            group=grp.getgrgid(account.pw_gid).gr_name,
            uid=account.pw_uid,
            gid=account.pw_gid,
            imap_port=server.imap_port,
            lmtp_port=server.lmtp_port,
            password=PASSWORD,
        ),
        encoding="utf-8",
    )
    if os.geteuid() == 0:
        os.chown(home, account.pw_uid, account.pw_gid)
    process = subprocess.Popen(
        ["dovecot", "-F", "-c", str(configuration)],
        user=account.pw_uid if os.geteuid() == 0 else None,
        group=account.pw_gid if os.geteuid() == 0 else None,
        extra_groups=[] if os.geteuid() == 0 else None,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(server.imap_port, process, home / "log", seconds=seconds)
        _wait_for(server.lmtp_port, process, home / "log", seconds=seconds)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(home, ignore_errors=True)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path, *, seconds: float) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > until:
                logged = log.read_text(encoding="utf-8") if log.exists() else "nothing"
                raise RuntimeError(f"Dovecot did not start; its log: {logged}") from None
        time.sleep(0.05)
