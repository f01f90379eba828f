"""Connecting: what goes wrong is named so that a person can do something about it, and no secret leaks."""

import logging
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Literal

import pytest

from snoozer.mailboxes import imap
from snoozer.mailboxes.imap import Connection, ImapError, Login, Server
from tests.imap import dovecot
from tests.imap.certificates import Authority
from tests.imap.conftest import BOTH
from tests.imap.mailboxes import MailServer, connect
from tests.imap.proxy import Proxy
from tests.imap.scripted_server import EOF, GREETING, ScriptedImap

both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)
ANN = Login("ann", dovecot.PASSWORD)


def opened(
    port: int,
    *,
    security: Literal["tls", "starttls", "plain"] = "plain",
    host: str = "localhost",
    login: Login = ANN,
    tls: ssl.SSLContext | None = None,
    timeout: float = 20.0,
) -> Connection:
    return imap.open(Server(host, port, security), login, connect=connect, timeout=timeout, tls=tls)


def refusal(port: int, **arguments: object) -> ImapError:
    """Why a connection is not made."""
    with pytest.raises(ImapError) as error:
        opened(port, **arguments)  # type: ignore[arg-type]
    return error.value


@both
@pytest.mark.parametrize("security", ["tls", "starttls", "plain"])
def test_each_kind_of_security_ends_in_a_usable_mailbox(
    mail_server: MailServer, security: Literal["tls", "starttls", "plain"]
) -> None:
    port = mail_server.tls_port if security == "tls" else mail_server.port
    with opened(port, security=security, tls=mail_server.tls) as mailbox:
        assert mailbox.supports("uidplus")
        assert mailbox.select("INBOX").uidvalidity > 0
        mailbox.check()
    assert not mailbox.alive
    mailbox.close()


@both
def test_capabilities_are_those_after_the_login_less_the_masked_ones(mail_server: MailServer) -> None:
    server = Server("localhost", mail_server.tls_port, "tls")
    masked = {"MOVE", "UIDPLUS", "IDLE", "CONDSTORE", "SPECIAL-USE", "LITERAL+", "LIST-STATUS", "ID"}
    with imap.open(server, ANN, connect=connect, tls=mail_server.tls) as mailbox:
        assert masked <= mailbox.capabilities
        everything = mailbox.capabilities
    with imap.open(server, ANN, connect=connect, tls=mail_server.tls, without=masked) as mailbox:
        assert mailbox.capabilities == everything - masked


@both
def test_a_wrong_password_is_the_login(mail_server: MailServer) -> None:
    error = refusal(mail_server.tls_port, security="tls", tls=mail_server.tls, login=Login("ann", "wrong"))
    assert error.code == "login"
    assert "wrong" not in error.sentence


@both
def test_a_password_of_any_letters_is_sent_whole(mail_server: MailServer) -> None:
    for password in ("naïve ☺", 'a "b" \\c', "", "x" * 400):
        error = refusal(mail_server.tls_port, security="tls", tls=mail_server.tls, login=Login("ann", password))
        assert error.code == "login"


@both
def test_a_certificate_that_is_not_trusted_is_not_accepted(mail_server: MailServer) -> None:
    for security, port in (("tls", mail_server.tls_port), ("starttls", mail_server.port)):
        assert refusal(port, security=security).code == "certificate"


@both
def test_a_certificate_of_another_name_is_not_accepted(mail_server: MailServer) -> None:
    for security, port in (("tls", mail_server.tls_port), ("starttls", mail_server.port)):
        error = refusal(port, security=security, tls=mail_server.tls, host="imap.example.org")
        assert error.code == "certificate"
        assert "imap.example.org" in error.sentence


@pytest.mark.dovecot
def test_a_certificate_that_has_expired_is_not_accepted(
    dovecot_server: MailServer, authority: Authority, trusting_tls: ssl.SSLContext
) -> None:
    with dovecot.running(tls=authority.issue("localhost", ends_in=timedelta(hours=-1))) as running:
        error = refusal(running.imaps_port, security="tls", tls=trusting_tls)
    assert error.code == "certificate"
    assert "expired" in error.sentence


@both
def test_tls_at_a_port_without_it(mail_server: MailServer) -> None:
    assert refusal(mail_server.port, security="tls", tls=mail_server.tls).code == "tls"


def test_starttls_that_is_not_offered_is_not_done_without() -> None:
    with ScriptedImap() as server:
        assert refusal(server.port, security="starttls").code == "tls"
        assert not [command for command in server.commands if "LOGIN" in command]


def test_a_refused_starttls_is_not_done_without() -> None:
    script = {
        "CAPABILITY": "* CAPABILITY IMAP4rev1 STARTTLS\r\n{tag} OK done\r\n",
        "STARTTLS": "{tag} NO not today\r\n",
    }
    with ScriptedImap(script) as server:
        assert refusal(server.port, security="starttls").code == "tls"


