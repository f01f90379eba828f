"""docs/schema.sql and the pictures in docs/states.md are what migrations and statements make of the database."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, get_args
from uuid import uuid4

import pytest
from sqlalchemy import Connection, Engine, text

from snoozer.db import definitions, schema
from snoozer.db.state_words import State, public_state
from snoozer.db.statements import execute, names, sources
from snoozer.operators.row_acts import ACTS as OPERATORS
from snoozer.queue import archive, events, queue
from snoozer.queue import changes as db
from snoozer.queue.changes import NewSnooze
from snoozer.queue.promise import EnqueueOptions, ReminderTime, ZoneShift
from snoozer.queue.reminder import Claim, Deferral
from snoozer.snoozes import acts
from snoozer.snoozes.acts import (
    Acknowledge,
    Act,
    Annotate,
    Cancel,
    End,
    Move,
    Pause,
    Replied,
    Resume,
    Review,
    SetOptions,
    Skip,
    Snooze,
    Wake,
)
from tests import acting
from tests.conftest import missing
from tests.db import schema_file, schema_picture
from tests.db.links import DAILY
from tests.db.operators_statements import OPERATORS_ACTS, with_a_send
from tests.db.transitions import LEASE, claim, finalize, lapse, recover, release, schedule_next_one
from tests.emptying import empty
from tests.factories import ANN, HOUR, a_claim, a_snooze, now, the_row

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "states.md").read_text()
WAITING = {"asleep", "due"}
Edge = tuple[str, str, str]

OVER: dict[str, Any] = {"inactive": True, "finished_at": now() - 100 * HOUR, "scheduled_for": now() - 100 * HOUR}
ROWS: dict[str, dict[str, Any]] = {
    "asleep": {"remind_at": now() + HOUR, "time_kind": "wall"},
    "due": {},
    "claimed": {},
    "sent": {"outcome": "sent", **OVER},
    "cancelled": {"outcome": "cancelled", **OVER},
    "retired": {"outcome": "retired", **OVER},
    "paused": {"inactive": True},
}


def pictures() -> list[set[Edge]]:
    """The arrows of each picture: from, to, and one name."""
    return [
        {
            (start, end, name)
            for start, end, names in re.findall(r"^ +(\S+) --> (\w+): (.+)$", picture, re.M)
            for name in names.split(", ")
        }
        for picture in re.findall(r"^```mermaid\n(.+?)^```$", PAGE, re.M | re.S)
    ]


def transactional(act: Callable[[Connection, Claim], object]) -> Callable[[Engine, Claim], object]:
    def run(engine: Engine, held: Claim) -> object:
        with engine.begin() as connection:
            return act(connection, held)

    return run


def later() -> ReminderTime:
    return ReminderTime(remind_at=now() + HOUR)


def spent(engine: Engine, held: Claim) -> None:
    with engine.begin() as connection:
        connection.execute(
            text(
                "UPDATE email_snoozes SET attempts = max_attempts, remind_at = now() - INTERVAL '1 hour' "
                "WHERE snooze_keeps('promise')"
            )
        )
        queue.retire(connection, batch_size=9)


def lost(engine: Engine, held: Claim) -> None:
    if the_row(engine, held.id).claimed_at is not None:
        lapse(engine, [held.id])
    recover(engine)


def lost_again(engine: Engine, held: Claim) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET crash_count = 9"))
    lost(engine, held)


def restored_dump(connection: Connection, held: Claim) -> None:
    ids = queue.lock_due_before(connection, until=now() + 9 * HOUR, after=0, batch_size=9)
    queue.retire_restored(connection, ids=ids, domain="snoozer.example", error="restored")


def imported(connection: Connection, held: Claim) -> None:
    job = {"job_id": f"job {held.id}", "user_email": ANN, "message_id": "<job@mail.example>", "priority": 0}
    db.import_jobs(connection, source="old", jobs=[job | {"due_at": now().isoformat()}])


def archived(connection: Connection, held: Claim) -> None:
    months = archive.upcoming_months(connection)
    archive.create_partitions(connection, months=[*months, (now() - 100 * HOUR).date().replace(day=1)])
    queue.archive(connection, ids=[held.id], older_than=HOUR)


def moved(connection: Connection, held: Claim) -> None:
    there = now() + 2 * HOUR
    shift = ZoneShift(id=held.id, promised=held.scheduled_for, remind_at=there, zone="Asia/Kolkata")
    queue.shift_zone(connection, moves=[shift])


def acted(what: Act, *, repeats: bool = False) -> tuple[str, Callable[[Engine, Claim], object]]:
    """An act of the owner, by its name."""

    def act(connection: Connection, held: Claim) -> None:
        if repeats:
            connection.execute(text("UPDATE email_snoozes SET recurrence = :it"), {"it": json.dumps(DAILY)})
        acting.done(connection, held.id, what)

    return type(what).__name__, transactional(act)


def undone(kind: str, *, paused: bool = False) -> Callable[[Engine, Claim], object]:
    """The Undo of an act that left the row as it is, and before which it was due in an hour, or paused."""

    def undo(connection: Connection, held: Claim) -> None:
        for row in db.lock_chosen(connection, user_email=ANN, ids=[held.id]):
            former = replace(row.terms, remind_at=now() + HOUR, paused=paused, outcome=None)
            before, after = row.terms.changes_from(former)
            detail = {"before": before, "after": after}
            event = events.append(connection, snooze_id=held.id, kind=kind, actor="user", route="web", **detail)
            acting.undo(connection, held.id, event)

    return transactional(undo)


def replied(connection: Connection, held: Claim) -> None:
    acting.done(connection, held.id, Replied(promise=held.scheduled_for, left=None, detail={}))


def acknowledged(connection: Connection, held: Claim, *, following: datetime | None = None) -> None:
    acting.done(connection, held.id, Acknowledge(promise=held.scheduled_for, following=following))


def one(held: Claim) -> list[tuple[int, Any]]:
    return [(held.id, held.claim_token)]


def deferred(held: Claim) -> Deferral:
    return Deferral(id=held.id, until=now() + HOUR, reason="quiet")


# Acts on a row, by the file of the statement, or by the act that `change_many` writes.
def claim_as_read(connection: Connection, held: Claim) -> object:
    """A row that was read ahead, as it is now."""
    version = connection.execute(text("SELECT CAST(xmin AS text) FROM email_snoozes WHERE id = :id"), {"id": held.id})
    rows = [(held.id, uuid4(), version.scalar_one())]
    return queue.claim_read(connection, rows=rows, worker="w", lease=LEASE)


ACTS: list[tuple[str, Callable[[Engine, Claim], object]]] = [
    ("advance_keys", transactional(lambda connection, held: queue.advance_keys(connection, keys=["k"]))),
    ("archive", transactional(archived)),
    ("claim", lambda engine, held: claim(engine)),
    ("claim_read", transactional(claim_as_read)),
    (
        "defer",
        transactional(lambda connection, held: queue.defer(connection, held=one(held), delays=[HOUR])),
    ),
    (
        "describe",
        transactional(lambda connection, held: db.describe(connection, {held.id: ("Lease", "bob@mail.example")})),
    ),
    (
        "deliver_now",
        transactional(lambda connection, held: queue.deliver_now(connection, user_email=ANN, batch_size=9)),
    ),
    (
        "enqueue_many",
        transactional(
            lambda connection, held: db.enqueue_many(
                connection,
                user_email=ANN,
                terms=[
                    NewSnooze(message_id=held.message_id, subject=None, sender_email=None, time=later()).terms,
                ],
            )
        ),
    ),
    ("erase", transactional(lambda connection, held: queue.erase(connection, user_email=ANN, batch_size=9))),
    ("extend", transactional(lambda connection, held: queue.extend(connection, held=one(held), lease=LEASE))),
    ("finalize", finalize),
    ("import_jobs", transactional(imported)),
    (
        "lock_chosen",
        transactional(lambda connection, held: db.lock_chosen(connection, user_email=ANN, ids=[held.id])),
    ),
    (
        "lock_due_before",
        transactional(lambda connection, held: queue.lock_due_before(connection, until=now(), after=0, batch_size=9)),
    ),
    (
        "lock_lapsed",
        transactional(lambda connection, held: queue.lock_lapsed(connection, batch_size=9, lease=timedelta(0))),
    ),
    ("recover", lost),
    ("recover", lost_again),
    ("release", release),
    ("release", lambda engine, held: release(engine, held, permanent=True)),
    (
        "rest",
        transactional(lambda connection, held: queue.rest(connection, held=one(held), deferrals=[deferred(held)])),
    ),
    ("retire", spent),
    ("retire_restored", transactional(restored_dump)),
    (
        "schedule_next",
        transactional(lambda connection, held: schedule_next_one(connection, held, now() + HOUR)),
    ),
    ("shift_zone", transactional(moved)),
    (
        "undefer",
        transactional(
            lambda connection, held: queue.undefer(connection, user_email=ANN, rest_until=None, batch_size=9)
        ),
    ),
    ("unclaim", transactional(lambda connection, held: queue.unclaim(connection, held=one(held)))),
    acted(Annotate(note="Call")),
    acted(Cancel()),
    acted(End(times=2), repeats=True),
    acted(Move(time=later())),
    acted(Review(time=later())),
    acted(Pause()),
    acted(Resume()),
    acted(SetOptions(options=EnqueueOptions(priority=-100))),
    acted(Skip(), repeats=True),
    acted(Snooze(time=later())),
    acted(Wake()),
    ("Acknowledge", transactional(acknowledged)),
    ("Acknowledge", transactional(partial(acknowledged, following=now() + HOUR))),
    ("Replied", transactional(replied)),
    ("Resume", with_a_send("sent", lambda connection, held: acting.done(connection, held.id, Resume()))),
    ("Undo", undone("edited")),
    ("Undo", undone("resumed", paused=True)),
    *OPERATORS_ACTS,
]


def a_row_in(engine: Engine, state: str) -> Claim:
    """The only row, in that state, as its worker would hold it."""
    empty(engine)
    id = a_snooze(engine, **ROWS[state])
    if state == "claimed":
        [held] = claim(engine)
        return held
    row = the_row(engine, id)
    held = a_claim(id, remind_at=row.scheduled_for or row.remind_at)
    return Claim(**(vars(held) | {"message_id": row.message_id, "claim_token": uuid4()}))


def state(engine: Engine, id: int) -> str:
    with engine.connect() as connection:
        its = text("SELECT its.* FROM email_snoozes AS snooze, snooze_state(snooze, 1) AS its WHERE snooze.id = :id")
        row = connection.execute(its, {"id": id}).first()
        archived = text("SELECT count(*) FROM email_snoozes_archive WHERE id = :id")
        kept = connection.execute(archived, {"id": id}).scalar_one()
    if row is None:
        return "archived" if kept else "erased"
    found = public_state(row.state, row.why)
    return "waiting" if found in WAITING else found


def transitions(engine: Engine) -> Iterator[Edge]:
    """Every change of state, of a row in each state by each statement."""
    for name, act in ACTS:
        for start in ROWS:
            held = a_row_in(engine, start)
            before = state(engine, held.id)
            act(engine, held)
            after = state(engine, held.id)
            if after != before:
                yield before, after, name


def test_the_picture_of_a_snooze_is_what_its_statements_do(engine: Engine) -> None:
    [drawn, _] = pictures()
    begins = ("enqueue_many", "import_jobs")
    assert set(transitions(engine)) == drawn - {("[*]", "waiting", name) for name in begins}
    statements = set(names("queue"))
    owners = {name for name, act in vars(acts).items() if isinstance(act, type) and hasattr(act, "decide")} - {"Act"}
    assert {name for name, _ in ACTS} == statements - {"change_many"} | owners | (set(OPERATORS) - {"release"})
    states = {name for start, end, _ in drawn for name in (start, end)} - {"[*]", "archived", "erased", "waiting"}
    assert states | WAITING == set(get_args(State))


def test_each_statement_of_the_queue_is_on_the_page() -> None:
    [snooze, _] = pictures()
    drawn = {name for _, _, name in snooze}
    for verb in names("queue"):
        assert verb in drawn or f"`{verb}`" in PAGE, verb


@pytest.mark.parametrize("verb", names("ledger"))
def test_a_statement_of_the_ledger_sets_the_states_that_are_drawn(verb: str) -> None:
    [_, send] = pictures()
    drawn = {end for _, end, name in send if name == verb}
    assert drawn == (set() if verb == "record_archived" else assigned(f"ledger/{verb}")), verb
    assert drawn or f"`{verb}`" in PAGE


def test_the_queues_statements_that_doubt_a_send_are_drawn(engine: Engine) -> None:
    [_, send] = pictures()
    doubting = {verb for verb in names("queue") if "uncertain" in assigned(f"queue/{verb}")}
    assert doubting == {name for _, end, name in send if end == "uncertain"} - set(names("ledger"))


def assigned(statement: str) -> set[str]:
    """The states that a statement's SET clauses and its INSERT give to a send."""
    code = "\n".join(line for line in sources()[statement].text.splitlines() if not line.startswith("--"))
    clauses = re.findall(r"\bSET\b(.*?)^\s*(?:FROM|WHERE|RETURNING)\b", code, re.M | re.S)
    values = [value for clause in clauses for value in re.findall(r"(?<![.\w])state = (CASE .+ END|'\w+')", clause)]
    inserted = re.findall(r"^INSERT INTO reminder_sends\b.*?^SELECT\b(.*?)^FROM\b", code, re.M | re.S)
    values += [value for part in inserted for value in re.findall(r"'(?:sending|sent|failed|uncertain)'", part)]
    return {state for value in values for state in re.findall(r"(?:^|THEN |ELSE )'(\w+)'", value)}


