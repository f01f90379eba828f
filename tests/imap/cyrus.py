"""A Cyrus IMAP of our own beside Dovecot: private configuration, loopback, no privileges, gone when the test is."""

import contextlib
import os
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.imap import server_process
from tests.imap.certificates import ServerFiles

PASSWORD = "wordpass"
# Installed, or unpacked there by bin/unpack-cyrus.
ROOTS = (Path("/"), Path("/opt/cyrus-imapd"))

_IMAPD = """
configdirectory: {home}/conf
defaultpartition: default
partition-default: {home}/spool
cyrus_user: {user}
servername: localhost
admins: admin
proc_path: {home}/proc
mboxname_lockpath: {home}/lock
lmtpsocket: {home}/lmtp
idlesocket: {home}/idle
notifysocket: {home}/notify
altnamespace: {altnamespace}
unixhierarchysep: {unixhierarchysep}
allowplaintext: yes
sasl_pwcheck_method: saslauthd
sasl_saslauthd_path: {home}/mux
sasl_mech_list: PLAIN
autocreate_quota: 0
autocreate_users: anyone
autocreate_inbox_folders: Archive | Sent | Trash | Junk | Drafts
autocreate_subscribe_folders: Archive | Sent | Trash | Junk | Drafts
xlist-archive: Archive
xlist-sent: Sent
xlist-trash: Trash
xlist-junk: Junk
xlist-drafts: Drafts
specialusealways: yes
imapidlepoll: 1
munge8bit: no
failedloginpause: 0
virtdomains: off
skiplist_unsafe: yes
search_engine: none
tls_server_cert: {certificate}
tls_server_key: {key}
"""
_MASTER = """
START {{
  recover cmd="{programs}/ctl_cyrusdb -C {home}/imapd.conf -r"
  idled cmd="{programs}/idled -C {home}/imapd.conf"
}}
SERVICES {{
  imap cmd="{programs}/imapd -C {home}/imapd.conf" listen="127.0.0.1:{imap_port}" prefork=0
  imaps cmd="{programs}/imapd -C {home}/imapd.conf -s" listen="127.0.0.1:{imaps_port}" prefork=0
}}
EVENTS {{
  checkpoint cmd="{programs}/ctl_cyrusdb -C {home}/imapd.conf -c" period=300
}}
"""


@dataclass(frozen=True)
class Cyrus:
    """Where it listens. Every user exists, with one password."""

    imap_port: int
    imaps_port: int


def is_installed() -> bool:
    return _root() is not None


@contextlib.contextmanager
def running(*, tls: ServerFiles, unix_names: bool = False) -> Iterator[Cyrus]:
    """Starts Cyrus, waits until IMAP replies, and stops it for certain. Names are `INBOX.a.b`, or `a/b`."""
    root = _root()
    if root is None:
        raise RuntimeError("Cyrus is not installed")
    ports = Cyrus(imap_port=server_process.free_port(), imaps_port=server_process.free_port())
    with server_process.home("cyrus") as home, _passwords(home / "mux"):
        for name in ("conf", "spool", "proc", "lock"):
            (home / name).mkdir()
            server_process.give_away(home / name)
        values = {
            "home": home,
            "user": server_process.account().pw_name,
            "programs": root / "usr/lib/cyrus/bin",
            "altnamespace": "yes" if unix_names else "no",
            "unixhierarchysep": "yes" if unix_names else "no",
            "certificate": _copied(tls.certificate, home),
            "key": _copied(tls.key, home),
            **vars(ports),
        }
        (home / "imapd.conf").write_text(_IMAPD.format(**values), encoding="utf-8")
        (home / "cyrus.conf").write_text(_MASTER.format(**values), encoding="utf-8")
        command = [str(root / "usr/lib/cyrus/bin/master"), "-C", str(home / "imapd.conf")]
        command += ["-M", str(home / "cyrus.conf"), "-p", str(home / "pid"), "-D"]
        process = server_process.run(command, environment=_libraries(root))
        with server_process.stopping(process):
            server_process.wait_for(ports.imap_port, process, log=home / "log")
            yield ports


def _root() -> Path | None:
    return next((root for root in ROOTS if (root / "usr/lib/cyrus/bin/imapd").exists()), None)


def _libraries(root: Path) -> dict[str, str]:
    folders = [*root.glob("usr/lib/*-linux-gnu"), *root.glob("lib/*-linux-gnu")]
    return {"LD_LIBRARY_PATH": ":".join(map(str, folders))} if root != Path("/") else {}


def _copied(original: Path, home: Path) -> Path:
    """The file where the server's account may read it."""
    copy = home / original.name
    copy.write_bytes(original.read_bytes())
    server_process.give_away(copy)
    return copy


@contextlib.contextmanager
def _passwords(path: Path) -> Iterator[None]:
    """What Cyrus asks about passwords, instead of saslauthd: four counted strings, of which the second counts."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        os.chmod(path, 0o666)  # noqa: PTH101, S103
        listener.listen(16)
        thread = threading.Thread(target=_answer_all, args=(listener,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join(timeout=5)


def _answer_all(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, contextlib.suppress(OSError, EOFError, struct.error), connection.makefile("rb") as asked:
            fields = [asked.read(struct.unpack("!H", asked.read(2))[0]) for _ in range(4)]
            reply = b"OK" if fields[1] == PASSWORD.encode() else b"NO"
            connection.sendall(struct.pack("!H", len(reply)) + reply)
