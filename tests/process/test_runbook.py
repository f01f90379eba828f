"""Each page of docs/runbook.md is played: the trouble is made, and what the page says is typed, out of the page."""

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from threading import Thread

import psycopg
import pytest
from sqlalchemy import Engine, text

from snoozer.cli.finding import RUNBOOK
from snoozer.db import accounts, schema, support
from snoozer.db.engine import make_engine
from snoozer.operators import chunks
from snoozer.queue import workers
from tests.db.every_state import STATES
from tests.db.operations import an_operation
from tests.db.pushes import comes_back
from tests.factories import ANN, HOUR, a_mailbox, a_snooze, now, the_row, the_send, wait_until_a_session_waits
from tests.next_try import SECOND, set_next_try
from tests.process.conftest import ROOT, Field, wait
from tests.process.runbook_player import Player, pages, typed
from tests.push_service import PushService, subscribe
from tests.stalling import StallingWay
from tests.webhook_receiver import Receiver, an_endpoint

SECONDS = timedelta(seconds=1)


def no_worker(play: Player) -> None:
    ids = [a_snooze(play.place.engine) for _ in range(3)]
    [due] = [line for line in play.type("snoozer support backlog").splitlines() if cells(line)[0] == "due"]
    assert cells(due) == ["due", "3"]
    assert play.type("snoozer support oldest").count("a worker") == 3
    assert "No rows" in play.type("snoozer support workers")
    play.type("snoozer worker --drain")
    assert all(map(play.place.is_sent, ids))


def late(play: Player) -> None:
    STATES["retry"](play.place.engine)
    with play.place.engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET last_error_at = now()"))
    [waits] = [line for line in play.type("snoozer support wait").splitlines() if cells(line)[0] == "waits"]
    assert cells(waits)[1:6] == ["1", "0", "0", "0", "1"]
    assert float(cells(waits)[-1]) >= 3600
    assert "retry rate" in play.type("snoozer support attempts")
    assert "451 later" in play.type("snoozer support failures")


def mail_server_away(play: Player) -> None:
    id = a_snooze(play.place.engine)
    nothing = socket.socket()
    nothing.bind(("127.0.0.1", 0))  # Never listens, so that it refuses, and keeps the port from everybody else.
    port = nothing.getsockname()[1]
    play.place.settings = {"SMTP_URL": f"smtp://127.0.0.1:{port}", "SNOOZER_BREAKER_COOLDOWN_SECONDS": "1"}
    worker = play.place.start("worker")
    try:
        wait(lambda: bool(failed_last(play.place.engine)))
    finally:
        worker.terminate()
        worker.communicate()
    assert f"127.0.0.1:{port}" in play.type("snoozer support mail_servers")
    play.type("snoozer support backlog")
    assert "docs/runbook.md#the-mail-server-is-away" in play.type("snoozer doctor")
    play.place.settings = {}
    assert play.place.run("worker", "--drain").returncode == 0
    wait(lambda: drained(play.place, id))
    nothing.close()


def failed_last(engine: Engine) -> list[object]:
    with engine.connect() as connection:
        known = support.read(connection, "mail_servers").all()
        return [row for row in known if row.failed_ago is not None and row.worked_ago is None]


def drained(place: Field, id: int) -> bool:
    """The page says that workers go on by themselves: with the next try."""
    if place.is_sent(id):
        return True
    return place.run("worker", "--drain").returncode == 0 and place.is_sent(id)


def a_frozen_worker(play: Player) -> None:
    with play.place.engine.begin() as connection:
        workers.register(connection, id="frozen")
        connection.execute(text("UPDATE workers SET heartbeat_at = now() - INTERVAL '1 minute'"))
    long = a_snooze(play.place.engine, claimed_at=now() - 30 * SECONDS, claimed_by="frozen")
    over = a_snooze(play.place.engine, claimed_at=now() - HOUR, claimed_by="frozen")
    assert f" {long} " in play.type("snoozer support long_runners")
    assert f" {over} " in play.type("snoozer support stuck")
    assert "mute" in play.type("snoozer support workers")
    wait(lambda: is_swept(play, long, over))


