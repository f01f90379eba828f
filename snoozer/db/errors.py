"""Classify errors of the database by SQLSTATE, and describe them without hosts, names or values of rows."""

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError, TimeoutError

# A demoted primary that keeps running keeps its sessions too, and rejects writes in them.
READ_ONLY = "25006"
# SQLSTATE prefixes (Appendix A of the Postgres manual) after which a new connection may help: shutdown and crash,
# connection lost, read-only after a failover, too many connections.
_GONE = ("57P", "08", READ_ONLY, "53300")
# Cancelled by a timeout, deadlock, serialization failure, lock not available, idle in transaction.
_BUSY = ("57014", "40P01", "40001", "55P03", "25P03")
# Unique violation, deadlock.
_CONFLICT = ("23505", "40P01")
# Data exceptions, constraint violations, values too long for an index.
_ROW_ERROR = ("22", "23", "54000")

# Parts of libpq's messages about connections that failed, which carry no SQLSTATE. The messages name hosts, roles and
# databases, so they are matched and never quoted.
_KNOWN = (
    ("connection refused", "connection refused"),
    ("timeout expired", "no answer in time"),
    ("timed out", "no answer in time"),
    ("failed to resolve", "its name cannot be resolved"),
    ("could not translate host name", "its name cannot be resolved"),
    ("no route to host", "no way to its machine"),
    ("network is unreachable", "no way to its machine"),
    ("no such file or directory", "no such socket"),
    ("too many open files", "this machine has no files left to open"),
    ("password authentication failed", "the password was refused"),
    ("no password supplied", "no password was given"),
    ("pg_hba.conf", "pg_hba.conf allows no connection from here"),
    ("permission denied for database", "the role may not connect to the database"),
    ("certificate", "the certificate was refused"),
    ("ssl", "TLS did not come about"),
    ("starting up", "the server is starting"),
    ("recovery mode", "the server is recovering"),
    ("shutting down", "the server is shutting down"),
    ("not accepting connections", "the server takes no connections"),
    ("too many clients", "too many connections"),
    ("too many connections", "too many connections"),
    ("connection slots", "too many connections"),
    ("hot standby", "no server of the wanted kind"),
    ("read-only", "no server that takes writes"),
    ("not read-write", "no server that takes writes"),
    ("closed the connection unexpectedly", "the server closed the connection"),
    ("connection is lost", "the connection was lost"),
    ("connection is closed", "the connection was lost"),
    ("consuming input failed", "the connection was lost"),
    ("queuepool limit", "no connection was free in time"),
)
_NO_SUCH = (("database ", "no such database"), ("role ", "no such role"))


def error_text(error: BaseException) -> str:
    """The error's class with its SQLSTATE, or with the reason why no connection was made."""
    cause = getattr(error, "orig", None) or error
    kind, code = type(cause).__name__, getattr(cause, "sqlstate", None)
    if isinstance(code, str):
        return f"{kind}, SQLSTATE {code}"
    words = str(cause).lower()
    found = [means for phrase, means in _KNOWN if phrase in words]
    if "does not exist" in words:
        found += [means for what, means in _NO_SUCH if f'{what}"' in words]
    return ": ".join([kind, *(["; ".join(dict.fromkeys(found))] if found else [])])


def is_unavailable(error: SQLAlchemyError) -> bool:
    """True where no statement can be executed now: the server is unreachable, starting or read-only."""
    code = getattr(getattr(error, "orig", None), "sqlstate", None)
    busy = code is not None and code.startswith(_BUSY) and not getattr(error, "connection_invalidated", False)
    return is_transient(error) and not busy


def is_transient(error: SQLAlchemyError) -> bool:
    """True where the same statement may succeed later: the server is unavailable, or the statement was cancelled."""
    if isinstance(error, TimeoutError):
        return True
    if not isinstance(error, DBAPIError):
        return False
    code = getattr(error.orig, "sqlstate", None)
    if code is not None:
        return bool(error.connection_invalidated) or code.startswith(_GONE + _BUSY)
    return bool(error.connection_invalidated) or isinstance(error, OperationalError | InterfaceError)


def sqlstate(error: DBAPIError) -> str | None:
    """The server's SQLSTATE; None where the error is the client's."""
    code = getattr(error.orig, "sqlstate", None)
    return code if isinstance(code, str) else None


def is_read_only(error: DBAPIError) -> bool:
    """True where the server rejects writes: a standby, or a primary in read-only mode."""
    return sqlstate(error) == READ_ONLY


def is_conflict(error: DBAPIError) -> bool:
    """True where a concurrent transaction did the same, so that a retry helps."""
    return sqlstate(error) in _CONFLICT


def is_row_error(error: DBAPIError) -> bool:
    """True where the values of a row cause the error, rather than the server or the statement."""
    return not is_conflict(error) and (sqlstate(error) or "").startswith(_ROW_ERROR)
