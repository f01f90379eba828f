"""A Dovecot of our own: private configuration, loopback, no privileges, gone when the test is."""

import contextlib
import grp
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.imap import server_process
from tests.imap.certificates import ServerFiles

PASSWORD = "wordpass"

_CONFIGURATION = """
base_dir = {home}/run
state_dir = {home}/state
log_path = {home}/log
listen = {addresses}
protocols = imap lmtp
disable_plaintext_auth = no
default_internal_user = {user}
default_login_user = {user}
default_internal_group = {group}
mail_location = {storage}
mail_uid = {uid}
mail_gid = {gid}
mail_max_userip_connections = 100
default_process_limit = {processes}
default_client_limit = {clients}
mailbox_idle_check_interval = {idle_check}
auth_failure_delay = 0
first_valid_uid = 0
last_valid_uid = 0
{tls}
{oauth}
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
  separator = {separator}
  prefix = {prefix}
  {mailboxes}
}}
{quota}
{sieve}
{capabilities}
{acl}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {imap_port}
  }}
  inet_listener imaps {{
    port = {imaps_port}
    ssl = yes
  }}
}}
service anvil {{
  chroot =
  # Otherwise wrong passwords make everything from loopback wait, up to 15 s.
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
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
_TLS = """
ssl = yes
ssl_cert = <{certificate}
ssl_key = <{key}
"""
_OAUTH = """
auth_mechanisms = plain xoauth2
passdb {{
  driver = oauth2
  mechanisms = xoauth2
  args = {file}
}}
"""
_INTROSPECTION = """
introspection_mode = post
introspection_url = {url}
force_introspection = yes
active_attribute = active
active_value = true
username_attribute = username
"""
_QUOTA = """
mail_plugins = quota
plugin {{
  quota = count:User quota
  quota_vsizes = yes
  quota_rule = *:messages={messages}
}}
"""
_SIEVE = """
protocol lmtp {{
  mail_plugins = sieve
}}
plugin {{
  sieve = file:{file}
}}
"""
_ACL = """
protocol imap {{
  mail_plugins = acl
}}
plugin {{
  acl = vfile:{file}
}}
"""
_MAILBOX = """
  mailbox {name} {{
    special_use = {use}
    auto = create
  }}
"""
_SPECIAL_USES = {"Archive": "\\Archive", "Sent": "\\Sent", "Trash": "\\Trash", "Junk": "\\Junk", "Drafts": "\\Drafts"}


@dataclass(frozen=True)
class Dovecot:
    """Where it listens. Every user exists, with one password; mail is in `home`."""

    imap_port: int
    imaps_port: int
    lmtp_port: int
    # Has it show another certificate from some moment on.
    renew: Callable[[ServerFiles], None]
    home: Path


def is_installed() -> bool:
    return shutil.which("dovecot") is not None


@contextlib.contextmanager
def running(
    *,
    separator: str = ".",
    prefix: str = "",
    tls: ServerFiles | None = None,
    max_messages: int | None = None,
    capabilities: str = "",
    rights: str | None = None,
    introspection_url: str | None = None,
    sieve: str | None = None,
    all_mail: str | None = None,
    processes: int = 100,
    also_at: str | None = None,
) -> Iterator[Dovecot]:
    """Starts Dovecot, waits until IMAP replies, and stops it for certain. Root runs it as another user. With
    `capabilities`, it announces just these; with `rights`, the owner of a mailbox has these alone; with
    `introspection_url`, it also takes access tokens that are active there (RFC 7662); with `sieve`, what comes by LMTP
    is filed by this script; `all_mail` is a folder that it says has all mail. There are at most so many `processes`,
    one for each session. It listens on loopback, and at the address `also_at`."""
    account = server_process.account()
    with server_process.home("dovecot") as home:

        def renew(tls: ServerFiles) -> None:
            _copied(tls, home)
            process.send_signal(signal.SIGHUP)

        ports = Dovecot(
            imap_port=server_process.free_port(),
            imaps_port=server_process.free_port() if tls else 0,
            lmtp_port=server_process.free_port(),
            renew=renew,
            home=home,
        )
        configuration = home / "dovecot.conf"
        configuration.write_text(
            _CONFIGURATION.format(
                home=home,
                user=account.pw_name,
                group=grp.getgrgid(account.pw_gid).gr_name,
                uid=account.pw_uid,
                gid=account.pw_gid,
                password=PASSWORD,
                processes=processes,
                addresses="127.0.0.1" if also_at is None else f"127.0.0.1, {also_at}",
                clients=10 * processes,
                # Linux gives notifications to 128 processes of a user; the others look by themselves.
                idle_check="30 secs" if processes <= 100 else "1 secs",
                separator=separator,
                prefix=prefix,
                storage=f"maildir:{home}/mail/%u" if separator == "." else f"sdbox:{home}/mail/%u",
                capabilities=f"protocol imap {{\n  imap_capability = {capabilities}\n}}" if capabilities else "",
                mailboxes="".join(
                    _MAILBOX.format(name=name, use=use)
                    for name, use in {**_SPECIAL_USES, **({all_mail: r"\All"} if all_mail else {})}.items()
                ),
                quota="" if max_messages is None else _QUOTA.format(messages=max_messages),
                sieve="" if sieve is None else _filed(sieve, home),
                oauth="" if introspection_url is None else _with_tokens(introspection_url, home),
                acl="" if rights is None else _limited(rights, home),
                tls="ssl = no" if tls is None else _copied(tls, home),
                imap_port=ports.imap_port,
                imaps_port=ports.imaps_port,
                lmtp_port=ports.lmtp_port,
            ),
            encoding="utf-8",
        )
        process = server_process.run(["dovecot", "-F", "-c", str(configuration)])
        with server_process.stopping(process):
            server_process.wait_for(ports.imap_port, process, log=home / "log")
            server_process.wait_for(ports.lmtp_port, process, log=home / "log")
            yield ports


def _limited(rights: str, home: Path) -> str:
    """What its owner may do in every folder (RFC 4314)."""
    file = home / "rights"
    file.write_text(f"* owner {rights}\n", encoding="utf-8")
    server_process.give_away(file)
    return _ACL.format(file=file)


def _filed(script: str, home: Path) -> str:
    # Its compiled form is written next to it.
    folder = home / "sieve"
    folder.mkdir()
    (folder / "rules.sieve").write_text(script, encoding="utf-8")
    server_process.give_away(folder)
    return _SIEVE.format(file=folder / "rules.sieve")


def _with_tokens(introspection_url: str, home: Path) -> str:
    file = home / "oauth2"
    file.write_text(_INTROSPECTION.format(url=introspection_url), encoding="utf-8")
    server_process.give_away(file)
    return _OAUTH.format(file=file)


def _copied(tls: ServerFiles, home: Path) -> str:
    """The files where the server's account may read them."""
    names = {"certificate": tls.certificate, "key": tls.key}
    for name, original in names.items():
        shutil.copy(original, home / name)
        server_process.give_away(home / name)
    return _TLS.format(certificate=home / "certificate", key=home / "key")
