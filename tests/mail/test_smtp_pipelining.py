"""Where the server pipelines, a mail begins with the dot of the one before, and each fails on its own side of it."""

import asyncio

import pytest

from snoozer.mail.smtp.errors import NoReplyAfterData, Rejected, ServerUnavailable
from snoozer.mail.smtp.session import SmtpSession
from tests.loops import on_a_loop
from tests.mail import scripted_server as scripted
from tests.mail.scripted_server import ScriptedServer
from tests.mail.sending import MESSAGE, TIMEOUT, FollowedMail, a_queue, freed

ENVELOPE = f"MAIL FROM:<snoozer@snoozer.example> SIZE={len(MESSAGE)}\r\nRCPT TO:<ann@example.com>\r\nDATA\r\n".encode()
LONG_DEADLINE = 600


def a_server(**replies: str | list[str]) -> ScriptedServer:
    return ScriptedServer({"ehlo": scripted.PIPELINING} | replies)


async def a_body_sent(server: ScriptedServer) -> tuple[SmtpSession, FollowedMail]:
    """A session whose mail waits for its dot."""
    session = await SmtpSession.open(server.smtp_server(), helo="x", deadline=5)
    session.begin(mail := FollowedMail())
    await mail.body()
    return session, mail


async def is_usable(session: SmtpSession) -> bool:
    """Whether it is, once it is over with what it was given."""
    async with asyncio.timeout(TIMEOUT):
        if session.usable and not session.is_free:
            await freed(session)
    await asyncio.sleep(0)  # The turn in which the loop lets go.
    return session.usable


@pytest.mark.parametrize(
    ("ehlo", "behind_dots"),
    [(scripted.PIPELINING, [ENVELOPE, ENVELOPE, b""]), (scripted.USUAL["ehlo"], [b"", b"", b""])],
    ids=["pipelining", "one by one"],
)
@on_a_loop
async def test_the_next_envelope_comes_with_the_dot_where_the_server_pipelines(
    ehlo: str, behind_dots: list[bytes]
) -> None:
    async with a_queue(ehlo=ehlo, concurrency=1) as (server, queue):
        await queue.send(3)
        assert server.behind_dots == behind_dots
        assert [mail.data for mail in server.received] == [MESSAGE] * 3
        assert server.connections == 1


@pytest.mark.parametrize("dot", ["451 4.3.0 later", "550 5.7.1 no"])
@on_a_loop
async def test_a_refused_dot_is_not_held_against_the_mail_that_follows(dot: str) -> None:
    with a_server(dot=[dot, scripted.USUAL["dot"]]) as server:
        session, mail = await a_body_sent(server)
        session.send_dot(deadline=5, following=(following := FollowedMail()))
        assert type(await mail.error()) is Rejected
        await following.body()
        session.send_dot(deadline=5)
        assert (await following.end()).code == 250
        assert (mail.dots, following.dots, session.carried) == (1, 1, 2)
        session.quit()
    assert server.abandoned == []
    assert "RSET" not in server.commands


@pytest.mark.parametrize(
    ("dot", "error"),
    [
        ("421 4.3.2 closing", Rejected),
        ("299 what", NoReplyAfterData),
        (scripted.EOF, NoReplyAfterData),
        (scripted.RESET, NoReplyAfterData),
        (scripted.GARBAGE, NoReplyAfterData),
        (scripted.STALL, NoReplyAfterData),
        (scripted.DRIP, NoReplyAfterData),
        (scripted.ENDLESS_LINES, NoReplyAfterData),
    ],
)
@on_a_loop
async def test_a_connection_that_ends_after_a_dot_leaves_the_mail_that_follows_unsent(
    dot: str, error: type[Exception]
) -> None:
    with a_server(dot=dot) as server:
        session, mail = await a_body_sent(server)
        waits = dot in (scripted.STALL, scripted.DRIP)
        session.send_dot(deadline=0.3 if waits else LONG_DEADLINE, following=(following := FollowedMail()))
        assert type(await mail.error()) is error
        assert type(await following.error()) is ServerUnavailable
        assert (mail.dots, following.dots, following.has_body) == (1, 0, False)
        assert not await is_usable(session)
    assert len(server.received) == 1
    assert not any(server.abandoned)


