"""The data folder of Snoozer's own PostgreSQL is made whole or not at all."""

import secrets
import shutil
import subprocess
from pathlib import Path

from snoozer.dev.binaries import Binaries
from snoozer.dev.errors import PostgresRefused
from snoozer.dev.os_user import Account
from snoozer.dev.postmaster import ENVIRONMENT
from snoozer.dev.secure_file import write_private

LOCALES = ("C.UTF-8", "C")


def make(data: Path, *, binaries: Binaries, account: Account, user: str, password: str) -> None:
    """Make a database as a draft that is renamed to `data` when it is whole: a kill in between leaves no half of one.

    Raises PostgresRefused.
    """
    place = data.parent
    for left in place.glob("draft-*"):
        shutil.rmtree(left, ignore_errors=True)
    password_file = place / "password"
    write_private(password_file, password)
    account.own(password_file)
    command = [binaries.program("initdb"), "-U", user, "-A", "scram-sha-256", "--data-checksums", "--encoding=UTF8"]
    try:
        for locale in LOCALES:
            # A name of its own: the initdb of a killed `snoozer up` may still be writing.
            draft = place / f"draft-{secrets.token_hex(4)}"
            made = subprocess.run(
                [*command, f"--locale={locale}", f"--pwfile={password_file}", "-D", str(draft)],
                capture_output=True,
                text=True,
                check=False,
                cwd="/",
                env=ENVIRONMENT,
                start_new_session=True,
                **account.identity,
            )
            if made.returncode == 0:
                draft.rename(data)
                return
    finally:
        password_file.unlink(missing_ok=True)
    raise PostgresRefused(f"initdb could not make the database in {place}: {last_line(made.stderr)}")


def last_line(said: str) -> str:
    """What the server or initdb gave up about, without its time stamp."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    given_up = [line.partition(mark)[2].strip() for line in lines for mark in ("FATAL:", "error:") if mark in line]
    return (given_up or lines or ["it said nothing"])[-1]
