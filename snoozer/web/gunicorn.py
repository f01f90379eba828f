"""How gunicorn serves the pages: `gunicorn -c python:snoozer.web.gunicorn 'snoozer.web:from_environment()'`.

What is not here keeps gunicorn's default, so that `--bind`, PORT and WEB_CONCURRENCY work as its manual says. Requests
are not logged: the paths of mail links carry tokens.
"""

import sys
import traceback
from pathlib import Path
from typing import Any

from gunicorn.glogging import Logger

from snoozer.web import needed

# Most of a request's time is waiting for the database, so threads carry the load; one process by default, because
# /metrics speaks for the process that answers.
worker_class = "gthread"
threads = 16

timeout = 30
graceful_timeout = 10
keepalive = 5

# By default the SCRIPT_NAME and PATH_INFO that a proxy on this machine passes on would move the path that is routed.
forwarder_headers = ""

# The most it can be told to read; beyond its usual 4094 it would answer a long phrase in its own HTML.
limit_request_line = 8190


class Discreet(Logger):  # type: ignore[misc]
    """gunicorn's log without the requests it quotes: a path that is badly written holds the same tokens."""

    def warning(self, msg: str, *args: Any, **kwargs: Any) -> None:
        """Of a request that cannot be read, why."""
        if msg.startswith("Invalid request from"):
            super().warning("A request was refused: %s", type(sys.exception()).__name__)
        else:
            super().warning(msg, *args, **kwargs)

    def exception(self, msg: str, *args: Any, **kwargs: Any) -> None:
        """Of a request that broke the server, what and where."""
        error = sys.exception()
        if msg.startswith("Error handling request") and error is not None:
            frames = "".join(traceback.format_tb(error.__traceback__))
            super().error("A request broke the server: %s\n%s", type(error).__name__, frames)
        else:
            super().exception(msg, *args, **kwargs)


logger_class = Discreet
loglevel = "warning"
proc_name = "snoozer-web"

# A worker shows that it lives by touching a file; on a disk that stalls it would be killed for no fault of its own.
_MEMORY = "/dev/shm"  # noqa: S108
worker_tmp_dir = _MEMORY if Path(_MEMORY).is_dir() else None

# Its file in the home folder would be shared, and fought over, by every gunicorn of this account.
control_socket_disable = True


def on_starting(arbiter: object) -> None:
    """Wrong settings end gunicorn with one sentence; left to its workers, they would be started anew for ever."""
    settings = needed()
    if settings.local_links_warning:
        print(f"snoozer: {settings.local_links_warning}", file=sys.stderr)  # noqa: T201 - gunicorn's log is not open yet