@pytest.mark.parametrize("dot", ["421 4.3.2 closing", scripted.EOF])
@on_a_loop
async def test_a_mail_whose_predecessor_ended_the_connection_goes_over_another(dot: str) -> None:
    async with a_queue(ehlo=scripted.PIPELINING, dot=[dot, scripted.USUAL["dot"]], concurrency=1) as (server, queue):
        first, second = queue.submit(2)
        assert type(await first.error()) is (NoReplyAfterData if dot == scripted.EOF else Rejected)
        assert (await second.end()).code == 250
        assert (first.dots, second.dots) == (1, 1)
        assert server.connections == 2
    assert len(server.received) == 2


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("451 4.3.0 later", Rejected),
        ("550 5.7.1 no", Rejected),
        ("421 4.3.2 closing", ServerUnavailable),
        (scripted.GARBAGE, ServerUnavailable),
        (scripted.EOF, ServerUnavailable),
        (scripted.STALL, ServerUnavailable),
    ],
)
@pytest.mark.parametrize("phase", ["mail", "rcpt", "data"])
@on_a_loop
async def test_a_mail_that_fails_behind_a_dot_changes_nothing_of_the_dot(
    phase: str, fault: str, error: type[Exception]
) -> None:
    with a_server(**{phase: [scripted.USUAL[phase], fault]}) as server:
        session, mail = await a_body_sent(server)
        following = FollowedMail(body_deadline=0.3 if fault == scripted.STALL else LONG_DEADLINE)
        session.send_dot(deadline=LONG_DEADLINE, following=following)
        assert (await mail.end()).code == 250
        assert type(await following.error()) is error
        assert following.dots == 0
        session.abort()
        assert not await is_usable(session)
    assert len(server.received) == 1


@on_a_loop
async def test_a_connection_whose_pipelined_mail_was_refused_whole_carries_the_next() -> None:
    with a_server(rcpt=["550 5.1.1 unknown", "250 ok"], data=["554 5.5.1 no valid recipients", "354 go"]) as server:
        session = await SmtpSession.open(server.smtp_server(), helo="x", deadline=5)
        session.begin(refused := FollowedMail())
        assert type(await refused.error()) is Rejected
        assert await is_usable(session)
        session.begin(mail := FollowedMail())
        await mail.body()
        session.send_dot(deadline=5)
        assert (await mail.end()).code == 250
        session.quit()
        assert server.connections == 1
    assert server.commands.count("RSET") == 1
    assert [received.rcpt_to for received in server.received] == [("TO:<ann@example.com>",)]


@pytest.mark.parametrize("refused", ["mail", "rcpt"])
@on_a_loop
async def test_a_server_that_waits_for_the_body_of_a_refused_mail_gets_no_dot(refused: str) -> None:
    """An empty mail would be sent in its place."""
    with a_server(**{refused: "550 5.1.1 unknown"}) as server:
        session = await SmtpSession.open(server.smtp_server(), helo="x", deadline=5)
        session.begin(mail := FollowedMail())
        assert type(await mail.error()) is Rejected
        assert not await is_usable(session)
    assert (server.received, server.abandoned) == ([], [b""])


@on_a_loop
async def test_a_mail_that_is_given_up_behind_a_dot_waits_for_the_reply_to_the_dot() -> None:
    with a_server(dot=scripted.HOLD) as server:
        session, mail = await a_body_sent(server)
        session.send_dot(deadline=LONG_DEADLINE, following=(following := FollowedMail()))
        session.abort()
        assert session.usable
        server.go_on.set()
        assert (await mail.end()).code == 250
        assert not await is_usable(session)
        assert not (following.has_body or following.has_ended)
    assert len(server.received) == 1
    assert server.abandoned == [b""]


@on_a_loop
async def test_an_early_reply_withholds_the_dot_and_the_mail_that_follows() -> None:
    with a_server(data="354 go\r\n552 5.3.4 too big") as server:
        session, mail = await a_body_sent(server)
        session.send_dot(deadline=LONG_DEADLINE, following=(following := FollowedMail()))
        assert type(await mail.error()) is Rejected
        assert type(await following.error()) is ServerUnavailable
        assert (mail.dots, session.carried) == (0, 0)
        assert not await is_usable(session)
    assert (server.received, server.abandoned) == ([], [MESSAGE])


@on_a_loop
async def test_the_deadline_of_a_dot_is_not_prolonged_by_the_mail_that_follows() -> None:
    with a_server(dot=scripted.STALL) as server:
        session, mail = await a_body_sent(server)
        session.send_dot(deadline=0.3, following=FollowedMail(body_deadline=LONG_DEADLINE))
        assert type(await mail.error()) is NoReplyAfterData
        assert not await is_usable(session)


@on_a_loop
async def test_the_deadline_of_a_dot_is_not_shortened_by_the_mail_that_follows() -> None:
    loop = asyncio.get_running_loop()
    with a_server(dot=scripted.HOLD) as server:
        session, mail = await a_body_sent(server)
        session.send_dot(deadline=LONG_DEADLINE, following=FollowedMail(body_deadline=0.05))
        loop.call_later(0.3, server.go_on.set)
        assert (await mail.end()).code == 250
        session.abort()
        assert not await is_usable(session)


@on_a_loop
async def test_a_bad_address_behind_a_dot_leaves_the_connection_to_the_next() -> None:
    with a_server() as server:
        session, mail = await a_body_sent(server)
        session.send_dot(deadline=5, following=(bad := FollowedMail(rcpt_to="ann@")))
        assert type(await bad.error()) is Rejected
        assert (await mail.end()).code == 250
        assert await is_usable(session)
        assert server.behind_dots == [b""]
        session.quit()
