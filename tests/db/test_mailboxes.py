"""Connected mailboxes in the database: whose they are, how many, and what a new password changes."""

import pytest
from sqlalchemy import Connection, Engine, text

from snoozer.db.queries import mailboxes as queries
from snoozer.mailboxes import registry
from snoozer.mailboxes.imap.connection import Login, Server
from snoozer.people import accounts
from snoozer.runtime import encryption
from tests.factories import ANN, HOUR, People, a_mailbox, now

RING = ["a-test-key-of-enough-length"]
PROBLEM = {"problem": "login", "problem_since": now() - HOUR}


def connect(connection: Connection, account_id: int, *, username: str = "ann", password: str = "wordpass") -> int:  # noqa: S107
    server, login = Server("imap.mail.example", 993, "tls"), Login(username, password)
    return registry.connect(connection, account_id=account_id, address=ANN, server=server, login=login, key_ring=RING)


def test_two_requests_at_once_connect_no_more_than_the_most(engine: Engine, people: People) -> None:
    """The second waits for the first, and counts what it connected."""
    ann = people.ann()
    for _ in range(registry.MAX_MAILBOXES - 1):
        a_mailbox(engine, account_id=ann.id)
    with engine.begin() as first:
        connect(first, ann.id, username="one")
        with engine.begin() as second, pytest.raises(Exception, match="lock timeout"):
            second.execute(text("SET LOCAL lock_timeout = '100ms'"))
            connect(second, ann.id, username="two")
    with engine.begin() as second, pytest.raises(registry.NotConnected, match="which is the limit"):
        connect(second, ann.id, username="two")
    with engine.begin() as again:
        connect(again, ann.id, username="one", password="another")
    with engine.connect() as connection:
        assert len(queries.connected(connection, account_id=ann.id)) == registry.MAX_MAILBOXES


def test_one_mailbox_belongs_to_one_account(engine: Engine, people: People) -> None:
    """Two that move messages in it would undo each other's moves."""
    ann, bob = people.ann(), people.ann("bob@snoozer.example")
    with engine.begin() as connection:
        connect(connection, ann.id)
    with engine.begin() as connection, pytest.raises(registry.NotConnected, match="Another account"):
        connect(connection, bob.id)


def test_each_finds_only_their_own(engine: Engine, people: People) -> None:
    ann, bob = people.ann(), people.ann("bob@snoozer.example")
    with engine.begin() as connection:
        ids = [connect(connection, person.id, username=name) for person, name in ((ann, "ann"), (bob, "bob"))]
    with engine.begin() as connection:
        assert [row.id for row in queries.connected(connection, account_id=bob.id)] == [ids[1]]
        assert queries.find(connection, id=ids[0], account_id=bob.id) is None
        assert not registry.disconnect(connection, id=ids[0], account_id=bob.id)
        assert not registry.change_password(connection, id=ids[0], account_id=bob.id, password="mine", key_ring=RING)


def test_a_mailbox_that_is_leaving_is_kept_where_it_is_connected_again(engine: Engine, people: People) -> None:
    ann = people.ann()
    with engine.begin() as connection:
        id = connect(connection, ann.id)
        assert registry.disconnect(connection, id=id, account_id=ann.id)
    with engine.begin() as connection:
        assert connect(connection, ann.id, password="another") == id
        row = queries.find(connection, id=id, account_id=ann.id)
    assert row is not None
    assert row.state == "active"


def test_a_closed_account_connects_nothing_and_is_troubled_by_what_is_its_own_only(
    engine: Engine, people: People
) -> None:
    ann, bob = people.ann(), people.ann("bob@snoozer.example")
    with engine.begin() as connection:
        accounts.close(connection, email=ANN)
    with engine.begin() as connection, pytest.raises(registry.NotConnected, match="closed"):
        connect(connection, ann.id)
    a_mailbox(engine, account_id=bob.id, state="paused", **PROBLEM)
    a_mailbox(engine, account_id=bob.id, problem="unreachable", problem_since=now())
    with engine.connect() as connection:
        assert queries.troubled(connection, account_id=ann.id) == []
        assert [row.state for row in queries.troubled(connection, account_id=bob.id)] == ["paused"]


def test_no_read_of_pages_loads_a_password(engine: Engine, people: People) -> None:
    ann = people.ann()
    with engine.begin() as connection:
        connect(connection, ann.id)
        [row] = queries.connected(connection, account_id=ann.id)
    assert "secret" not in row._mapping


def secret_of(connection: Connection, id: int) -> bytes:
    return bytes(connection.execute(text("SELECT secret FROM mailboxes WHERE id = :id"), {"id": id}).scalar_one())


def test_a_password_moves_to_the_newest_key_once(engine: Engine, people: People) -> None:
    ann, rotated = people.ann(), ["a-newer-key-of-enough-length", *RING]
    with engine.begin() as connection:
        id = connect(connection, ann.id)
        assert not registry.encrypt_anew(connection, id=id, secret=secret_of(connection, id), key_ring=RING)
        assert registry.encrypt_anew(connection, id=id, secret=secret_of(connection, id), key_ring=rotated)
        after = secret_of(connection, id)
        assert encryption.decrypt(rotated[:1], after) == "wordpass"
        assert not registry.encrypt_anew(connection, id=id, secret=after, key_ring=rotated)


def test_a_password_that_was_changed_meanwhile_stays(engine: Engine, people: People) -> None:
    ann, rotated = people.ann(), ["a-newer-key-of-enough-length", *RING]
    with engine.begin() as connection:
        id = connect(connection, ann.id)
        read = secret_of(connection, id)
        registry.change_password(connection, id=id, account_id=ann.id, password="changed", key_ring=rotated)
        assert not registry.encrypt_anew(connection, id=id, secret=read, key_ring=rotated)
        assert encryption.decrypt(rotated, secret_of(connection, id)) == "changed"
