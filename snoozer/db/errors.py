"""Classify errors of the database by SQLSTATE, and describe them without hosts, names or values of rows."""

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, ProgrammingError, SQLAlchemyError, TimeoutError

# A demoted primary that keeps running keeps its sessions too, and rejects writes in them.
READ_ONLY = "25006"
# SQLSTATE prefixes (Appendix A of the Postgres manual) after which a new connection may help: shutdown and crash,
# connection lost, read-only after a failover, too many connections.
_GONE = ("57P", "08", READ_ONLY, "53300")
TIMEOUT = "57014"
DEADLOCK = "40P01"
LOCK_NOT_AVAILABLE = "55P03"
# Cancelled by a timeout, deadlock, serialization failure, lock not available, idle in transaction.
_BUSY = (TIMEOUT, DEADLOCK, "40001", LOCK_NOT_AVAILABLE, "25P03")
# Unique violation, deadlock.
_CONFLICT = ("23505", DEADLOCK)
# Data exceptions, constraint violations, values too long for an index.
_ROW_ERROR = ("22", "23", "54000")
# A table, column, function or other object does not exist; a prepared statement's result has other columns now.
_OTHER_SCHEMA = ("42P01", "42703", "42883", "42704", "0A000")

# Parts of libpq's messages about connections that failed, which carry no SQLSTATE. The messages name hosts, roles and
# databases, so they are matched and never quoted.
_KNOWN = (
    ("connection refused", ["connection refused"]),
    ("no answer in time", ["timeout expired", "timed out"]),
    ("its name cannot be resolved", ["failed to resolve", "could not translate host name"]),
    ("no way to its machine", ["no route to host", "network is unreachable"]),
    ("no such socket", ["no such file or directory"]),
    ("this machine has no files left to open", ["too many open files"]),
    ("the password was refused", ["password authentication failed"]),
    ("no password was given", ["no password supplied"]),
    ("pg_hba.conf allows no connection from here", ["pg_hba.conf"]),
    ("the role may not connect to the database", ["permission denied for database"]),
    ("the certificate was refused", ["certificate"]),
    ("TLS did not come about", ["ssl"]),
    ("the server is starting", ["starting up"]),
    ("the server is recovering", ["recovery mode"]),
    ("the server is shutting down", ["shutting down"]),
    ("the server takes no connections", ["not accepting connections"]),
    ("too many connections", ["too many clients", "too many connections", "connection slots"]),
    ("no server of the wanted kind", ["hot standby"]),
    ("no server that takes writes", ["read-only", "not read-write"]),
    ("the server closed the connection", ["closed the connection unexpectedly"]),
    ("the connection was lost", ["connection is lost", "connection is closed", "consuming input failed"]),
    ("no connection was free in time", ["queuepool limit"]),
)


def error_text(error: BaseException) -> str:
    """The error's class with its SQLSTATE, or with the reason why no connection was made."""
    cause = getattr(error, "orig", None) or error
    kind, code = type(cause).__name__, getattr(cause, "sqlstate", None)
    if isinstance(code, str):
        return f"{kind}, SQLSTATE {code}"
    words = str(cause).lower()
    found = [means for means, phrases in _KNOWN if any(phrase in words for phrase in phrases)]
    if "does not exist" in words:
        found += [f"no such {what}" for what in ("database", "role") if f'{what} "' in words]
    return f"{kind}: {'; '.join(found)}" if found else kind


def is_unavailable(error: SQLAlchemyError) -> bool:
    """True if no statement can be executed now: the server is unreachable, starting or read-only."""
    code = getattr(getattr(error, "orig", None), "sqlstate", None)
    busy = code is not None and code.startswith(_BUSY) and not getattr(error, "connection_invalidated", False)
    return is_transient(error) and not busy


def is_transient(error: SQLAlchemyError) -> bool:
    """True if the same statement may succeed later: the server is unavailable, or the statement was cancelled."""
    if isinstance(error, TimeoutError):
        return True
    if not isinstance(error, DBAPIError):
        return False
    code = getattr(error.orig, "sqlstate", None)
    if code is not None:
        return bool(error.connection_invalidated) or code.startswith(_GONE + _BUSY)
    return bool(error.connection_invalidated) or isinstance(error, OperationalError | InterfaceError)


def is_lasting(error: SQLAlchemyError) -> bool:
    """True if the same statement fails until something is mended, such as a missing right."""
    return not (is_transient(error) or (isinstance(error, DBAPIError) and is_conflict(error)))


def is_of_rows(error: DBAPIError) -> bool:
    """True if other rows may succeed. A missing table, or a missing right, is missing for every row."""
    return not (is_transient(error) or isinstance(error, ProgrammingError))


def sqlstate(error: DBAPIError) -> str | None:
    """The server's SQLSTATE; None if the error is the client's."""
    return sqlstate_of(error.orig)


def sqlstate_of(error: BaseException | None) -> str | None:
    """The SQLSTATE of an error raised by psycopg."""
    code = getattr(error, "sqlstate", None)
    return code if isinstance(code, str) else None


def is_read_only(error: DBAPIError) -> bool:
    """True if the server rejects writes: a standby, or a primary in read-only mode."""
    return sqlstate(error) == READ_ONLY


def is_conflict(error: DBAPIError) -> bool:
    """True if a concurrent transaction did the same, so that a retry helps."""
    return sqlstate(error) in _CONFLICT


def is_of_locks(error: DBAPIError) -> bool:
    """True if a lock was not to be had in time, or only by a deadlock."""
    return sqlstate(error) in {LOCK_NOT_AVAILABLE, DEADLOCK}


def is_of_schema(error: DBAPIError) -> bool:
    """True if the statement may be one for another schema than the database's."""
    return (sqlstate(error) or "").startswith(_OTHER_SCHEMA)


def is_timeout(error: DBAPIError) -> bool:
    """True if the server cancelled the statement, which took too long, and the connection is still usable."""
    return sqlstate(error) == TIMEOUT and not error.connection_invalidated


def is_row_error(error: DBAPIError) -> bool:
    """True if the values of a row cause the error, rather than the server or the statement."""
    return not is_conflict(error) and (sqlstate(error) or "").startswith(_ROW_ERROR)
