"""The sending connection, against a server that fails in every way at every phase."""

import asyncio
import resource
import ssl
from functools import partial
from pathlib import Path

import pytest

from snoozer.mail.smtp.client import deliver
from snoozer.mail.smtp.errors import NoReplyAfterData, Rejected, ServerUnavailable
from snoozer.mail.smtp.session import SmtpSession
from snoozer.mail.smtp.url import Security, SmtpServer
from tests import loops
from tests.loops import on_a_loop
from tests.mail import scripted_server as scripted
from tests.mail.resetting_server import ResettingServer
from tests.mail.scripted_server import ScriptedServer
from tests.mail.sending import MESSAGE, TIMEOUT, FollowedMail, freed, send

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
        return Rejected if about_this_mail or fault == "421" else NoReplyAfterData
    return Rejected if about_this_mail and phase in ("mail", "rcpt", "data") else ServerUnavailable


async def an_open_session(server: SmtpServer) -> SmtpSession:
    return await SmtpSession.open(server, helo="x", deadline=5)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("phase", scripted.phases_in_order())
@pytest.mark.parametrize("ehlo", [scripted.USUAL["ehlo"], scripted.PIPELINING], ids=["one by one", "in one piece"])
def test_each_fault_at_each_phase_has_its_own_exception(phase: str, fault: str, ehlo: str) -> None:
    """A server that is silent is waited for until the deadline of its phase, and no other."""
    deadline = {"banner": "deadline", "ehlo": "deadline", "dot": "dot_deadline"}.get(phase, "body_deadline")
    with ScriptedServer({"ehlo": ehlo} | {phase: FAULTS[fault]}) as server:
        with pytest.raises((ServerUnavailable, Rejected, NoReplyAfterData)) as raised:
            send(server.smtp_server(), **({deadline: 0.3} if fault in ("stall", "drip") else {}))
        assert type(raised.value) is expected(phase, fault)
        if isinstance(raised.value, Rejected):
            assert raised.value.permanent is (fault == "5xx")
            assert (raised.value.phase, raised.value.reply.code) == (phase, int(FAULTS[fault][:3]))
        assert len(server.received) == (phase == "dot")


@pytest.mark.parametrize("ehlo", [scripted.USUAL["ehlo"], scripted.PIPELINING], ids=["one by one", "in one piece"])
def test_a_mail_arrives_as_it_was_handed_over(ehlo: str) -> None:
    with ScriptedServer(ehlo=ehlo) as server:
        reply = send(server.smtp_server())
        assert (reply.code, reply.enhanced_code) == (250, "2.0.0")
        assert (reply.text, reply.queue_id) == ("OK: queued as 4XyZ12abc", "4XyZ12abc")
        assert [mail.data for mail in server.received] == [MESSAGE]
        assert server.commands[1:] == [
            f"MAIL FROM:<snoozer@snoozer.example> SIZE={len(MESSAGE)}",
            "RCPT TO:<ann@example.com>",
            "DATA",
        ]


@on_a_loop
async def test_hanging_up_before_the_dot_delivers_nothing() -> None:
    with ScriptedServer() as server:
        session = await an_open_session(server.smtp_server())
        session.begin(mail := FollowedMail())
        await mail.body()
        session.abort()
        session.abort()
        await asyncio.sleep(0)  # The turn in which the loop lets go.
        assert not session.usable
        assert not mail.has_ended
    assert server.received == []
    assert server.abandoned == [MESSAGE]


@pytest.mark.parametrize(
    ("early", "error"),
    [("421 4.4.2 too slow", ServerUnavailable), ("552 5.3.4 too big", Rejected), ("250 fine", ServerUnavailable)],
)
@on_a_loop
async def test_a_server_that_replied_while_we_asked_the_database_gets_no_dot(
    early: str, error: type[Exception]
) -> None:
    with ScriptedServer(ehlo=scripted.PIPELINING, data=f"354 go\r\n{early}") as server:
        session = await an_open_session(server.smtp_server())
        session.begin(mail := FollowedMail())
        await mail.body()
        assert not session.pipelines
        session.send_dot(deadline=5)
        assert type(await mail.error()) is error
        assert (mail.dots, session.carried, session.usable) == (0, 0, False)
        await asyncio.sleep(0)
    assert server.received == []


@on_a_loop
async def test_half_a_reply_while_we_asked_the_database_is_not_waited_for_as_long_as_the_one_to_a_dot() -> None:
    with ResettingServer(None, data=b"354 go\r\n55") as server:
        session = await an_open_session(server.smtp_server())
        session.begin(mail := FollowedMail())
        await mail.body()
        session.send_dot(deadline=600)
        assert type(await mail.error()) is ServerUnavailable
        assert mail.dots == 0


@pytest.mark.parametrize("security", ["plain", "tls"])
def test_a_connection_that_was_reset_while_we_asked_the_database_gets_no_dot(
    security: Security, certificate: tuple[ssl.SSLContext, Path], trusting: None
) -> None:
    with ResettingServer(certificate[0] if security == "tls" else None) as server:

        async def exchange() -> None:
            session = await an_open_session(server.smtp_server())
            session.begin(mail := FollowedMail())
            await mail.body()
            server.reset()  # While the loop stands still.
            session.send_dot(deadline=5)
            assert type(await mail.error()) is ServerUnavailable
            assert mail.dots == 0

        loops.run(exchange())


LONG = b"From: a@snoozer.example\r\n\r\n" + b"x" * 70 + b"\r\n" * 4_000_000


