"""The invariants' views are empty after everything that may happen, and each shows what is broken by hand."""

from datetime import timedelta

import pytest
from sqlalchemy import CheckConstraint, Engine, text

from snoozer.db import definitions, health_checks
from snoozer.db.models import metadata
from snoozer.queue import ledger, queue, workers
from tests import acting
from tests.db.invariants import look, shown
from tests.db.operations import operate
from tests.db.transitions import a_held_mail, authorise, claim, finalize, lapse, record, recover, recovered, sendable
from tests.factories import HOUR, a_snooze, now, the_send

SECOND = timedelta(seconds=1)
LONG_AGO = "now() - INTERVAL '1 hour'"


def a_sent_snooze(engine: Engine) -> int:
    held, send = a_held_mail(engine)
    assert authorise(engine, send)
    record(engine, send)
    assert finalize(engine, held)
    return held.id


def broken_by_hand(engine: Engine, *statements: str) -> dict[str, list[int | None]]:
    """What the views show after these statements, which are rolled back."""
    with engine.connect() as connection, connection.begin() as transaction:
        for statement in statements:
            connection.execute(text(statement))
        found = shown(connection)
        transaction.rollback()
    return found


def test_the_doctor_knows_every_view(engine: Engine) -> None:
    with engine.connect() as connection:
        views = connection.execute(text("SELECT viewname FROM pg_views WHERE viewname LIKE 'invariant%'")).scalars()
        assert {f"invariant_{name}" for name in health_checks.INVARIANTS} == set(views)


def test_a_sent_reminder_breaks_nothing(engine: Engine) -> None:
    a_sent_snooze(engine)
    a_snooze(engine, remind_at=now() + HOUR)
    assert look(engine) == {}


