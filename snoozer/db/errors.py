"""Why the database could not do as asked, in words a log may hold: no host, no name, no value of a row."""

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