def is_swept(play: Player, *ids: int) -> bool:
    """The first sweep after a start of the database's server leaves workers their time to come back."""
    play.type("snoozer clock --once")
    return all(the_row(play.place.engine, id).claimed_by is None for id in ids)


def no_housekeeping(play: Player) -> None:
    id = a_snooze(play.place.engine, attempts=5)
    assert "No rows" in play.type("snoozer support housekeeping")
    play.type("snoozer clock --once")
    assert the_row(play.place.engine, id).outcome == "retired"
    with play.place.engine.connect() as connection:
        assert {"recover", "prepare months"} <= {row.chore for row in support.read(connection, "housekeeping").all()}


def cases(play: Player) -> None:
    over = {"inactive": True, "outcome": "retired", "finished_at": now(), "last_error_at": now()}
    refused = [f"rcpt: 550 5.1.1 <p{number}@x.example> unknown" for number in range(3)]
    ids = [a_snooze(play.place.engine, last_error=error, **over) for error in refused]
    listed, failed = (play.type(f"snoozer support {name}") for name in ("cases", "failures"))
    with play.place.engine.connect() as connection:
        [found] = support.read(connection, "cases").all()
    assert (found.cases, found.fingerprint in listed, found.fingerprint in failed) == (3, True, True)
    # As the page of the fingerprint does it; the clock goes on with it.
    an_operation(play.place.engine, act="reactivate", ids=ids, reason="The relay is mended")
    assert play.place.run("clock", "--once").returncode == 0
    assert "No rows" in play.type("snoozer support cases")
    assert {the_row(play.place.engine, id).outcome for id in ids} == {None}


def changed_by_hand(play: Player) -> None:
    """tests/db/test_written_sql.py executes these statements in each state of a snooze."""
    pause, resume, rerun, delay = typed(play.page, "sql")
    engine, sender = play.place.engine, {"SENDER": "bob@mail.example"}
    due, case = a_snooze(engine), STATES["case"](engine)
    play.execute(pause, **sender)
    assert play.place.run("worker", "--drain").returncode == 0
    assert not play.place.is_sent(due)
    play.execute(resume, IDS=str(due))
    play.execute(rerun, **sender)
    promised = [the_row(engine, id).remind_at for id in (due, case)]
    play.execute(delay, **sender, SPAN="1 hour")
    assert [the_row(engine, id).remind_at for id in (due, case)] == [at + HOUR for at in promised]
    play.execute(delay, **sender, SPAN="-1 hour")
    assert play.place.run("worker", "--drain").returncode == 0
    assert play.place.is_sent(due)
    assert play.place.is_sent(case)


def uncertain(play: Player) -> None:
    id = STATES["hold"](play.place.engine)
    assert f" {id} " in play.type("snoozer support uncertain")
    play.type("snoozer support long_runners")
    with play.place.engine.begin() as connection:
        connection.execute(text("UPDATE reminder_sends SET uncertain_at = now() - INTERVAL '1 hour'"))
        set_next_try(connection, 0 * SECOND)
    # As the page of the snooze does it, at once.
    chunks.finish(play.place.engine, an_operation(play.place.engine, act="resolve_sent", ids=[id], reason="In its log"))
    assert the_send(play.place.engine, id).state == "sent"
    assert "No rows" in play.type("snoozer support uncertain")


def newer(play: Player) -> None:
    with play.place.engine.begin() as connection:
        workers.register(connection, id="old")
    STATES["newer"](play.place.engine)
    play.type("snoozer support versions")
    assert "a newer release" in play.type("snoozer support oldest")


def locks(play: Player) -> None:
    engine = play.place.engine
    holder = make_engine(engine.url.render_as_string(hide_password=False), name="a-migration")
    connection = holder.connect()
    pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
    connection.execute(text("LOCK TABLE housekeeping_runs IN ACCESS EXCLUSIVE MODE"))
    waiting = Thread(target=_read_housekeeping, args=(engine,))
    waiting.start()
    try:
        wait_until_a_session_waits(engine, who=waiting)
        shown = play.type("snoozer support locks")
        assert (str(pid) in shown, "snoozer-a-migration" in shown) == (True, True)
        assert "snoozer-a-migration" in play.type("snoozer support connections")
        play.execute("SELECT pg_terminate_backend(PID)", PID=str(pid))
    finally:
        waiting.join(timeout=30)
        connection.invalidate()
        holder.dispose()
    assert not waiting.is_alive()


