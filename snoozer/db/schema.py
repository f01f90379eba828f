"""The schema's versions, by Alembic, from the migrations of this release.

Every process asks for the version when it starts, and only `snoozer migrate` changes it: imports needed for that are
made inside functions, because they double the time of a start.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import SystemRandom
from threading import Event
from typing import Literal

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from snoozer import resources
from snoozer.db.engine import per_query_timeout
from snoozer.db.errors import error_text, is_lasting, is_of_locks
from snoozer.db.statements import execute
from snoozer.runtime.backoff import Backoff

# The highest `schema_version` of rows that this release can deliver; others are left to newer workers.
SUPPORTED_SCHEMA = 1

ENCODING = "UTF8"
CREATE_COMMAND = "createdb --template=template0 --encoding=UTF8 NAME"
# Longer than a migration's own statement_timeout.
MIGRATION_SECONDS = 630
# How long a migration tries again for its locks, and the waits between; each try stops others for up to a second.
LOCKED_SECONDS = 600.0
FIRST_LOCKED_WAIT, LONGEST_LOCKED_WAIT = 1.0, 5.0
POLL_SECONDS = 1.0
REPORT_SECONDS = 30.0
_MIGRATE = "run `snoozer migrate`"
_GO_BACK = "run the release of Snoozer that belongs to it, or restore what was saved before that release"
_TAKE_ALONG = "take its data along as docs/keeping.md describes (From a state before the first release)"


log = logging.getLogger(__name__)


class SchemaError(Exception):
    """The schema cannot be upgraded; the text states why and what to do."""


@dataclass(frozen=True, kw_only=True)
class SchemaStatus:
    """Where the schema of a database is, and sentences for people: what that means (`message`) and what to `do`."""

    where: Literal["nothing there", "unreleased", "behind", "at head", "ahead"]
    current: str | None
    message: str
    do: str

    @property
    def is_too_old(self) -> bool:
        """Do processes of this release have to wait for another schema?"""
        return self.where in {"nothing there", "unreleased", "behind"}


def upgrade(
    engine: Engine,
    *,
    revision: str = "head",
    report: Callable[[str], None] = log.warning,
    within: float = LOCKED_SECONDS,
) -> None:
    """Upgrade the schema to `revision`; concurrent calls wait for each other. Raises SchemaError.

    A lock that another session holds is waited for a second at a time, so that others are not kept waiting behind it.
    Then, and after a deadlock, everything is undone and tried again, until `within` seconds have passed, and `report`
    gets a sentence. Raises DBAPIError if nothing helped; then nothing was changed.
    """
    from snoozer.db import health_checks

    with engine.connect() as connection:
        schema = status(connection)
        if schema.where in {"ahead", "unreleased"}:
            raise SchemaError(f"{schema.message}; {schema.do}")
        encoding = health_checks.server(connection).encoding
        if schema.where == "nothing there" and encoding != ENCODING:
            raise SchemaError(
                f"The database's encoding is {encoding}, and mail needs {ENCODING}; make one by `{CREATE_COMMAND}`"
            )
    backoff = Backoff(first=FIRST_LOCKED_WAIT, cap=LONGEST_LOCKED_WAIT, rng=SystemRandom())
    until = time.monotonic() + within
    while True:
        try:
            return _upgrade(engine, revision)
        except DBAPIError as error:
            wait = backoff.next_wait()
            if not is_of_locks(error) or time.monotonic() + wait > until:
                raise
            report(_locked_out(engine, error, wait=wait))
            time.sleep(wait)


def _upgrade(engine: Engine, revision: str) -> None:
    from alembic import command

    from snoozer.db import pending

    config = pending.configuration()
    with per_query_timeout(MIGRATION_SECONDS), engine.connect() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def _locked_out(engine: Engine, error: DBAPIError, *, wait: float) -> str:
    from snoozer.db import pending

    with engine.connect() as connection:
        holder = pending.lock_holder(connection) or "another session"
    return f"{str(holder).capitalize()} holds a lock ({error_text(error)}); tries again in {wait:.0f} s"


def grant(engine: Engine, *, role: str | None = None) -> list[str]:
    """Give `role`, and each role that was granted before, the rights that the schema now requires; returns these roles.
    Call it after each upgrade; grants nothing unless the connection is the owner's. Raises SchemaError."""
    from snoozer.db import grants

    with engine.begin() as connection:
        own = grants.find_role(connection)
        if own is None or not own.is_owner:
            if role is not None:
                raise SchemaError("Only the owner of the tables can grant; call it with the owner's DATABASE_URL")
            return []
        if role is not None:
            found = grants.find_role(connection, role=role)
            if found is None:
                raise SchemaError(f"There is no role {role}; make it first: CREATE ROLE {role} LOGIN PASSWORD '…'")
            if found.is_owner:
                raise SchemaError(f"{role} owns the tables, or may act as their owner; name a role that has less")
        roles = sorted({*grants.granted_roles(connection), *([role] if role is not None else [])})
        for each in roles:
            for statement in grants.statements(connection, role=each):
                connection.exec_driver_sql(statement)
    return roles


