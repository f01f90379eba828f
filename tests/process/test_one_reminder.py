"""A thousand rows by another program's INSERT, a thousand mails, once."""

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from sqlalchemy import text

from tests.factories import a_kept_message, a_long_snooze, a_snooze, the_events, the_row, the_send
from tests.process.conftest import TIMEOUT, Field, wait

ROWS = 1000


def test_a_thousand_inserted_rows_become_a_thousand_mails_once(place: Field) -> None:
    with place.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at) "
                "SELECT 'p' || n % 50 || '@snoozer.example', '<' || n || '@mail.example>', now() "
                "FROM generate_series(1, :rows) AS n"
            ),
            {"rows": ROWS},
        )
    ended = place.run("worker", "--drain")
    assert ended.returncode == 0, ended.stderr
    assert _counts(place) == (ROWS, ROWS, ROWS)
    again = place.run("worker", "--drain")
    assert again.returncode == 0, again.stderr
    assert _counts(place) == (ROWS, ROWS, ROWS)


def _counts(place: Field) -> tuple[int, int, int]:
    mails = place.sink.accepted()
    assert len({mail["message_id"] for mail in mails}) == len(mails)
    with place.engine.connect() as connection:
        sends = connection.execute(text("SELECT count(*) FROM reminder_sends WHERE state = 'sent'")).scalar_one()
        over = connection.execute(
            text("SELECT count(*) FROM email_snoozes WHERE inactive AND outcome = 'sent' AND claimed_at IS NULL")
        ).scalar_one()
    return len(mails), sends, over


def test_with_a_key_a_worker_signs_and_the_ledger_knows_the_signed_bytes(place: Field, tmp_path: Path) -> None:
    file = tmp_path / "dkim.pem"
    key = rsa.generate_private_key(65537, 2048)
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    id = a_snooze(place.engine)
    ended = place.run("worker", "--drain", SNOOZER_DKIM_KEY_FILE=str(file), SNOOZER_DKIM_SELECTOR="s1")
    assert ended.returncode == 0, ended.stderr
    [mail] = place.sink.accepted()
    assert mail["head"].startswith("DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/simple;\r\n d=snoozer.example; s=s1;")
    assert the_send(place.engine, id).bytes_sha256 == mail["sha256"]


def test_several_processes_share_the_work_and_stop_together(place: Field) -> None:
    ids = [a_snooze(place.engine) for _ in range(40)]
    assert place.run("worker", "--drain", "--processes", "3", "--batch", "5").returncode == 0
    assert {the_row(place.engine, id).outcome for id in ids} == {"sent"}
    assert len(place.sink.accepted()) == 40
    lasting = place.start("worker", "--processes", "2")
    _wait_for_workers(place, alive=2)
    lasting.terminate()
    lasting.communicate(timeout=TIMEOUT)
    assert lasting.returncode == 0
    _wait_for_workers(place, alive=0)


def _wait_for_workers(place: Field, *, alive: int) -> None:
    count = text("SELECT count(*) FROM workers WHERE state = 'alive'")

    def there_are() -> bool:
        with place.engine.connect() as connection:
            return bool(connection.execute(count).scalar_one() == alive)

    wait(there_are)


def test_the_reminder_threads_and_the_kept_message_comes_back_unread_on_top(place: Field) -> None:
    first = a_kept_message(place.engine, message_id="<first@mail.example>")
    a_kept_message(place.engine, message_id="<second@mail.example>")
    with place.engine.begin() as connection:
        connection.execute(text("UPDATE messages SET folder = 'snoozed', unread = FALSE WHERE id = :id"), {"id": first})
    id = a_snooze(place.engine, message_id="<first@mail.example>")
    assert place.run("worker", "--drain").returncode == 0
    [mail] = place.sink.accepted()
    assert mail["in_reply_to"] == "<first@mail.example>"
    assert the_send(place.engine, id).bytes_sha256 == mail["sha256"]
    with place.engine.connect() as connection:
        top = connection.execute(
            text("SELECT id, unread, returned FROM messages WHERE folder = 'inbox' ORDER BY surfaced_at DESC")
        ).first()
    assert top == (first, True, True)


def test_rows_that_cannot_be_delivered_become_cases_and_stop_no_worker(place: Field) -> None:
    """An address that is none, a row that the ledger cannot take, and recurrences that Python cannot read."""
    address = a_snooze(place.engine, user_email="not an address\r\nBcc: eve@evil.example")
    long = a_long_snooze(place.engine)
    deep, digits, *fine = (a_snooze(place.engine) for _ in range(20))
    with place.engine.begin() as connection:
        for id, plain in ((deep, "[" * 3000 + "]" * 3000), (digits, '{"interval": 1e5000}')):
            connection.execute(
                text("UPDATE email_snoozes SET recurrence = CAST(:plain AS jsonb) WHERE id = :id"),
                {"id": id, "plain": plain},
            )
    ended = place.run("worker", "--drain")
    assert ended.returncode == 0, ended.stderr
    row = the_row(place.engine, long)
    assert (row.outcome, the_row(place.engine, address).outcome) == ("retired", "retired")
    assert "Correct the row and reactivate it" in row.last_error
    assert the_events(place.engine, long) == ["retired"]
    assert row.message_id[:9] not in ended.stdout + ended.stderr
    assert {the_row(place.engine, id).outcome for id in (deep, digits, *fine)} == {"sent"}
    assert len(place.sink.accepted()) == 20