def _read_housekeeping(engine: Engine) -> None:
    with engine.connect() as connection:
        support.read(connection, "housekeeping").all()


def silent_database(play: Player) -> None:
    with StallingWay(play.place.engine.url.render_as_string(hide_password=False)) as way:
        play.place.settings = {"DATABASE_URL": way.url}
        way.stall()
        assert "The database cannot be reached" in play.type("snoozer doctor")
        way.flow()
        assert "The database cannot be reached" not in play.type("snoozer doctor")


def dead_rows(play: Player) -> None:
    engine = play.place.engine
    a_snooze(engine)
    holder = make_engine(engine.url.render_as_string(hide_password=False), name="a-report")
    connection = holder.connect()
    pid, _ = connection.execute(text("SELECT pg_backend_pid(), txid_current()")).one()
    with engine.connect() as other:
        other.execute(text("UPDATE email_snoozes SET note = 'x'"))
        other.commit()
        # A session reports what it did when it ends.
        other.invalidate()
    assert "email_snoozes" in play.type("snoozer support bloat")
    shown = play.type("snoozer support snapshots")
    assert f"SELECT pg_terminate_backend({pid})" in shown
    play.execute("SELECT pg_terminate_backend(PID)", PID=str(pid))
    connection.invalidate()
    holder.dispose()
    play.execute("VACUUM (ANALYZE) TABLE", TABLE="email_snoozes")
    with engine.connect() as again:
        [row] = [row for row in support.read(again, "bloat").all() if row.table_name == "email_snoozes"]
    assert row.dead_rows == 0


def connections(play: Player) -> None:
    """A program opens nearly all that the server takes, and does nothing with them."""
    url = play.place.engine.url.set(drivername="postgresql").update_query_dict({"application_name": "a-report"})
    with ExitStack() as stack:
        for _ in range(nearly_all(play.place.engine)):
            leaked = psycopg.connect(url.render_as_string(hide_password=False), autocommit=True)
            stack.callback(leaked.close)
        assert "a-report" in play.type("snoozer support connections")
        assert "docs/runbook.md#connections-run-out" in play.type("snoozer doctor")
        play.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'APPLICATION' AND state = 'idle'",
            APPLICATION="a-report",
        )
        wait(lambda: "a-report" not in play.type("snoozer support connections"))


def nearly_all(engine: Engine) -> int:
    """How many more sessions the server takes until only a few are left."""
    with engine.connect() as connection:
        [*rows] = support.read(connection, "connections")
    return int(rows[0].server_takes - sum(row.sessions for row in rows) - 5)


def a_missing_index(play: Player) -> None:
    with play.place.engine.begin() as connection:
        connection.execute(text("DROP INDEX ix_email_snoozes_lane"))
    shown = play.type("snoozer doctor")
    assert "docs/runbook.md#an-index-or-a-trigger-is-missing" in shown
    found = re.search(r"CREATE INDEX ix_email_snoozes_lane[^;]*;", shown)
    assert found
    with play.place.engine.begin() as connection:
        connection.execute(text(re.sub(r"[\s│]+", " ", found.group())))
    assert "CREATE INDEX" not in play.type("snoozer doctor")


def a_person(play: Player) -> None:
    for state in ("due", "retry", "asleep"):
        STATES[state](play.place.engine)
    shown = play.type("snoozer support person EMAIL", EMAIL=ANN)
    assert all(word in shown for word in ("due", "waiting", "retry", "asleep"))
    assert "Quarterly figures" not in shown


