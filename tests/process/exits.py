"""How a process ended, and how many workers the registry has."""

import subprocess

from sqlalchemy import Engine, text

from tests.process.conftest import TIMEOUT


def workers(engine: Engine, *states: str) -> int:
    with engine.connect() as connection:
        found = connection.execute(
            text("SELECT count(*) FROM workers WHERE state = ANY(:states)"), {"states": [*states]}
        )
        return int(found.scalar_one())


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    try:
        _, errors = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
    return process.returncode, errors
