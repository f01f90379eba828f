"""How a process ended, and how many workers the registry has."""

import subprocess

from sqlalchemy import Engine, text

from tests.process.conftest import PATIENCE


def workers(engine: Engine, *states: str) -> int:
    with engine.connect() as connection:
        told = connection.execute(
            text("SELECT count(*) FROM workers WHERE state = ANY(:states)"), {"states": [*states]}
        )
        return int(told.scalar_one())


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    try:
        _, said = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return process.returncode, said
