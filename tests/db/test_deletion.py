"""Deleting an account: everything of the person goes, in steps that a crash does not lose; nothing of others does."""

import json
from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from snoozer.db import deletions, notifications
from snoozer.db.models import metadata
from snoozer.db.notifications import ClaimedPush, Outcome
from snoozer.delivery.chores import chores, erasing
from snoozer.delivery.chores.erasing import erase_accounts
from snoozer.people import accounts, api_tokens
from snoozer.people.personal_data import deletion, importing
from snoozer.people.personal_data.files import FILES
from snoozer.people.personal_data.import_file import Reading
from snoozer.queue import queue
from snoozer.settings import Settings
from tests.acting import cancel
from tests.db.archived import RETENTION, finished
from tests.db.pushes import a_pushed_device
from tests.db.transitions import a_held_mail, authorise, claim, finalize, record
from tests.factories import ANN, HOUR, People, a_kept_message, a_mailbox, a_snooze, asked_for, now
from tests.webhook_receiver import an_endpoint

BOB = "bob@snoozer.example"
DAY = timedelta(days=1)
AT_ONCE = timedelta(0)


def ask(engine: Engine, id: int, *, deliver: bool = False, due: bool = True) -> None:
    with engine.begin() as connection:
        assert deletion.request(connection, account_id=id, deliver=deliver)
        if due:
            connection.execute(text("UPDATE account_deletions SET due_at = now() WHERE account_id = :id"), {"id": id})


def erase(engine: Engine, times: int = 5) -> int:
    return sum(erase_accounts(engine, settle=AT_ONCE) for _ in range(times))


def rows(engine: Engine, table: str, where: str = "TRUE") -> int:
    with engine.connect() as connection:
        return int(connection.execute(text(f"SELECT count(*) FROM {table} WHERE {where}")).scalar_one())  # noqa: S608


def content(engine: Engine) -> dict[str, str]:
    """Each table's rows as one text."""
    found = {}
    with engine.connect() as connection:
        for table in metadata.sorted_tables:
            every = text(f"SELECT string_agg(t::text, ' ' ORDER BY t::text) FROM {table.name} AS t")  # noqa: S608
            found[table.name] = str(connection.execute(every).scalar_one() or "")
    return found


def fill(engine: Engine, account_id: int, email: str) -> None:
    """Something of a person in every table that has people's data."""
    an_endpoint(engine, account_id=account_id, url=f"https://hooks.example/{email}")
    held, send = a_held_mail(engine, user_email=email, subject=f"{email} sent", message_id=f"<sent-{email}>")
    assert authorise(engine, send)
    record(engine, send)
    assert finalize(engine, held)
    finished(engine, outcome="cancelled", user_email=email, subject=f"{email} archived")
    chores.archive(engine, config=RETENTION)
    asked_for(engine, "every monday 9am", user_email=email, subject=f"{email} repeats")
    a_snooze(engine, user_email=email, inactive=True, remind_at=now() + DAY)
    a_snooze(engine, user_email=email, inactive=True, outcome="retired", finished_at=now(), remind_at=now() - DAY)
    a_kept_message(engine, user_email=email, subject=f"{email} kept")
    a_pushed_device(engine, account_id=account_id, url=f"https://push.example/{email}")
    with engine.begin() as connection:
        for statement in (
            "INSERT INTO account_presets VALUES (:id, 1, :email, 'friday')",
            "INSERT INTO account_phrases VALUES (:id, :email)",
            "INSERT INTO idempotency_keys VALUES (:id, :email, '', 200, '')",
            "INSERT INTO imports (account_id) VALUES (:id)",
            "INSERT INTO day_shapes (account_id) VALUES (:id)",
            "INSERT INTO feeds (account_id, kind, name, secret_hash) VALUES (:id, 'calendar', :email, :email)",
            "INSERT INTO sink_messages (mail_from, rcpt_to, original) VALUES ('x@y', :email, 'x')",
            "INSERT INTO mailbox_sign_ins (state_hash, session_hash, account_id, provider, address, verifier) "
            "VALUES (:email, 'y', :id, 'google', :email, '')",
            "INSERT INTO snooze_events (snooze_id, kind, actor, route, detail) "
            "SELECT id, 'asked', 'user', 'web', jsonb_build_object('phrase', user_email) FROM email_snoozes "
            "WHERE user_email = :email",
        ):
            connection.execute(
                text(statement), {"id": account_id, "email": email} if ":id" in statement else {"email": email}
            )