@pytest.mark.parametrize(("number", "constraint"), [(0, "ck_email_snoozes_outcome"), (1, "ck_reminder_sends_state")])
def test_the_pictures_have_the_states_that_the_constraints_allow(engine: Engine, number: int, constraint: str) -> None:
    definition = text("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = :name")
    with engine.connect() as connection:
        allowed = set(re.findall(r"'(\w+)'", connection.execute(definition, {"name": constraint}).scalar_one()))
    drawn = {name for start, end, _ in pictures()[number] for name in (start, end)} - {"[*]"}
    # Workers of the release before still write `reserved` (docs/decisions/0002).
    assert allowed - {"reserved"} == drawn - {"waiting", "claimed", "paused", "archived", "erased"}


def test_the_schema_file_has_the_tables_that_the_migrations_make(empty_database: Engine) -> None:
    if not schema_file.pg_dump().exists():
        missing("pg_dump")
    schema.upgrade(empty_database)
    with empty_database.connect() as connection:
        revision, _ = schema.versions(connection)
    migrated = statements_of(schema_file.dumped(empty_database, tables_only=True))
    file = schema_file.FILE.read_text()
    with empty_database.begin() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
        execute(connection, "definitions/prepare")
        definitions.create(connection, _of_indexes())
        connection.connection.cursor().execute(file)
    assert statements_of(schema_file.dumped(empty_database, tables_only=True)) == migrated, "run `make schema`"
    assert f"after migration {revision}," in file, "run `make schema`"


def test_the_pictures_of_the_schema_are_of_its_models() -> None:
    assert schema_picture.FILE.read_text() == schema_picture.written(), "run `make schema`"


def _of_indexes() -> list[str]:
    return [name for name in definitions.texts() if name.startswith(("snooze_error_", "snooze_recipient_"))]


def statements_of(dump: str) -> list[str]:
    """Without brackets: a condition that is read back from a dump has fewer. Functions change the order of tables."""
    statements = re.sub(r"[() ]", "", dump).split(";\n\n")
    return sorted(statement.rstrip(";\n") for statement in statements if not statement.startswith("COMMENT"))
