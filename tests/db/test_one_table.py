"""Kept messages and those of connected mailboxes became one table: nothing is lost, and old processes go on."""

import json
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.engine import make_url

from snoozer.db import schema

ACT = {
    "kept": [{"id": 11}],
    "moves": [[14, "home", "aside"]],
    "wanted": [[13, "<13@x>", "snoozed"], [12, "<12@x>", "home"]],
}
FILL = """
INSERT INTO accounts (id, email) VALUES (1, 'ann@x');
INSERT INTO mailboxes (id, account_id, address, host, port, security, username, secret)
VALUES (1, 1, 'ann@x', 'mail', 993, 'tls', 'ann', '');
INSERT INTO kept_messages (id, user_email, message_id, original, sha256, folder)
SELECT n, 'ann@x', '<' || n || '@x>', convert_to(repeat('x', n), 'UTF8'), n, 'snoozed'
FROM generate_series(11, 13) AS n;
INSERT INTO mailbox_messages (
    id, mailbox_id, user_email, message_id, fingerprint, size, internal_date, home, place, wanted, folder, uidvalidity,
    uid
)
SELECT n, 1, 'ann@x', '<' || n || '@x>', 'f', 1, now(), 'INBOX', 'home', 'snoozed', 'INBOX', 1, n
FROM generate_series(12, 15) AS n;
INSERT INTO email_snoozes (user_email, message_id, remind_at)
SELECT 'ann@x', '<' || n || '@x>', now() + INTERVAL '1 day' FROM generate_series(11, 15) AS n;
INSERT INTO bulk_acts (account_id, id, before)
VALUES (1, '00000000-0000-0000-0000-000000000001', '{}');
"""
# Statements of the release before.
KEEP = """
INSERT INTO kept_messages (user_email, message_id, thread_ids, original, sha256, subject, folder, unread)
SELECT 'ann@x', CASE WHEN EXISTS (SELECT 1 FROM kept_messages WHERE message_id = :id) THEN '<other@x>' ELSE :id END,
    NULL, :original, 'new', 'Hello', 'inbox', TRUE
ON CONFLICT DO NOTHING
RETURNING id
"""
RETURN = """
WITH due AS MATERIALIZED (
    SELECT kept.id
    FROM kept_messages AS kept
    JOIN email_snoozes AS snooze ON snooze.id = kept.snooze_id
    ORDER BY kept.id
    LIMIT 9
    FOR KEY SHARE OF snooze SKIP LOCKED
    FOR NO KEY UPDATE OF kept SKIP LOCKED
)
UPDATE kept_messages AS kept
SET folder = 'inbox', unread = TRUE, returned = TRUE, returns_at = NULL, snooze_id = NULL
FROM due
WHERE kept.id = due.id
RETURNING kept.id
"""
SETTLE = """
UPDATE mailbox_messages AS message
SET place = 'snoozed', folder = 'Snoozed', uid = 7, updated_at = CURRENT_TIMESTAMP
FROM mailboxes AS mailbox
WHERE message.message_id = '<15@x>' AND mailbox.id = message.mailbox_id
RETURNING message.id
"""


@pytest.fixture
def before(migrated: Engine) -> Iterator[Engine]:
    """A database of two tables, with a message that is in both."""
    with migrated.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("DROP DATABASE IF EXISTS two_tables"))
        connection.execute(text("CREATE DATABASE two_tables"))
    engine = create_engine(make_url(migrated.url).set(database="two_tables"))
    schema.upgrade(engine, revision="0071")
    with engine.begin() as connection:
        connection.execute(text(FILL))
        connection.execute(text("UPDATE bulk_acts SET before = CAST(:act AS jsonb)"), {"act": json.dumps(ACT)})
    yield engine
    engine.dispose()
    with migrated.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("DROP DATABASE two_tables WITH (FORCE)"))


def found(engine: Engine, query: str, **values: object) -> list[tuple[object, ...]]:
    with engine.begin() as connection:
        return [tuple(row) for row in connection.execute(text(query), values)]


ROWS = "SELECT message_id, {}, folder, returns_at, snooze_id FROM {} ORDER BY message_id"


def test_each_message_is_moved_with_its_return_and_its_bytes(
    before: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = found(before, ROWS.format("original", "kept_messages"))
    connected = found(before, ROWS.format("wanted", "mailbox_messages"))
    schema.upgrade(before)
    assert "0074 messages: connected, to return: 4 before, 4 after" in capsys.readouterr().out
    assert found(before, ROWS.format("original", "messages JOIN message_originals USING (id)")) == kept
    assert found(before, ROWS.format("wanted", "messages WHERE NOT is_kept")) == connected
    schema.downgrade(before, revision="0071")
    assert found(before, ROWS.format("original", "kept_messages")) == kept
    assert found(before, ROWS.format("wanted", "mailbox_messages")) == connected


def test_an_id_of_before_names_no_other_message(before: Engine) -> None:
    """A page, an Undo or a process that had read it would have acted on another one."""
    schema.upgrade(before)
    assert found(before, "SELECT id FROM messages WHERE is_kept ORDER BY id") == [(11,), (12,), (13,)]
    ids = {str(name): id for name, id in found(before, "SELECT message_id, id FROM messages WHERE NOT is_kept")}
    assert found(before, "SELECT min(id) > 15 FROM messages WHERE NOT is_kept") == [(True,)]
    [(act,)] = found(before, "SELECT before FROM bulk_acts")
    assert act == {
        "kept": [{"id": 11}],
        "moves": [[ids["<14@x>"], "home", "aside"]],
        "wanted": [[ids["<13@x>"], "<13@x>", "snoozed"], [ids["<12@x>"], "<12@x>", "home"]],
    }


def test_an_upgrade_that_loses_a_message_changes_nothing(before: Engine) -> None:
    lost = (
        "CREATE FUNCTION lose() RETURNS event_trigger LANGUAGE plpgsql AS "
        "$$ BEGIN DELETE FROM messages WHERE uid = 15; END $$",
        "CREATE EVENT TRIGGER lose ON ddl_command_end WHEN TAG IN ('ALTER SEQUENCE') EXECUTE FUNCTION lose()",
    )
    with before.begin() as connection:
        for statement in lost:
            connection.execute(text(statement))
    with pytest.raises(RuntimeError, match="counts of messages differ"):
        schema.upgrade(before)
    assert found(before, "SELECT count(*) FROM kept_messages") == [(3,)]


def test_processes_of_the_release_before_go_on(before: Engine) -> None:
    schema.upgrade(before)
    [(id,)] = found(before, KEEP, id="<new@x>", original=b"Subject: Hello\n\n")
    assert found(before, KEEP, id="<new@x>", original=b"x") != []
    assert found(before, KEEP, id="<other@x>", original=b"x") == []
    assert found(before, "SELECT original, folder FROM kept_messages WHERE id = :id", id=id) == [
        (b"Subject: Hello\n\n", "inbox")
    ]
    assert found(before, RETURN) == [(11,), (12,), (13,)]
    assert len(found(before, SETTLE)) == 1
    assert found(before, "SELECT folder, uid FROM messages WHERE place = 'snoozed'") == [("Snoozed", 7)]
    assert found(before, "DELETE FROM kept_messages RETURNING 1") == [(1,)] * 5
    assert found(before, "SELECT count(*) FROM message_originals") == [(0,)]
