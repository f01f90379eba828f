"""Errors of the database in logs: enough to act on, without names, hosts or values."""

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from snoozer.db.engine import make_engine
from snoozer.db.errors import error_text


def of_url(url: str) -> str:
    engine = make_engine(url, name="test")
    with pytest.raises(SQLAlchemyError) as raised:
        engine.connect()
    return error_text(raised.value)


def test_an_error_of_the_server_is_named_by_its_sqlstate(engine: Engine) -> None:
    with engine.connect() as connection, pytest.raises(SQLAlchemyError) as raised:
        connection.execute(text("INSERT INTO email_snoozes (user_email, message_id) VALUES ('ann@a.example', '<1@a>')"))
    assert error_text(raised.value) == "NotNullViolation, SQLSTATE 23502"


def test_no_server_differs_from_a_refused_login(engine: Engine) -> None:
    here = engine.url
    away = here.set(port=1)
    stranger = here.set(username="no-such-role", password="wrong")
    elsewhere = here.set(database="no-such-place")
    texts = [of_url(url.render_as_string(hide_password=False)) for url in (away, stranger, elsewhere)]
    assert texts[0] == "OperationalError: connection refused"
    assert texts[1] in {"OperationalError: the password was refused", "OperationalError: no such role"}
    assert texts[2] == "OperationalError: no such database"


def test_of_several_hosts_each_reason_is_named_once() -> None:
    assert (
        of_url("postgresql+psycopg://ann@/name?host=127.0.0.1,127.0.0.1&port=1,2")
        == "OperationalError: connection refused"
    )
    assert of_url("postgresql+psycopg://ann@no-such-host.invalid/name").endswith("its name cannot be resolved")


def test_a_session_that_was_terminated_is_named_by_its_sqlstate(engine: Engine) -> None:
    with engine.connect() as ended, engine.connect() as other:
        process = ended.execute(text("SELECT pg_backend_pid()")).scalar_one()
        other.execute(text("SELECT pg_terminate_backend(:process)"), {"process": process})
        with pytest.raises(SQLAlchemyError) as raised:
            ended.execute(text("SELECT 1"))
    assert error_text(raised.value) == "AdminShutdown, SQLSTATE 57P01"


def test_any_other_error_is_named_by_its_class() -> None:
    assert error_text(ValueError("ann@a.example")) == "ValueError"
    assert error_text(OSError("Ann's words: database does not exist, and more")) == "OSError"
