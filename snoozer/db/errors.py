"""Errors of the database: which of them pass, and what of them a log may hold."""

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError, TimeoutError

# The old primary after a failover, where it goes on living: it keeps its sessions, and takes no write in them.
READ_ONLY = "25006"
# Codes after which the same server, or the next one of the address, is to be asked anew: shutdown and crash, read-only
# after a failover, connection lost (Appendix A of the Postgres manual).
_GONE = ("57P", "08", READ_ONLY, "53300")
# Cancelled by a timeout, deadlock, serialization failure, lock not available.
_BUSY = ("57014", "40P01", "40001", "55P03", "25P03")
# Somebody else did the same in this moment: unique violation, deadlock.
_COLLISION = ("23505", "40P01")
# What may be the fault of a row's own values: data exceptions, broken constraints, more than an index takes. Missing
# tables, rights, memory and disks are the fault of no row.
_OF_A_ROW = ("22", "23", "54000")

# What the client's library says of a connection that did not come about, for which there is no code. Its sentences
# name hosts, roles and databases, so they are recognised, and never quoted.
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
    ("pg_hba.conf", "pg_hba.conf lets nobody in from here"),
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
    """The kind of the error, and what more is known: the server's SQLSTATE, or what kept a connection from coming."""
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
    """Is it the database itself that cannot be asked now, whatever the statement?"""
    code = getattr(getattr(error, "orig", None), "sqlstate", None)
    busy = code is not None and code.startswith(_BUSY) and not getattr(error, "connection_invalidated", False)
    return is_transient(error) and not busy


def is_transient(error: SQLAlchemyError) -> bool:
    """Is it the database that is away or busy now, rather than the statement that is wrong?"""
    if isinstance(error, TimeoutError):
        return True
    if not isinstance(error, DBAPIError):
        return False
    code = getattr(error.orig, "sqlstate", None)
    if code is not None:
        return bool(error.connection_invalidated) or code.startswith(_GONE + _BUSY)
    return bool(error.connection_invalidated) or isinstance(error, OperationalError | InterfaceError)


def sqlstate(error: DBAPIError) -> str | None:
    """The server's code for what went wrong; None when the server did not say."""
    code = getattr(error.orig, "sqlstate", None)
    return code if isinstance(code, str) else None


def is_read_only(error: DBAPIError) -> bool:
    """Did a server that takes no writes answer: a standby, or a primary that somebody switched to reading?"""
    return sqlstate(error) == READ_ONLY


def is_conflict(error: DBAPIError) -> bool:
    """Did two do the same in this moment, so that it is to be asked again?"""
    return sqlstate(error) in _COLLISION


def is_row_error(error: DBAPIError) -> bool:
    """Does the error speak of values in a row, rather than of the server or of our statements?"""
    return not is_conflict(error) and (sqlstate(error) or "").startswith(_OF_A_ROW)
