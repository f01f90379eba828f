"""The database's disk is full when the mail server says 250: that is kept, and recorded as soon as there is room."""

from sqlalchemy import text

from tests.factories import a_snooze, the_events, the_row, the_send
from tests.process.conftest import TIMEOUT, Field, wait

FULL = """
CREATE SEQUENCE refusals;
CREATE FUNCTION full_disk() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM nextval('refusals');
    RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
END
$$;
CREATE TRIGGER full_disk BEFORE UPDATE ON reminder_sends
FOR EACH ROW WHEN (NEW.state = 'sent') EXECUTE FUNCTION full_disk();
"""


def test_a_full_disk_makes_no_second_copy_of_what_was_taken(place: Field) -> None:
    """The fact lay in the journal until the worker's end, and the reminder was uncertain and sent again meanwhile."""
    id = a_snooze(place.engine)
    with place.engine.begin() as connection:
        connection.execute(text(FULL))
    worker = place.start("worker")
    try:
        wait(lambda: _refusals(place) >= 4)
    finally:
        with place.engine.begin() as connection:
            connection.execute(text("DROP FUNCTION full_disk CASCADE"))
            connection.execute(text("DROP SEQUENCE refusals"))
    wait(lambda: the_row(place.engine, id).outcome == "sent")
    worker.terminate()
    worker.communicate(timeout=TIMEOUT)
    assert (len(place.sink.accepted()), the_send(place.engine, id).state) == (1, "sent")
    assert "uncertain" not in the_events(place.engine, id)
    assert list((place.home / "journal").iterdir()) == []


def _refusals(place: Field) -> int:
    with place.engine.connect() as connection:
        return int(connection.execute(text("SELECT last_value FROM refusals")).scalar_one())