def test_what_was_put_in_front_of_tls_is_not_read_as_if_it_came_by_tls() -> None:
    script = {
        "CAPABILITY": "* CAPABILITY IMAP4rev1 STARTTLS\r\n{tag} OK done\r\n",
        "STARTTLS": "{tag} OK begin\r\n* CAPABILITY IMAP4rev1 AUTH=PLAIN\r\n",
    }
    with ScriptedImap(script) as server:
        error = refusal(server.port, security="starttls")
    assert (error.code, "before TLS" in error.sentence) == ("tls", True)


def test_a_greeting_that_is_logged_in_already_is_not_taken_for_starttls() -> None:
    script = {
        GREETING: "* PREAUTH welcome\r\n",
        "CAPABILITY": "* CAPABILITY IMAP4rev1 STARTTLS\r\n{tag} OK done\r\n",
    }
    with ScriptedImap(script) as server:
        assert refusal(server.port, security="starttls").code == "tls"
        with server.open() as mailbox:
            mailbox.check()
        assert not [command for command in server.commands if "LOGIN" in command]


def test_no_password_is_sent_where_the_server_wants_tls_first() -> None:
    script = {"CAPABILITY": "* CAPABILITY IMAP4rev1 LOGINDISABLED\r\n{tag} OK done\r\n"}
    with ScriptedImap(script) as server:
        assert refusal(server.port).code == "tls"
        assert not [command for command in server.commands if "LOGIN" in command]


@pytest.mark.parametrize(
    ("greeting", "code"),
    [
        ("* BYE too many connections from your address\r\n" + EOF, "throttled"),
        ("* BYE shutting down\r\n" + EOF, "gone"),
        ("220 smtp.example.org ESMTP\r\n", "protocol"),
        ("HTTP/1.1 400 Bad Request\r\n\r\n", "protocol"),
        ("* OK", "gone"),
        (EOF, "gone"),
        ("", "gone"),
    ],
)
def test_what_is_no_imap_server_is_named(greeting: str, code: str) -> None:
    with ScriptedImap({GREETING: greeting}) as server:
        assert refusal(server.port, timeout=0.2 if code == "gone" else 20).code == code


@pytest.mark.parametrize(
    ("reply", "code", "seconds"),
    [
        ("NO [AUTHENTICATIONFAILED] invalid credentials", "login", None),
        ("NO [ALERT] Application-specific password required", "login", None),
        ("NO LOGIN failed.", "login", None),
        ("BAD what is that", "login", None),
        ("NO [PRIVACYREQUIRED] use TLS", "tls", None),
        ("NO [UNAVAILABLE] Temporary authentication failure.", "throttled", None),
        ("NO [LIMIT] LOGIN Rate limit hit.", "throttled", None),
        ("NO [INUSE] mailbox is in use", "throttled", None),
        ("NO [ALERT] Too many simultaneous connections. (Failure)", "throttled", None),
        ("BAD User is authenticated but not connected.", "throttled", None),
        ("BAD Request is throttled. Suggested Backoff Time: 178000 milliseconds", "throttled", 178.0),
        ("NO too many attempts, try again in 5 minutes", "throttled", 300.0),
        ("NO try again in 99999 minutes", "throttled", 3600.0),
    ],
)
def test_a_refused_login_is_sorted(reply: str, code: str, seconds: float | None) -> None:
    with ScriptedImap({"LOGIN": f"{{tag}} {reply}\r\n"}) as server:
        error = refusal(server.port)
    assert (error.code, error.seconds) == (code, seconds)


def test_a_login_that_hangs_up_is_no_wrong_password() -> None:
    with ScriptedImap({"LOGIN": EOF}) as server:
        assert refusal(server.port).code == "gone"
    with ScriptedImap({"LOGIN": "* BYE Too many failed logins, try again later\r\n" + EOF}) as server:
        assert refusal(server.port).code == "throttled"


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("{tag} NO [TRYCREATE] no such folder", "no_folder"),
        ("{tag} NO [NONEXISTENT] unknown", "no_folder"),
        ("{tag} NO Mailbox doesn't exist: x", "no_folder"),
        ("{tag} NO [NOPERM] not yours", "denied"),
        ("{tag} NO Permission denied", "denied"),
        ("{tag} NO [OVERQUOTA] full", "quota"),
        ("{tag} NO [INUSE] locked", "throttled"),
        ("{tag} BAD Request is throttled. Suggested Backoff Time: 1 ms", "throttled"),
        ("{tag} OK done", "protocol"),
        ("gibberish", "protocol"),
        ("* BYE bye", "gone"),
        ("* 3 EXISTS", "gone"),
    ],
)
def test_a_refused_command_is_sorted(reply: str, code: str) -> None:
    timeout = 0.3 if reply.startswith("* 3") else 20
    with ScriptedImap({"SELECT": reply + "\r\n"}) as server, server.open(timeout=timeout) as mailbox:
        with pytest.raises(ImapError) as error:
            mailbox.select("INBOX")
        assert error.value.code == code
        assert mailbox.alive == (code not in ("gone",) and reply != "gibberish")


