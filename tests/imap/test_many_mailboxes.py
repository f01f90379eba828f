"""One `snoozer mailbox` for many people: what a thousand connected mailboxes cost it, and how soon it serves them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles

import pytest
from sqlalchemy import Engine, text

from snoozer.db import accounts
from snoozer.runtime import encryption
from snoozer.settings import Settings
from tests.factories import a_mailbox, an_original
from tests.imap import dovecot
from tests.imap.dovecot import PASSWORD
from tests.imap.watched import ROOT, MailProgram

FULL = os.environ.get("SNOOZER_STORM") == "1"
MAILBOXES, MOVED, IDLE_SECONDS = (1000, 100, 30) if FULL else (40, 8, 2)
MOST_MEMORY = 300 * 1024
HANG_SECONDS = 300.0


def eventually(is_so: Callable[[], bool]) -> float:
    """How many seconds it took."""
    started = time.monotonic()
    while not is_so():
        assert time.monotonic() - started < HANG_SECONDS
        time.sleep(0.02)
    return time.monotonic() - started


def count(engine: Engine, rows: str) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text(f"SELECT count(*) FROM {rows}")).scalar_one())  # noqa: S608


@contextmanager
def a_process(settings: Settings) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        [sys.executable, "-m", "snoozer", "mailbox"],
        env={
            **{name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
            "DATABASE_URL": settings.database_url.get_secret_value(),
            "SECRET_KEY": ",".join(settings.keys),
            "MAIL_FROM": settings.mail_from,
            "SNOOZER_HOME": str(settings.home),
            "SNOOZER_ALLOW_PRIVATE_MAILBOXES": "1",
        },
        cwd=ROOT,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def mail_program(port: int, number: int) -> Iterator[MailProgram]:
    program = MailProgram(port, f"user{number}")
    try:
        yield program
    finally:
        program.close()


def memory(process: "subprocess.Popen[bytes]") -> int:
    """In kB."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def processor_seconds(process: "subprocess.Popen[bytes]") -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.dovecot
def test_many_mailboxes_are_watched_by_one_process(engine: Engine, settings: Settings) -> None:
    if not dovecot.is_installed():
        pytest.skip("Dovecot is not installed")
    secret = encryption.encrypt(settings.keys, PASSWORD)
    with dovecot.running(processes=3 * MAILBOXES) as server:
        for number in range(MAILBOXES):
            address = f"user{number}@mail.example"
            with engine.begin() as connection:
                id = accounts.create(connection, email=address, role="user", zone="Europe/Berlin").id
            a_mailbox(
                engine,
                account_id=id,
                address=address,
                host="127.0.0.1",
                port=server.imap_port,
                security="plain",
                username=f"user{number}",
                secret=secret,
                synced_at=None,
            )
        moved = range(0, MAILBOXES, MAILBOXES // MOVED)
        for number in moved:
            with mail_program(server.imap_port, number) as program:
                program.deliver(an_original(message_id=f"<{number}@mail.example>"))
                program.create("Snooze")
                program.create("Snooze.Tomorrow")
        with a_process(settings) as first:
            connected = eventually(lambda: count(engine, "mailboxes WHERE synced_at IS NULL") == 0)
            before = processor_seconds(first)
            time.sleep(IDLE_SECONDS)
            idle = (processor_seconds(first) - before) / IDLE_SECONDS
            waits = []
            for number in moved:
                with mail_program(server.imap_port, number) as program:
                    program.move("INBOX", "Snooze.Tomorrow")
                    row = f"email_snoozes WHERE message_id = '<{number}@mail.example>'"
                    waits.append(eventually(lambda row=row: count(engine, row) == 1))  # type: ignore[misc]
            used = memory(first)
        with engine.begin() as connection:
            connection.execute(text("UPDATE mailboxes SET synced_at = NULL"))
        with a_process(settings) as second:
            again = eventually(lambda: count(engine, "mailboxes WHERE synced_at IS NULL") == 0)
            used = max(used, memory(second))
    print(
        f"\n{MAILBOXES} mailboxes: {used / 1024:.0f} MiB, idle {idle:.1%} of a processor, "
        f"connected in {connected:.1f} s and again {again:.1f} s after a kill, "
        f"asleep after p95 {quantiles(waits, n=20)[-1]:.2f} s and at most {max(waits):.2f} s"
    )
    assert used <= MOST_MEMORY
