"""Puts what the mail server accepted into the mailboxes that Snoozer keeps, as a mail server with mailboxes would.

So that `verify` has somewhere to look. It reads the mail server's file, a line at a time, and knows nothing else.
"""

import json
import time
from pathlib import Path
from threading import Event, Thread

import psycopg

LOOK = 0.01
KEEP = """
WITH kept AS (
    INSERT INTO messages (user_email, message_id, folder, size, sha256, unread, returned, surfaced_at)
    VALUES (%s, %s, 'inbox', 0, %s, TRUE, FALSE, clock_timestamp())
    ON CONFLICT DO NOTHING
    RETURNING id
)
INSERT INTO message_originals (id, original)
SELECT id, '' FROM kept
"""


class Postman:
    def __init__(self, database_url: str, *, sink: Path) -> None:
        self._url, self._sink = database_url, sink
        self._stopping = Event()
        self._thread = Thread(target=self._walk, name="postman", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _walk(self) -> None:
        with self._sink.open(encoding="utf-8") as file, psycopg.connect(self._url, autocommit=True) as mailboxes:
            line = ""
            while not self._stopping.is_set():
                line += file.readline()
                if not line.endswith("\n"):
                    time.sleep(LOOK)
                    continue
                mail = json.loads(line)
                mailboxes.execute(KEEP, [mail["rcpt"], mail["message_id"], mail["sha256"]])
                line = ""
