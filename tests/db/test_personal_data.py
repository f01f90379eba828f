"""The export: everything of a person, nothing of another, in little memory; a table that is added is not left out."""

import csv
import io
import json
import re
import tracemalloc
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import Any
from zipfile import ZipFile

import icalendar
import pytest
import vobject
from dateutil.rrule import rrulestr
from sqlalchemy import Engine, text

from snoozer.db.models import Account, metadata
from snoozer.db.queries.personal_data import SECTIONS
from snoozer.delivery.chores import chores
from snoozer.notify.feeds.calendar import rule_of
from snoozer.people import accounts
from snoozer.people.personal_data.files import FILES
from snoozer.people.personal_data.table import COLUMNS, read_cell, write_cell
from snoozer.timephrase.parse import parse
from snoozer.timephrase.recurrence import Recurrence, next_occurrence
from snoozer.timephrase.zones import zone_of
from tests.db.archived import RETENTION, finished
from tests.db.pushes import a_pushed_device
from tests.factories import ANN, HOUR, People, a_feed, a_kept_message, a_mailbox, a_snooze, asked_for, now
from tests.web.reminders import a_sent_reminder
from tests.webhook_receiver import an_endpoint

BOB = "bob@snoozer.example"
# Tables with nothing of a person, or whose rows are in other records, each with its reason.
NOT_EXPORTED = {
    "accounts": "the record `account`",
    "email_snoozes": "the records `snooze`",
    "email_snoozes_archive": "the records `snooze`",
    "reminder_sends": "the records `send`",
    "reminder_sends_archive": "the records `send`",
    "snooze_events": "the records `event`",
    "alarms": "troubles of the installation, without anything of a person",
    "audit_log": "what operators did, by ids",
    "case_views": "how an operator looks at cases; it names people by ids of snoozes",
    "bulk_acts": "what snoozes were before an act on many, of a day, for its Undo",
    "mail_acts": "mails that acted, of two weeks, so that each acts once",
    "imports": "what was read of a file and not confirmed, of a day",
    "import_rows": "what was read of a file and not confirmed, of a day",
    "imported_jobs": "which snooze another scheduler's job became",
    "shadow_jobs": "what another scheduler was to send, until an operator forgets it",
    "account_deletions": "a wish of a day",
    "idempotency_keys": "answers to programs, repeated for a day",
    "message_originals": "files of the ZIP, each a message of its own",
    "mailbox_searches": "where a message lies at the person's own server, of seconds",
    "mailbox_flagged": "numbers of messages at the person's own server",
    "mailbox_sign_ins": "secrets of ten minutes",
    "sign_ins": "hashes of secrets of ten minutes",
    "quota_usage": "counters by a hash, of a day",
    "sink_messages": "what the mail server of a trial kept of mails that were sent",
    "list_changes": "that a list changed, of minutes",
    "list_checkpoints": "of the database",
    "digests": "which reminders came in one mail; its content is in the sends",
    "digest_members": "which reminders came in one mail; its content is in the sends",
    "pauses": "what operators hold back; its person sees it on every page while it lasts",
    "operations": "acts of operators on many rows; what was done to a snooze is in its events",
    "operation_members": "acts of operators on many rows; what was done to a snooze is in its events",
    "accepted_timelines": "of the database",
    "circuit_breakers": "of mail servers",
    "definitions": "of the schema",
    "housekeeping_runs": "of the clock",
    "push_keys": "of the server",
    "queue_minutes": "counts of everybody's",
    "mailbox_watchers": "of processes",
    "server_starts": "of the database",
    "workers": "of processes",
}


def the_account(engine: Engine, email: str = ANN) -> Account:
    with engine.connect() as connection:
        account = accounts.find(connection, email=email)
    assert account is not None
    return account


def exported(engine: Engine, ending: str, email: str = ANN) -> bytes:
    return b"".join(FILES[ending].write(engine, the_account(engine, email), now()))


def test_every_table_is_exported_or_has_a_reason_not_to_be() -> None:
    """A table that is added with a person's data needs one of the two: an entry of SECTIONS, or a reason."""
    exported = {section.model.__tablename__ for section in SECTIONS}
    assert exported.isdisjoint(NOT_EXPORTED)
    assert exported | set(NOT_EXPORTED) == set(metadata.tables)