def versions(connection: Connection) -> tuple[str | None, str]:
    """The schema's revision, and the revision that this release expects."""
    is_versioned = execute(connection, "session/has_schema_version").scalar_one()
    current = execute(connection, "session/schema_version").scalar_one_or_none() if is_versioned else None
    return current, _known_revisions()[-1]


def status(connection: Connection) -> SchemaStatus:
    """Where the schema is. An unknown revision counts as that of a newer release, unless it is lower than the first."""
    current, head = versions(connection)
    known = _known_revisions()
    if current is None:
        return SchemaStatus(
            where="nothing there", current=None, message="The database has no tables of Snoozer yet", do=_MIGRATE
        )
    if current == head:
        return SchemaStatus(where="at head", current=current, message=f"The schema is at {head}", do="")
    if current in known:
        return SchemaStatus(
            where="behind", current=current, message=f"The schema is at {current}, not at {head}", do=_MIGRATE
        )
    if current < known[0]:
        message = f"The schema is at {current}, of a state before the first release, which begins at {known[0]}"
        return SchemaStatus(where="unreleased", current=current, message=message, do=_TAKE_ALONG)
    message = f"The schema is at {current}, and this Snoozer is older: it knows schemas up to {head}"
    return SchemaStatus(where="ahead", current=current, message=message, do=_GO_BACK)


def wait_until_migrated(engine: Engine, *, stopping: Event) -> bool:
    """Wait until the schema is at this copy's revision, or at a newer one. Returns False when `stopping` is set first.

    Logs at once, and again every 30 s, what it waits for. Raises DBAPIError if the database cannot be reached at first;
    later failures are waited out as well.
    """
    found, report_at = _what_is_missing(engine), time.monotonic()
    wait, refused = POLL_SECONDS, Backoff(first=POLL_SECONDS, cap=REPORT_SECONDS)
    while found and not stopping.is_set():
        if time.monotonic() >= report_at:
            log.warning("waiting for the schema: %s", found)
            report_at = time.monotonic() + REPORT_SECONDS
        stopping.wait(wait)
        wait = POLL_SECONDS
        try:
            found = _what_is_missing(engine)
        except DBAPIError as error:
            found = error_text(error)
            if is_lasting(error):
                wait = refused.next_wait()
    return not stopping.is_set()


def _what_is_missing(engine: Engine) -> str:
    with engine.connect() as connection:
        found = status(connection)
    return f"{found.message}; {found.do}" if found.is_too_old else ""


def _known_revisions() -> list[str]:
    """The revisions of this release, oldest first: the numbers that its migrations begin with."""
    scripts = resources.resource_folder("migrations") / "versions"
    return sorted(script.name.partition("_")[0] for script in scripts.glob("[0-9]*.py"))