def test_everything_of_the_person_is_erased_and_nothing_of_another(engine: Engine, people: People) -> None:
    ann, bob = people.ann(), people.ann(BOB)
    fill(engine, bob.id, BOB)
    a_snooze(engine, user_email=BOB, sender_email=ANN, subject=f"from {ANN}", remind_at=now() + DAY)
    before = content(engine)
    fill(engine, ann.id, ANN)
    a_mailbox(engine, account_id=ann.id, address=ANN)
    ask(engine, ann.id)
    erase(engine)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM mailboxes"))
    assert erase(engine) == 1
    after = content(engine)
    # What the clock and the quotas wrote is of no one in particular.
    technical = {"audit_log", "housekeeping_runs", "list_changes", "quota_usage"}
    assert {name for name in after if after[name] != before[name]} - technical <= {
        "accounts",
        "sessions",
        "api_tokens",
        "sign_ins",
    }
    assert {name for name in after if ANN in after[name]} == {"email_snoozes"}
    assert rows(engine, "accounts") == 1
    assert rows(engine, "sessions") == 1
    people.ann()
    assert rows(engine, "email_snoozes", f"user_email = '{ANN}'") == 0


def test_the_audit_log_has_the_erasure_and_nothing_of_the_person(engine: Engine, people: People) -> None:
    ann = people.ann()
    fill(engine, ann.id, ANN)
    ask(engine, ann.id)
    assert erase(engine) == 1
    with engine.connect() as connection:
        columns = "actor, act, target, snooze_id, before, after, reason"
        log = connection.execute(text(f"SELECT {columns} FROM audit_log ORDER BY id"))  # noqa: S608
        assert [tuple(row) for row in log] == [
            ("clock", act, f"account:{ann.id}", None, None, None, None) for act in ("begin_erasure", "erase_account")
        ]


def test_nothing_is_deleted_before_its_day_has_passed_or_once_it_is_taken_back(engine: Engine, people: People) -> None:
    ann = people.ann()
    a_snooze(engine, remind_at=now() + HOUR)
    ask(engine, ann.id, due=False)
    with engine.begin() as connection:
        assert deletion.request(connection, account_id=ann.id, deliver=True) is None
    assert erase(engine) == 0
    assert rows(engine, "sessions") == 1
    with engine.begin() as connection:
        assert deletion.withdraw(connection, account_id=ann.id)
        assert not deletion.withdraw(connection, account_id=ann.id)
    ask(engine, ann.id)
    erase_accounts(engine, settle=DAY)
    with engine.begin() as connection:
        assert not deletion.withdraw(connection, account_id=ann.id)
        assert accounts.reopen(connection, email=ANN) is None
        assert accounts.session_account(connection, session=ann.session) is None
        assert api_tokens.find(connection, secret=ann.token) is None


def test_what_waits_is_delivered_first_where_that_was_chosen_and_once(engine: Engine, people: People) -> None:
    ann = people.ann()
    repeats = asked_for(engine, "every monday 9am", message_id="<r@x>")
    waits = a_snooze(engine, remind_at=now() + 9 * DAY)
    a_snooze(engine, inactive=True, remind_at=now() + DAY)
    ask(engine, ann.id, deliver=True)
    assert erase(engine) == 0
    assert rows(engine, "email_snoozes") == 3
    held = claim(engine)
    assert {each.id for each in held} == {repeats, waits}
    assert [each.recurrence for each in held] == [None, None]
    assert erase(engine) == 0
    with engine.begin() as connection:
        queue.finalize(connection, held=[(each.id, each.claim_token) for each in held])
    assert erase(engine) == 1
    assert rows(engine, "email_snoozes") == 0


