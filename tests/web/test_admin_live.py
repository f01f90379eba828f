"""The overview's stream: the figures are read once for all who watch, and the role is asked for at each turn."""

import re
import threading
import time
from collections.abc import AsyncIterator
from functools import partial

from flask import Flask
from sqlalchemy import Engine, text

from snoozer.db.list_changes import OpenList
from snoozer.people import accounts
from snoozer.runtime import secret_keys
from snoozer.web.live.streams import Streams
from snoozer.web.operators import watching
from snoozer.web.operators.reading import SHARED_SECONDS, Figures
from tests import loops
from tests.conftest import HANG_SECONDS
from tests.factories import People, Person
from tests.statements import statements
from tests.web.overviews import SECOND, all_is_well

QUICK = 0.2


async def kinds(events: AsyncIterator[bytes]) -> AsyncIterator[str]:
    async for piece in events:
        for kind in re.findall(rb"event: (\w+)", piece):
            yield kind.decode()


def the_page(person: Person) -> OpenList:
    return OpenList(token_hash=secret_keys.digest(person.session), snapshot="1:1:")


def quick_streams(engine: Engine) -> Streams:
    """Those of the overview, with a shorter pause."""
    return Streams(engine, find=partial(watching.find, figures=Figures(engine, dead_after=10 * SECOND)), poll=QUICK)


def test_the_figures_are_read_once_for_all_streams_and_not_when_no_one_watches(engine: Engine, people: People) -> None:
    all_is_well(engine)
    pages = [the_page(people.ann(f"op{number}@snoozer.example", role="viewer")) for number in range(5)]

    async def run() -> None:
        streams = quick_streams(engine)
        opened = [kinds(streams.events(account_id=number, shown=pages[number])) for number in range(5)]
        for expected in ("ready", "change", "change"):
            assert [await anext(one) for one in opened] == [expected] * 5
        for one in opened:
            await one.aclose()  # type: ignore[attr-defined]

    began = time.monotonic()
    with statements(engine) as executed:
        loops.run(run())
        for thread in threading.enumerate():
            if thread.name == "lists":
                thread.join(timeout=HANG_SECONDS)
                assert not thread.is_alive(), "one asks on though no stream is open"
    seconds = time.monotonic() - began
    read = [statement for statement in executed if "pg_database_size" in statement]
    assert 1 <= len(read) <= seconds / (SHARED_SECONDS / 2) + 1


def test_a_stream_ends_with_the_role(engine: Engine, people: People) -> None:
    olga, vera = people.ann("olga@snoozer.example", role="operator"), people.ann("vera@snoozer.example", role="viewer")

    async def run() -> None:
        streams = quick_streams(engine)
        ending, staying = (
            kinds(streams.events(account_id=person.id, shown=the_page(person))) for person in (olga, vera)
        )
        for one in (ending, staying):
            assert [await anext(one), await anext(one)] == ["ready", "change"]
        with engine.begin() as connection:
            connection.execute(text("UPDATE accounts SET role = 'user' WHERE id = :id"), {"id": olga.id})
        assert [kind async for kind in ending][-1] == "end"
        assert await anext(staying) == "change"

    loops.run(run())


def test_a_stream_ends_with_the_session(engine: Engine, people: People) -> None:
    olga = people.operator()

    async def run() -> None:
        stream = kinds(quick_streams(engine).events(account_id=olga.id, shown=the_page(olga)))
        assert await anext(stream) == "ready"
        with engine.begin() as connection:
            accounts.sign_out(connection, session=olga.session)
        assert [kind async for kind in stream][-1] == "end"

    loops.run(run())


def test_a_page_that_is_opened_is_not_older_than_an_event(app: Flask, engine: Engine, people: People) -> None:
    """What an event announces is what the page then gets, and it is not read again for that."""
    olga = people.operator()
    client = app.test_client()
    client.set_cookie("snoozer_session", olga.session)
    with app.app_context():
        figures = watching.figures()
    with engine.connect() as connection:
        [change] = watching.find(connection, [the_page(olga)], figures=figures).changes
    with statements(engine) as executed:
        shown = client.get("/admin", headers={"Snoozer-Refresh": "1"}).text
    assert f'data-seen="{change.snapshot}"' in shown
    assert not [statement for statement in executed if "pg_database_size" in statement]
