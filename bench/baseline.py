"""The baseline: the statements of a delivery and as many mails in a bare loop, without any of Snoozer's checks.

It authorises a whole batch, sends it over a few connections in lockstep, records and finalizes it. It has no timeouts
and no recovery, and sends canned mails unless it is to compose them as a worker does. A worker's figures are divided by
the baseline's figures of the same minutes.
"""

import json
import socket
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cache
from itertools import count
from typing import Any

import psycopg
from psycopg.rows import dict_row
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from bench import mails
from snoozer.db.engine import PLAN_MAX_USES
from snoozer.db.statements import statement
from snoozer.queue.ledger import ENTERED
from snoozer.queue.reminder import Send

LEASE = timedelta(seconds=90)
USES_PER_BATCH = 3
POLICY = {"hold": LEASE, "hold_for_operator": False, "max_resends": 2, "lookups": 0, "only_connected": False}


class SmtpConnection:
    """One connection to the mail server, which checks no reply."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")
        self._file.readline()
        self._socket.sendall(b"EHLO baseline.snoozer.example\r\n")
        while self._file.readline()[3:4] == b"-":
            pass

    def send_envelope(self, recipient: str) -> None:
        self._socket.sendall(
            b"MAIL FROM:<bench@snoozer.example>\r\nRCPT TO:<%s>\r\nDATA\r\n" % recipient.encode("ascii")
        )

    def send_message(self, message: bytes) -> None:
        for _ in range(3):
            self._file.readline()
        self._socket.sendall(message.replace(b"\r\n.", b"\r\n..") + b".\r\n")

    def read_reply(self) -> None:
        self._file.readline()


@cache
def sql(name: str) -> str:
    """Return a statement of the product in psycopg's syntax."""
    return str(statement(name).compile(dialect=PGDialect_psycopg()))  # type: ignore[no-untyped-call]


def canned(send: dict[str, Any]) -> bytes:
    return mails.canned(send["reminder_message_id"])


def composed(send: dict[str, Any]) -> bytes:
    return mails.composed(Send(**send))


def drain(
    url: str, *, port: int, batch: int, connections: int, worker: str, message: Callable[[dict[str, Any]], bytes]
) -> None:
    """Deliver until nothing is due."""
    smtp_connections = [SmtpConnection(port) for _ in range(connections)]
    with connect(url) as database:
        for sends in batches(database, size=batch, worker=worker):
            authorise(database, sends)
            for first in range(0, len(sends), connections):
                pairs = list(zip(smtp_connections, sends[first : first + connections], strict=False))
                for smtp, send in pairs:
                    smtp.send_envelope(send["user_email"])
                for smtp, send in pairs:
                    smtp.send_message(message(send))
                for smtp, _ in pairs:
                    smtp.read_reply()
            finish(database, sends)


def connect(url: str) -> "psycopg.Connection[dict[str, Any]]":
    """Return a bare psycopg connection with autocommit."""
    return psycopg.connect(url, autocommit=True, row_factory=dict_row)


def batches(database: "psycopg.Connection[Any]", *, size: int, worker: str) -> Iterator[list[dict[str, Any]]]:
    """Yield one batch after the other, claimed, until nothing is due.

    Plans are discarded as often as by the product's sessions, which are used three times for a batch.
    """
    for number in count(1):
        if number * USES_PER_BATCH % PLAN_MAX_USES < USES_PER_BATCH:
            database.execute(sql("session/discard_plans"))
        sends = claim_mails(database, batch=size, worker=worker)
        if not sends:
            return
        yield sends


def claim_mails(database: "psycopg.Connection[Any]", *, batch: int, worker: str) -> list[dict[str, Any]]:
    """Claim a batch and read its mails, in one transaction."""
    with database.transaction():
        claims = claim(database, batch=batch, worker=worker)
        values = {
            "worker": worker,
            "ids": [claimed["id"] for claimed in claims],
            "domain": "snoozer.example",
        }
        return database.execute(sql("ledger/list_sendable"), values | POLICY).fetchall()


def claim(database: "psycopg.Connection[Any]", *, batch: int, worker: str) -> list[dict[str, Any]]:
    """Claim a batch, in the caller's transaction."""
    return database.execute(sql("queue/claim"), claim_values(batch=batch, worker=worker)).fetchall()


def claim_values(*, batch: int, worker: str) -> dict[str, object]:
    """Return the binds of queue/claim for a worker that runs alone and has no heavy users to skip."""
    return {
        "worker": worker,
        "batch_size": batch,
        "lease": LEASE,
        "priority": 0,
        "keyed": False,
        "crashes": 0,
        "after_time": None,
        "after_id": 0,
        "until_time": None,
        "until_id": 0,
        "heavy_users": [],
        "buckets": None,
        "steal_after": timedelta(0),
        "known_schema": 1,
        "any_timeline": False,
    }


def authorise(database: "psycopg.Connection[Any]", sends: list[dict[str, Any]]) -> None:
    """Authorise the final dots of a batch."""
    mails = [{"bytes_sha256": "0" * 64, **{name: send[name] for name in ENTERED}} for send in sends]
    database.execute(sql("ledger/authorise"), {"mails": json.dumps(mails, default=str)} | POLICY)


def finish(database: "psycopg.Connection[Any]", sends: list[dict[str, Any]]) -> None:
    """Record and finalize a batch, in one transaction."""
    tokens, count = [send["claim_token"] for send in sends], len(sends)
    with database.transaction():
        values: dict[str, Any] = {
            "reminder_message_ids": [send["reminder_message_id"] for send in sends],
            "claim_tokens": tokens,
            "smtp_codes": [250] * count,
            "enhanced_codes": [None] * count,
            "replies": ["queued"] * count,
            "queue_ids": [None] * count,
        }
        database.execute(sql("ledger/record"), values)
        ids = [send["snooze_id"] for send in sends]
        database.execute(sql("queue/finalize"), {"ids": ids, "claim_tokens": tokens})


if __name__ == "__main__":
    _, database_url, smtp_port, size, connections, name, mail = sys.argv
    drain(
        database_url,
        port=int(smtp_port),
        batch=int(size),
        connections=int(connections),
        worker=name,
        message={"canned": canned, "composed": composed}[mail],
    )
