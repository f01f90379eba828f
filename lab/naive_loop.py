"""The naive loop, `python -m lab.naive_loop NAME`: claim, send, then record; on its own tables, for the lab.

It is the usual minimal queue on Postgres, with SKIP LOCKED, a lease, a fence and retries. Two things are missing, and
the lab shows what they cost: its ledger is keyed by a time that a retry moves, and it is written after the send.
"""

import logging
import os
import signal
import smtplib
import sys
import time
from datetime import timedelta
from email.message import EmailMessage
from email.utils import make_msgid
from urllib.parse import urlsplit

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from lab import naive
from lab.naive import Job
from lab.orders import BEFORE_END, Fuse, obey
from snoozer import settings
from snoozer.db.engine import make_engine

LEASE = timedelta(seconds=5)
BATCH_SIZE = 10
IDLE_SECONDS, AWAY_SECONDS, SMTP_SECONDS = 0.25, 0.5, 10.0

log = logging.getLogger(__name__)


class NaiveLoop:
    """One worker of it."""

    def __init__(self, engine: Engine, *, host: str, port: int, worker: str, fuse: Fuse) -> None:
        self._engine, self._host, self._port, self._worker, self._fuse = engine, host, port, worker, fuse

    def turn(self) -> bool:
        """One batch; returns whether there was anything to do."""
        with self._engine.begin() as connection:
            naive.recover(connection)
            jobs = naive.claim(connection, worker=self._worker, lease=LEASE, batch_size=BATCH_SIZE)
        for job in jobs:
            self._handle(job)
        return bool(jobs)

    def _handle(self, job: Job) -> None:
        with self._engine.begin() as connection:
            known = naive.is_sent(connection, message_id=job.message_id, remind_at=job.remind_at)
        try:
            if not known:
                self._send(job)
        except (OSError, smtplib.SMTPException) as error:
            log.info("a send failed (%s)", type(error).__name__)
            with self._engine.begin() as connection:
                naive.retry(connection, id=job.id, worker=self._worker, generation=job.lease_generation)
            return
        with self._engine.begin() as connection:
            naive.record(connection, message_id=job.message_id, remind_at=job.remind_at)
            naive.complete(connection, id=job.id, worker=self._worker, generation=job.lease_generation)

    def _send(self, job: Job) -> None:
        mail = EmailMessage()
        mail["Message-ID"] = make_msgid(domain="naive.example")
        mail["In-Reply-To"] = job.message_id
        mail["Subject"] = job.subject
        mail["From"], mail["To"] = "naive@naive.example", job.rcpt
        mail.set_content("A reminder.")
        with smtplib.SMTP(self._host, self._port, timeout=SMTP_SECONDS) as server:
            server.ehlo()
            for step in ("marked", BEFORE_END):
                self._fuse(step, job.message_id)
            server.send_message(mail)
            self._fuse("replied", job.message_id)


def main(name: str) -> None:
    given = settings.load().require("database_url", "smtp_url")
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.INFO)
    fuse = Fuse()
    obey(fuse.order, on_end=lambda: os.kill(os.getpid(), signal.SIGTERM))
    address = urlsplit(given.smtp_url.get_secret_value())
    engine = make_engine(given.database_url.get_secret_value(), name="naive")
    worker = f"{name}-{os.getpid()}"
    loop = NaiveLoop(engine, host=address.hostname or "", port=address.port or 25, worker=worker, fuse=fuse)
    while True:
        try:
            if not loop.turn():
                time.sleep(IDLE_SECONDS)
        except SQLAlchemyError as error:
            log.info("the database does not answer (%s)", type(error).__name__)
            time.sleep(AWAY_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1])
