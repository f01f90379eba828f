"""The clocks of tests: that of the tests and that of their database agree, also if bin/test-at shifts both."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import Engine, text

from tests.factories import now


def test_the_database_has_the_time_of_the_tests(engine: Engine) -> None:
    with engine.connect() as connection:
        at = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
    assert abs(at - now()) < timedelta(minutes=1)


def test_the_wall_clock_is_shifted_as_asked(tmp_path: Path) -> None:
    """Without this, a run at another hour would prove nothing. A file's time is the machine's own."""
    shifted = timedelta(seconds=int(os.environ.get("WALL_CLOCK_SECONDS", "0")))
    written = tmp_path / "written"
    written.touch()
    machine = datetime.fromtimestamp(written.stat().st_mtime, UTC)
    assert abs(now() - machine - shifted) < timedelta(minutes=1)
