"""The limits of a server that throttles are lowered, and relaxed when it stops."""

import asyncio
import time

import pytest

from snoozer.smtp import connection_pool
from snoozer.smtp.connection_pool import (
    MAX_CONNECTIONS,
    MAX_INTERVAL,
    MAX_MESSAGES,
    MIN_INTERVAL,
    RELAX_AFTER_SECONDS,
    ConnectionPool,
    ServerLimits,
)
from snoozer.smtp.errors import CircuitOpen, Rejected, ServerUnavailable
from snoozer.smtp.session import SmtpSession
from tests import loops
from tests.mail.scripted_server import USUAL, ScriptedServer

MESSAGE = b"From: a@snoozer.example\r\n\r\nhello\r\n"


def test_a_server_that_never_throttles_is_never_waited_for() -> None:
    limits = ServerLimits(threshold=5)
    assert [limits.reserve_slot(now=at, max_wait=30) for at in (0.0, 0.0, 5.0)] == [0.0, 0.0, 0.0]
    assert (limits.connections, limits.messages) == (MAX_CONNECTIONS, MAX_MESSAGES)


def test_each_throttling_doubles_the_interval_up_to_a_limit() -> None:
    limits = ServerLimits(threshold=5)
    limits.too_fast(now=0.0)
    assert [limits.reserve_slot(now=0.0, max_wait=30) for _ in range(3)] == pytest.approx(
        [0.0, MIN_INTERVAL, 2 * MIN_INTERVAL]
    )
    for minute in range(1, 20):
        limits.too_fast(now=60.0 * minute)
    assert limits.interval == MAX_INTERVAL


def test_throttling_of_many_mails_at_once_counts_once() -> None:
    limits = ServerLimits(threshold=5)
    for _ in range(16):
        limits.too_fast(now=0.1)
    assert limits.interval == MIN_INTERVAL


def test_a_slot_that_is_too_far_away_is_not_reserved() -> None:
    limits = ServerLimits(threshold=5)
    for minute in range(-20, 1):
        limits.too_fast(now=60.0 * minute)
    assert limits.interval == MAX_INTERVAL == 10.0
    assert [limits.reserve_slot(now=0.0, max_wait=15) for _ in range(4)] == [0.0, 10.0, None, None]
    assert limits.reserve_slot(now=10.0, max_wait=15) == 10.0


def test_after_a_minute_without_refusals_the_limits_relax() -> None:
    limits = ServerLimits(threshold=5)
    limits.too_many_connections(3, now=0.0)
    limits.too_many_messages(10, now=0.0)
    limits.too_fast(now=0.0)
    limits.reserve_slot(now=RELAX_AFTER_SECONDS - 1, max_wait=30)
    assert (limits.connections, limits.messages, limits.interval) == (3, 10, MIN_INTERVAL)
    limits.reserve_slot(now=RELAX_AFTER_SECONDS, max_wait=30)
    assert (limits.connections, limits.messages, limits.interval) == (4, 20, 0.0)


def a_pool(server: ScriptedServer) -> ConnectionPool:
    limits = ServerLimits(threshold=5)
    return ConnectionPool(server.smtp_server(), helo="x", mail_from="s@s.example", connect_deadline=5, limits=limits)


async def delivered(pool: ConnectionPool) -> None:
    session = await pool.send_body(rcpt_to="a@b.example", message=MESSAGE, deadline=5)
    await session.send_dot(deadline=5)
    pool.release(session)


@pytest.mark.parametrize("dot", [USUAL["dot"], "550 5.7.1 no"], ids=["taken", "refused"])
def test_a_reply_to_a_mail_ends_the_failures_in_a_row(dot: str) -> None:
    """Else failures far apart would add up, and all mail would wait for a server that is up."""
    with ScriptedServer(dot=dot) as server:
        pool = a_pool(server)
        pool.limits.record_failure("a hiccup")

        async def deliver() -> None:
            session = await pool.send_body(rcpt_to="a@b.example", message=MESSAGE, deadline=5)
            try:
                await session.send_dot(deadline=5)
            except Rejected as refused:
                pool.rejected(session, refused, recipient="a@b.example")
            else:
                pool.release(session)
            pool.close()

        loops.run(deliver())
        assert pool.limits.take_report().failures == 0


