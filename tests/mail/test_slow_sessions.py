"""A mail server's slow reply to one mail takes no turn from others, and its sessions stay few."""

import asyncio

import pytest

from snoozer.mail.smtp import connection_pool
from tests.loops import on_a_loop
from tests.mail.scripted_server import HOLD, PIPELINING, USUAL
from tests.mail.sending import TIMEOUT, a_queue


@on_a_loop
async def test_sessions_that_wait_for_a_slow_reply_leave_room_for_others_up_to_a_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection_pool, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(connection_pool, "SLOW_SECONDS", 0.0)
    monkeypatch.setattr(connection_pool, "MAX_SLOW", 3)
    async with a_queue(dot=HOLD, concurrency=2) as (server, queue):
        mails = queue.submit(10)
        while len(server.received) < 2 + 3 + 1:
            await asyncio.sleep(0.001)
        assert queue.pool.slow == 3
        server.go_on.set()
        for mail in mails:
            await mail.end()
        assert (len(server.received), server.connections) == (10, 6)


@on_a_loop
async def test_a_session_is_slow_once_the_others_carried_two_mails_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """At hundreds of mails a second, sessions that waited for less than a second were all there were."""
    monkeypatch.setattr(connection_pool, "SLOW_SECONDS", TIMEOUT)
    async with a_queue(dot=[HOLD, USUAL["dot"]], concurrency=2) as (server, queue):
        [slow] = queue.submit(1)
        while not server.received:
            await asyncio.sleep(0.001)
        found = []
        for _ in range(5):
            await queue.send()
            queue.pool.wake()
            found.append(queue.pool.slow)
        assert (found, slow.has_ended) == ([0, 0, 0, 1, 1], False)
        server.go_on.set()
        await slow.end()


@on_a_loop
async def test_a_slow_session_is_found_while_the_others_are_never_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the server pipelines, they begin the next mail with each dot."""
    monkeypatch.setattr(connection_pool, "LOOK_SECONDS", TIMEOUT)
    monkeypatch.setattr(connection_pool, "SLOW_SECONDS", TIMEOUT)
    async with a_queue(ehlo=PIPELINING, dot=[HOLD, USUAL["dot"]], concurrency=2) as (server, queue):
        [slow] = queue.submit(1)
        while not server.received:
            await asyncio.sleep(0.001)
        await queue.send(50)
        assert server.connections > 2
        server.go_on.set()
        await slow.end()


@on_a_loop
async def test_sessions_that_were_slow_do_not_all_carry_mails_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pool, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(connection_pool, "SLOW_SECONDS", 0.0)
    async with a_queue(dot=HOLD, concurrency=2) as (server, queue):
        mails = queue.submit(10)
        while len(server.received) < 10:
            await asyncio.sleep(0.001)
        server.go_on.set()
        for mail in mails:
            await mail.end()
        monkeypatch.setattr(connection_pool, "SLOW_SECONDS", TIMEOUT)
        while queue.pool.slow:
            await asyncio.sleep(0.001)
        held = queue.submit(10, held=True)
        for mail in held[:2]:
            await mail.body()
        assert queue.waiting == 8
        for mail in held:
            await mail.body()
            mail.send_dot()
            await mail.end()


@on_a_loop
async def test_sessions_that_were_slow_begin_no_mail_with_a_dot_while_there_are_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the server pipelines, a session need not be free for its next mail."""
    monkeypatch.setattr(connection_pool, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(connection_pool, "SLOW_SECONDS", 0.0)
    # Else the first of six dots would be slow if a look came before their replies.
    monkeypatch.setattr(connection_pool, "SLOW_ROUNDS", 100)
    monkeypatch.setattr(connection_pool, "MAX_SLOW", 3)
    async with a_queue(ehlo=PIPELINING, rcpt=HOLD, concurrency=2) as (server, queue):
        mails = queue.submit(20, held=True)
        while queue.waiting > 14:
            await asyncio.sleep(0.001)
        monkeypatch.setattr(connection_pool, "SLOW_SECONDS", TIMEOUT)
        server.go_on.set()
        for mail in mails[:6]:
            await mail.body()
        while queue.pool.slow:
            await asyncio.sleep(0.001)
        for mail in mails[:6]:
            mail.send_dot()
        for mail in mails[:8]:
            await mail.body()
        assert queue.waiting == 12
        for mail in mails[6:]:
            await mail.body()
            mail.send_dot()
        for mail in mails:
            await mail.end()


@on_a_loop
async def test_a_mail_behind_a_slow_reply_goes_over_another_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """It began with the dot of that mail, and stayed claimed until the server had made up its mind."""
    monkeypatch.setattr(connection_pool, "LOOK_SECONDS", 0.001)
    async with a_queue(ehlo=PIPELINING, dot=[HOLD, USUAL["dot"]], concurrency=1) as (server, queue):
        first, second = queue.submit(2)
        while len(server.received) < 1:
            await asyncio.sleep(0.001)
        monkeypatch.setattr(connection_pool, "SLOW_SECONDS", 0.0)
        await second.end()
        assert server.connections == 2
        server.go_on.set()
        await first.end()
        assert len(server.received) == 2


@on_a_loop
async def test_sessions_that_wait_for_our_database_are_not_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """An outage of the database would have spread to hundreds of mails."""
    monkeypatch.setattr(connection_pool, "LOOK_SECONDS", 0.001)
    async with a_queue(concurrency=2) as (server, queue):
        mails = queue.submit(4, held=True)
        for mail in mails[:2]:
            await mail.body()
        monkeypatch.setattr(connection_pool, "SLOW_SECONDS", 0.0)
        for _ in range(50):
            await asyncio.sleep(0.001)
        assert (queue.pool.slow, queue.waiting) == (0, 2)
        monkeypatch.setattr(connection_pool, "SLOW_SECONDS", TIMEOUT)
        for mail in mails:
            await mail.body()
            mail.send_dot()
            await mail.end()
        assert server.connections == 2