def test_an_address_in_a_reply_is_masked() -> None:
    with ScriptedImap({"SELECT": "{tag} NO [NOPERM] ann@example.org may not\r\n"}) as server, server.open() as mailbox:
        with pytest.raises(ImapError) as error:
            mailbox.select("INBOX")
        assert error.value.sentence == "The mail server refused to open a folder: [NOPERM] …@… may not"


def test_a_reply_without_an_end_is_cut_off() -> None:
    endless = "* SEARCH" + " 1" * 600_000
    with ScriptedImap({"UID SEARCH": endless}) as server, server.open() as mailbox:
        with pytest.raises(ImapError) as error:
            mailbox.uids()
        assert error.value.code == "protocol"


@pytest.mark.parametrize("row", ["* 1 FETCH (" + "(" * 50_000, "* 1 FETCH (UID", "* 1 FETCH ()x", "* x FETCH"])
def test_nonsense_is_an_error_of_ours(row: str) -> None:
    with ScriptedImap({"UID FETCH": row + "\r\n{tag} OK done\r\n"}) as server, server.open() as mailbox:
        with pytest.raises(ImapError) as error:
            mailbox.heads([1])
        assert error.value.code == "protocol"


def test_a_literal_of_gigabytes_is_not_read() -> None:
    with ScriptedImap({"UID FETCH": "* 1 FETCH (UID 1 BODY[] {99999999999}\r\n"}) as server, server.open() as mailbox:
        with pytest.raises(ImapError) as error:
            mailbox.fetch_original(1)
        assert error.value.code == "protocol"


def test_who_cannot_be_connected_to() -> None:
    def unknown(host: str, port: int, timeout: float) -> socket.socket:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    def refused(host: str, port: int, timeout: float) -> socket.socket:
        raise ImapError("refused_address", "This address is not allowed.")

    for way, code in ((unknown, "name"), (refused, "refused_address")):
        with pytest.raises(ImapError) as error:
            imap.open(Server("imap.example.org", 993, "tls"), ANN, connect=way)
        assert error.value.code == code
    assert refusal(_closed_port()).code == "unreachable"


def test_a_token_is_sent_as_xoauth2_and_its_refusal_is_the_login() -> None:
    with _xoauth2_server("{tag} OK welcome\r\n") as (port, received):
        opened(port, login=Login("ann@example.org", access_token="t0ken")).close()
    assert received == ["dXNlcj1hbm5AZXhhbXBsZS5vcmcBYXV0aD1CZWFyZXIgdDBrZW4BAQ=="]
    with _xoauth2_server("+ eyJzdGF0dXMiOiI0MDAifQ==\r\n", "{tag} NO refused\r\n") as (port, received):
        assert refusal(port, login=Login("ann@example.org", access_token="old")).code == "token"
    assert received[1:] == [""]


@both
def test_no_log_has_a_password_an_address_or_a_subject(
    mail_server: MailServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    mailbox = mail_server.mailbox()
    with Proxy(mail_server.port) as proxy, mailbox.open(port=proxy.port) as mine:
        mine.append("INBOX", b"Subject: a secret subject\r\nFrom: ben@example.org\r\n\r\nx\r\n")
        mine.select("INBOX")
        mine.heads([1])
    with pytest.raises(ImapError):
        opened(mail_server.port, login=Login("ann", "naïve s3cret"))
    for secret in (dovecot.PASSWORD, "s3cret", "secret subject", "ben@example.org", mailbox.user):
        assert secret not in caplog.text
    assert "wordpass" not in repr(ANN)


def _closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def _xoauth2_server(*replies: str) -> Iterator[tuple[int, list[str]]]:
    """Takes AUTHENTICATE, then one line for each reply."""
    received: list[str] = []

    def serve() -> None:
        client, _ = listener.accept()
        with client, client.makefile("rb") as lines, suppress(OSError):
            client.sendall(b"* OK ready\r\n")
            for line in lines:
                tag, name = line.decode().split()[:2]
                if name == "AUTHENTICATE":
                    client.sendall(b"+ \r\n")
                    for reply in replies:
                        received.append(lines.readline().decode().strip())
                        client.sendall(reply.replace("{tag}", tag).encode())
                else:
                    untagged = "* CAPABILITY IMAP4rev1 AUTH=XOAUTH2\r\n" if name == "CAPABILITY" else ""
                    client.sendall(f"{untagged}{tag} OK done\r\n".encode())

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], received
        thread.join(timeout=5)
