"""Signing in: once, within ten minutes, in the browser that requested it, and not by a scanner that follows links."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event, text
from sqlalchemy.exc import OperationalError

from snoozer.people import accounts, api_tokens
from snoozer.people.accounts import Invitation
from snoozer.runtime import secret_keys
from tests.factories import ANN
from tests.factories import People as _People

BROWSER = "a-browser"


def invite(engine: Engine, email: str = ANN, browser: str = BROWSER, known: str | None = None) -> Invitation | None:
    with engine.begin() as connection:
        return accounts.request_sign_in(connection, email=email, browser=browser, known=known)


def invited(engine: Engine) -> Invitation:
    invitation = invite(engine)
    assert invitation is not None
    return invitation


def enter(engine: Engine, token: str, browser: str | None = BROWSER) -> str | None:
    with engine.begin() as connection:
        return accounts.sign_in_by_link(connection, token=token, browser=browser)


@pytest.fixture(autouse=True)
def ann(people: _People) -> None:
    people.ann()


def test_a_link_for_the_console_works_as_long_as_it_says_and_once(engine: Engine) -> None:
    tokens = []
    for lifetime in (timedelta(days=365), -timedelta(seconds=1)):
        with engine.begin() as connection:
            tokens.append(accounts.console_sign_in_token(connection, email=ANN, lifetime=lifetime))
    long, over = tokens
    assert long is not None
    assert over is not None
    with engine.begin() as connection:
        assert accounts.link_state(connection, token=over, browser=None) == "expired"
        hours = connection.execute(text("SELECT max(expires_at) - now() FROM sign_ins")).scalar_one()
    assert hours > timedelta(days=364)
    assert enter(engine, over) is None
    assert enter(engine, long, browser=None) is not None
    assert enter(engine, long, browser=None) is None


def test_a_link_opened_in_another_browser_gives_no_session(engine: Engine) -> None:
    invitation = invited(engine)
    assert enter(engine, invitation.token, browser="a-scanner") is None
    assert enter(engine, invitation.token, browser=None) is None
    assert enter(engine, invitation.token) is not None


def test_viewing_a_link_does_not_use_it(engine: Engine) -> None:
    invitation = invited(engine)
    with engine.begin() as connection:
        worths = [
            accounts.link_state(connection, token=invitation.token, browser=browser)
            for browser in (BROWSER, "another", None, BROWSER)
        ]
        assert worths == ["good", "other browser", "other browser", "good"]
        assert accounts.link_state(connection, token="made-up", browser=BROWSER) == "unknown"


def test_an_old_link_is_over(engine: Engine) -> None:
    invitation = invited(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE sign_ins SET expires_at = now() - INTERVAL '1 second'"))
        assert accounts.link_state(connection, token=invitation.token, browser=BROWSER) == "expired"
    assert enter(engine, invitation.token) is None


def test_the_typed_code_has_five_tries(engine: Engine) -> None:
    invitation = invited(engine)
    wrong = f"{(int(invitation.code) + 1) % 10**8:08d}"
    with engine.begin() as connection:
        for _ in range(5):
            assert accounts.sign_in_by_code(connection, code=wrong, browser=BROWSER) is None
        assert accounts.sign_in_by_code(connection, code=invitation.code, browser=BROWSER) is None


def test_the_typed_code_works_with_spaces_and_in_its_own_browser_only(engine: Engine) -> None:
    invitation = invited(engine)
    spaced = f"{invitation.code[:4]} {invitation.code[4:]}"
    with engine.begin() as connection:
        assert accounts.sign_in_by_code(connection, code=spaced, browser="another") is None
        assert accounts.sign_in_by_code(connection, code=spaced, browser=BROWSER) is not None
        assert accounts.sign_in_by_code(connection, code=spaced, browser=BROWSER) is None


def test_requests_reveal_no_accounts_and_are_limited(engine: Engine) -> None:
    assert invite(engine, email="unknown@snoozer.example") is None
    sent = [invite(engine) for _ in range(8)]
    assert sum(invitation is not None for invitation in sent) == accounts.MAX_LINKS_PER_HOUR


def test_concurrent_requests_are_counted_one_after_another(engine: Engine) -> None:
    with engine.begin() as first, engine.connect() as second:
        assert accounts.request_sign_in(first, email=ANN, browser=BROWSER, known=None) is not None
        second.execute(text("SET LOCAL lock_timeout = 50"))
        with pytest.raises(OperationalError):
            accounts.request_sign_in(second, email=ANN, browser="another", known=None)


def test_requests_of_strangers_do_not_use_up_a_known_browsers_limit(engine: Engine) -> None:
    for number in range(2 * accounts.MAX_LINKS_PER_HOUR):
        invite(engine, browser=f"stranger {number}")
    assert invite(engine) is None
    for known in ("laptop", "phone"):
        sent = [invite(engine, browser=f"{known} {number}", known=known) for number in range(8)]
        assert sum(invitation is not None for invitation in sent) == accounts.MAX_LINKS_PER_HOUR


def test_a_closed_account_is_signed_out_at_once_and_a_reopened_one_starts_afresh(
    engine: Engine, people: _People
) -> None:
    person, invitation = people.ann(), invited(engine)
    with engine.begin() as connection:
        closed = accounts.close(connection, email="Ann@snoozer.example")
        assert closed is not None
        assert (closed.email, closed.changed) == (ANN, True)
        assert closed.sessions >= 1
        assert accounts.is_closed(connection, email=ANN)
        assert accounts.session_account(connection, session=person.session) is None
        assert api_tokens.find(connection, secret=person.token) is None
        assert api_tokens.create(connection, email=ANN) is None
    assert enter(engine, invitation.token) is None
    assert invite(engine) is None
    with engine.begin() as connection:
        again = accounts.close(connection, email=ANN)
        assert again is not None
        assert (again.changed, again.sessions) == (False, 0)
        opened = accounts.reopen(connection, email=ANN)
        assert opened is not None
        assert opened.changed
        assert accounts.session_account(connection, session=person.session) is None
        assert api_tokens.find(connection, secret=person.token) is not None
    assert enter(engine, invitation.token) is None
    with engine.begin() as connection:
        assert accounts.close(connection, email="unknown@snoozer.example") is None
        assert accounts.reopen(connection, email="unknown@snoozer.example") is None


def test_secrets_are_not_in_the_database(engine: Engine, people: _People) -> None:
    person, invitation = people.ann(), invited(engine)
    with engine.connect() as connection:
        dump = "".join(
            str(connection.execute(text(f"SELECT * FROM {table}")).all())  # noqa: S608
            for table in ("accounts", "sign_ins", "sessions", "api_tokens")
        )
    for secret in (person.session, person.token, invitation.token, invitation.code, BROWSER):
        assert secret not in dump


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ann",
        "ann@",
        "@x",
        "a b@x.example",
        "ann@x.example\r\nBcc: eve@x",
        "ann@-x",
        "ä@-x",
        "🛌@x.example",
        "ä\u202e@x.example",
        "ä" * 130 + "@x",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(accounts.InvalidAddress):
        accounts.normalize(address)


def test_an_address_is_folded(engine: Engine) -> None:
    assert accounts.normalize("  Ann@Example.ORG ") == "ann@example.org"
    for typed in ("Müller@Bücher.example", "mu\u0308ller@xn--bcher-kva.example"):
        assert accounts.normalize(typed) == "müller@xn--bcher-kva.example"


def test_creating_an_account_again_changes_its_role_only_when_asked(engine: Engine) -> None:
    with engine.begin() as connection:
        first = accounts.create(connection, email="new@snoozer.example", role="operator")
        again = accounts.create(connection, email="NEW@snoozer.example")
        admin = accounts.create(connection, email="new@snoozer.example", role="admin")
        for zone in ("Mars/Olympus", "localtime", "Factory"):
            with pytest.raises(accounts.InvalidZone):
                accounts.create(connection, email="x@snoozer.example", zone=zone)
    assert (first.created, again.created) == (True, False)
    assert (again.role, admin.role) == ("operator", "admin")


def test_an_address_without_an_account_costs_the_same_statements_and_rows(engine: Engine) -> None:
    """The time of a wrong code showed who has an account: only then a row was updated and written to disk."""
    with engine.begin() as connection:
        accounts.create(connection, email="closed@snoozer.example")
        accounts.close(connection, email="closed@snoozer.example")
    work: dict[str, list[tuple[str, int]]] = {}
    for email in (ANN, "unknown@snoozer.example", "closed@snoozer.example"):
        done = work[email] = []

        def note(*given: Any, done: list[tuple[str, int]] = done) -> None:
            done.append((given[2], given[1].rowcount))

        event.listen(engine, "after_cursor_execute", note)
        for _ in range(accounts.MAX_LINKS_PER_HOUR + 1):
            invite(engine, email, browser=f"browser of {email}")
        for _ in range(3):
            with engine.begin() as connection:
                assert accounts.sign_in_by_code(connection, code="x", browser=f"browser of {email}") is None
        event.remove(engine, "after_cursor_execute", note)
    assert work[ANN] == work["unknown@snoozer.example"] == work["closed@snoozer.example"]
    for statement, changed in (("INSERT INTO sign_ins", accounts.MAX_LINKS_PER_HOUR), ("UPDATE sign_ins", 3)):
        assert sum(rows for executed, rows in work[ANN] if statement in executed) == changed


def test_what_an_unknown_address_got_gives_no_session(engine: Engine) -> None:
    assert invite(engine, "unknown@snoozer.example") is None
    with engine.begin() as connection:
        code = secret_keys.digest(f"{BROWSER} 12345678")
        connection.execute(text("UPDATE sign_ins SET code_hash = :code WHERE account_id IS NULL"), {"code": code})
        assert accounts.sign_in_by_code(connection, code="12345678", browser=BROWSER) is None
        assert connection.execute(text("SELECT count(*) FROM sign_ins WHERE used_at IS NOT NULL")).scalar_one() == 2
        assert connection.execute(text("SELECT count(*) FROM sessions")).scalar_one() == 1
        assert accounts.console_sign_in_token(connection, email="unknown@snoozer.example") is None
