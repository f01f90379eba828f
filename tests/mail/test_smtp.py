"""The sending connection, against a server that fails in every way at every phase."""

import asyncio
import resource
import ssl
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from snoozer.mail.relay import Relay, Security
from snoozer.mail.smtp import NoReply, Refused, RelayDown, Reply, Session, deliver
from snoozer.mail.wire import trusted
from tests import loops
from tests.loops import on_a_loop
from tests.mail import scripted_server as scripted
from tests.mail.resetting_server import ResettingServer
from tests.mail.scripted_server import ScriptedServer

MESSAGE = b"From: a@snoozer.example\r\nSubject: hello\r\n\r\n.dots\r\n..more\r\n.\r\nend\r\n"

FAULTS = {
    "4xx": "451 4.3.0 later",
    "5xx": "550 5.7.1 no",
    "421": "421 4.3.2 closing",
    "garbage": scripted.GARBAGE,
    "other number": "299 what",
    "two codes": "250-one\r\n251 two",
    "eof": scripted.EOF,
    "reset": scripted.RESET,
    "stall": scripted.STALL,
    "drip": scripted.DRIP,
    "endless line": scripted.ENDLESS_LINE,
    "endless lines": scripted.ENDLESS_LINES,
}


def expected(phase: str, fault: str) -> type[Exception]:
    about_this_mail = fault in ("4xx", "5xx")
    if phase == "dot":
        return Refused if about_this_mail or fault == "421" else NoReply
    return Refused if about_this_mail and phase in ("mail", "rcpt", "data") else RelayDown


