"""What a process that watches a mailbox is to do in it, and in which order."""

from sqlalchemy import Engine, text

from snoozer.db import mailbox_store
from tests.factories import People, a_mailbox


def test_what_is_missing_hides_nothing_that_can_be_moved(engine: Engine, people: People) -> None:
    """As after its owner deleted a folder with hundreds of messages."""
    ann = people.ann()
    id = a_mailbox(engine, account_id=ann.id)
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO messages (mailbox_id, user_email, message_id, fingerprint, size, internal_date, "
                "home, place, wanted, folder, uidvalidity, uid, missing_since) "
                "SELECT :id, :email, '<' || n || '@mail.example>', 'f', 1, now(), 'INBOX', "
                "CASE WHEN n < 4 THEN 'missing' ELSE 'home' END, 'snoozed', 'INBOX', 1, n, "
                "CASE WHEN n < 4 THEN now() END FROM generate_series(1, 4) AS n"
            ),
            {"id": id, "email": ann.email},
        )
        work = mailbox_store.list_work(connection, mailbox_id=id, snoozed_folder="Snoozed", batch_size=3)
    assert [entry.place for entry in work] == ["home", "missing", "missing"]
