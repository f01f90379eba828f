"""The dead-man's switch of the clock, with the verdict of the doctor."""

from contextlib import suppress

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.cli.database_findings import PING, first_trouble
from snoozer.delivery.chores import chore_runner
from snoozer.runtime import outbound_http
from snoozer.runtime.dead_man_switch import DeadManSwitch
from snoozer.settings import Settings, SettingsError


def make_switch(engine: Engine, config: Settings) -> DeadManSwitch:
    """The switch of SNOOZER_PING_URL; what its service took is recorded in the database. Raises SettingsError."""
    url = config.ping_url.get_secret_value()
    if not outbound_http.is_endpoint(url, allow_private=True):
        raise SettingsError("SNOOZER_PING_URL must be a web address, as in https://hc-ping.com/your-check")

    def look() -> str:
        try:
            with engine.begin() as connection:
                return first_trouble(connection, config)
        except SQLAlchemyError:
            return "The database cannot be reached, or gives no answer."

    def reached() -> None:
        with suppress(SQLAlchemyError):
            chore_runner.record_run(engine, PING)

    return DeadManSwitch(url=url, look=look, reached=reached)
