"""A Postfix of our own: private configuration and queue, loopback ports, gone when the test is.

It accepts any mail and relays it to the host of its recipient, which is a second port of it: that one refuses who has
no mailbox there, and hands other mail to a sink. Mail for `returns_to` goes to the port for incoming mail.
"""

import contextlib
import os
import shutil
import smtplib
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.imap import server_process

PEOPLE = "people.example"

_MAIN = """
compatibility_level = 3.6
queue_directory = {home}/queue
data_directory = {home}/data
maillog_file = {home}/log
maillog_file_prefixes = {home}
myhostname = relay.example
mydestination =
mynetworks = 127.0.0.0/8
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
alias_maps =
local_recipient_maps =
smtp_dns_support_level = disabled
smtp_host_lookup = native
smtpd_recipient_restrictions = permit_mynetworks, reject
{lines}
maximal_backoff_time = 2s
minimal_backoff_time = 1s
queue_run_delay = 1s
"""
# The service of each line is not in a chroot.
_MASTER = """
127.0.0.1:{port} inet n - n - - smtpd -o smtpd_reject_unlisted_recipient=no
127.0.0.1:{host_port} inet n - n - - smtpd -o myhostname=mx.{people} -o content_filter=smtp:[127.0.0.1]:{sink}
  -o relay_recipient_maps=texthash:{home}/etc/mailboxes
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
lmtp unix - - {chroot} - - lmtp
error unix - - n - - error
retry unix - - n - - error
anvil unix - - n - 1 anvil
tlsmgr unix - - n 1000? 1 tlsmgr
postlog unix-dgram n - n - 1 postlogd
"""


def program() -> str | None:
    """The path of Postfix; None if it is not installed, or this is not root, as whom it starts."""
    return shutil.which("postfix", path="/usr/sbin:/usr/local/sbin") if os.geteuid() == 0 else None


@dataclass(frozen=True, kw_only=True)
class Postfix:
    port: int
    home: Path

    def is_empty(self) -> bool:
        """Whether no mail is in its queue."""
        etc = str(self.home / "etc")
        queue = subprocess.run(["postqueue", "-c", etc, "-j"], capture_output=True, text=True, check=True, timeout=20)
        return not queue.stdout

    def send(self, original: bytes, *to: str, mail_from: str = "ben@mail.example") -> None:
        """Hand in a mail for these recipients."""
        with smtplib.SMTP("127.0.0.1", self.port, local_hostname="test.example") as client:
            assert client.sendmail(mail_from, to, original) == {}


@contextlib.contextmanager
def a_postfix(*, mailboxes: Sequence[str], sink: int, returns_to: str, inbound: int) -> Iterator[Postfix]:
    """Running, with these mailboxes at PEOPLE."""
    lines = f"relay_domains = {PEOPLE}\ntransport_maps = texthash:{{home}}/etc/transport\n"
    routes = {PEOPLE: "smtp:[127.0.0.1]:{host_port}", returns_to: f"lmtp:inet:127.0.0.1:{inbound}"}
    with running(lines, mailboxes=mailboxes, sink=sink, routes=routes) as postfix:
        yield postfix


@contextlib.contextmanager
def running(
    lines: str,
    *,
    mailboxes: Sequence[str] = (),
    sink: int = 0,
    routes: Mapping[str, str] | None = None,
    chroot: str = "n",
) -> Iterator[Postfix]:
    """Running with these lines of its configuration."""
    folder = tempfile.mkdtemp(prefix="snoozer-postfix-")
    home = Path(folder)
    home.chmod(0o755)
    port, host_port = server_process.free_port(), server_process.free_port()
    etc = home / "etc"
    for path in (etc, home / "queue", home / "data"):
        path.mkdir()
    shutil.chown(home / "data", "postfix")
    places = {"home": home, "people": PEOPLE, "port": port, "host_port": host_port, "sink": sink}
    (etc / "main.cf").write_text(_MAIN.format(**places, lines="") + lines.replace("{home}", str(home)))
    (etc / "master.cf").write_text(_MASTER.format(**places, chroot=chroot))
    (etc / "mailboxes").write_text("".join(f"{address} x\n" for address in mailboxes))
    written = [f"{domain} {where.format(**places)}\n" for domain, where in (routes or {}).items()]
    (etc / "transport").write_text("".join(written))
    command = ["postfix", "-c", str(etc)]
    process = subprocess.Popen(
        [*command, "start-fg"], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        server_process.wait_for(port, process, log=home / "log")
        yield Postfix(port=port, home=home)
    finally:
        # The master has a process group of its own, which it ends.
        subprocess.run([*command, "abort"], check=False, timeout=20, capture_output=True)
        process.wait(timeout=20)
        shutil.rmtree(home, ignore_errors=True)
