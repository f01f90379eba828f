"""How replies of a mail server are classified, and what of their text may be stored."""

import pytest

from snoozer.mail.smtp.errors import Rejected, ServerUnavailable
from tests.mail.scripted_server import ScriptedServer
from tests.mail.sending import send


@pytest.mark.parametrize("code", ["530 5.7.0 authenticate first", "535 5.7.8 no", "534 5.7.9 weak", "538 5.7.11 tls"])
def test_a_server_that_requires_a_login_is_unavailable(code: str) -> None:
    with ScriptedServer(mail=code) as server, pytest.raises(ServerUnavailable):
        send(server.smtp_server())


@pytest.mark.parametrize(
    ("text", "queue_id"),
    [
        ("250 2.0.0 Ok: queued as 4XyZ12abc", "4XyZ12abc"),
        ("250 OK id=1rXyZ0-000ABC-2Q", "1rXyZ0-000ABC-2Q"),
        ("250 2.0.0 OK  1700000000 d2e1a72fcca58-abc.123 - gsmtp", "1700000000"),
        ("250 2.0.0 3fTq0x12 Message accepted for delivery", "3fTq0x12"),
        ("250 OK", None),
        ("250", None),
    ],
)
def test_the_queue_id_of_the_server_is_found(text: str, queue_id: str | None) -> None:
    with ScriptedServer(dot=text) as server:
        assert send(server.smtp_server()).queue_id == queue_id


def test_no_address_and_no_control_character_comes_out_of_a_refusal() -> None:
    hostile = "550 5.7.1 ann@example.com \x1b[31m" + "x" * 3_000
    with ScriptedServer(rcpt=hostile) as server:
        with pytest.raises(Rejected) as raised:
            send(server.smtp_server())
        assert "ann" not in str(raised.value)
        assert "\x1b" not in raised.value.reply.text
        assert len(raised.value.reply.text) <= 500
