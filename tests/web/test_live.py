"""Streams of events to open lists: they hold no thread, the database is asked once for all of them, and each ends with
its session."""

import asyncio
import json
import os
import re
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.db.list_changes import OpenList
from snoozer.people import accounts
from snoozer.runtime import secret_keys
from snoozer.web.live.streams import Streams
from tests import loops
from tests.factories import ANN, People, Person, a_kept_message, a_snooze
from tests.statements import statements
from tests.web.live_site import LiveSite, live_site
from tests.web.streams import Stream, snapshot

SECRET = "canary4711"


@pytest.fixture(scope="module")
def site(migrated: Engine, postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    with live_site(postgres_url, tmp_path_factory.mktemp("live")) as site:
        yield site


def test_a_change_is_an_event_that_says_nothing_of_it(site: LiveSite, engine: Engine, people: People) -> None:
    ann, seen = people.ann(), snapshot(engine)
    with Stream(site, ann, seen=seen) as stream:
        head = stream.until("event: ready")
        assert "content-type: text/event-stream" in head.lower()
        assert "no-store" in head
        assert "content-length" not in head.lower()
        a_snooze(engine, subject=SECRET, message_id=f"<{SECRET}@x>")
        received = stream.until("event: change") + stream.until("\n\n")
        assert re.search(r"id: \d+:\d+:[\d,]*\nevent: change\ndata: \[\d+\]\n\n", received)
        assert SECRET not in received
        assert ANN not in received


def test_a_stream_that_begins_again_says_what_was_missed_and_nothing_twice(
    site: LiveSite, engine: Engine, people: People
) -> None:
    ann, seen = people.ann(), snapshot(engine)
    a_snooze(engine)
    with Stream(site, ann, seen=seen) as stream:
        stream.until("event: change")
    with Stream(site, ann, seen=seen, last=snapshot(engine)) as stream:
        stream.until("event: ready")
        a_snooze(engine)
        assert (
            len(json.loads(re.findall(r"data: (.*)\n", stream.until("event: change") + stream.until("\n\n"))[-1])) == 1
        )


def test_many_streams_take_no_thread_from_pages(site: LiveSite, engine: Engine, people: People) -> None:
    """There are sixteen threads."""
    seen = snapshot(engine)
    with ExitStack() as open_:
        streams = [
            open_.enter_context(Stream(site, people.ann(f"person{number}@snoozer.example"), seen=seen))
            for number in range(40)
        ]
        for stream in streams:
            stream.until("event: ready")
        for _ in range(20):
            assert site.request("/sign-in")[0] == 200
        a_snooze(engine, user_email="person39@snoozer.example")
        streams[39].until("event: change")


def test_a_stream_ends_with_its_session(site: LiveSite, engine: Engine, people: People) -> None:
    ann, bob = people.ann(), people.ann("bob@snoozer.example")
    with Stream(site, ann, seen=snapshot(engine)) as stream, Stream(site, bob, seen=snapshot(engine)) as other:
        stream.until("event: ready")
        other.until("event: ready")
        with engine.begin() as connection:
            accounts.sign_out(connection, session=ann.session)
        stream.until("event: end")
        a_snooze(engine, user_email="bob@snoozer.example")
        other.until("event: change")


def test_only_who_is_signed_in_is_given_a_stream(site: LiveSite, people: People) -> None:
    status, answer = site.request("/live", cookie="snoozer_session=nobodys")
    assert status == 303
    assert "location: /sign-in" in answer.lower()
    status, answer = site.request("/live", method="HEAD", cookie=f"snoozer_session={people.ann().session}")
    assert status == 204


def test_streams_do_not_hold_up_a_stop(
    migrated: Engine, postgres_url: str, engine: Engine, people: People, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with (
        live_site(postgres_url, tmp_path_factory.mktemp("stop"), options=["--graceful-timeout", "600"]) as site,
        Stream(site, people.ann(), seen=snapshot(engine)) as stream,
    ):
        stream.until("event: ready")
        with Stream(site, people.ann()) as of_a_closed_page:
            of_a_closed_page.until("event: ready")
        os.kill(site.pid, signal.SIGTERM)
        assert stream.to_the_end().endswith("0\r\n\r\n")


async def kinds(events: AsyncIterator[bytes]) -> AsyncIterator[str]:
    async for piece in events:
        for kind in re.findall(rb"event: (\w+)", piece):
            yield kind.decode()


def open_list(engine: Engine, person: Person) -> OpenList:
    return OpenList(token_hash=secret_keys.digest(person.session), snapshot=snapshot(engine))


def test_all_streams_are_asked_for_by_one_query_a_second_and_by_none_when_none_is_open(
    engine: Engine, people: People
) -> None:
    shown = [open_list(engine, people.ann(f"person{number}@snoozer.example")) for number in range(20)]

    async def run() -> float:
        # From before the first stream: on a busy machine the thread asks several times until the last one is open.
        began = time.monotonic()
        streams = Streams(engine, most_of_account=200)
        opened = [kinds(streams.events(account_id=number, shown=shown[number % 20])) for number in range(200)]
        assert {await anext(one) for one in opened} == {"ready"}
        for person in (7, 8):
            await asyncio.to_thread(a_snooze, engine, user_email=f"person{person}@snoozer.example")
            changed = [anext(one) for number, one in enumerate(opened) if number % 20 == person]
            assert await asyncio.gather(*changed) == ["change"] * 10
        return time.monotonic() - began

    with statements(engine) as executed:
        seconds = loops.run(run())
    asked = [statement for statement in executed if "list_changes AS change" in statement]
    assert 2 <= len(asked) <= seconds + 2


def test_who_opens_one_stream_too_many_asks_with_the_oldest_one(engine: Engine, people: People) -> None:
    ann, bob = open_list(engine, people.ann()), open_list(engine, people.ann("bob@snoozer.example"))

    async def run() -> None:
        streams = Streams(engine, most=3, most_of_account=2)
        oldest, newer, newest = (kinds(streams.events(account_id=1, shown=ann)) for _ in range(3))
        assert [await anext(oldest), await anext(newer), await anext(newest)] == ["ready"] * 3
        assert [kind async for kind in oldest] == ["poll"]
        first, second = (kinds(streams.events(account_id=2, shown=bob)) for _ in range(2))
        assert await anext(first) == "ready"
        assert [kind async for kind in second] == ["poll"], "the process has no room"
        await asyncio.to_thread(a_snooze, engine)
        assert [await anext(newer), await anext(newest)] == ["change"] * 2

    loops.run(run())


def test_a_list_that_asks_is_answered_by_one_query(ann: FlaskClient, engine: Engine) -> None:
    seen = snapshot(engine)
    a_snooze(engine)
    with statements(engine) as executed:
        answer = ann.get("/live/changes", query_string={"seen": seen})
    assert answer.json is not None
    assert len(answer.json["transactions"]) == 1
    assert ann.get("/live/changes", query_string={"seen": answer.json["snapshot"]}).json["transactions"] == []  # type: ignore[index]
    for unknown in ("", "x", "5:1:", "9:9:" * 2_000):
        assert ann.get("/live/changes", query_string={"seen": unknown}).json["transactions"] is None  # type: ignore[index]
    assert len(executed) == 1


def test_a_server_without_streams_says_so(ann: FlaskClient) -> None:
    assert ann.get("/live").status_code == 204
    assert 'data-live="poll"' in ann.get("/").get_data(as_text=True)


def test_a_list_that_refreshes_itself_leaves_the_undo_to_the_page_of_the_act(ann: FlaskClient, engine: Engine) -> None:
    """Two tabs have one queue of messages."""
    id = a_kept_message(engine)
    ann.post(f"/mailbox/{id}/done")
    assert "data-undo" not in ann.get("/mailbox", headers={"Snoozer-Refresh": "1"}).get_data(as_text=True)
    assert "data-undo" in ann.get("/mailbox").get_data(as_text=True)