def test_a_server_that_accepts_two_connections_gets_everything_over_two() -> None:
    banner = ["220 one", "220 two", "421 4.7.0 too many connections from you"]
    with ScriptedServer(banner=banner) as server:
        pool = a_pool(server)

        async def deliver_many() -> None:
            await asyncio.gather(delivered(pool), delivered(pool))
            holding = [await pool.send_body(rcpt_to="a@b.example", message=MESSAGE, deadline=5) for _ in "12"]
            others = [asyncio.create_task(delivered(pool)) for _ in range(10)]
            while pool.limits.connections > len(holding):
                await asyncio.sleep(0)
            for session in holding:
                await session.send_dot(deadline=5)
                pool.release(session)
            await asyncio.gather(*others)
            pool.close()

        loops.run(deliver_many())
        assert len(server.received) == 14
    assert pool.limits.connections == 2
    assert pool.limits.take_report().failures == 0


def test_of_many_connections_opened_at_once_the_accepted_ones_become_the_limit() -> None:
    with ScriptedServer(banner=["220 one", "220 two", "220 three", "421 4.7.0 too many connections"]) as server:
        pool = a_pool(server)

        async def hold_many() -> None:
            async def hold(session: SmtpSession | None = None) -> None:
                session = session or await pool.send_body(rcpt_to="a@b.example", message=MESSAGE, deadline=5)
                while pool.limits.connections > 3:
                    await asyncio.sleep(0)
                await session.send_dot(deadline=5)
                pool.release(session)

            first = await pool.send_body(rcpt_to="a@b.example", message=MESSAGE, deadline=5)
            await asyncio.gather(hold(first), *(hold() for _ in range(19)))
            pool.close()

        loops.run(hold_many())
        assert len(server.received) == 20
        assert server.connections <= 3 + 5
    assert pool.limits.connections == 3


def test_a_refusal_before_other_connections_are_greeted_waits_for_them() -> None:
    with ScriptedServer(banner=["421 4.7.0 too many", "421 4.7.0 too many", "220 one", "220 two", "220"]) as server:
        pool = a_pool(server)

        async def deliver_many() -> None:
            await asyncio.gather(*(delivered(pool) for _ in range(20)))
            pool.close()

        loops.run(deliver_many())
        assert len(server.received) == 20
    assert pool.limits.take_report().failures == 0


def test_a_server_that_refuses_every_connection_gets_no_more_than_the_threshold() -> None:
    with ScriptedServer(banner="421 4.7.0 too many connections from you") as server:
        pool = a_pool(server)

        async def deliver_many() -> list[object]:
            return await asyncio.gather(*(delivered(pool) for _ in range(20)), return_exceptions=True)

        ends = loops.run(deliver_many())
        assert {type(end) for end in ends} == {ServerUnavailable, CircuitOpen}
        assert server.connections == 5
    assert pool.limits.take_report().failures == 5
    assert pool.limits.connections == MAX_CONNECTIONS


def test_a_timeout_of_the_server_lowers_no_limit() -> None:
    with ScriptedServer(mail=["250 ok", "421 closing", "250 ok", "421 4.4.2 idle too long", "250 ok"]) as server:
        pool = a_pool(server)

        async def deliver_many() -> None:
            for _ in range(3):
                await delivered(pool)
            pool.close()

        loops.run(deliver_many())
        assert len(server.received) == 3
    assert pool.limits.messages == MAX_MESSAGES


def test_a_server_that_refuses_the_first_connection_is_down() -> None:
    with ScriptedServer(banner="421 4.7.0 too many connections from you") as server:
        pool = a_pool(server)
        with pytest.raises(ServerUnavailable):
            loops.run(delivered(pool))
    assert pool.limits.take_report().failures == 1


def test_a_server_that_takes_two_mails_on_a_connection_gets_two() -> None:
    mail = ["250 ok", "250 ok", "421 4.7.0 too many mails", "250 ok"]
    with ScriptedServer(mail=mail) as server:
        pool = a_pool(server)

        async def deliver_many() -> None:
            for _ in range(6):
                await delivered(pool)
            pool.close()

        loops.run(deliver_many())
        assert len(server.received) == 6
        assert server.connections == 3
    assert pool.limits.messages == 2


def test_a_mail_that_gets_no_slot_in_time_was_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pool, "MAX_WAIT_SECONDS", 0.01)
    with ScriptedServer() as server:
        pool = a_pool(server)
        pool.limits.too_many_connections(1, now=time.monotonic())

        async def two_at_once() -> None:
            session = await pool.send_body(rcpt_to="a@b.example", message=MESSAGE, deadline=5)
            with pytest.raises(CircuitOpen):
                await delivered(pool)
            pool.discard(session)
            await delivered(pool)
            await delivered(pool)
            pool.limits.interval = 60.0
            with pytest.raises(CircuitOpen):
                await delivered(pool)
            pool.close()

        loops.run(two_at_once())
    assert len(server.received) == 2
