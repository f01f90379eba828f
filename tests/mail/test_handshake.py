"""The start of a sending connection: TLS with a server that proves its name, and the login."""

import ssl
from pathlib import Path

import pytest

from snoozer.mail.smtp.errors import ServerUnavailable
from snoozer.mail.smtp.url import Security
from tests.mail import scripted_server as scripted
from tests.mail.scripted_server import ScriptedServer
from tests.mail.sending import send


@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_tls_is_used_with_a_server_that_proves_its_name(
    security: str, certificate: tuple[ssl.SSLContext, Path], trusting: None
) -> None:
    context, _ = certificate
    ehlo = ["250-x\r\n250 STARTTLS", "250-x\r\n250 AUTH PLAIN LOGIN"]
    script = ehlo if security == "starttls" else ehlo[1:]
    with ScriptedServer(tls=context, security="tls" if security == "tls" else "starttls", ehlo=script) as server:
        send(server.smtp_server(user="ann", password="geheim"))
        assert len(server.received) == 1
        assert "AUTH PLAIN AGFubgBnZWhlaW0=" in server.commands


@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_a_certificate_without_a_trusted_authority_is_refused(
    security: Security, certificate: tuple[ssl.SSLContext, Path]
) -> None:
    server = ScriptedServer(tls=certificate[0], security=security, ehlo="250-x\r\n250 STARTTLS")
    with server, pytest.raises(ServerUnavailable, match="certificate was not accepted"):
        send(server.smtp_server())
    assert server.received == []


@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_a_certificate_for_another_name_is_refused(
    security: Security, certificate: tuple[ssl.SSLContext, Path], trusting: None
) -> None:
    server = ScriptedServer(tls=certificate[0], security=security, ehlo="250-x\r\n250 STARTTLS")
    with server, pytest.raises(ServerUnavailable, match="certificate was not accepted"):
        send(server.smtp_server(host="127.0.0.1"))
    assert server.received == []


def test_a_stripped_starttls_is_no_reason_to_send_unprotected() -> None:
    with ScriptedServer(security="starttls") as server:
        with pytest.raises(ServerUnavailable, match="offers no STARTTLS"):
            send(server.smtp_server(user="ann", password="geheim"))
        assert server.commands == ["EHLO test.example"]


@pytest.mark.parametrize(
    ("ehlo", "auth", "verdict"),
    [
        ("250-x\r\n250 AUTH PLAIN", ["235 fine"], None),
        ("250-x\r\n250 AUTH LOGIN", ["334 VXNlcm5hbWU6", "334 UGFzc3dvcmQ6", "235 fine"], None),
        ("250-x\r\n250 AUTH PLAIN", ["535 5.7.8 AGFubgBnZWhlaW0="], "refused the login with 535$"),
        ("250-x\r\n250 AUTH PLAIN", ["454 4.7.0 later"], "refused the login with 454$"),
        ("250-x\r\n250 AUTH GSSAPI", ["235 fine"], "offers no login"),
        ("250 x", ["235 fine"], "offers no login"),
    ],
)
def test_a_login_works_or_the_server_is_down(ehlo: str, auth: list[str], verdict: str | None) -> None:
    with ScriptedServer(ehlo=ehlo, auth=auth) as server:
        smtp_server = server.smtp_server(user="ann", password="geheim")
        if verdict is None:
            send(smtp_server)
        else:
            with pytest.raises(ServerUnavailable, match=verdict):
                send(smtp_server)


@pytest.mark.parametrize("fault", [scripted.EOF, scripted.STALL, scripted.GARBAGE, scripted.RESET])
def test_a_login_that_breaks_off_means_the_server_is_down(fault: str) -> None:
    with ScriptedServer(ehlo="250-x\r\n250 AUTH PLAIN", auth=fault) as server, pytest.raises(ServerUnavailable):
        send(server.smtp_server(user="ann", password="geheim"), deadline=0.5)