def test_everything_of_one_person_is_exported_and_nothing_of_another(engine: Engine, people: People) -> None:
    for email in (ANN, BOB):
        account = people.ann(email)
        an_endpoint(engine, account_id=account.id, url=f"https://hooks.example/{email}")
        a_snooze(engine, user_email=email, subject=f"{email} waits", note="call", remind_at=now() + HOUR)
        a_snooze(engine, user_email=email, inactive=True, remind_at=now() + HOUR)
        finished(engine, outcome="cancelled", user_email=email, subject=f"{email} archived")
        chores.archive(engine, config=RETENTION)
        a_kept_message(engine, user_email=email, subject=f"{email} kept")
        a_mailbox(engine, account_id=account.id, address=email, secret=b"a secret of the mailbox")
        with engine.begin() as connection:
            connection.execute(
                text("INSERT INTO account_presets VALUES (:id, 1, 'Soon', 'in 1 hour')"), {"id": account.id}
            )
            identity = "INSERT INTO account_identities VALUES ('https://sign-in.example', :subject, :id)"
            connection.execute(text(identity), {"id": account.id, "subject": str(account.id)})
            other = "INSERT INTO account_addresses VALUES (:email, :id)"
            connection.execute(text(other), {"id": account.id, "email": f"x{email}"})
            connection.execute(text("INSERT INTO account_phrases VALUES (:id, 'friday')"), {"id": account.id})
            connection.execute(text("INSERT INTO day_shapes (account_id) VALUES (:id)"), {"id": account.id})
        a_feed(engine, account_id=account.id)
        a_pushed_device(engine, account_id=account.id, url=f"https://push.example/secret/{email}")
    a_sent_reminder(engine)
    content = exported(engine, "json").decode()
    assert BOB not in content
    assert "secret" not in content
    kinds = [record["type"] for record in json.loads(content)]
    assert {section.type for section in SECTIONS} - set(kinds) == {"mailbox_message"}
    assert [record["state"] for record in json.loads(content) if record["type"] == "snooze"] == [
        *("waiting", "paused", "cancelled", "sent"),
    ]
    assert kinds[:2] == ["export", "account"]
    assert kinds.count("send") == 1


def test_each_line_of_the_export_is_a_record(engine: Engine, people: People) -> None:
    people.ann()
    a_snooze(engine, subject="two\nlines", note='"quoted", [and] {braced}')
    content = exported(engine, "json").decode()
    first, *lines, last, end = content.split("\n")
    assert (first, last, end) == ("[", "]", "")
    assert [json.loads(line.removesuffix(",")) for line in lines] == json.loads(content)


def test_a_row_that_is_archived_during_the_export_is_in_it_once(engine: Engine, people: People) -> None:
    people.ann()
    ids = [a_snooze(engine, subject=str(number)) for number in range(3)]
    pieces = FILES["csv"].write(engine, the_account(engine), now())
    next(pieces)
    with engine.begin() as connection:
        connection.execute(
            text(
                "UPDATE email_snoozes SET inactive = TRUE, outcome = 'cancelled', "
                "finished_at = now() - INTERVAL '40 days' WHERE id = :id"
            ),
            {"id": ids[1]},
        )
    chores.archive(engine, config=RETENTION)
    rows = list(csv.DictReader(io.StringIO(b"".join(pieces).decode()), fieldnames=COLUMNS))
    assert [row["subject"] for row in rows] == ["0", "1", "2"]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "'", "'=", "''", "", "x", "1"])
def test_no_cell_is_a_formula_and_each_text_is_read_back(start: str) -> None:
    cell = write_cell(f"{start}HYPERLINK()")
    assert not re.match(r"[=+\-@\t\r\n]", cell)
    assert read_cell(cell) == f"{start}HYPERLINK()"


def test_the_table_holds_every_snooze_with_its_texts(engine: Engine, people: People) -> None:
    people.ann()
    nasty = '=cmd|"/c calc"!A1\nnext, line'
    a_snooze(engine, subject=nasty, note="ünï 🎉", remind_at=datetime(2030, 7, 1, 10, tzinfo=UTC))
    finished(engine, outcome="cancelled")
    chores.archive(engine, config=RETENTION)
    content = exported(engine, "csv").decode("utf-8-sig")
    first, second = csv.DictReader(io.StringIO(content))
    assert (read_cell(first["subject"]), first["note"]) == (nasty, "ünï 🎉")
    assert first["promised"] == "2030-07-01T12:00:00+02:00"
    assert second["state"] == "cancelled"


def test_the_zip_holds_each_kept_message_byte_for_byte(engine: Engine, people: People) -> None:
    people.ann()
    people.ann(BOB)
    ids = [a_kept_message(engine, subject=subject) for subject in ("../../etc/passwd", "Käse", None)]
    a_kept_message(engine, user_email=BOB)
    with engine.connect() as connection:
        originals = connection.execute(
            text("SELECT original FROM messages JOIN message_originals USING (id) WHERE user_email = :ann ORDER BY id"),
            {"ann": ANN},
        ).scalars()
        wanted = [bytes(original) for original in originals]
    with ZipFile(io.BytesIO(exported(engine, "zip"))) as archive:
        assert archive.testzip() is None
        *names, places = archive.namelist()
        assert [record["file"] for record in json.loads(archive.read(places))] == names
        assert [archive.read(name) for name in names] == wanted
    assert [int(re.fullmatch(r"(\d+)-[\w-]+\.eml", name)[1]) for name in names] == ids  # type: ignore[index]