def test_an_uncertain_send_resolved_by_a_resend_breaks_nothing(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    again = recovered(engine, held)
    assert the_send(engine, held.id).state == "uncertain"
    [entry] = sendable(engine, again, hold=timedelta(0))
    assert authorise(engine, entry)
    record(engine, entry)
    assert finalize(engine, again)
    assert the_send(engine, held.id).resends == 1
    assert look(engine) == {}


def test_a_late_reply_and_a_second_copy_break_nothing(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    again = recovered(engine, held)
    record(engine, send)
    assert sendable(engine, again) == []
    assert finalize(engine, again)
    assert look(engine) == {}


def test_an_operators_decision_breaks_nothing(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    lapse(engine, [held.id])
    recover(engine, hold=timedelta(0), hold_for_operator=True)
    with engine.begin() as connection:
        assert operate(connection, "reactivate", [held.id]) == [held.id]
    [again] = claim(engine, poison_rows=True) or claim(engine)
    [entry] = sendable(engine, again)
    assert authorise(engine, entry)
    record(engine, entry)
    assert finalize(engine, again)
    assert look(engine) == {}


def test_two_sends_for_one_promise_are_shown(engine: Engine) -> None:
    id = a_sent_snooze(engine)
    assert broken_by_hand(
        engine,
        "ALTER TABLE reminder_sends DROP CONSTRAINT uq_reminder_sends_promise, "
        "DROP CONSTRAINT uq_reminder_sends_reminder_message_id",
        "CREATE TEMPORARY TABLE twin ON COMMIT DROP AS SELECT * FROM reminder_sends",
        "UPDATE twin SET id = id + 1000",
        "INSERT INTO reminder_sends SELECT * FROM twin",
    ) == {"one_send_per_promise": [id]}


def test_a_copy_in_the_archive_counts_as_a_second_send(engine: Engine) -> None:
    id = a_sent_snooze(engine)
    assert broken_by_hand(
        engine,
        "SELECT snooze_archive_prepare(DATE '2001-01-01')",
        "INSERT INTO reminder_sends_archive SELECT '2001-01-02', send.* FROM reminder_sends AS send",
    ) == {"one_send_per_promise": [id]}


def test_a_send_that_is_no_longer_sent_is_shown(engine: Engine) -> None:
    id = a_sent_snooze(engine)
    assert broken_by_hand(
        engine,
        "ALTER TABLE reminder_sends DISABLE TRIGGER reminder_sends_keep_sent, "
        "DROP CONSTRAINT ck_reminder_sends_sent_is_dated",
        "UPDATE reminder_sends SET state = 'failed'",
    ) == {"sent_stays_sent": [id], "finished_has_its_send": [id]}


def test_a_sent_send_without_a_confirmation_is_shown(engine: Engine) -> None:
    id = a_sent_snooze(engine)
    for wrong in ("smtp_code = NULL", "smtp_code = 451"):
        assert broken_by_hand(engine, f"UPDATE reminder_sends SET {wrong}") == {"sent_stays_sent": [id]}  # noqa: S608


@pytest.mark.parametrize("state", ["failed", "sending"])
def test_a_snooze_that_is_finished_without_its_send_is_shown(engine: Engine, state: str) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    assert finalize(engine, held)
    change = f"UPDATE reminder_sends SET state = '{state}'"  # noqa: S608
    assert broken_by_hand(engine, change) == {"finished_has_its_send": [held.id]}
    assert broken_by_hand(engine, "DELETE FROM reminder_sends") == {"finished_has_its_send": [held.id]}


def test_a_second_dot_without_a_decision_is_shown(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    lapse(engine, [held.id])
    recover(engine, hold=timedelta(hours=1))
    assert "no_second_dot" not in look(engine)
    for second in (
        "UPDATE reminder_sends SET state = 'sending', dot_authorised_at = clock_timestamp()",
        "UPDATE reminder_sends SET state = 'failed'",
        "UPDATE reminder_sends SET resolution = 'resend', resolved_by = 'policy', "
        "resolved_at = uncertain_at - INTERVAL '1 minute', dot_authorised_at = clock_timestamp()",
    ):
        assert broken_by_hand(engine, second)["no_second_dot"] == [held.id]


def test_a_due_snooze_that_is_not_claimed_is_shown_while_the_breaker_is_closed(engine: Engine) -> None:
    id = a_snooze(engine)
    old = f"UPDATE email_snoozes SET created_at = {LONG_AGO}"  # noqa: S608
    assert broken_by_hand(engine, old) == {"due_is_taken": [id]}
    breaker = "INSERT INTO circuit_breakers (server, state, opened_at) VALUES ('mail.example:25', 'open', now())"
    assert broken_by_hand(engine, old, breaker) == {}
    with engine.begin() as connection:
        connection.execute(text(old))
        assert health_checks.violations(connection, "due_is_taken") == []


def test_a_claim_of_a_dead_worker_is_shown(engine: Engine) -> None:
    with engine.begin() as connection:
        workers.register(connection, id="w")
    a_snooze(engine)
    [held] = claim(engine)
    assert look(engine) == {}
    dead = f"UPDATE workers SET state = 'dead', stopped_at = {LONG_AGO}"  # noqa: S608
    silent = f"UPDATE email_snoozes SET lease_expires_at = {LONG_AGO}"  # noqa: S608
    for lost in (dead, silent):
        assert broken_by_hand(engine, lost) == {"the_dead_hold_nothing": [held.id]}
    with engine.begin() as connection:
        connection.execute(text(silent))
        assert queue.extend(connection, held=[(held.id, held.claim_token)], lease=HOUR) == {held.id: True}


def test_guards_that_are_not_in_force_are_named(engine: Engine) -> None:
    with engine.connect() as connection, connection.begin() as transaction:
        assert health_checks.disabled_guards(connection) == []
        for statement in (
            "ALTER TABLE reminder_sends DISABLE TRIGGER reminder_sends_keep_sent",
            "ALTER TABLE email_snoozes ENABLE REPLICA TRIGGER email_snoozes_enter",
            "DROP TRIGGER email_snoozes_inserted ON email_snoozes",
            "ALTER TABLE email_snoozes DROP CONSTRAINT ck_email_snoozes_priority",
            "ALTER TABLE reminder_sends DROP CONSTRAINT fk_reminder_sends_snooze",
            "ALTER TABLE reminder_sends ADD CONSTRAINT fk_reminder_sends_snooze FOREIGN KEY (snooze_id) "
            "REFERENCES email_snoozes (id) NOT VALID",
        ):
            connection.execute(text(statement))
        enable = "ALTER TABLE {} ENABLE TRIGGER {};"
        assert {str(defect): defect.remedy for defect in health_checks.disabled_guards(connection)} == {
            "ck_email_snoozes_priority (missing)": "",
            "email_snoozes_inserted (missing)": "",
            "email_snoozes_enter (disabled)": enable.format("email_snoozes", "email_snoozes_enter"),
            "reminder_sends_keep_sent (disabled)": enable.format("reminder_sends", "reminder_sends_keep_sent"),
            "fk_reminder_sends_snooze (not validated)": "ALTER TABLE reminder_sends VALIDATE CONSTRAINT "
            "fk_reminder_sends_snooze;",
        }
        transaction.rollback()


def checks_of(table: str) -> list[CheckConstraint]:
    """In one order: the constraints of a table are a set, and each process of a test run must list the same tests."""
    found = [one for one in metadata.tables[table].constraints if isinstance(one, CheckConstraint)]
    return sorted(found, key=lambda check: str(check.name))


@pytest.mark.parametrize("check", checks_of("email_snoozes"), ids=lambda check: check.name)
def test_a_check_of_the_model_is_that_of_the_table(engine: Engine, check: CheckConstraint) -> None:
    both = "SELECT count(*), count(DISTINCT pg_get_constraintdef(oid)) FROM pg_constraint WHERE conname = :name"
    with engine.connect() as connection, connection.begin() as transaction:
        connection.execute(text("CREATE TEMPORARY TABLE of_the_model (LIKE email_snoozes)"))
        connection.execute(text(f"ALTER TABLE of_the_model ADD CONSTRAINT {check.name} CHECK ({check.sqltext})"))
        assert connection.execute(text(both), {"name": check.name}).one() == (2, 1)
        transaction.rollback()


def test_every_constraint_and_trigger_of_queue_ledger_and_returns_is_among_the_guards(engine: Engine) -> None:
    checks = text("SELECT conname FROM pg_constraint WHERE conrelid = to_regclass(:on) AND contype = 'c'")
    triggers = text("SELECT tgname FROM pg_trigger WHERE tgrelid = to_regclass(:on) AND NOT tgisinternal")
    with engine.connect() as connection:
        for table in ("email_snoozes", "messages", "reminder_sends"):
            found = set(connection.execute(checks, {"on": table}).scalars())
            assert found == {*health_checks.CHECKS[table], *(check.name for check in checks_of(table))}
            assert set(connection.execute(triggers, {"on": table}).scalars()) == {
                name for on, name in definitions.triggers() if on == table
            }


def test_indexes_that_are_missing_or_invalid_are_named_and_their_remedies_work(engine: Engine) -> None:
    """The doctor found nothing wrong after the claim's index was dropped."""
    broken = {
        "ix_email_snoozes_lane": "DROP INDEX ix_email_snoozes_lane",
        "ix_reminder_sends_unsettled": "DROP INDEX ix_reminder_sends_unsettled",
        "uq_reminder_sends_promise": "ALTER TABLE reminder_sends DROP CONSTRAINT uq_reminder_sends_promise",
        "ix_email_snoozes_due": "UPDATE pg_index SET indisvalid = FALSE "
        "WHERE indexrelid = 'ix_email_snoozes_due'::regclass",
        "uq_email_snoozes_live": "DROP INDEX uq_email_snoozes_live; "
        "CREATE INDEX uq_email_snoozes_live ON email_snoozes (user_email, message_id) WHERE NOT inactive",
    }
    with engine.connect() as connection, connection.begin() as transaction:
        assert health_checks.unusable_indexes(connection) == []
        for statement in broken.values():
            connection.execute(text(statement))
        defects = health_checks.unusable_indexes(connection)
        assert [defect.name for defect in defects] == sorted(broken)
        assert {defect.problem for defect in defects} == {"missing", "invalid", "not unique"}
        assert [defect.name for defect in defects if defect.holds_an_invariant] == [
            "uq_email_snoozes_live",
            "uq_reminder_sends_promise",
        ]
        for defect in defects:
            # CONCURRENTLY cannot run in a transaction that is rolled back.
            connection.execute(text(defect.remedy.replace("CONCURRENTLY ", "")))
        assert health_checks.unusable_indexes(connection) == []
        transaction.rollback()


def test_a_row_that_waits_for_a_newer_release_or_behind_its_key_is_not_taken_rightly(engine: Engine) -> None:
    a_snooze(engine, schema_version=2)
    first, *others = [a_snooze(engine, serialization_key="k", remind_at=now() - HOUR + n * SECOND) for n in range(6)]
    old = f"UPDATE email_snoozes SET created_at = {LONG_AGO}"  # noqa: S608
    assert broken_by_hand(engine, old) == {"due_is_taken": [first]}
    busy = f"UPDATE email_snoozes SET behind_key = FALSE, created_at = {LONG_AGO}"  # noqa: S608
    assert [held.id for held in claim(engine)] == [first]
    assert broken_by_hand(engine, busy) == {}
    with engine.begin() as connection:
        assert acting.cancel(connection, first)
    assert broken_by_hand(engine, busy) == {"due_is_taken": others[:1]}


def test_a_decision_ends_the_uncertainty_for_good(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    authorise(engine, send)
    lapse(engine, [held.id])
    recover(engine, hold_for_operator=True)
    with engine.begin() as connection:
        assert operate(connection, "dismiss", [held.id]) == [held.id]
        assert ledger.dismiss(connection, ids=[held.id], actor="operator:1") == []
    assert look(engine) == {}