def test_a_vacation_does_not_hold_up_what_is_delivered_first(engine: Engine, people: People) -> None:
    ann = people.ann()
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO day_shapes (account_id, away_from, back_on, rest_from, rest_until, rest_reason, "
                "known_until, refresh_at, changed) "
                "SELECT id, CURRENT_DATE - 1, CURRENT_DATE + 90, now() - INTERVAL '1 day', now() + INTERVAL '90 days', "
                "'vacation', now() + INTERVAL '80 days', now() + INTERVAL '80 days', FALSE FROM accounts"
            )
        )
    deferred = {"remind_at": now() + 90 * DAY, "deferred_until": now() + 90 * DAY, "deferred_by": "vacation"}
    a_snooze(engine, **deferred, scheduled_for=now() - DAY)
    a_snooze(engine, remind_at=now() + DAY)
    ask(engine, ann.id, deliver=True)
    erase(engine, times=1)
    assert len(claim(engine)) == 2
    assert rows(engine, "day_shapes") == 0


def test_a_reminder_that_cannot_be_delivered_does_not_keep_the_account_for_ever(engine: Engine, people: People) -> None:
    ann = people.ann()
    a_snooze(engine)
    ask(engine, ann.id, deliver=True)
    assert erase(engine) == 0
    with engine.begin() as connection:
        connection.execute(text("UPDATE account_deletions SET begun_at = now() - INTERVAL '8 days'"))
    assert erase(engine) == 1


def test_what_a_worker_holds_or_has_handed_over_is_erased_later(engine: Engine, people: People) -> None:
    ann = people.ann()
    held, send = a_held_mail(engine)
    ask(engine, ann.id)
    assert (erase(engine), rows(engine, "email_snoozes")) == (0, 1)
    assert authorise(engine, send)
    with engine.begin() as connection:
        connection.execute(
            text(
                "UPDATE email_snoozes "
                "SET claimed_at = NULL, claimed_by = NULL, claim_token = NULL, lease_expires_at = NULL"
            )
        )
    assert (erase(engine), rows(engine, "email_snoozes")) == (0, 1)
    record(engine, send)
    assert (erase(engine), rows(engine, "reminder_sends")) == (1, 0)
    assert not finalize(engine, held)


def test_an_uncertain_send_is_erased_after_an_hour(engine: Engine, people: People) -> None:
    ann = people.ann()
    held, send = a_held_mail(engine)
    assert authorise(engine, send)
    with engine.begin() as connection:
        cancel(connection, held.id)
        connection.execute(text("UPDATE reminder_sends SET state = 'uncertain', uncertain_at = now()"))
    ask(engine, ann.id)
    assert erase(engine) == 0
    with engine.begin() as connection:
        connection.execute(text("UPDATE reminder_sends SET uncertain_at = now() - INTERVAL '61 minutes'"))
    assert erase(engine) == 1


def test_a_hundred_deletions_that_deliver_first_hold_up_no_other(
    engine: Engine, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "MAX_STEPS", 20)
    with engine.begin() as connection:
        connection.execute(
            text(
                "WITH made AS (INSERT INTO accounts (email) SELECT n || '@x' FROM generate_series(1, 100) AS n "
                "RETURNING id, email), asked AS (INSERT INTO account_deletions (account_id, due_at, deliver, begun_at) "
                "SELECT id, now() - INTERVAL '2 days', TRUE, now() - INTERVAL '1 day' FROM made) "
                "INSERT INTO email_snoozes (user_email, message_id, remind_at) SELECT email, 'm', now() FROM made"
            )
        )
    ann = people.ann()
    a_snooze(engine, remind_at=now() + DAY)
    ask(engine, ann.id)
    assert erase(engine, times=12) == 1
    assert rows(engine, "accounts") == 100


def test_a_mailbox_gives_back_what_is_snoozed_before_its_password_is_forgotten(engine: Engine, people: People) -> None:
    ann = people.ann()
    a_mailbox(engine, account_id=ann.id)
    ask(engine, ann.id)
    assert erase(engine) == 0
    assert rows(engine, "mailboxes", "state = 'leaving'") == 1
    with engine.begin() as connection:
        connection.execute(text("UPDATE account_deletions SET begun_at = now() - INTERVAL '49 hours'"))
    assert erase(engine) == 1
    assert rows(engine, "mailboxes") == 0


