"""The limits of a server that throttles are lowered, and relaxed when it stops."""

import asyncio
import time
from contextlib import suppress

import pytest

from snoozer.mail.smtp import connection_pool
from snoozer.mail.smtp.errors import CircuitOpen, Rejected, ServerUnavailable
from snoozer.mail.smtp.server_limits import (
    MAX_CONNECTIONS,
    MAX_INTERVAL,
    MAX_MESSAGES,
    MIN_INTERVAL,
    RELAX_AFTER_SECONDS,
    ServerLimits,
)
from tests.loops import on_a_loop
from tests.mail.scripted_server import EOF, PIPELINING, USUAL
from tests.mail.sending import TIMEOUT, a_queue


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


@pytest.mark.parametrize("dot", [USUAL["dot"], "550 5.7.1 no"], ids=["taken", "refused"])
@on_a_loop
async def test_a_reply_to_a_mail_ends_the_failures_in_a_row(dot: str) -> None:
    """Else failures far apart would add up, and all mail would wait for a server that is up."""
    async with a_queue(dot=dot) as (_, queue):
        queue.limits.record_failure("a hiccup")
        [mail] = queue.submit(1)
        with suppress(Rejected):
            await mail.end()
        assert queue.limits.take_report().failures == 0


@on_a_loop
async def test_a_server_that_accepts_two_connections_gets_everything_over_two() -> None:
    banner = ["220 one", "220 two", "421 4.7.0 too many connections from you"]
    async with a_queue(banner=banner) as (server, queue):
        holding = queue.submit(2, held=True)
        for mail in holding:
            await mail.body()
        others = queue.submit(10)
        while queue.limits.connections > 2:
            await asyncio.sleep(0)
        for mail in holding:
            mail.send_dot()
        for mail in [*holding, *others]:
            await mail.end()
        assert len(server.received) == 12
        assert queue.limits.connections == 2
        assert queue.limits.take_report().failures == 0


@on_a_loop
async def test_of_many_connections_opened_at_once_the_accepted_ones_become_the_limit() -> None:
    banner = ["220 one", "220 two", "220 three", "421 4.7.0 too many connections"]
    async with a_queue(banner=banner) as (server, queue):
        mails = queue.submit(1, held=True)
        await mails[0].body()
        mails = [*mails, *queue.submit(19, held=True)]
        while queue.limits.connections > 3:
            await asyncio.sleep(0)
        for mail in mails:
            await mail.body()
            mail.send_dot()
        for mail in mails:
            await mail.end()
        assert len(server.received) == 20
        assert server.connections <= 3 + 5
        assert queue.limits.connections == 3


@on_a_loop
async def test_a_refusal_before_other_connections_are_greeted_waits_for_them() -> None:
    banner = ["421 4.7.0 too many", "421 4.7.0 too many", "220 one", "220 two", "220"]
    async with a_queue(banner=banner) as (server, queue):
        await queue.send(20)
        assert len(server.received) == 20
        assert queue.limits.take_report().failures == 0


@on_a_loop
async def test_a_server_that_refuses_every_connection_gets_no_more_than_the_threshold() -> None:
    async with a_queue(banner="421 4.7.0 too many connections from you") as (server, queue):
        mails = queue.submit(20)
        assert {type(await mail.error()) for mail in mails} == {ServerUnavailable, CircuitOpen}
        assert server.connections == 5
        assert queue.limits.take_report().failures == 5
        assert queue.limits.connections == MAX_CONNECTIONS


@on_a_loop
async def test_a_mail_for_which_the_circuit_is_open_is_given_back_at_once() -> None:
    async with a_queue() as (server, queue):
        for _ in range(5):
            queue.limits.record_failure("down")
        for mail in queue.submit(3):
            assert type(await mail.error()) is CircuitOpen
        assert server.connections == 0


@on_a_loop
async def test_a_timeout_of_the_server_lowers_no_limit() -> None:
    mail = ["250 ok", "421 closing", "250 ok", "421 4.4.2 idle too long", "250 ok"]
    async with a_queue(mail=mail) as (server, queue):
        for _ in range(3):
            await queue.send()
        assert len(server.received) == 3
        assert queue.limits.messages == MAX_MESSAGES


