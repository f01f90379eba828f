"""Operations: each row is acted on once, whatever happens between; one bad row stops no other; what was sent stays."""

import logging
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, text

from snoozer.db import operations
from snoozer.operators import chunks
from snoozer.operators.chunks import cancel
from snoozer.runtime import failpoint
from snoozer.runtime.failpoint import FailpointReached
from tests.db.operations import OPERATOR, an_operation, results, the_operation
from tests.factories import HOUR, a_snooze, now, the_events, the_row, the_send, wait_until_a_session_waits
from tests.web.cases import an_uncertain_case


def cases(engine: Engine, count: int) -> list[int]:
    return [
        a_snooze(engine, inactive=True, outcome="retired", finished_at=now() - HOUR, attempts=5) for _ in range(count)
    ]


def audited(engine: Engine) -> list[tuple[object, ...]]:
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT act, actor, reason, operation_id, snooze_id FROM audit_log ORDER BY id"))
        return [tuple(row) for row in rows]


@pytest.mark.parametrize("step", ["operation_changed", "operation_recorded", "operation_committed"])
def test_a_crash_in_a_chunk_does_nothing_twice(engine: Engine, step: str) -> None:
    ids = cases(engine, 6)
    id = an_operation(engine, act="reactivate", ids=ids)
    point = failpoint.parse(f"{step}:raise:2")
    with pytest.raises(FailpointReached):
        chunks.work(engine, chunk_size=2, passed=point)
    done = the_operation(engine, id).done
    assert done == (4 if step == "operation_committed" else 2)
    assert sum(the_row(engine, one).outcome is None for one in ids) == done
    chunks.work(engine, chunk_size=2)
    assert the_operation(engine, id).done == 6
    assert audited(engine) == [("reactivate", OPERATOR, "mended", id, one) for one in ids]
    assert [the_events(engine, one) for one in ids] == [["reactivated"]] * 6


def test_two_operators_at_once_act_on_no_row_twice(engine: Engine) -> None:
    ids = cases(engine, 40)
    first = an_operation(engine, act="reactivate", ids=ids)
    second = an_operation(engine, act="reactivate", ids=ids, actor="operator:2")

    def work(_: int) -> int:
        return chunks.work(engine, chunk_size=3)

    while not all(the_operation(engine, id).finished_at for id in (first, second)):
        with ThreadPoolExecutor(3) as clocks:
            list(clocks.map(work, range(3)))
    assert [the_events(engine, id) for id in ids] == [["reactivated"]] * 40
    for id in ids:
        outcomes = sorted([results(engine, first)[id], results(engine, second)[id]], key=str)
        assert outcomes == [("done", None), ("unchanged", "already in the queue")]
    assert the_operation(engine, first).done + the_operation(engine, second).done == 40


def test_a_row_that_cannot_be_changed_stops_no_other(engine: Engine) -> None:
    ids = cases(engine, 7)
    with engine.begin() as connection:
        connection.execute(
            text(
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                f"IF NEW.id = {ids[3]} THEN RAISE check_violation USING MESSAGE = 'ann@private.example'; END IF; "
                "RETURN NEW; END $$; "
                "CREATE TRIGGER refuse BEFORE UPDATE ON email_snoozes FOR EACH ROW EXECUTE FUNCTION refuse()"
            )
        )
    try:
        id = an_operation(engine, act="dismiss", ids=ids)
        chunks.work(engine)
        found = results(engine, id)
        assert [found[one][0] for one in ids] == [*["done"] * 3, "failed", *["done"] * 3]
        assert found[ids[3]][1] == "CheckViolation, SQLSTATE 23514"
        assert the_operation(engine, id).finished_at is not None
    finally:
        with engine.begin() as connection:
            connection.execute(text("DROP FUNCTION refuse() CASCADE"))


def test_a_row_that_is_locked_is_done_once_it_is_free(engine: Engine) -> None:
    ids = cases(engine, 5)
    id = an_operation(engine, act="dismiss", ids=ids)
    with engine.begin() as other:
        other.execute(text("SELECT 1 FROM email_snoozes WHERE id = :id FOR UPDATE"), {"id": ids[0]})
        chunks.work(engine, chunk_size=1)
        assert the_operation(engine, id).done == 4
        assert the_operation(engine, id).finished_at is None
    chunks.work(engine, chunk_size=1)
    assert the_operation(engine, id).done == 5


def test_an_operation_that_fails_stops_no_other(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    """As after a downgrade: nothing here knows its act. The database is not to blame."""
    bad = an_operation(engine, act="fly", ids=cases(engine, 1))
    good = an_operation(engine, act="dismiss", ids=cases(engine, 2))
    with caplog.at_level(logging.WARNING):
        chunks.work(engine)
    assert the_operation(engine, good).done == 2
    assert list(results(engine, bad).values()) == [("failed", "this release knows no act “fly”")]


def test_who_cancels_waits_for_the_chunk_that_is_being_done(engine: Engine) -> None:
    ids = cases(engine, 4)
    id = an_operation(engine, act="dismiss", ids=ids)

    def cancel_it() -> int | None:
        with engine.begin() as connection:
            return cancel(connection, id=id, actor=OPERATOR)

    with ThreadPoolExecutor(1) as threads:

        def meanwhile(step: str, _: str) -> None:
            if step == "operation_changed":
                cancelled.append(threads.submit(cancel_it))
                wait_until_a_session_waits(engine)

        cancelled: list[object] = []
        chunks.do_chunk(engine, id, chunk_size=3, passed=meanwhile)
        assert [one.result() for one in cancelled] == [1]  # type: ignore[attr-defined]
    assert not chunks.do_chunk(engine, id)
    assert Counter(the_row(engine, one).outcome for one in ids) == {"cancelled": 3, "retired": 1}


def test_a_case_that_was_sent_after_all_is_not_sent_again(engine: Engine) -> None:
    """Its server's answer came late, as a fact that needs no claim."""
    id = an_uncertain_case(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE reminder_sends SET state = 'sent', sent_at = now()"))
    operation = an_operation(engine, act="reactivate", ids=[id])
    chunks.work(engine)
    assert results(engine, operation)[id] == ("unchanged", "it was sent: settle it as sent, or dismiss it")
    assert the_row(engine, id).outcome == "retired"
    assert (the_send(engine, id).state, the_send(engine, id).resolution) == ("sent", None)


@pytest.mark.parametrize("chunk_size", [1, 2])
def test_only_the_newest_of_two_cases_of_a_message_returns(engine: Engine, chunk_size: int) -> None:
    retired = {"inactive": True, "outcome": "retired", "message_id": "<twice@mail.example>"}
    older, newer = (a_snooze(engine, finished_at=now() - hours * HOUR, **retired) for hours in (2, 1))
    operation = an_operation(engine, act="reactivate", ids=[older, newer])
    chunks.work(engine, chunk_size=chunk_size)
    assert results(engine, operation) == {
        older: ("unchanged", "a newer case of its message is in this operation"),
        newer: ("done", None),
    }


def test_old_operations_are_forgotten(engine: Engine) -> None:

    ids = [an_operation(engine, act="dismiss", ids=range(1, 6)) for _ in range(2)]
    chunks.work(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE operations SET finished_at = now() - INTERVAL '1 year' WHERE id = 1"))
        assert [operations.prune(connection, older_than=90 * 24 * HOUR, batch_size=3) for _ in range(3)] == [3, 2, 1]
        left = connection.execute(text("SELECT id FROM operations")).scalars().all()
    assert left == ids[1:]
    assert len(results(engine, ids[1])) == 5
