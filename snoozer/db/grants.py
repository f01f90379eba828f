"""Rights of a role that is not the owner: one function per statement in `sql/people/grants`, of the same name."""

from dataclasses import dataclass

from sqlalchemy import Connection

from snoozer.db.models import metadata
from snoozer.db.statements import execute, row_as

_ALL = "SELECT, INSERT, UPDATE, DELETE"
# Tables that need fewer rights. Events are never changed, only deleted with their snooze.
_LESS = {"audit_log": "SELECT, INSERT", "definitions": "SELECT", "snooze_events": "SELECT, INSERT, DELETE"}
# Alembic's table: processes read the schema's version from it.
_OTHERS = {"alembic_version": "SELECT"}


@dataclass(frozen=True, kw_only=True)
class Role:
    """A role of the server; `is_owner` if it has all rights of the owner of the tables."""

    name: str
    is_owner: bool


def find_role(connection: Connection, *, role: str | None = None) -> Role | None:
    """A role, or the role of this connection if `role` is None; None if the server has no such role."""
    return row_as(execute(connection, "grants/find_role", role=role).first(), Role)


def granted_roles(connection: Connection) -> list[str]:
    """The roles that `snoozer migrate --grant` was called with before."""
    return list(execute(connection, "grants/granted_roles").scalars())


def statements(connection: Connection, *, role: str) -> list[str]:
    """The statements that grant a role the rights that web, workers and clock need, and no others."""
    rights = {name: _LESS.get(name, _ALL) for name in metadata.tables} | _OTHERS
    values = {"role": role, "tables": list(rights), "rights": list(rights.values())}
    return list(execute(connection, "grants/statements", **values).scalars())