@on_a_loop
async def test_a_connection_that_went_stale_is_no_failure() -> None:
    async with a_queue(dot=f"250 2.0.0 ok{EOF}") as (server, queue):
        for _ in range(3):
            await queue.send()
        assert len(server.received) == server.connections == 3
        assert queue.limits.take_report().failures == 0


@on_a_loop
async def test_a_fresh_connection_that_fails_is_not_tried_again_for_the_same_mail() -> None:
    async with a_queue(mail=EOF) as (server, queue):
        [mail] = queue.submit(1)
        assert type(await mail.error()) is ServerUnavailable
        assert server.connections == 1
        assert queue.limits.take_report().failures == 1


@on_a_loop
async def test_a_server_that_refuses_the_first_connection_is_down() -> None:
    async with a_queue(banner="421 4.7.0 too many connections from you") as (_, queue):
        with pytest.raises(ServerUnavailable):
            await queue.send()
        assert queue.limits.take_report().failures == 1


@pytest.mark.parametrize("ehlo", [USUAL["ehlo"], PIPELINING], ids=["one by one", "in one piece"])
@on_a_loop
async def test_a_server_that_takes_two_mails_on_a_connection_gets_two(ehlo: str) -> None:
    mail = ["250 ok", "250 ok", "421 4.7.0 too many mails", "250 ok"]
    async with a_queue(ehlo=ehlo, mail=mail, concurrency=1) as (server, queue):
        await queue.send(6)
        assert len(server.received) == 6
        assert server.connections == 3
        assert queue.limits.messages == 2


@on_a_loop
async def test_beyond_a_limit_that_was_lowered_sessions_are_quit() -> None:
    async with a_queue() as (server, queue):
        mails = queue.submit(2, held=True)
        for mail in mails:
            await mail.body()
        queue.limits.too_many_connections(1, now=time.monotonic())
        for mail in mails:
            mail.send_dot()
        for mail in mails:
            await mail.end()
        first, second = queue.submit(2, held=True)
        await first.body()
        assert queue.waiting == 1
        first.send_dot()
        await second.body()
        second.send_dot()
        await second.end()
        assert server.connections == 2


@on_a_loop
async def test_a_mail_that_was_given_up_leaves_its_turn_to_the_next() -> None:
    async with a_queue() as (server, queue):
        queue.limits.too_many_connections(1, now=time.monotonic())
        [held] = queue.submit(1, held=True)
        session = await held.body()
        others = queue.submit(2)
        assert queue.waiting == 2
        queue.pool.discard(session)
        for mail in others:
            await mail.end()
        assert (len(server.received), server.connections) == (2, 2)


@on_a_loop
async def test_a_rate_that_allows_no_mail_now_stops_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither waits the event loop for it, nor are more and more connections opened meanwhile."""
    monkeypatch.setattr(connection_pool, "LOOK_SECONDS", 0.001)
    async with a_queue(concurrency=2) as (server, queue):
        queue.limits.too_fast(now=time.monotonic())
        queue.limits.interval = 10.0
        first, second = queue.submit(2)
        await first.end()
        assert queue.waiting == 1
        for _ in range(50):
            await asyncio.sleep(0.001)
        assert server.connections <= 2
        queue.limits.interval = 0.0
        await second.end()


@on_a_loop
async def test_two_thousand_bad_addresses_in_a_row_are_refused_and_the_next_mail_is_sent() -> None:
    async with a_queue(ehlo=PIPELINING) as (server, queue):
        bad = queue.submit(1_000, rcpt_to="ann@")
        [good] = queue.submit(1)
        bad = [*bad, *queue.submit(1_000, rcpt_to="@example.com")]
        for mail in bad:
            assert type(await mail.error()) is Rejected
        await good.end()
        await queue.send(3)
        assert len(server.received) == 4


@on_a_loop
async def test_a_session_that_is_idle_too_long_is_quit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pool, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(connection_pool, "MAX_IDLE_SECONDS", 0.01)
    async with a_queue() as (server, queue):
        await queue.send()
        async with asyncio.timeout(TIMEOUT):
            while "QUIT" not in server.commands:
                await asyncio.sleep(0.001)
        await queue.send()
        assert server.connections == 2
