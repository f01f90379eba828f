"""Counts statements by the log of the database server."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench.environment import Environment
from bench.statements import execute
from snoozer.db.engine import autocommit

RELOAD_SECONDS = 0.5
# Verbs that are not queries: they begin or end transactions, or check that the server is alive (an empty statement).
OVERHEAD_VERBS = frozenset({"BEGIN", "COMMIT", "ROLLBACK", "PING"})
# Sessions of the bench itself; the queries it makes while it waits are not counted.
OWN_SESSIONS = frozenset({"snoozer-bench", "snoozer-compare"})
_LOG_ENTRY = re.compile(r"\n(?=\d{4}-\d\d-\d\d )")
_STATEMENT = re.compile(r"\[\d+\] (?P<session>.*?) ?LOG: +(?:statement|execute [^:]*): ?")


class StatementLog:
    """The statements in the log of a server, from its creation or the last `restart` on."""

    def __init__(self, environment: Environment) -> None:
        self._log = environment.server_log
        self.restart()

    def restart(self) -> None:
        """Count only statements from now on."""
        self._start = self._log.stat().st_size

    def verbs(self) -> list[str]:
        """Return the verb of each statement so far; PING for an empty statement."""
        with self._log.open("rb") as log:
            log.seek(self._start)
            text = log.read().decode(errors="replace")
        return [verb.upper() or "PING" for verb in verbs(text)]


@contextmanager
def logged_statements(environment: Environment) -> Iterator[StatementLog]:
    """Log every statement of the server until the end of the block."""
    _configure(environment, "log_statements", "log_sessions")
    try:
        yield StatementLog(environment)
    finally:
        _configure(environment, "log_no_statements")


def verbs(log: str) -> list[str]:
    """Return the first word of each statement in a server's log, after its comments; empty for an empty statement."""
    found = (_STATEMENT.search(entry) for entry in _LOG_ENTRY.split(log))
    return [_first_word(one.string[one.end() :]) for one in found if one and one["session"] not in OWN_SESSIONS]


def _first_word(statement: str) -> str:
    words = [word for line in statement.splitlines() if not line.lstrip().startswith("--") for word in line.split()]
    return words[0].rstrip(";") if words else ""


def _configure(environment: Environment, *names: str) -> None:
    with autocommit(environment.engine) as connection:
        for name in (*names, "reload_configuration"):
            execute(connection, name)
    time.sleep(RELOAD_SECONDS)