@pytest.mark.parametrize("security", ["plain", "tls"])
def test_a_body_that_lies_in_our_buffers_is_not_handed_over(
    security: Security, certificate: tuple[ssl.SSLContext, Path], trusting: None
) -> None:
    with ResettingServer(certificate[0] if security == "tls" else None, reads_the_body=False) as server:

        async def exchange() -> None:
            session = await an_open_session(server.smtp_server())
            session.begin(mail := FollowedMail(message=LONG, body_deadline=1))
            with pytest.raises(ServerUnavailable, match="took nothing more"):
                await mail.end()
            assert not mail.has_body

        loops.run(exchange())


@pytest.mark.parametrize("hangs_up", [False, True], ids=["reads no further", "hangs up"])
@on_a_loop
async def test_a_body_that_is_refused_before_its_end_is_refused_for_what_the_server_replied(hangs_up: bool) -> None:
    refusal = b"354 go\r\n552 5.3.4 too big\r\n"
    with ResettingServer(None, reads_the_body=False, data=refusal, hangs_up=hangs_up) as server:
        session = await an_open_session(server.smtp_server())
        session.begin(mail := FollowedMail(message=LONG, body_deadline=60 if hangs_up else 1))
        with pytest.raises(Rejected, match="too big") as refused:
            await mail.end()
        assert refused.value.phase == "body"
        assert not session.usable


@on_a_loop
async def test_the_dot_is_known_to_have_left_before_the_reply_comes() -> None:
    with ScriptedServer(dot=scripted.STALL) as server:
        session = await an_open_session(server.smtp_server())
        session.begin(mail := FollowedMail())
        await mail.body()
        session.send_dot(deadline=0.3)
        assert (mail.dots, mail.has_ended) == (1, False)
        assert type(await mail.error()) is NoReplyAfterData
        assert mail.dots == 1
        assert not session.usable


@on_a_loop
async def test_one_connection_carries_many_mails_and_survives_a_refusal() -> None:
    with ScriptedServer(rcpt=["250 ok", "550 5.1.1 <ann@example.com> unknown", "250 ok"]) as server:
        session = await an_open_session(server.smtp_server())
        for number in range(3):
            session.begin(mail := FollowedMail())
            try:
                await mail.body()
                session.send_dot(deadline=5)
                await mail.end()
            except Rejected as refused:
                assert number == 1
                assert refused.permanent
                assert refused.reply.enhanced_code == "5.1.1"
                assert refused.reply.text == "<…@…> unknown"
            assert session.is_free
        session.quit()
        assert len(server.received) == 2
        assert server.connections == 1
        assert server.commands.count("RSET") == 1


@pytest.mark.parametrize("last", [scripted.EOF, "\r\n421 4.4.2 idle too long"], ids=["hangs up", "says so"])
@on_a_loop
async def test_a_session_whose_server_hangs_up_while_it_is_idle_carries_nothing_more(last: str) -> None:
    with ScriptedServer(dot=f"250 2.0.0 ok{last}") as server:
        session = await an_open_session(server.smtp_server())
        session.begin(mail := FollowedMail())
        await mail.body()
        session.send_dot(deadline=5)
        await mail.end()
        async with asyncio.timeout(TIMEOUT):
            while session.usable:
                await freed(session)
        assert not session.is_free


def test_a_tarpit_cannot_grow_our_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for flood in (scripted.ENDLESS_LINE, scripted.ENDLESS_LINES):
        with ScriptedServer(dot=flood) as server, pytest.raises(NoReplyAfterData):
            send(server.smtp_server())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


def test_a_server_that_is_not_there_is_down() -> None:
    with ScriptedServer() as server:
        smtp_server = server.smtp_server()
    with pytest.raises(ServerUnavailable, match="refused the connection"):
        send(smtp_server)
    with pytest.raises(ServerUnavailable, match="no address"):
        send(SmtpServer(host="nowhere.invalid", port=25, security="plain"))


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
        session = await SmtpSession.open(server.smtp_server(), helo="evil\r\nMAIL", deadline=5)
        session.begin(mail := FollowedMail(rcpt_to=address))
        with pytest.raises(Rejected) as refused:
            await mail.end()
        assert refused.value.permanent
        assert session.is_free
        session.quit()
    assert server.commands == ["EHLO localhost", "QUIT"]


def test_an_address_in_another_script_goes_where_it_is_understood() -> None:
    ehlo = "250-x\r\n250 SMTPUTF8"
    with ScriptedServer(ehlo=ehlo) as server:
        for mail_from, rcpt_to in (("s@s.example", "jörg@bücher.example"), ("S <s@s.example>", "j@bücher.example")):
            mail = partial(deliver, helo="x", mail_from=mail_from, rcpt_to=rcpt_to, message=MESSAGE)
            loops.run(asyncio.to_thread(mail, server.smtp_server()))
        mails = server.received
    assert mails[0].mail_from == "FROM:<s@s.example> SMTPUTF8"
    assert mails[0].rcpt_to == ("TO:<jörg@bücher.example>",)
    assert mails[1].mail_from == "FROM:<s@s.example>"
    assert mails[1].rcpt_to == ("TO:<j@xn--bcher-kva.example>",)


@pytest.mark.parametrize("message", [b"a\nb\r\n", b"a\rb\r\n", b"\xff\r\n", b"\0\r\n"])
@on_a_loop
async def test_a_mail_that_could_be_read_two_ways_is_not_sent(message: bytes) -> None:
    with ScriptedServer() as server:
        session = await an_open_session(server.smtp_server())
        session.begin(mail := FollowedMail(message=message))
        with pytest.raises(ValueError, match="7 bit"):
            await mail.end()
        assert session.is_free
        session.quit()
    assert server.abandoned == []