def test_what_a_request_that_was_under_way_saves_is_erased_too(engine: Engine, people: People) -> None:
    ann = people.ann()
    ask(engine, ann.id)
    erase_accounts(engine)
    assert rows(engine, "accounts") == 1
    a_snooze(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE account_deletions SET begun_at = now() - INTERVAL '6 minutes'"))
    erase_accounts(engine)
    assert (rows(engine, "email_snoozes"), rows(engine, "accounts")) == (0, 1)
    assert erase_accounts(engine) == 1


def test_an_account_is_not_deleted_while_something_of_it_is_left(engine: Engine, people: People) -> None:
    ann = people.ann()
    ask(engine, ann.id)
    with engine.begin() as connection:
        assert not deletions.finish(connection, account_id=ann.id)
    erase_accounts(engine, settle=DAY)
    a_snooze(engine)
    with engine.begin() as connection:
        assert not deletions.finish(connection, account_id=ann.id)


def test_large_accounts_are_erased_in_small_steps(
    engine: Engine, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "BATCH_SIZE", 2)
    ann = people.ann()
    for _ in range(5):
        a_snooze(engine, remind_at=now() + DAY)
    ask(engine, ann.id)
    left = []
    for _ in range(4):
        erase(engine, times=1)
        left.append(rows(engine, "email_snoozes"))
    assert left == [3, 1, 0, 0]


def test_a_push_whose_answer_is_awaited_is_erased_later_and_its_answer_does_no_harm(
    engine: Engine, people: People
) -> None:
    ann = people.ann()
    a_pushed_device(engine, account_id=ann.id, url="https://push.example/ann")
    with engine.begin() as connection:
        connection.execute(text("UPDATE push_sends SET state = 'reserved', finished_at = NULL"))
        connection.execute(text("UPDATE push_sends SET expires_at = now() + INTERVAL '1 hour'"))
    with engine.begin() as connection:
        claimed = notifications.claim(connection, ClaimedPush, lease=HOUR)
        assert claimed
        assert notifications.mark(connection, claimed, lease=HOUR)
    ask(engine, ann.id)
    assert erase(engine) == 0
    assert (rows(engine, "push_devices"), rows(engine, "push_sends")) == (0, 1)
    with engine.begin() as connection:
        notifications.record(connection, claimed, Outcome(status=201))
    assert erase(engine) == 1
    assert rows(engine, "push_sends") == 0
    with engine.begin() as connection:
        notifications.record(connection, claimed, Outcome(status=201))


def test_an_export_that_runs_while_the_account_is_erased_is_a_whole_file(engine: Engine, people: People) -> None:
    ann = people.ann()
    for _ in range(3):
        a_snooze(engine, remind_at=now() + DAY)
    with engine.connect() as connection:
        account = accounts.find(connection, email=ANN)
    assert account is not None
    pieces = FILES["json"].write(engine, account, now())
    first = next(pieces)
    ask(engine, ann.id)
    assert erase(engine) == 1
    records = json.loads(first + b"".join(pieces))
    assert [record["type"] for record in records] == ["export", "account"]


def test_a_file_that_waits_to_be_imported_is_not_saved_once_the_deletion_has_begun(
    engine: Engine, people: People, settings: Settings
) -> None:
    ann = people.ann()
    with engine.begin() as connection:
        account = accounts.find(connection, email=ANN)
        assert account is not None
        importing.stage(connection, account=account, reading=Reading())
    ask(engine, ann.id)
    erase_accounts(engine, settle=DAY)
    with engine.begin() as connection:
        assert importing.confirm(connection, account=account, limits=settings.limits, with_past=True) is None


def test_what_is_entered_by_hand_for_an_address_after_its_deletion_is_sent_as_any_other(
    engine: Engine, people: People
) -> None:
    ann = people.ann()
    ask(engine, ann.id)
    assert erase(engine) == 1
    id = a_snooze(engine)
    assert erase(engine) == 0
    assert [held.id for held in claim(engine)] == [id]


def test_what_was_archived_in_many_months_is_erased(engine: Engine, people: People) -> None:
    ann = people.ann()
    for months in (2, 4, 6):
        finished(engine, outcome="cancelled", at=now() - months * 31 * DAY)
    chores.archive(engine, config=RETENTION)
    archived = rows(engine, "email_snoozes_archive")
    ask(engine, ann.id)
    assert archived == 3
    assert erase(engine) == 1
    assert rows(engine, "email_snoozes_archive") == 0