@pytest.fixture
def trusting(certificate: tuple[ssl.SSLContext, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """We trust the certificate of the tests."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    trusted.cache_clear()
    yield
    trusted.cache_clear()


def send(relay: Relay, *, deadline: float = 5) -> Reply:
    """As a worker does it, each phase with the same short deadline."""

    async def converse() -> Reply:
        session = await Session.open(relay, helo="test.example", deadline=deadline)
        try:
            await session.hand_over_body(
                mail_from="snoozer@snoozer.example", rcpt_to="ann@example.com", message=MESSAGE, deadline=deadline
            )
            return await session.finish(deadline=deadline)
        finally:
            session.hang_up()

    return loops.run(converse())


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("phase", scripted.phases_in_order())
@pytest.mark.parametrize("ehlo", [scripted.USUAL["ehlo"], scripted.PIPELINING], ids=["one by one", "in one piece"])
def test_each_fault_at_each_phase_says_what_is_known(phase: str, fault: str, ehlo: str) -> None:
    started = time.monotonic()
    waits = fault in ("stall", "drip")
    with ScriptedServer({"ehlo": ehlo} | {phase: FAULTS[fault]}) as server:
        with pytest.raises((RelayDown, Refused, NoReply)) as raised:
            send(server.relay(), deadline=0.3 if waits else 5)
        assert type(raised.value) is expected(phase, fault)
        if isinstance(raised.value, Refused):
            assert raised.value.permanent is (fault == "5xx")
            assert (raised.value.phase, raised.value.code) == (phase, int(FAULTS[fault][:3]))
        assert len(server.received) == (phase == "dot")
    assert time.monotonic() - started < 3


@pytest.mark.parametrize("ehlo", [scripted.USUAL["ehlo"], scripted.PIPELINING], ids=["one by one", "in one piece"])
def test_a_mail_arrives_as_it_was_handed_over(ehlo: str) -> None:
    with ScriptedServer(ehlo=ehlo) as server:
        reply = send(server.relay())
        assert reply == Reply(code=250, enhanced="2.0.0", text="OK: queued as 4XyZ12abc", queue_id="4XyZ12abc")
        assert [mail.data for mail in server.received] == [MESSAGE]
        assert server.commands[1:] == [
            f"MAIL FROM:<snoozer@snoozer.example> SIZE={len(MESSAGE)}",
            "RCPT TO:<ann@example.com>",
            "DATA",
        ]


@on_a_loop
async def test_hanging_up_before_the_dot_delivers_nothing() -> None:
    with ScriptedServer() as server:
        session = await Session.open(server.relay(), helo="x", deadline=5)
        await session.hand_over_body(mail_from="s@s.example", rcpt_to="a@b.example", message=MESSAGE, deadline=5)
        session.hang_up()
        session.hang_up()
        await asyncio.sleep(0)  # The turn in which the loop lets go.
    assert server.received == []
    assert server.abandoned == [MESSAGE]


@on_a_loop
async def test_a_server_that_hung_up_while_we_asked_the_database_gets_no_dot() -> None:
    with ScriptedServer(data="354 go\r\n421 4.4.2 too slow") as server:
        session = await Session.open(server.relay(), helo="x", deadline=5)
        await session.hand_over_body(mail_from="s@s.example", rcpt_to="a@b.example", message=MESSAGE, deadline=5)
        dots: list[str] = []
        with pytest.raises(RelayDown):
            await session.finish(deadline=5, on_dot=lambda: dots.append("dot"))
        assert dots == []
    assert server.received == []


@pytest.mark.parametrize("security", ["plain", "tls"])
def test_a_connection_that_was_reset_while_we_asked_the_database_gets_no_dot(
    security: Security, certificate: tuple[ssl.SSLContext, Path], trusting: None
) -> None:
    with ResettingServer(certificate[0] if security == "tls" else None) as server:
        dots: list[str] = []

        async def converse() -> None:
            relay = Relay(host="localhost", port=server.port, security=security)
            session = await Session.open(relay, helo="x", deadline=5)
            await session.hand_over_body(mail_from="s@s.example", rcpt_to="a@b.example", message=MESSAGE, deadline=5)
            server.reset()  # While the loop stands still.
            with pytest.raises(RelayDown):
                await session.finish(deadline=5, on_dot=lambda: dots.append("dot"))

        loops.run(converse())
        assert dots == []


def test_a_body_that_lies_in_the_buffers_of_tls_is_not_handed_over(
    certificate: tuple[ssl.SSLContext, Path], trusting: None
) -> None:
    with ResettingServer(certificate[0], reads_the_body=False) as server:

        async def converse() -> None:
            relay = Relay(host="localhost", port=server.port, security="tls")
            session = await Session.open(relay, helo="x", deadline=5)
            long = b"From: a@snoozer.example\r\n\r\n" + b"x" * 70 + b"\r\n" * 4_000_000
            with pytest.raises(RelayDown, match="took nothing more"):
                await session.hand_over_body(mail_from="s@s.example", rcpt_to="a@b.example", message=long, deadline=1)

        loops.run(converse())


@on_a_loop
async def test_the_caller_hears_of_the_dot_before_the_reply_is_awaited() -> None:
    with ScriptedServer(dot=scripted.STALL) as server:
        session = await Session.open(server.relay(), helo="x", deadline=5)
        await session.hand_over_body(mail_from="s@s.example", rcpt_to="a@b.example", message=MESSAGE, deadline=5)
        dots: list[str] = []
        with pytest.raises(NoReply):
            await session.finish(deadline=0.3, on_dot=lambda: dots.append("dot"))
        assert dots == ["dot"]
        assert not session.usable


@on_a_loop
async def test_one_connection_carries_many_mails_and_survives_a_refusal() -> None:
    with ScriptedServer(rcpt=["250 ok", "550 5.1.1 <ann@example.com> unknown", "250 ok"]) as server:
        session = await Session.open(server.relay(), helo="x", deadline=5)
        for number in range(3):
            try:
                await session.hand_over_body(
                    mail_from="s@s.example", rcpt_to="a@b.example", message=MESSAGE, deadline=5
                )
                await session.finish(deadline=5)
            except Refused as refused:
                assert number == 1
                assert refused.permanent
                assert refused.enhanced == "5.1.1"
                assert refused.text == "<…@…> unknown"
        session.quit()
        assert len(server.received) == 2
        assert server.connections == 1
        assert server.commands.count("RSET") == 1


def test_a_tarpit_cannot_grow_our_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for flood in (scripted.ENDLESS_LINE, scripted.ENDLESS_LINES):
        with ScriptedServer(dot=flood) as server, pytest.raises(NoReply):
            send(server.relay())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


def test_a_server_that_is_not_there_is_down() -> None:
    with ScriptedServer() as server:
        relay = server.relay()
    with pytest.raises(RelayDown, match="refused the connection"):
        send(relay)
    with pytest.raises(RelayDown, match="no address"):
        send(Relay(host="nowhere.invalid", port=25, security="plain"))


@pytest.mark.parametrize("code", ["530 5.7.0 authenticate first", "535 5.7.8 no", "534 5.7.9 weak", "538 5.7.11 tls"])
def test_a_server_that_wants_a_login_retires_nobody(code: str) -> None:
    with ScriptedServer(mail=code) as server, pytest.raises(RelayDown):
        send(server.relay())


@pytest.mark.parametrize(
    "address",
    [
        "ann@example.com\r\nRCPT TO:<eve@example.com>",
        "ann@example.com> <eve@example.com",
        "<ann@example.com>",
        "ann example.com",
        "ann@",
        "@example.com",
        " ann@example.com",
        "ann@exa mple.com",
        '"ann b"@example.com',
        "ann@example.com\0",
        "ann@example.com\u2028",
        "a" * 250 + "@example.com",
        "",
        "jörg@example.com",
    ],
)
@on_a_loop
async def test_no_address_can_smuggle_a_command(address: str) -> None:
    with ScriptedServer() as server:
        session = await Session.open(server.relay(), helo="evil\r\nMAIL", deadline=5)
        with pytest.raises(Refused) as refused:
            await session.hand_over_body(mail_from="s@s.example", rcpt_to=address, message=MESSAGE, deadline=5)
        assert refused.value.permanent
        session.quit()
    assert server.commands == ["EHLO localhost", "QUIT"]


def test_an_address_in_another_script_goes_where_it_is_understood() -> None:
    ehlo = "250-x\r\n250 SMTPUTF8"
    with ScriptedServer(ehlo=ehlo) as server:
        for mail_from, rcpt_to in (("s@s.example", "jörg@bücher.example"), ("S <s@s.example>", "j@bücher.example")):
            mail = partial(deliver, helo="x", mail_from=mail_from, rcpt_to=rcpt_to, message=MESSAGE)
            loops.run(asyncio.to_thread(mail, server.relay()))
        mails = server.received
    assert mails[0].mail_from == "FROM:<s@s.example> SMTPUTF8"
    assert mails[0].rcpt_to == ("TO:<jörg@bücher.example>",)
    assert mails[1].mail_from == "FROM:<s@s.example>"
    assert mails[1].rcpt_to == ("TO:<j@xn--bcher-kva.example>",)


@pytest.mark.parametrize("message", [b"a\nb\r\n", b"a\rb\r\n", b"\xff\r\n", b"\0\r\n"])
@on_a_loop
async def test_a_mail_that_could_be_read_two_ways_is_not_sent(message: bytes) -> None:
    with ScriptedServer() as server:
        session = await Session.open(server.relay(), helo="x", deadline=5)
        with pytest.raises(ValueError, match="7 bit"):
            await session.hand_over_body(mail_from="s@s.example", rcpt_to="a@b.example", message=message, deadline=5)
        session.quit()
    assert server.abandoned == []


@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_tls_is_spoken_with_a_server_that_proves_its_name(
    security: str, certificate: tuple[ssl.SSLContext, Path], trusting: None
) -> None:
    context, _ = certificate
    ehlo = ["250-x\r\n250 STARTTLS", "250-x\r\n250 AUTH PLAIN LOGIN"]
    script = ehlo if security == "starttls" else ehlo[1:]
    with ScriptedServer(tls=context, security="tls" if security == "tls" else "starttls", ehlo=script) as server:
        send(server.relay(user="ann", password="geheim"))
        assert len(server.received) == 1
        assert "AUTH PLAIN AGFubgBnZWhlaW0=" in server.commands


@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_a_certificate_nobody_vouches_for_is_refused(
    security: Security, certificate: tuple[ssl.SSLContext, Path]
) -> None:
    server = ScriptedServer(tls=certificate[0], security=security, ehlo="250-x\r\n250 STARTTLS")
    with server, pytest.raises(RelayDown, match="certificate was not accepted"):
        send(server.relay())
    assert server.received == []


@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_a_certificate_for_another_name_is_refused(
    security: Security, certificate: tuple[ssl.SSLContext, Path], trusting: None
) -> None:
    server = ScriptedServer(tls=certificate[0], security=security, ehlo="250-x\r\n250 STARTTLS")
    with server, pytest.raises(RelayDown, match="certificate was not accepted"):
        send(server.relay(host="127.0.0.1"))
    assert server.received == []


def test_a_stripped_starttls_is_no_reason_to_speak_in_the_open() -> None:
    with ScriptedServer(security="starttls") as server:
        with pytest.raises(RelayDown, match="offers no STARTTLS"):
            send(server.relay(user="ann", password="geheim"))
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
        relay = server.relay(user="ann", password="geheim")
        if verdict is None:
            send(relay)
        else:
            with pytest.raises(RelayDown, match=verdict):
                send(relay)


@pytest.mark.parametrize("fault", [scripted.EOF, scripted.STALL, scripted.GARBAGE, scripted.RESET])
def test_a_login_that_breaks_off_means_the_server_is_down(fault: str) -> None:
    with ScriptedServer(ehlo="250-x\r\n250 AUTH PLAIN", auth=fault) as server, pytest.raises(RelayDown):
        send(server.relay(user="ann", password="geheim"), deadline=0.5)


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
def test_the_servers_own_name_for_the_mail_is_noted(text: str, queue_id: str | None) -> None:
    with ScriptedServer(dot=text) as server:
        assert send(server.relay()).queue_id == queue_id


def test_no_address_and_no_control_character_comes_out_of_a_refusal() -> None:
    hostile = "550 5.7.1 ann@example.com \x1b[31m" + "x" * 3_000
    with ScriptedServer(rcpt=hostile) as server:
        with pytest.raises(Refused) as raised:
            send(server.relay())
        assert "ann" not in str(raised.value)
        assert "\x1b" not in raised.value.text
        assert len(raised.value.text) <= 500
