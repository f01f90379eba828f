"""Connections of a web process: kept, shared by threads, left alone by a fork; and a folder of a hundred thousand."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import get_context
from threading import Event, Thread

import pytest
from sqlalchemy import Engine

from snoozer.mailboxes import registry
from snoozer.mailboxes.imap.reading import MAX_THREADED
from snoozer.mailboxes.read import connections
from snoozer.mailboxes.read.connections import ConnectionPool
from snoozer.mailboxes.read.mailbox import MailboxError
from snoozer.settings import Settings
from tests.factories import People
from tests.imap import dovecot, server_process
from tests.imap.dovecot import PASSWORD
from tests.imap.mailboxes import a_message
from tests.imap.proxy import Proxy
from tests.imap.reading import FULL, a_pool, logins_of, opened, reading, subjects
from tests.imap.watched import Place, watched

pytestmark = pytest.mark.dovecot

MANY = 100_000 if FULL else 2_000


@pytest.fixture
def proxy(place: Place) -> Iterator[Proxy]:
    [(port,)] = place.rows("SELECT port FROM mailboxes")
    with Proxy(port) as proxy:
        place.lead_to(proxy.port)
        yield proxy


def logins(proxy: Proxy) -> int:
    return sum(b" LOGIN " in command or b" AUTHENTICATE " in command for command in proxy.commands)


def test_a_connection_is_used_again_until_its_password_changes(place: Place, proxy: Proxy) -> None:
    with a_pool(place) as pool:
        for _ in range(3):
            opened(place, pool).folders()
        assert logins(proxy) == 1
        with place.engine.begin() as connection:
            registry.change_password(
                connection,
                id=place.mailbox_id,
                account_id=place.person.id,
                password=PASSWORD,
                key_ring=place.settings.keys,
            )
        opened(place, pool).folders()
        assert logins(proxy) == 2


def test_two_requests_work_at_once_and_a_third_waits_its_turn(
    place: Place, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.05)
    with a_pool(place) as pool:
        held, let_go = [Event(), Event()], Event()
        mailbox = opened(place, pool)

        def hold(mine: Event) -> None:
            def work(_: object) -> None:
                mine.set()
                let_go.wait(20)

            mailbox.run(work)

        threads = [Thread(target=hold, args=(mine,)) for mine in held]
        for thread in threads:
            thread.start()
        assert all(mine.wait(20) for mine in held)
        with pytest.raises(MailboxError) as raised:
            mailbox.folders()
        assert raised.value.code == "busy"
        let_go.set()
        for thread in threads:
            thread.join(20)
        mailbox.folders()
        assert logins(proxy) == 2


def test_one_person_holds_some_of_the_threads_and_never_all(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PER_ACCOUNT", 1)
    with a_pool(place) as pool:
        held, let_go = Event(), Event()
        mailbox = opened(place, pool)
        others = replace(mailbox.access, account_id=place.person.id + 1)

        def work(_: object) -> None:
            held.set()
            let_go.wait(20)

        thread = Thread(target=mailbox.run, args=(work,))
        thread.start()
        assert held.wait(20)
        with pytest.raises(MailboxError) as raised:
            mailbox.folders()
        assert raised.value.code == "busy"
        assert pool.run(others, lambda connection: connection.alive)
        monkeypatch.setattr(connections, "MAX_CALLS", 1)
        with pytest.raises(MailboxError):
            pool.run(others, lambda connection: connection.alive)
        let_go.set()
        thread.join(20)
        mailbox.folders()


def test_downloads_are_few_at_once_and_pages_are_read_meanwhile(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "DOWNLOADS_PER_ACCOUNT", 1)
    with a_pool(place) as pool:
        held, let_go = Event(), Event()
        mailbox = opened(place, pool)

        def work(_: object) -> None:
            held.set()
            let_go.wait(20)

        thread = Thread(target=mailbox.run, args=(work,), kwargs={"seconds": 30.0})
        thread.start()
        assert held.wait(20)
        with pytest.raises(MailboxError) as raised:
            mailbox.run(lambda connection: connection.alive, seconds=30.0)
        assert raised.value.code == "busy"
        mailbox.folders()
        let_go.set()
        thread.join(20)
        assert mailbox.run(lambda connection: connection.alive, seconds=30.0)


def test_what_is_idle_for_long_is_closed(place: Place, proxy: Proxy) -> None:
    pool = ConnectionPool(logins_of(place), allow_private=True, idle_seconds=0.05)
    opened(place, pool).folders()
    place.eventually(lambda: any(b"LOGOUT" in command for command in proxy.commands))
    opened(place, pool).folders()
    assert logins(proxy) == 2
    pool.close()


def test_a_fork_begins_with_connections_of_its_own(place: Place, proxy: Proxy) -> None:
    with a_pool(place) as pool:
        opened(place, pool).folders()
        child = get_context("fork").Process(target=lambda: sys.exit(pool.idle_count()))
        child.start()
        child.join(20)
        assert (child.exitcode, pool.idle_count()) == (0, 1)
        opened(place, pool).folders()
        assert logins(proxy) == 1


@pytest.mark.parametrize("reply", [b"* LIST", b"Logged in"])
def test_a_request_ends_however_slow_the_server_is(place: Place, reply: bytes) -> None:
    [(port,)] = place.rows("SELECT port FROM mailboxes")
    never = Event()

    def stall(line: bytes) -> bytes | None:
        if reply in line:
            never.wait(1)
        return line

    with Proxy(port, on_reply=stall) as proxy:
        place.lead_to(proxy.port)
        pool = ConnectionPool(logins_of(place), allow_private=True, call_seconds=0.3)
        with pytest.raises(MailboxError) as raised:
            opened(place, pool).folders()
        never.set()
    assert raised.value.code == "unavailable"
    assert "took too long" in raised.value.sentence
    pool.close()


def test_a_page_of_a_large_folder_is_two_round_trips(engine: Engine, settings: Settings, people: People) -> None:
    with dovecot.running() as server:
        folder = server.home / "mail" / "many" / "cur"
        folder.mkdir(parents=True)
        for number in range(1, MANY + 1):
            (folder / f"{number:09}.M1P1.host:2,").write_bytes(a_message(number))
        for each in (folder.parent.parent, folder.parent, folder):
            server_process.give_away(each)
        with (
            Proxy(server.imap_port) as proxy,
            watched(engine, settings, people.ann(), port=server.imap_port, username="many") as place,
        ):
            place.lead_to(proxy.port)
            with reading(place) as mailbox:
                # The first look makes the server's index.
                page = mailbox.page(None)
                for numbers in ((MANY, MANY - 50), (MANY - 50, MANY - 100)):
                    before = len(proxy.commands)
                    page = mailbox.page(None) if numbers[0] == MANY else mailbox.page(None, after=page.next)
                    sent = [command.split()[1] for command in proxy.commands[before:]]
                    assert sent == [b"EXAMINE", b"FETCH"] + [b"UID"] * (MANY <= MAX_THREADED)
                    assert subjects(page) == [f"message {number}" for number in range(*numbers, -1)]
                    assert page.total == MANY
