"""The setup link on standard output: the console of the person who starts the web. Logs go to standard error."""

from sqlalchemy import Engine

from snoozer.people import setup
from snoozer.settings import Settings

# Whether this process prints the link; the first process of a gunicorn does.
prints_link = False


def print_link(engine: Engine, settings: Settings) -> None:
    """Prints one line if there is no account. Raises DBAPIError."""
    if not prints_link:
        return
    with engine.connect() as connection:
        token = setup.make_token(connection, keys=settings.keys)
    if token is not None:
        minutes = int(setup.LINK_LIFETIME.total_seconds() // 60)
        link = f"{settings.base_url}/setup/{token}"
        print(f"There is no account yet. Set Snoozer up here, within {minutes} minutes: {link}", flush=True)  # noqa: T201
