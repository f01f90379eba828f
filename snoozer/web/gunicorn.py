"""How gunicorn serves the pages: `gunicorn -c python:snoozer.web.gunicorn 'snoozer.web:from_environment()'`.

Settings that are not here keep gunicorn's defaults, so that `--bind`, PORT and WEB_CONCURRENCY work as its manual
describes. Requests are not logged: the paths of mail links hold tokens.
"""

import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from gunicorn.glogging import Logger

from snoozer import settings
from snoozer.settings import SettingsError
from snoozer.telemetry import log_format, request_counts
from snoozer.web import required_settings
from snoozer.web.people.setup import console

worker_class = "snoozer.web.server.Worker"
worker_connections = 1500
asgi_loop = "asyncio"
asgi_lifespan = "off"
http_parser = "python"

timeout = 30
graceful_timeout = 10
keepalive = 5

# By default, SCRIPT_NAME and PATH_INFO headers from a proxy on this machine would change the path that is routed.
forwarder_headers = ""

# The maximum it accepts; with the default of 4094 it would refuse a long phrase with its own HTML.
limit_request_line = 8190


class RedactingLogger(Logger):  # type: ignore[misc]
    """gunicorn's log, as SNOOZER_LOG_FORMAT says, without the requests it quotes: a malformed path holds the same
    tokens."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        with suppress(SettingsError):  # It is reported when gunicorn starts.
            style = settings.load().log_format
            if style == "json":
                for handler in (*self.error_log.handlers, *self.access_log.handlers):
                    handler.setFormatter(log_format.formatter(style, process="web"))

    def warning(self, msg: str, *args: Any, **kwargs: Any) -> None:
        """Logs only the kind of error of a malformed request."""
        if msg.startswith("Invalid request from"):
            super().warning("A request was refused: %s", type(sys.exception()).__name__)
        else:
            super().warning(msg, *args, **kwargs)

    def exception(self, msg: str, *args: Any, **kwargs: Any) -> None:
        """Logs only the kind and place of an error while a request was handled."""
        error = sys.exception()
        if msg.startswith(("Error handling", "Error in ASGI application")) and error is not None:
            frames = "".join(traceback.format_tb(error.__traceback__))
            super().error("A request broke the server: %s\n%s", type(error).__name__, frames)
        else:
            super().exception(msg, *args, **kwargs)


logger_class = RedactingLogger
loglevel = "warning"
proc_name = "snoozer-web"

# A worker touches a file as its heartbeat; on a disk that stalls it would be killed.
_MEMORY = "/dev/shm"  # noqa: S108
worker_tmp_dir = _MEMORY if Path(_MEMORY).is_dir() else None

# Its socket in the home folder would be shared by every gunicorn of this user account.
control_socket_disable = True


def on_starting(arbiter: Any) -> None:
    """Exits on invalid settings with one sentence; checked in the workers only, they would restart for ever."""
    given = required_settings()
    request_counts.shared.make(uid=arbiter.cfg.uid, gid=arbiter.cfg.gid)
    if given.local_links_warning and given.log_format == "json":
        arbiter.log.warning("%s", given.local_links_warning)
    elif given.local_links_warning:
        print(f"snoozer: {given.local_links_warning}", file=sys.stderr)  # noqa: T201 - as other commands say it


def post_fork(arbiter: object, worker: Any) -> None:
    """Lets the first process print the setup link, and none of the others."""
    console.prints_link = worker.age == 1


def child_exit(arbiter: object, worker: Any) -> None:
    """Keeps the counts of a process that has ended."""
    request_counts.shared.absorb(worker.pid)


def on_exit(arbiter: object) -> None:
    """Leaves nothing behind."""
    request_counts.shared.remove()
