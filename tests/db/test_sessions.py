"""Sessions expire, and no action on links and sessions affects another person's."""

import pytest
from sqlalchemy import Engine, text

from snoozer.delivery.chores import chores
from snoozer.people import accounts
from tests.factories import ANN, People

BOB = "bob@snoozer.example"
BROWSER = "shared"


def holds(engine: Engine, session: str) -> bool:
    with engine.begin() as connection:
        return accounts.session_account(connection, session=session) is not None


def put(engine: Engine, change: str) -> None:
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {change}"))


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ("seen_at = now() - INTERVAL '13 days'", True),
        ("seen_at = now() - INTERVAL '14 days'", False),
        ("expires_at = now()", False),
    ],
)
def test_a_session_ends_when_it_expires_or_is_idle_for_long(
    engine: Engine, people: People, change: str, left: bool
) -> None:
    session = people.ann().session
    put(engine, f"sessions SET {change}")
    assert holds(engine, session) is left


def test_using_a_session_keeps_it_alive_and_no_other(engine: Engine, people: People) -> None:
    ann, bob = people.ann(), people.ann(BOB)
    put(engine, "sessions SET seen_at = now() - INTERVAL '10 days'")
    assert holds(engine, ann.session)
    put(engine, "sessions SET seen_at = seen_at - INTERVAL '10 days'")
    assert (holds(engine, ann.session), holds(engine, bob.session)) == (True, False)


def test_a_link_signs_in_the_person_it_was_mailed_to(engine: Engine, people: People) -> None:
    """Two people of one household request a link in the same browser."""
    people.ann()
    people.ann(BOB)
    with engine.begin() as connection:
        asked = [accounts.request_sign_in(connection, email=email, browser=BROWSER, known=None) for email in (ANN, BOB)]
    entered = []
    for invitation in reversed(asked):
        assert invitation is not None
        with engine.begin() as connection:
            session = accounts.sign_in_by_link(connection, token=invitation.token, browser=BROWSER)
            account = accounts.session_account(connection, session=session or "")
            entered.append((invitation.email, account and account.email))
    assert entered == [(BOB, BOB), (ANN, ANN)]


def test_closing_an_account_signs_no_other_person_out(engine: Engine, people: People) -> None:
    ann, bob = people.ann(), people.ann(BOB)
    with engine.begin() as connection:
        link = accounts.request_sign_in(connection, email=BOB, browser=BROWSER, known=None)
        assert link is not None
        changed = [accounts.close(connection, email=ANN) for _ in range(2)]
        assert [closed and closed.changed for closed in changed] == [True, False]
        assert accounts.link_state(connection, token=link.token, browser=BROWSER) == "good"
    assert (holds(engine, ann.session), holds(engine, bob.session)) == (False, True)


def test_a_link_opens_no_session_of_a_closed_account(engine: Engine, people: People) -> None:
    """The link was read while the account was being closed; once it is reopened, the session would be valid."""
    people.ann()
    with engine.begin() as connection:
        link = accounts.request_sign_in(connection, email=ANN, browser=BROWSER, known=None)
        connection.execute(text("UPDATE accounts SET disabled_at = now()"))
        assert link is not None
        assert accounts.sign_in_by_link(connection, token=link.token, browser=BROWSER) is None


def test_pruning_deletes_all_that_is_expired_however_much_it_is(
    engine: Engine, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it in one statement exceeded the statement_timeout, every hour again."""
    monkeypatch.setattr("snoozer.delivery.chores.chores.MAX_PRUNED", 2)
    lives, old = people.ann(), people.ann(BOB)
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO idempotency_keys (account_id, key, request_sha256, status, body, created_at) "
                "SELECT min(id), 'key' || n, '', 200, '', now() - (23 + n / 6) * INTERVAL '61 minutes' "
                "FROM accounts, generate_series(1, 12) AS n GROUP BY n"
            )
        )
        connection.execute(text("UPDATE sign_ins SET expires_at = now() - INTERVAL '25 hours'"))
        connection.execute(
            text("UPDATE sessions SET expires_at = now() WHERE account_id = (SELECT max(id) FROM accounts)")
        )
    chores.prune(engine)
    with engine.connect() as connection:
        left = [
            connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()  # noqa: S608
            for table in ("idempotency_keys", "sign_ins", "sessions")
        ]
    assert left == [5, 0, 1]
    assert (holds(engine, lives.session), holds(engine, old.session)) == (True, False)
