"""The check of a mailbox at real servers: it says what is wrong, and asks for nothing twice."""

import socket
import threading

import pytest

from snoozer.mailboxes import registry
from snoozer.mailboxes.imap import Connection, Login, Server
from snoozer.mailboxes.registry import Report
from tests.conftest import missing
from tests.imap import dovecot
from tests.imap.conftest import BOTH
from tests.imap.mailboxes import Mailbox, MailServer
from tests.mail.greeter import Greeter

LABELS = ["Tomorrow", "Next week", "Nächste Woche", "***"]

both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)


def check(
    port: int, *, host: str = "localhost", security: str = "plain", user: str = "ann", **options: object
) -> Report:
    login = Login(user, str(options.pop("password", dovecot.PASSWORD)))
    values = {"labels": LABELS, "allow_private": True, **options}
    return registry.check(Server(host, port, security), login, **values)  # type: ignore[arg-type]


def problem(report: Report) -> tuple[str, str]:
    assert report.problem is not None
    return report.problem.code, f"{report.problem.what} {report.problem.remedy}"


def last_levels(connection: Connection) -> list[str]:
    return [folder.levels[-1] for folder in connection.folders()]


@both
@pytest.mark.parametrize("security", ["tls", "starttls", "plain"])
def test_a_mailbox_that_works_has_its_folders_once(mailbox: Mailbox, security: str) -> None:
    server = mailbox.server
    port = server.tls_port if security == "tls" else server.port
    for _ in range(2):
        report = check(port, security=security, user=mailbox.user, tls=server.tls)
        assert report == Report(left_out=("***",))
    with mailbox.open() as connection:
        names = last_levels(connection)
    for name in ("Snoozed", "Snooze", "Tomorrow", "Next week", "Naechste Woche"):
        assert names.count(name) == 1, name


@both
def test_a_wrong_password_is_named_and_not_repeated(mail_server: MailServer) -> None:
    code, words = problem(check(mail_server.port, password="not-the-password"))
    assert code == "login"
    assert "app password" in words
    assert "not-the-password" not in words


@both
@pytest.mark.parametrize("password", ["pässwörd 密码", 'a"b\\c', "x" * 1000, "{5}", "100% * (all)", " "])
def test_every_password_that_can_be_typed_is_taken_for_a_password(mail_server: MailServer, password: str) -> None:
    assert problem(check(mail_server.port, password=password))[0] == "login"


@both
def test_a_certificate_of_an_unknown_origin_stops_before_the_password(mail_server: MailServer) -> None:
    for port, security in ((mail_server.tls_port, "tls"), (mail_server.port, "starttls")):
        code, words = problem(check(port, security=security))
        assert code == "certificate"
        assert "The password was not sent." in words


@both
def test_a_certificate_for_another_name_is_refused(mail_server: MailServer) -> None:
    report = check(mail_server.tls_port, host="127.0.0.1", security="tls", tls=mail_server.tls)
    assert problem(report)[0] == "certificate"


@both
def test_a_port_without_tls_is_named(mail_server: MailServer) -> None:
    assert problem(check(mail_server.port, security="tls", tls=mail_server.tls))[0] == "tls"


def test_a_port_where_nothing_or_another_server_answers_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = listener.getsockname()[1]
    assert problem(check(closed))[0] == "unreachable"
    with Greeter(begin="plain", greeting=b"220 mail.example ESMTP\r\n") as server:
        assert problem(check(server.port))[0] == "protocol"


def test_a_host_that_does_not_exist_is_named() -> None:
    code, words = problem(check(993, host="imap.no-such-domain.invalid", security="tls"))
    assert code == "name"
    assert "imap.no-such-domain.invalid" in words


def test_private_networks_need_the_setting() -> None:
    assert problem(check(1143, allow_private=False))[0] == "port"
    assert problem(check(993, security="tls", allow_private=False))[0] == "refused_address"
    assert problem(check(143, allow_private=False))[0] == "insecure"


INSIDE = [
    "127.0.0.1",
    "localhost",
    "0x7f.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "::1",
    "fd12:3456::1",
    "::ffff:127.0.0.1",
    "::ffff:10.1.2.3",
    "64:ff9b::7f00:1",
]
RESERVED = [
    "0.0.0.0",  # noqa: S104 - refused
    "::",
    "169.254.169.254",
    "fe80::1%lo",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::7f00:1",
    "2002:7f00:1::",
    "::ffff:0:127.0.0.1",
    "224.0.0.1",
    "fd00:ec2::254",
]


@pytest.mark.parametrize(
    ("host", "allow_private"),
    [*((host, False) for host in INSIDE + RESERVED), *((host, True) for host in RESERVED)],
)
def test_an_address_inside_of_a_network_is_refused_with_a_sentence(host: str, allow_private: bool) -> None:
    code, words = problem(check(993, host=host, security="tls", allow_private=allow_private))
    assert code == "refused_address"
    assert words.startswith(f"{host} leads to an address that is not public")
    assert "are never connected to" in words


@pytest.mark.dovecot
@pytest.mark.parametrize(("rights", "code"), [("lrwstie", "denied"), ("lrs", "read_only")])
def test_a_missing_right_is_named(rights: str, code: str) -> None:
    if not dovecot.is_installed():
        missing("dovecot-imapd")
    with dovecot.running(rights=rights) as limited:
        assert problem(check(limited.imap_port))[0] == code


def test_a_server_that_keeps_a_check_waiting_is_left_in_time() -> None:
    """It sends a little all the time, so that no single wait is long."""
    ended = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            try:
                while not ended.wait(0.01):
                    connection.send(b"*")
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,), daemon=True)
        thread.start()
        code, _ = problem(check(listener.getsockname()[1], seconds=0.3))
        ended.set()
        thread.join()
    assert code in {"gone", "protocol", "unreachable"}