def behind(play: Player) -> None:
    """A mailbox that no process watches, and a push and webhooks that no worker sends."""
    engine = play.place.engine
    play.place.settings = {"SNOOZER_ALLOW_PRIVATE_PUSH_SERVICES": "true", "SNOOZER_ALLOW_PRIVATE_WEBHOOKS": "true"}
    with engine.begin() as connection:
        account = accounts.create(connection, email=ANN, role=None, zone="UTC").id
    a_mailbox(engine, account_id=account, host="127.0.0.1", port=1)
    with PushService() as service, Receiver() as receiver:
        phone = service.subscription()
        subscribe(engine, phone, account_id=account)
        an_endpoint(engine, account_id=account, url=receiver.url())
        comes_back(engine)
        for name in ("push", "webhooks", "mailboxes", "health"):
            play.type(f"snoozer support {name}")
        waits = what_is_behind(engine)
        assert (waits[0], waits[1] > 0, waits[2]) == (1, True, 1)
        with play.start("snoozer mailbox"), play.start("snoozer worker"):
            wait(lambda: what_is_behind(engine) == (0, 0, 0))
        assert (len(service.of(phone)), bool(receiver.posted)) == (1, True)


def what_is_behind(engine: Engine) -> tuple[int, int, int]:
    """Pushes that are due, webhooks that wait, and mailboxes that no process watches."""
    with engine.connect() as connection:
        push, webhooks, mailboxes = (support.read(connection, name).one() for name in ("push", "webhooks", "mailboxes"))
    return push.due, webhooks.waiting, mailboxes.unwatched


def leaving(play: Player) -> None:
    for statement in typed(play.page, "sql"):
        play.execute(statement)


PLAYS: dict[str, Callable[[Player], None]] = {
    "Reminders wait and no worker takes them": no_worker,
    "Reminders are late although workers are alive": late,
    "The mail server is away": mail_server_away,
    "A delivery does not end": a_frozen_worker,
    "Housekeeping does not run": no_housekeeping,
    "Cases wait for a decision": cases,
    "Many reminders must wait, run again, or come later": changed_by_hand,
    "Reminders may have been sent": uncertain,
    "Rows of a newer release wait": newer,
    "Statements wait for locks": locks,
    "The database does not answer": silent_database,
    "Dead rows and old snapshots": dead_rows,
    "Connections run out": connections,
    "An index or a trigger is missing": a_missing_index,
    "A person asks where their reminder is": a_person,
    "Notifications or connected mailboxes are behind": behind,
    "When to leave Postgres": leaving,
}


def cells(line: str) -> list[str]:
    """The cells of one line of a table."""
    return [cell.strip() for cell in line.strip().strip("│").split("│")]


@pytest.fixture
def own_place(place: Field, empty_database: Engine) -> Iterator[Field]:
    """A place with a database of its own, whose schema a page may change."""
    schema.upgrade(empty_database)
    yield Field(engine=empty_database, sink=place.sink, home=place.home)


@pytest.mark.parametrize("title", PLAYS)
def test_a_page_leads_out_of_its_trouble(
    title: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = request.getfixturevalue("own_place" if title.startswith("An index") else "place")
    player = Player(place, title, monkeypatch)
    PLAYS[title](player)
    player.assert_all_was_typed()


def test_every_page_is_played_and_says_what_it_must() -> None:
    assert list(pages()) == list(PLAYS)
    for title, page in pages().items():
        headings = ("Cost",) if title == "When to leave Postgres" else ("Symptoms", "Meaning", "Commands", "Cost")
        assert [heading for heading in headings if f"**{heading}.**" not in page] == [], title


def test_every_support_query_is_on_a_page_and_the_other_way_round() -> None:
    commands_of_pages = [line for page in pages().values() for line in typed(page)]
    named = {line.split()[2] for line in commands_of_pages if line.startswith("snoozer support ")}
    assert named == set(support.names())


def test_the_doctor_turns_to_pages_that_are_there() -> None:
    anchors = {re.sub(r"[^a-z ]", "", title.lower()).replace(" ", "-") for title in pages()}
    assert set(RUNBOOK.values()) <= anchors


def test_operators_are_led_to_the_runbook() -> None:
    for path in ("README.md", "docs/guide/operators.md"):
        assert "runbook.md" in (ROOT / Path(path)).read_text(encoding="utf-8")
