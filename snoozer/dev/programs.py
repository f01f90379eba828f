"""The commands that `snoozer up` runs: those of the Procfile, and what a first start needs."""

from snoozer.dev.environment import OWNER
from snoozer.dev.supervisor import Program
from snoozer.resources import PYTHON_MODULE

# A worker that is told to stop still finishes what is past the dot.
_DRAIN_SECONDS = 60.0

MIGRATE = Program(name="migrate", argv=(*PYTHON_MODULE, "snoozer", "migrate"), patience=30)
CREATE_ACCOUNT = Program(
    name="account", argv=(*PYTHON_MODULE, "snoozer", "account", "create", OWNER, "--role", "admin")
)
SIGN_IN = Program(name="account", argv=(*PYTHON_MODULE, "snoozer", "account", "sign-in", OWNER))
INBOUND = Program(name="inbound", argv=(*PYTHON_MODULE, "snoozer", "inbound"))
WORKER = Program(name="worker", argv=(*PYTHON_MODULE, "snoozer", "worker"), patience=_DRAIN_SECONDS)
CLOCK = Program(name="clock", argv=(*PYTHON_MODULE, "snoozer", "clock"))

# What listens first, so that nothing new comes in; what others need last.
STOPPING_ORDER = (("web", "inbound"), ("worker",), ("clock",), ("sink",))


def web(listening: int) -> Program:
    """The web server on a listening socket that is handed to it."""
    return Program(
        name="web",
        argv=(
            *(*PYTHON_MODULE, "snoozer.web", "-c", "python:snoozer.web.gunicorn"),
            *("--bind", f"fd://{listening}", "snoozer.web:from_environment()"),
        ),
        sockets=(listening,),
        patience=20,
    )


def sink(listening: int) -> Program:
    """The mail sink on a listening socket that is handed to it."""
    return Program(
        name="sink", argv=(*PYTHON_MODULE, "snoozer", "sink", "--socket", str(listening)), sockets=(listening,)
    )
