"""The schema's versions, by Alembic, from the migrations this copy of Snoozer carries."""

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

from snoozer import shipped


def upgrade(engine: Engine, *, revision: str = "head") -> None:
    """Bring the schema up to `revision`. Two that start at once run one after the other."""
    with engine.connect() as connection:
        command.upgrade(_config(connection), revision)


def downgrade(engine: Engine, *, revision: str) -> None:
    """Take the schema back to `revision` ("base" is an empty database)."""
    with engine.connect() as connection:
        command.downgrade(_config(connection), revision)


def versions(connection: Connection) -> tuple[str | None, str | None]:
    """The schema's revision and the one this copy of Snoozer was made for."""
    current = MigrationContext.configure(connection).get_current_revision()
    return current, ScriptDirectory.from_config(_config(connection)).get_current_head()


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(shipped.folder("migrations")).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
