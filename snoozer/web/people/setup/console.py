"""The setup link on standard output: the console of the person who starts the web. Logs go to standard error."""

import logging

from sqlalchemy import Engine

from snoozer.people import setup
from snoozer.settings import Settings
from snoozer.telemetry import log_format

# Whether this process prints the link; the first process of a gunicorn does.
prints_link = False


def print_link(engine: Engine, settings: Settings) -> None:
    """Prints one line if there is no account: an object if the log's format is JSON. Raises DBAPIError."""
    if not prints_link:
        return
    with engine.connect() as connection:
        token = setup.make_token(connection, keys=settings.keys)
    if token is None:
        return
    minutes = int(setup.LINK_LIFETIME.total_seconds() // 60)
    link = f"{settings.base_url}/setup/{token}"
    line = f"There is no account yet. Set Snoozer up here, within {minutes} minutes: {link}"
    if settings.log_format == "json":
        record = logging.LogRecord(__name__, logging.WARNING, __file__, 0, line, None, None)
        line = log_format.formatter("json", process="web").format(record)
    print(line, flush=True)  # noqa: T201