PHRASES = [
    "every monday 9am",
    "every 2 weeks on friday",
    "daily at 8",
    "every month on the 31st",
    "every month on the 30th",
    "every last friday of the month 10am",
    "every weekday 7am",
    "every year on 29 feb",
    "every 3 days",
    "every first monday of the month 9am until 1 may 2031",
]


def occurrences(recurrence: Recurrence, promise: datetime, zone: str, how_many: int) -> list[datetime]:
    found: list[datetime] = []
    after: datetime | None = promise - timedelta(microseconds=1)
    while after is not None and len(found) < how_many:
        after = next_occurrence(recurrence, after=after, zone=zone)
        found += [] if after is None else [after]
    return found


@pytest.mark.parametrize("phrase", PHRASES)
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "UTC"])
def test_a_rule_of_the_calendar_means_the_same_days(phrase: str, zone: str) -> None:
    parsed = parse(phrase, now=datetime(2028, 1, 20, 12, tzinfo=UTC), zone=zone, locale="en_GB")
    assert parsed.recurrence is not None
    assert parsed.at is not None
    rule = rule_of(parsed.recurrence, promise=parsed.at, zone=zone)
    assert rule is not None
    line = str(icalendar.vRecur(rule).to_ical(), "ascii")  # type: ignore[no-untyped-call]
    wanted = occurrences(parsed.recurrence, parsed.at, zone, 30)
    dates = rrulestr(line, dtstart=wanted[0].astimezone(zone_of(zone)))
    assert list(islice(dates, 30)) == wanted


@pytest.mark.parametrize(
    "change",
    [{"weekend_rule": "after"}, {"start": date(2028, 1, 5)}, {"at": time(9, 30)}],
)
def test_what_no_rule_can_say_has_none(change: dict[str, Any]) -> None:
    """A weekend moves it, or its next time was moved by hand."""
    recurrence = Recurrence(unit="day", interval=3, start=date(2028, 1, 3), at=time(9), **{})
    promise = datetime(2028, 1, 6, 9, tzinfo=UTC)
    assert rule_of(recurrence, promise=promise, zone="UTC") is not None
    changed = Recurrence(**{**recurrence.__dict__, **change})
    assert rule_of(changed, promise=promise, zone="UTC") is None


def test_two_libraries_read_the_calendar(engine: Engine, people: People) -> None:
    people.ann()
    asked_for(engine, "every monday 9am", subject="Weekly; with, marks\\n", note="first\r\nBEGIN:VALARM\nthird")
    asked_for(engine, "every month on the 31st", zone="America/New_York", subject="Ünï 🎉 " * 40)
    asked_for(engine, "in 2 hours", subject=None)
    a_snooze(engine, recurrence={"unit": "nonsense"}, zone="No/Where", remind_at=now() + HOUR)
    a_snooze(engine, inactive=True, outcome="cancelled", finished_at=now(), subject="over")
    content = exported(engine, "ics")
    calendar = icalendar.Calendar.from_ical(content)
    events: list[Any] = list(calendar.walk("VEVENT"))
    assert not [error for component in calendar.walk() for error in component.errors]
    assert len(events) == 4
    assert {str(zone["TZID"]) for zone in calendar.walk("VTIMEZONE")} == {"Europe/Berlin", "America/New_York"}
    assert str(events[0]["SUMMARY"]) == "Weekly; with, marks\\n"
    assert not calendar.walk("VALARM")
    with engine.connect() as connection:
        promises = connection.execute(text("SELECT remind_at FROM email_snoozes WHERE outcome IS NULL ORDER BY id"))
        assert [event.start for event in events] == [promise.replace(microsecond=0) for promise in promises.scalars()]
    assert ["RRULE" in event for event in events] == [True, True, False, False]
    [read] = list(vobject.readComponents(content.decode()))
    assert [str(event.uid.value) for event in read.vevent_list] == [str(event["UID"]) for event in events]
    assert read.vevent_list[0].getrruleset()[0] is not None
    assert all(len(line) <= 75 for line in content.split(b"\r\n"))
    again = icalendar.Calendar.from_ical(exported(engine, "ics")).walk("VEVENT")
    assert [event["UID"] for event in again] == [event["UID"] for event in events]


def test_thousands_of_snoozes_are_exported_in_little_memory(engine: Engine, people: People) -> None:
    people.ann()
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at, subject, note) "
                "SELECT :ann, n || '@x', now() + n * INTERVAL '1 minute', repeat('s', 100), repeat('n', 400) "
                "FROM generate_series(1, 3000) AS n"
            ),
            {"ann": ANN},
        )
    account = the_account(engine)
    for ending in ("json", "csv", "ics"):
        # What the first whole file of a process imports and caches is not counted.
        sum(map(len, FILES[ending].write(engine, account, now())))
        tracemalloc.start()
        size = sum(map(len, FILES[ending].write(engine, account, now())))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert size > 1_500_000
        assert peak < 1_500_000, ending
